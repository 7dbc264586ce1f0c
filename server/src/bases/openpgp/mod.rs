//! Detached GPG signatures of bases, and the keys that may make them.

mod certificate;
mod error;

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::errors::Error as PgpError;
use pgp::packet::{Signature, SignatureType};

use certificate::{Certificate, end, time};
pub use error::SignatureError;

/// The keys with which Fedora and Red Hat sign releases of CoreOS.
const BUNDLED: &str = include_str!("coreos-keys.asc");

/// The largest file of keys that dayone reads, in bytes.
const MAX_KEYS_BYTES: u64 = 4 << 20;

/// How far a publisher's clock may be ahead.
const AHEAD: Duration = Duration::from_hours(1);

/// Why keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The file cannot be read.
    #[error("cannot read it: {0}")]
    Read(#[from] io::Error),
    /// The file has no key.
    #[error("it has no OpenPGP public key")]
    Empty,
    /// The file is damaged, or something else.
    #[error("it does not hold OpenPGP public keys: {0}")]
    Parse(String),
}

/// The keys that may sign bases. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Keyring(Arc<Vec<Certificate>>);

impl Keyring {
    /// The keys of Fedora and Red Hat.
    pub fn bundled() -> Self {
        let mut keys = Self::default();
        // A test reads them.
        let _ = keys.add(BUNDLED.as_bytes());
        keys
    }

    /// Adds the keys of a file, armored or not.
    pub fn add_file(&mut self, path: &Path) -> Result<(), KeyringError> {
        self.add(&crate::store::read_limited(path, MAX_KEYS_BYTES)?)
    }

    /// Adds keys, armored or not.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), KeyringError> {
        let mut found = Vec::new();
        for block in blocks(bytes) {
            let parse = |error: PgpError| KeyringError::Parse(reason(&error));
            let (keys, _) = SignedPublicKey::from_reader_many(block).map_err(parse)?;
            for key in keys {
                found.push(Certificate::new(key.map_err(parse)?));
            }
        }
        if found.is_empty() {
            return Err(KeyringError::Empty);
        }
        Arc::make_mut(&mut self.0).extend(found);
        Ok(())
    }

    /// Checks that one of the keys has signed `data`, which is read to its end. Returns whose key it is.
    pub fn verify(&self, signature: &[u8], mut data: impl Read) -> Result<String, SignatureError> {
        let parse = |error: PgpError| SignatureError::Parse(reason(&error));
        let (signatures, _) = DetachedSignature::from_reader_many(signature).map_err(parse)?;
        let mut refusal = SignatureError::Parse("it is empty".to_owned());
        for signature in signatures {
            let signature = signature.map_err(parse)?.signature;
            let checked = check(&signature, SystemTime::now()).and_then(|()| self.signer(&signature));
            match checked {
                // The data can be read only once: the first signature that could be good decides.
                Ok(signer) => return signer.verify(&signature, &mut data),
                Err(error) => refusal = error,
            }
        }
        Err(refusal)
    }

    fn signer(&self, signature: &Signature) -> Result<certificate::Signer<'_>, SignatureError> {
        let mut signers = self.0.iter().filter_map(|certificate| certificate.signer(signature));
        signers.next().unwrap_or_else(|| {
            let known: Vec<String> = self.0.iter().map(Certificate::describe).collect();
            Err(SignatureError::UnknownKey(issuer(signature), known.join(", ")))
        })
    }
}

/// Checks everything about a signature that depends on no key.
fn check(signature: &Signature, now: SystemTime) -> Result<(), SignatureError> {
    if signature.typ() != Some(SignatureType::Binary) {
        return Err(SignatureError::Kind);
    }
    let digest = signature.hash_alg();
    let strong = [
        HashAlgorithm::Sha256,
        HashAlgorithm::Sha384,
        HashAlgorithm::Sha512,
        HashAlgorithm::Sha3_256,
        HashAlgorithm::Sha3_512,
    ];
    if !digest.is_some_and(|digest| strong.contains(&digest)) {
        return Err(SignatureError::Weak(
            digest.map_or_else(|| "of an unknown kind".to_owned(), |digest| digest.to_string()),
        ));
    }
    let created = time(signature.created().ok_or(SignatureError::Kind)?);
    if created > now + AHEAD {
        return Err(SignatureError::Future);
    }
    let expires = signature.signature_expiration_time().and_then(|lifetime| end(created, lifetime));
    if expires.is_some_and(|end| end < now) { Err(SignatureError::Expired) } else { Ok(()) }
}

