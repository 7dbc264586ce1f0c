//! The installation key: a secret from which the tokens in all URLs derive.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use imagelib::recipe::RecipeId;
use media::{MediaToken, MediaUuid};
use sha2::Sha256;

use super::durable;

const LENGTH: usize = 32;

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
        "other users may use it (mode {0:04o}), and anyone who reads it can compute every image's URL; run chmod 600 on it"
    )]
    Mode(u32),
    /// The system has no random numbers.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
}

/// 32 random bytes. The first start creates them. They must never change: another key would change the URL of every image.
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

    /// Reads the key; `None` if the file does not exist.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, KeyError> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mode = file.metadata()?.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(KeyError::Mode(mode));
        }
        let mut bytes = Vec::new();
        file.take(LENGTH as u64 + 1).read_to_end(&mut bytes)?;
        let length = bytes.len();
        bytes.try_into().map(|key| Some(Self(key))).map_err(|_| KeyError::Length(length))
    }

    /// Creates the file with a new key. The key is on disk before dayone uses it, so a crash cannot invalidate a URL. The
    /// complete file is renamed into place, so a crash leaves no partial key.
    pub(super) fn create(path: &Path) -> Result<Self, KeyError> {
        let key = Self::generate()?;
        durable::write_new(path, &key.0)?;
        Ok(key)
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

impl fmt::Debug for InstallationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstallationKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_created_once_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        assert!(InstallationKey::read(&path).unwrap().is_none());
        let made = InstallationKey::create(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(InstallationKey::read(&path).unwrap().unwrap().0, made.0);
        assert!(
            matches!(InstallationKey::create(&path), Err(KeyError::Io(error)) if error.kind() == io::ErrorKind::AlreadyExists)
        );
        assert_eq!(std::fs::read(&path).unwrap(), made.0);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        assert_eq!(format!("{made:?}"), "InstallationKey(…)");
    }

    #[test]
    fn a_key_that_is_too_long_too_short_or_open_to_others_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        let write = |bytes: &[u8], mode| {
            std::fs::write(&path, bytes).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            InstallationKey::read(&path)
        };
        assert!(matches!(write(&[1; 31], 0o600), Err(KeyError::Length(31))));
        assert!(matches!(write(&[1; 33], 0o600), Err(KeyError::Length(33))));
        assert!(matches!(write(&[], 0o600), Err(KeyError::Length(0))));
        assert!(matches!(write(&[1; 32], 0o640), Err(KeyError::Mode(0o640))));
        assert!(write(&[1; 32], 0o400).is_ok());
    }

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
