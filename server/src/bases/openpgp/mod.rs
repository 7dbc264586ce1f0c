//! Detached GPG signatures of bases, and the keys that may make them.

mod certificate;
mod error;

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pgp::armor::Dearmor;
use pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::errors::Error as PgpError;
use pgp::packet::{Packet, PacketParser, Signature, SignatureType};

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
    /// The file has no key, and no revocation of a key that is known.
    #[error("it has no OpenPGP public key, and revokes none of the keys before it")]
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

    /// Adds keys, armored or not, and revocation certificates of keys. What it says about a key that is known already is added to what
    /// is known of it, as gpg --import does: an older copy of a key does not hide that the key was revoked since.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), KeyringError> {
        let parse = |error: PgpError| KeyringError::Parse(reason(&error));
        let (mut keys, mut revocations) = (Vec::new(), Vec::new());
        for block in blocks(bytes) {
            let (found, _) = SignedPublicKey::from_reader_many(block).map_err(parse)?;
            for key in found {
                keys.push(key.map_err(parse)?);
            }
            revocations.extend(key_revocations(block).map_err(parse)?);
        }
        let mut known = Vec::clone(&self.0);
        let mut is_empty = keys.is_empty();
        for key in keys {
            match known.iter_mut().find(|certificate| certificate.is_of(&key)) {
                Some(certificate) => certificate.merge(key),
                None => known.push(Certificate::new(key)),
            }
        }
        for revocation in revocations {
            is_empty &= !known.iter_mut().any(|certificate| certificate.revoke(&revocation));
        }
        if is_empty {
            return Err(KeyringError::Empty);
        }
        self.0 = Arc::new(known);
        Ok(())
    }

    /// Checks that one of the keys has signed `data`, which is read to its end. Returns whose key it is.
    pub fn verify(&self, signature: &[u8], mut data: impl Read) -> Result<String, SignatureError> {
        let mut refusal = SignatureError::Parse("it is empty".to_owned());
        for signature in blocks(signature).into_iter().flat_map(signatures) {
            let checked = signature.as_ref().map_err(Clone::clone).and_then(|signature| {
                check(signature, SystemTime::now())?;
                Ok((signature, self.signer(signature)?))
            });
            match checked {
                // The data can be read only once: the first signature that could be good decides. gpg, too, refuses a file with a wrong one.
                Ok((signature, signer)) => return signer.verify(signature, &mut data),
                // A damaged block says less than a signature that was refused.
                Err(SignatureError::Parse(_)) if !matches!(refusal, SignatureError::Parse(_)) => {}
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
        return Err(SignatureError::Digest(
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

/// The signatures of a block, up to the first packet that is damaged.
fn signatures(block: &[u8]) -> Vec<Result<Signature, SignatureError>> {
    let parse = |error: PgpError| SignatureError::Parse(reason(&error));
    let found = match DetachedSignature::from_reader_many(block) {
        Ok((found, _)) => found,
        Err(error) => return vec![Err(parse(error))],
    };
    let mut signatures = Vec::new();
    for signature in found {
        let is_damaged = signature.is_err();
        signatures.push(signature.map(|detached| detached.signature).map_err(parse));
        if is_damaged {
            break;
        }
    }
    signatures
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

/// The revocations of whole keys in a block. They stand before the users of a key, or alone: `gpg --gen-revoke` makes such files.
fn key_revocations(block: &[u8]) -> Result<Vec<Signature>, PgpError> {
    let mut packets = Vec::new();
    if is_binary(block) {
        packets.extend_from_slice(block);
    } else {
        Dearmor::new(block).read_to_end(&mut packets)?;
    }
    // The reader of keys has judged damaged packets.
    let revocation = |packet| match packet {
        Ok(Packet::Signature(signature)) if signature.typ() == Some(SignatureType::KeyRevocation) => Some(signature),
        _ => None,
    };
    Ok(PacketParser::new(packets.as_slice()).filter_map(revocation).collect())
}

/// Whether these are packets, and not an armored block: the first bit of packets is set, and that of ASCII is not.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.first().is_none_or(|first| first & 0x80 != 0)
}

/// The armored blocks of a file, which may be several, one after the other; or the whole file, if it is not armored. Text before the first
/// block may begin with a byte order mark or with a letter outside ASCII, and packets may contain the text that begins a block.
fn blocks(bytes: &[u8]) -> Vec<&[u8]> {
    const BEGIN: &[u8] = b"-----BEGIN PGP ";
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    let starts: Vec<usize> =
        bytes.windows(BEGIN.len()).enumerate().filter(|(_, part)| *part == BEGIN).map(|(at, _)| at).collect();
    let begins_line =
        |start: &usize| bytes.get(..*start).is_some_and(|before| before == BYTE_ORDER_MARK || before.ends_with(b"\n"));
    if starts.is_empty() || is_binary(bytes) && !starts.iter().any(begins_line) {
        return vec![bytes];
    }
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    starts.iter().zip(ends).filter_map(|(start, end)| bytes.get(*start..end)).collect()
}

#[cfg(test)]
mod tests;
