//! The installation key: a secret from which the tokens in all URLs derive.

use std::fmt;
use std::io;

use hmac::{Hmac, KeyInit as _, Mac as _};
use imagelib::recipe::RecipeId;
use media::{MediaToken, MediaUuid};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use super::data_keys::DecryptError;

/// The length of a key in bytes.
pub(super) const LENGTH: usize = 32;

/// What helps on a file system without modes.
const MOUNT: &str =
    "mount it so that its files belong to dayone's user alone (FAT: umask=0077, SMB: file_mode=0600,dir_mode=0700)";

/// Why the key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Reading or writing failed.
    #[error("it cannot be read or created: {0}")]
    Io(#[from] io::Error),
    /// The key has a wrong length.
    #[error(
        "it has {0} bytes, and needs {LENGTH}; restore it from a backup (with another key, all images' URLs change)"
    )]
    Length(usize),
    /// Other users may read or change the key.
    #[error(
        "other users may use it (mode {0:04o}), and anyone who reads it can compute every image's URL; run chmod 600 on it. If that \
         changes nothing, its file system has no modes: {MOUNT}"
    )]
    Mode(u32),
    /// Other users could read a key that dayone creates.
    #[error(
        "it was not created: its file system gives files the mode {0:04o}, and anyone who reads the key can compute every image's URL; \
         {MOUNT}"
    )]
    NoModes(u32),
    /// The file is not as dayone writes it after a rotation. The text gives the position and never the content.
    #[error(
        "it is damaged (line {line}, column {column}); restore it from a backup (with another key, all images' URLs change)"
    )]
    Damaged {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// Another version of dayone wrote the file.
    #[error("another version of dayone wrote it (version {0}); run that version, or a later one")]
    Version(u32),
    /// The file cannot be decrypted.
    #[error("{0}")]
    Encrypted(DecryptError),
    /// The file does not exist.
    #[error("it does not exist")]
    Missing,
    /// The system has no random numbers.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
}

/// 32 random bytes. The first start creates them. Another key changes the URL of every image.
#[derive(Clone)]
pub struct InstallationKey([u8; LENGTH]);

impl InstallationKey {
    /// A key from elsewhere, such as from a Secret.
    pub fn from_bytes(key: [u8; LENGTH]) -> Self {
        Self(key)
    }

    /// Creates a random key. To store it elsewhere, use [`as_bytes`](Self::as_bytes).
    pub fn generate() -> Result<Self, KeyError> {
        let mut key = [0; LENGTH];
        getrandom::fill(&mut key).map_err(KeyError::Random)?;
        Ok(Self(key))
    }

    /// The bytes of the key. Use them only to store the key.
    pub fn as_bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }

    /// The token in the URLs of an image. It is the same on every replica with this key, and after every restart.
    pub fn token(&self, image: &RecipeId) -> MediaToken {
        self.labelled(b"dayone media token 1\0", image)
    }

    /// The token with which the host of an image calls home. The image contains it, so it derives from the id of the recipe
    /// without it.
    pub fn call_home_token(&self, image: &RecipeId) -> MediaToken {
        self.labelled(b"dayone call home token 1\0", image)
    }

    /// The UUID in the URL of a file of an image, in [`UrlForm::Uuid`](super::UrlForm::Uuid).
    pub(super) fn uuid(&self, image: &RecipeId, file: &str) -> MediaUuid {
        let message = [image.as_bytes().as_slice(), file.as_bytes()].concat();
        MediaUuid::from_mac(&self.mac(b"dayone media uuid 1\0", &message))
    }

    fn labelled(&self, label: &[u8], image: &RecipeId) -> MediaToken {
        MediaToken::from_mac(&self.mac(label, image.as_bytes()))
    }

    /// Derives a key for one purpose. It reveals neither this key nor the key for another purpose.
    pub(super) fn derive(&self, purpose: &[u8]) -> [u8; 32] {
        self.mac(b"dayone derived key 1\0", purpose)
    }

    fn mac(&self, label: &[u8], message: &[u8]) -> [u8; 32] {
        // HMAC pads a short key with zeros (RFC 2104 §2). Padding here means that no operation can fail.
        let mut block = [0; 64];
        block.iter_mut().zip(&self.0).for_each(|(to, from)| *to = *from);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(label);
        mac.update(message);
        mac.finalize().into_bytes().into()
    }
}

impl PartialEq for InstallationKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for InstallationKey {}

impl fmt::Debug for InstallationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstallationKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_follow_from_the_key_and_the_recipe_alone() {
        let id = |digit: &str| digit.repeat(64).parse::<RecipeId>().unwrap();
        let (one, other) = (InstallationKey([1; 32]), InstallationKey([2; 32]));
        // Computed with Python's hmac and base64 modules.
        assert_eq!(one.token(&id("0")).as_str(), "tfww7d2of6csrrnjkyvyw2iimy");
        assert_eq!(one.call_home_token(&id("0")).as_str(), "tqygeja7nhr72cpymziqrn6q6m");
        assert_ne!(one.token(&id("0")), one.token(&id("1")));
        assert_ne!(one.token(&id("0")), other.token(&id("0")));
        assert_eq!(one.uuid(&id("0"), "boot.iso"), InstallationKey::from_bytes([1; 32]).uuid(&id("0"), "boot.iso"));
        for another in [one.uuid(&id("0"), "vmlinuz"), one.uuid(&id("1"), "boot.iso"), other.uuid(&id("0"), "boot.iso")]
        {
            assert_ne!(one.uuid(&id("0"), "boot.iso"), another);
        }
    }
}
