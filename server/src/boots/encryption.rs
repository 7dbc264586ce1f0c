//! Encrypts credentials that must survive a restart (AES-256-GCM, NIST SP 800-38D), with a key that derives from the
//! installation key. When that key is rotated, dayone encrypts them again. They are bound to their boot: in the record of
//! another boot, they cannot be decrypted.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::prelude::*;

use super::id::BootId;

/// The purpose for which the key is derived.
pub(super) const PURPOSE: &[u8] = b"credentials of BMCs in records of boots";

/// Why credentials cannot be encrypted or decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncryptionError {
    /// The library refused: a mistake in dayone.
    #[error("dayone cannot encrypt the BMC's credentials")]
    Encrypt,
    /// The text was changed, or belongs to another installation or another boot.
    #[error(
        "dayone cannot decrypt the BMC's credentials in the record: the record was changed, or the installation has \
         another key"
    )]
    Decrypt,
}

/// Encrypts and decrypts credentials.
pub(super) struct Cipher(RandomizedNonceKey);

impl Cipher {
    /// Uses a key that was derived for [`PURPOSE`].
    pub(super) fn new(key: &[u8; 32]) -> Result<Self, EncryptionError> {
        RandomizedNonceKey::new(&AES_256_GCM, key).map(Self).map_err(|_| EncryptionError::Encrypt)
    }

    /// Encrypts `secret` for a boot. Returns nonce, ciphertext and tag in base64.
    pub(super) fn encrypt(&self, boot: BootId, secret: &[u8]) -> Result<String, EncryptionError> {
        let mut encrypted = secret.to_vec();
        let nonce = self.0.seal_in_place_append_tag(Aad::from(boot.as_str()), &mut encrypted);
        let nonce: Nonce = nonce.map_err(|_| EncryptionError::Encrypt)?;
        let mut text = nonce.as_ref().to_vec();
        text.append(&mut encrypted);
        Ok(BASE64_STANDARD.encode(&text))
    }

    /// Decrypts what was encrypted for this boot.
    pub(super) fn decrypt(&self, boot: BootId, text: &str) -> Result<Vec<u8>, EncryptionError> {
        let bytes = BASE64_STANDARD.decode(text).map_err(|_| EncryptionError::Decrypt)?;
        let (nonce, encrypted) = bytes.split_first_chunk::<NONCE_LEN>().ok_or(EncryptionError::Decrypt)?;
        let mut encrypted = encrypted.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.0.open_in_place(nonce, Aad::from(boot.as_str()), &mut encrypted);
        opened.map(|opened| opened.to_vec()).map_err(|_| EncryptionError::Decrypt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_decrypted_only_for_their_boot() {
        let (one, other) = (BootId::after(None).unwrap(), BootId::after(None).unwrap());
        let cipher = Cipher::new(&[1; 32]).unwrap();
        let encrypted = cipher.encrypt(one, b"hunter2").unwrap();
        assert_ne!(encrypted, cipher.encrypt(one, b"hunter2").unwrap(), "the nonce is drawn anew");
        assert!(!BASE64_STANDARD.decode(&encrypted).unwrap().windows(7).any(|window| window == b"hunter2"));
        assert_eq!(cipher.decrypt(one, &encrypted).unwrap(), b"hunter2");
        assert_eq!(cipher.decrypt(other, &encrypted), Err(EncryptionError::Decrypt));
        assert_eq!(Cipher::new(&[2; 32]).unwrap().decrypt(one, &encrypted), Err(EncryptionError::Decrypt));
        for damaged in ["", "AAAA", "hunter2", &encrypted[4..]] {
            assert_eq!(cipher.decrypt(one, damaged), Err(EncryptionError::Decrypt), "{damaged}");
        }
    }
}
