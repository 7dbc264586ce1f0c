//! The private key of a site, which signs the addons for unified kernel images ([`imagelib::uki`]).
//!
//! aws-lc signs with it, because the time that it takes tells nothing about the key. The key is in no log, error or `Debug` output.

use std::fmt;
use std::path::{Path, PathBuf};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use imagelib::authenticode::{SignError, SiteCertificate, SiteKey};
use media::listen::missing_pem;
use rustls_pki_types::pem::{Error as PemError, PemObject as _};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Why files are not a key with its certificate.
#[derive(Debug, thiserror::Error)]
pub enum SiteKeyError {
    /// The certificate cannot be read.
    #[error("site certificate {}: {}", path.display(), missing_pem(source, "CERTIFICATE"))]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: PemError,
    },
    /// The key cannot be read.
    #[error("site key {}: {}", path.display(), missing_pem(source, "PRIVATE KEY"))]
    Key {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: PemError,
    },
    /// The key is not an RSA key, or has a length that aws-lc refuses.
    #[error(
        "site key {}: it is not an RSA key of 2048 to 8192 bits (PKCS #8 or PKCS #1 in PEM); firmware takes no other kind of key: \
         openssl req -x509 -newkey rsa:2048 makes one, with a certificate",
        .0.display()
    )]
    NotRsa(PathBuf),
    /// The files can be read, but not used.
    #[error("site key {} with certificate {}: {source}", key.display(), certificate.display())]
    Unusable {
        /// The key's file.
        key: PathBuf,
        /// The certificate's file.
        certificate: PathBuf,
        /// The reason.
        source: SignError,
    },
    /// Only one of the two files is given.
    #[error("--site-key and --site-certificate go together: give both, or neither")]
    Half,
}

/// A key with its certificate.
pub struct SiteKeyPair {
    certificate: SiteCertificate,
    key: RsaKeyPair,
}

impl SiteKeyPair {
    /// Reads the files that the user gives: both, or neither.
    pub fn from_options(key: Option<&Path>, certificate: Option<&Path>) -> Result<Option<Self>, SiteKeyError> {
        match (key, certificate) {
            (None, None) => Ok(None),
            (Some(key), Some(certificate)) => Self::from_files(key, certificate).map(Some),
            (Some(_), None) | (None, Some(_)) => Err(SiteKeyError::Half),
        }
    }

    /// Reads PEM files, and checks that the key belongs to the certificate.
    fn from_files(key: &Path, certificate: &Path) -> Result<Self, SiteKeyError> {
        let unusable =
            |source| SiteKeyError::Unusable { key: key.to_owned(), certificate: certificate.to_owned(), source };
        let read = CertificateDer::from_pem_file(certificate);
        let read = read.map_err(|source| SiteKeyError::Certificate { path: certificate.to_owned(), source })?;
        let parsed = SiteCertificate::from_der(read.to_vec()).map_err(unusable)?;
        let private = PrivateKeyDer::from_pem_file(key);
        let private = private.map_err(|source| SiteKeyError::Key { path: key.to_owned(), source })?;
        let pair = match &private {
            PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            _ => return Err(SiteKeyError::NotRsa(key.to_owned())),
        };
        // The reason of a rejected key says nothing that a user can act on.
        let pair = Self { certificate: parsed, key: pair.map_err(|_| SiteKeyError::NotRsa(key.to_owned()))? };
        let signature = pair.sign(b"dayone").map_err(unusable)?;
        pair.certificate.verify(b"dayone", &signature).map_err(unusable)?;
        Ok(pair)
    }
}

impl SiteKey for SiteKeyPair {
    fn certificate(&self) -> &SiteCertificate {
        &self.certificate
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        let mut signature = vec![0; self.key.public_modulus_len()];
        let signed = self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature);
        signed.map_err(|_| SignError::Unusable("the RSA operation failed"))?;
        Ok(signature)
    }
}

impl fmt::Debug for SiteKeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SiteKeyPair").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}
