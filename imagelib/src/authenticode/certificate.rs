//! X.509 certificates, as far as signatures of EFI programs need them.

use der::asn1::ObjectIdentifier;
use der::referenced::OwnedToRef as _;
use der::{Decode as _, Encode as _};
use rsa::RsaPublicKey;
use rsa::traits::PublicKeyParts as _;
use sha2::{Digest as _, Sha256};
use x509_cert::name::Name;

use super::hash::Algorithm;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
/// The maximum length of a name, in characters.
const MAX_NAME_CHARACTERS: usize = 200;

/// Whether a signature is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verified {
    Yes,
    No,
    /// dayone does not know the algorithm.
    Unknown,
}

/// A certificate.
#[derive(Debug, Clone)]
pub(crate) struct Certificate {
    inner: x509_cert::Certificate,
    /// The SHA-256 of its DER form, by which everybody names it.
    fingerprint: [u8; 32],
}

impl Certificate {
    pub(crate) fn from_der(bytes: &[u8]) -> Option<Self> {
        Self::new(x509_cert::Certificate::from_der(bytes).ok()?)
    }

    pub(crate) fn new(inner: x509_cert::Certificate) -> Option<Self> {
        let fingerprint = Sha256::digest(inner.to_der().ok()?).into();
        Some(Self { inner, fingerprint })
    }

    pub(crate) fn fingerprint(&self) -> &[u8; 32] {
        &self.fingerprint
    }

    pub(crate) fn subject(&self) -> String {
        common_name(&self.inner.tbs_certificate.subject)
    }

    pub(crate) fn issuer(&self) -> String {
        common_name(&self.inner.tbs_certificate.issuer)
    }

    /// The length of its RSA key in bytes; `None` if it has another key.
    pub(super) fn rsa_length(&self) -> Option<usize> {
        let key = &self.inner.tbs_certificate.subject_public_key_info;
        RsaPublicKey::try_from(key.owned_to_ref()).ok().map(|key| key.size())
    }

    /// Whether it is the certificate that an issuer and a serial number name.
    pub(crate) fn is(&self, name: &cms::cert::IssuerAndSerialNumber) -> bool {
        let own = &self.inner.tbs_certificate;
        own.issuer == name.issuer && own.serial_number == name.serial_number
    }

    /// Whether the owner of this certificate has signed the message.
    pub(crate) fn has_signed(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> Verified {
        let key = &self.inner.tbs_certificate.subject_public_key_info;
        let Ok(key) = RsaPublicKey::try_from(key.owned_to_ref()) else { return Verified::Unknown };
        match key.verify(algorithm.scheme(), &algorithm.hash(message), signature) {
            Ok(()) => Verified::Yes,
            Err(_) => Verified::No,
        }
    }

    /// Whether the owner of this certificate has issued the other one.
    pub(crate) fn has_issued(&self, other: &Self) -> Verified {
        if self.inner.tbs_certificate.subject != other.inner.tbs_certificate.issuer {
            return Verified::No;
        }
        let signed = other.inner.tbs_certificate.to_der().ok();
        let signature = other.inner.signature.as_bytes();
        match (Algorithm::of_rsa(other.inner.signature_algorithm.oid), signed, signature) {
            (Some(algorithm), Some(signed), Some(signature)) => self.has_signed(algorithm, &signed, signature),
            _ => Verified::Unknown,
        }
    }
}

/// The common name, or all of the name if it has none.
fn common_name(name: &Name) -> String {
    let mut parts = name.0.iter().flat_map(|part| part.0.iter());
    let found = parts.find(|part| part.oid == COMMON_NAME);
    let text = found.map_or_else(|| name.to_string(), |part| String::from_utf8_lossy(part.value.value()).into_owned());
    text.chars().filter(|character| !character.is_control()).take(MAX_NAME_CHARACTERS).collect()
}