/// Why the packets cannot be read. Some texts of the library are for its developers: whole structures, and backtraces.
fn reason(error: &PgpError) -> String {
    let text = error.to_string();
    let is_plain = text.len() <= 100 && !text.contains(['{', '`', '\n']);
    if is_plain { text } else { "a packet in it is damaged, or of an unknown kind".to_owned() }
}

/// The key that a signature names.
fn issuer(signature: &Signature) -> String {
    let fingerprint = signature.issuer_fingerprint().first().map(ToString::to_string);
    let id = || signature.issuer_key_id().first().map(ToString::to_string);
    fingerprint.or_else(id).map_or_else(|| "which it does not name".to_owned(), |id| id.to_uppercase())
}

/// The armored blocks of a file, which may be several, one after the other; or the whole file, if it is not armored.
fn blocks(bytes: &[u8]) -> Vec<&[u8]> {
    const BEGIN: &[u8] = b"-----BEGIN PGP ";
    let starts: Vec<usize> =
        bytes.windows(BEGIN.len()).enumerate().filter(|(_, part)| *part == BEGIN).map(|(at, _)| at).collect();
    if starts.is_empty() {
        return vec![bytes];
    }
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    starts.iter().zip(ends).filter_map(|(start, end)| bytes.get(*start..end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_keys_are_those_of_the_documentation() {
        let known: Vec<String> = Keyring::bundled().0.iter().map(Certificate::describe).collect();
        assert_eq!(
            known,
            [
                "567E347AD0044ADE55BA8A5F199E2F91FD431D51 (Red Hat, Inc. (release key 2) <security@redhat.com>)",
                "36F612DCF27F7D1A48A835E4DBFCF71C6D9F90A6 (Fedora (44) <fedora-44-primary@fedoraproject.org>)",
                "4F50A6114CD5C6976A7F1179655A4B02F577861E (Fedora (45) <fedora-45-primary@fedoraproject.org>)",
                "D924B10D3E810DABDD8B56B596E7E91491211FCE (Fedora (46) <fedora-46-primary@fedoraproject.org>)",
            ]
        );
        let page = include_str!("../../../../docs/bases.md");
        for line in known {
            let (fingerprint, _) = line.split_once(' ').unwrap();
            assert!(page.contains(fingerprint), "docs/bases.md does not name {fingerprint}");
        }
    }

    #[test]
    fn errors_are_for_users() {
        let mut keys = Keyring::default();
        // A marker packet with other content than RFC 9580 §5.8 says, and a signature of an unknown version.
        for bytes in [&[0xca, 3, 46, 173, 96][..], &[0xc2, 2, 9, 9], &[0x99, 0xff, 0xff], &[0xff; 40]] {
            let read = keys.add(bytes).unwrap_err().to_string();
            let verified = Keyring::bundled().verify(bytes, &b"x"[..]).unwrap_err().to_string();
            for text in [read, verified] {
                assert!(text.len() < 200 && !text.contains('{') && !text.contains("backtrace"), "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_key_and_no_signature_is_refused() {
        let mut keys = Keyring::default();
        assert!(matches!(keys.add(b""), Err(KeyringError::Empty | KeyringError::Parse(_))));
        assert!(matches!(keys.add(b"hello"), Err(KeyringError::Empty | KeyringError::Parse(_))));
        for bad in [&b""[..], b"hello", BUNDLED.as_bytes()] {
            let error = Keyring::bundled().verify(bad, &b"x"[..]).unwrap_err();
            assert!(matches!(error, SignatureError::Parse(_)), "{error}");
        }
    }
}
