//! Signatures that are a part of a recipe: an image is made from its recipe and its base alone, and needs no private key.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// The signatures of the addons of an image by the key of a site.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddonSignatures {
    /// The certificate of the key (DER).
    #[serde(with = "crate::base64_text")]
    pub certificate: Bytes,
    /// The signatures, by the Authenticode digest of the addon.
    pub signatures: BTreeMap<Digest, SignatureBytes>,
}

/// The bytes of a signature.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SignatureBytes(#[serde(with = "crate::base64_text")] pub Bytes);

impl fmt::Debug for SignatureBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignatureBytes").field("size", &self.0.len()).finish()
    }
}

impl fmt::Debug for AddonSignatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let certificate = Digest::of(&self.certificate);
        f.debug_struct("AddonSignatures")
            .field("certificate", &certificate)
            .field("signatures", &self.signatures)
            .finish()
    }
}
