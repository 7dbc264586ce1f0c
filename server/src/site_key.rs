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
    /// A file has no certificate or key in PEM.
    #[error("site {what} {}: {problem}", path.display())]
    Content {
        /// What the file should have.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: NoItem,
    },
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

/// Why a file has no item that dayone looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoItem {
    /// It is encrypted.
    #[error(
        "the key has a passphrase, and dayone cannot ask for it; write the key without one: openssl pkey -in FILE -out NEW, and \
         restrict who can read it"
    )]
    Passphrase,
    /// It is binary.
    #[error(
        "this is not PEM, but probably DER; convert it: openssl x509 -inform der -in FILE -out NEW, or openssl pkey for a key"
    )]
    Der,
    /// It is text of another kind.
    #[error("this is not PEM: it has no line such as -----BEGIN CERTIFICATE----- or -----BEGIN PRIVATE KEY-----")]
    NotPem,
    /// It is PEM of something else.
    #[error(
        "this is PEM, but of something else: a certificate begins with -----BEGIN CERTIFICATE-----, a key with -----BEGIN PRIVATE KEY-----"
    )]
    OtherPem,
}

impl NoItem {
    /// What is in a file in which no certificate and no key was found.
    fn of(content: &[u8]) -> Self {
        let has = |words: &[u8]| content.windows(words.len()).any(|window| window == words);
        // The first is PKCS #8, the second the older form of OpenSSL.
        if has(b"-----BEGIN ENCRYPTED PRIVATE KEY-----") || has(b"Proc-Type: 4,ENCRYPTED") {
            Self::Passphrase
        } else if has(b"-----BEGIN ") {
            Self::OtherPem
        } else if content.first() == Some(&DER_SEQUENCE) {
            Self::Der
        } else {
            Self::NotPem
        }
    }
}

/// The first byte of every certificate and key in DER: a SEQUENCE.
const DER_SEQUENCE: u8 = 0x30;

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
        let content = read(certificate, |path, source| SiteKeyError::Certificate { path, source })?;
        let read_certificate = CertificateDer::from_pem_slice(&content);
        let der = read_certificate.map_err(|source| match source {
            PemError::NoItemsFound => no_item("certificate", certificate, &content),
            source => SiteKeyError::Certificate { path: certificate.to_owned(), source },
        })?;
        let parsed = SiteCertificate::from_der(der.to_vec()).map_err(unusable)?;
        let content = read(key, |path, source| SiteKeyError::Key { path, source })?;
        let problem = NoItem::of(&content);
        let private = PrivateKeyDer::from_pem_slice(&content);
        let private = private.map_err(|source| match source {
            // Of the older form, what follows the headers is not a key.
            _ if problem == NoItem::Passphrase => no_item("key", key, &content),
            PemError::NoItemsFound => no_item("key", key, &content),
            source => SiteKeyError::Key { path: key.to_owned(), source },
        })?;
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

fn read(path: &Path, error: impl Fn(PathBuf, PemError) -> SiteKeyError) -> Result<Vec<u8>, SiteKeyError> {
    std::fs::read(path).map_err(|source| error(path.to_owned(), PemError::Io(source)))
}

fn no_item(what: &'static str, path: &Path, content: &[u8]) -> SiteKeyError {
    SiteKeyError::Content { what, path: path.to_owned(), problem: NoItem::of(content) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_file_without_a_key_is_said() {
        for (content, expected) in [
            (&b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII"[..], NoItem::Passphrase),
            (b"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", NoItem::Passphrase),
            (b"-----BEGIN PUBLIC KEY-----\n", NoItem::OtherPem),
            (b"\x30\x82\x03\x01", NoItem::Der),
            (b"ssh-rsa AAAA", NoItem::NotPem),
            (b"", NoItem::NotPem),
        ] {
            assert_eq!(NoItem::of(content), expected);
        }
    }

    #[test]
    fn the_file_and_what_is_wrong_with_it_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let (key, certificate) = (directory.path().join("key"), directory.path().join("certificate"));
        let made = rcgen::generate_simple_self_signed(vec!["site".to_owned()]).unwrap();
        std::fs::write(&certificate, made.cert.der()).unwrap();
        std::fs::write(&key, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII=\n-----END ENCRYPTED PRIVATE KEY-----\n")
            .unwrap();
        let error = || SiteKeyPair::from_options(Some(&key), Some(&certificate)).unwrap_err().to_string();
        assert!(error().contains("certificate: this is not PEM, but probably DER"), "{}", error());
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        assert!(error().contains("the key in the certificate is of another kind"), "{}", error());
    }
}
