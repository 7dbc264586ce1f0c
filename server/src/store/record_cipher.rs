//! Encrypts the files of a data directory (AES-256-GCM-SIV, RFC 8452), each bound to its kind and its name.
//!
//! An encrypted file is one line of JSON with a version that no record has:
//!
//! ```text
//! {"version":3,"encrypted":"BASE64"}
//! ```
//!
//! The bytes in base64 are the id of the key (8), a random nonce (12), the ciphertext, and the tag (16). A dayone that knows no
//! encrypted files reads the version, and says that another version of dayone wrote the file. There is exactly one text for
//! the same bytes, so every change of a file is found.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::prelude::*;
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// What an encrypted file begins with. The version must stay unused by records and by the file of the installation key.
const BEGIN: &[u8] = br#"{"version":3,"encrypted":""#;
const END: &[u8] = b"\"}\n";

/// The length of a key in bytes.
pub(super) const KEY_LENGTH: usize = 32;

/// The length of a key's id in bytes.
const ID_LENGTH: usize = 8;

/// So many digits of base64 hold the id of the key, and one byte of the nonce.
const ID_DIGITS: usize = 12;

/// How much of a file says in which form it is.
pub(super) const HEADER: usize = BEGIN.len() + ID_DIGITS;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// The record of an image.
    Image,
    /// The record of a boot.
    Boot,
    /// The record of an added base.
    Base,
    /// The installation key.
    InstallationKey,
    /// Something that dayone could not read, in `damaged/`.
    Damaged,
}

impl RecordKind {
    /// The word to which files are bound. It must never change.
    fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Boot => "boot",
            Self::Base => "base",
            Self::InstallationKey => "installation-key",
            Self::Damaged => "damaged",
        }
    }
}

/// Tells the keys apart in the files that they encrypt. It does not reveal the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataKeyId([u8; ID_LENGTH]);

impl fmt::Display for DataKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

/// In which form a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Not encrypted.
    Plain,
    /// Encrypted with this key. `None`: the id of the key was changed to something that is none.
    Encrypted(Option<DataKeyId>),
}

impl Form {
    /// The form of a file that begins with these bytes: [`HEADER`] of them, or the whole file.
    pub(super) fn of(beginning: &[u8]) -> Self {
        let Some(rest) = beginning.strip_prefix(BEGIN) else { return Self::Plain };
        let digits = rest.get(..ID_DIGITS).unwrap_or_default();
        let bytes = BASE64_STANDARD.decode(digits).ok();
        Self::Encrypted(bytes.and_then(|bytes| bytes.first_chunk().copied()).map(DataKeyId))
    }
}

/// The library refuses to encrypt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the library refuses to encrypt: this is a mistake in dayone, please report it")]
pub(crate) struct CannotEncrypt;

/// The file is not as dayone encrypted it for this kind and name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Changed;

/// Encrypts with one key.
pub(super) struct RecordCipher {
    id: DataKeyId,
    key: RandomizedNonceKey,
}

impl RecordCipher {
    /// The key of the cipher, and its id, derive from `key`.
    pub(super) fn new(key: &[u8; KEY_LENGTH]) -> Result<Self, CannotEncrypt> {
        let id = derived(key, b"dayone data key id 1\0");
        let id = DataKeyId(id.first_chunk().copied().ok_or(CannotEncrypt)?);
        let key = RandomizedNonceKey::new(&AES_256_GCM_SIV, &derived(key, b"dayone data key 1\0"));
        Ok(Self { id, key: key.map_err(|_| CannotEncrypt)? })
    }

    pub(super) fn id(&self) -> DataKeyId {
        self.id
    }

    /// The content of a file that holds `plain`.
    pub(super) fn encrypt(&self, kind: RecordKind, name: &str, plain: &[u8]) -> Result<Vec<u8>, CannotEncrypt> {
        let mut encrypted = plain.to_vec();
        let nonce = self.key.seal_in_place_append_tag(self.bound_to(kind, name), &mut encrypted);
        let nonce: Nonce = nonce.map_err(|_| CannotEncrypt)?;
        let bytes = [self.id.0.as_slice(), nonce.as_ref(), &encrypted].concat();
        Ok([BEGIN, BASE64_STANDARD.encode(&bytes).as_bytes(), END].concat())
    }

    /// What a file in the form [`Form::Encrypted`] holds.
    pub(super) fn decrypt(&self, kind: RecordKind, name: &str, file: &[u8]) -> Result<Vec<u8>, Changed> {
        let digits = file.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END)).ok_or(Changed)?;
        let mut bytes = BASE64_STANDARD.decode(digits).map_err(|_| Changed)?;
        let (head, encrypted) = bytes.split_at_mut_checked(ID_LENGTH + NONCE_LEN).ok_or(Changed)?;
        let (id, nonce) = head.split_first_chunk::<ID_LENGTH>().ok_or(Changed)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Changed)?;
        if *id != self.id.0 {
            return Err(Changed);
        }
        let opened = self.key.open_in_place(nonce, self.bound_to(kind, name), encrypted);
        Ok(opened.map_err(|_| Changed)?.to_vec())
    }

    /// A file is bound to its kind and its name, so that nobody can put one in place of another.
    fn bound_to(&self, kind: RecordKind, name: &str) -> Aad<Vec<u8>> {
        Aad::from([b"dayone record 1\0", self.id.0.as_slice(), kind.word().as_bytes(), b"\0", name.as_bytes()].concat())
    }
}

fn derived(key: &[u8; KEY_LENGTH], purpose: &[u8]) -> [u8; 32] {
    // HMAC pads a short key with zeros (RFC 2104 §2). Padding here means that no operation can fail.
    let mut block = [0; 64];
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(purpose);
    mac.finalize().into_bytes().into()
}

impl fmt::Debug for RecordCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordCipher").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
