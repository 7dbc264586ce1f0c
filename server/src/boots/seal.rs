//! Credentials that must outlive a restart, sealed (AES-256-GCM, NIST SP 800-38D) under a key that follows from the
//! installation's. They are bound to their boot: moved into the record of another, they do not open.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::prelude::*;

use super::id::BootId;

/// What the key is derived for.
const PURPOSE: &[u8] = b"credentials of BMCs in records of boots";

/// Why nothing was sealed or opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SealError {
    /// The library refused: a mistake in dayone.
    #[error("the BMC's credentials cannot be sealed")]
    Seal,
    /// Changed since, or sealed by another installation, or for another boot.
    #[error(
        "the BMC's credentials in the record do not open: the record was changed, or the installation key is another"
    )]
    Open,
}

/// The key that seals.
pub(super) struct Seal(RandomizedNonceKey);

impl Seal {
    /// The key that `derive` gives for this purpose.
    pub(super) fn new(derive: impl FnOnce(&[u8]) -> [u8; 32]) -> Result<Self, SealError> {
        RandomizedNonceKey::new(&AES_256_GCM, &derive(PURPOSE)).map(Self).map_err(|_| SealError::Seal)
    }

    /// Seals `secret` for a boot: nonce, ciphertext and tag in base64.
    pub(super) fn seal(&self, boot: BootId, secret: &[u8]) -> Result<String, SealError> {
        let mut sealed = secret.to_vec();
        let nonce = self.0.seal_in_place_append_tag(Aad::from(boot.as_str()), &mut sealed);
        let nonce: Nonce = nonce.map_err(|_| SealError::Seal)?;
        let mut text = nonce.as_ref().to_vec();
        text.append(&mut sealed);
        Ok(BASE64_STANDARD.encode(&text))
    }

    /// Opens what was sealed for this boot.
    pub(super) fn open(&self, boot: BootId, sealed: &str) -> Result<Vec<u8>, SealError> {
        let bytes = BASE64_STANDARD.decode(sealed).map_err(|_| SealError::Open)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>().ok_or(SealError::Open)?;
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.0.open_in_place(nonce, Aad::from(boot.as_str()), &mut sealed);
        opened.map(|opened| opened.to_vec()).map_err(|_| SealError::Open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_for_its_boot_alone() {
        let (one, other) = (BootId::new().unwrap(), BootId::new().unwrap());
        let seal = Seal::new(|_| [1; 32]).unwrap();
        let sealed = seal.seal(one, b"hunter2").unwrap();
        assert_ne!(sealed, seal.seal(one, b"hunter2").unwrap(), "the nonce is drawn anew");
        assert!(!BASE64_STANDARD.decode(&sealed).unwrap().windows(7).any(|window| window == b"hunter2"));
        assert_eq!(seal.open(one, &sealed).unwrap(), b"hunter2");
        assert_eq!(seal.open(other, &sealed), Err(SealError::Open));
        assert_eq!(Seal::new(|_| [2; 32]).unwrap().open(one, &sealed), Err(SealError::Open));
        for damaged in ["", "AAAA", "hunter2", &sealed[4..]] {
            assert_eq!(seal.open(one, damaged), Err(SealError::Open), "{damaged}");
        }
    }
}
