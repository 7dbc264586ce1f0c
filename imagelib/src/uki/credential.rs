//! Credentials: data for systemd in files beside a unified kernel image (`systemd-creds(1)`, `systemd-stub(7)`).
//!
//! systemd takes such a file only if it is encrypted. Without a secret that dayone and the machine share, the key is the one that
//! everybody knows (`systemd-creds encrypt --with-key=null`; systemd, `src/shared/creds-util.c`): the file hides nothing, and proves
//! nothing. The same content always has the same bytes.

use std::ops::Range;

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{Aes256Gcm, KeyInit, Nonce};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::addon::companions_directory;
use crate::source::Source;

/// The credential whose lines `systemd-tmpfiles` reads beside its configuration (`tmpfiles.d(5)`).
const NAME: &str = "tmpfiles.extra";
/// The name of its file.
pub(crate) const CREDENTIAL_NAME: &str = "tmpfiles.extra.cred";
/// systemd leaves out the files with which all of them together would be larger, in bytes (`credential_size_ok` in
/// `src/core/import-creds.c`).
pub(crate) const MAX_CREDENTIAL_BYTES: u64 = 1 << 20;

/// The key that everybody knows (`CRED_AES256_GCM_BY_NULL`, in older releases `…_BY_TPM2_ABSENT`).
const NULL_KEY: [u8; 16] = *b"\x05\x84\x69\xda\xf6\xf5\x43\x24\x80\x05\x49\xda\x0f\x8e\xa2\xfb";
/// The sizes of a key, a block, an initialisation vector and a tag, in bytes.
const SIZES: [u32; 4] = [32, 1, 12, 16];
const VECTOR: usize = 12;
/// Where the vector begins.
const VECTOR_AT: usize = 32;
/// No time limit.
const NEVER: u64 = u64::MAX;

/// The path of dayone's credential for the unified kernel image at a path.
pub(crate) fn credential_path(uki: &str) -> String {
    format!("{}/{CREDENTIAL_NAME}", companions_directory(uki))
}

/// The kernel argument that has the credential in place of a file. It needs no key, because the addon that has the argument is
/// signed.
pub(crate) fn credential_argument(lines: &str) -> String {
    format!("systemd.set_credential_binary={NAME}:{}", STANDARD.encode(lines))
}

/// What makes systemd ignore dayone's credential, if one of these kernel arguments does: it takes the first one of a name, and those of
/// arguments before those of files.
pub(crate) fn hides_credential(arguments: &[String]) -> Option<&str> {
    let hides = |argument: &&String| {
        let (key, value) = argument.split_once('=').unwrap_or((argument, "yes"));
        match key.replace('_', "-").as_str() {
            "systemd.import-credentials" | "rd.systemd.import-credentials" => {
                !matches!(value.to_ascii_lowercase().as_str(), "1" | "yes" | "y" | "true" | "t" | "on")
            }
            "systemd.set-credential" | "systemd.set-credential-binary" => value.split(':').next() == Some(NAME),
            _ => false,
        }
    };
    arguments.iter().find(hides).map(String::as_str)
}

/// Whether dayone has written the file at these ranges. What others write was made at some time.
pub(crate) fn is_credential_of_dayone(source: &dyn Source, extents: &[Range<u64>]) -> bool {
    let length = |range: &Range<u64>| range.end.saturating_sub(range.start);
    if extents.iter().map(length).fold(0, u64::saturating_add) > MAX_CREDENTIAL_BYTES {
        return false;
    }
    let opened = || {
        let read = |range: &Range<u64>| source.read_vec(range.start, length(range)).ok();
        let bytes = STANDARD.decode(extents.iter().map(read).collect::<Option<Vec<_>>>()?.concat()).ok()?;
        let header = header(bytes.get(VECTOR_AT..VECTOR_AT + VECTOR)?);
        let encrypted = bytes.strip_prefix(header.as_slice())?;
        let cipher = Aes256Gcm::new_from_slice(&Sha256::digest(b"")).ok()?;
        let nonce = Nonce::from_slice(bytes.get(VECTOR_AT..VECTOR_AT + VECTOR)?);
        cipher.decrypt(nonce, Payload { msg: encrypted, aad: &header }).ok()
    };
    opened().zip(plain("")).is_some_and(|(content, beginning)| content.starts_with(&beginning))
}

/// The file with the credential. `None` if systemd would not read it, because there are so many bytes in other ones.
pub(crate) fn credential_file(lines: &str, others: u64) -> Option<Vec<u8>> {
    // Two contents must not have the same vector.
    let digest = Sha256::digest(lines);
    let vector = digest.get(..VECTOR)?;
    let header = header(vector);
    let cipher = Aes256Gcm::new_from_slice(&Sha256::digest(b"")).ok()?;
    let payload = Payload { msg: &plain(lines)?, aad: &header };
    let encrypted = cipher.encrypt(Nonce::from_slice(vector), payload).ok()?;
    let file = STANDARD.encode([header, encrypted].concat()).into_bytes();
    (others.saturating_add(file.len() as u64) <= MAX_CREDENTIAL_BYTES).then_some(file)
}

/// What everybody can read.
fn header(vector: &[u8]) -> Vec<u8> {
    let mut header = NULL_KEY.to_vec();
    header.extend(SIZES.into_iter().flat_map(u32::to_le_bytes));
    header.extend(vector);
    pad(&mut header);
    header
}

/// What is encrypted: when it was made, until when it is valid, its name, and its content.
fn plain(lines: &str) -> Option<Vec<u8>> {
    let mut plain = [0, NEVER].map(u64::to_le_bytes).concat();
    plain.extend(u32::try_from(NAME.len()).ok()?.to_le_bytes());
    plain.extend(NAME.as_bytes());
    pad(&mut plain);
    plain.extend(lines.as_bytes());
    Some(plain)
}

/// The next part begins at a multiple of 8.
fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}
