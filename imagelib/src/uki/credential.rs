//! Credentials: data for systemd in files beside a unified kernel image (`systemd-creds(1)`, `systemd-stub(7)`).
//!
//! systemd takes such a file only if it is encrypted. Without a secret that dayone and the machine share, the key is the one that
//! everybody knows (`systemd-creds encrypt --with-key=null`; systemd, `src/shared/creds-util.c`): the file hides nothing, and proves
//! nothing. The same content always has the same bytes.

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{Aes256Gcm, KeyInit, Nonce};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::addon::companions_directory;

/// The credential whose lines `systemd-tmpfiles` reads beside its configuration (`tmpfiles.d(5)`).
const NAME: &str = "tmpfiles.extra";
/// systemd reads no larger ones, in bytes (`CREDENTIAL_SIZE_MAX`; the file in base64 may have four times as many).
const MAX_BYTES: usize = 1 << 20;

/// The key that everybody knows (`CRED_AES256_GCM_BY_NULL`, in older releases `…_BY_TPM2_ABSENT`).
const NULL_KEY: [u8; 16] = *b"\x05\x84\x69\xda\xf6\xf5\x43\x24\x80\x05\x49\xda\x0f\x8e\xa2\xfb";
/// The sizes of a key, a block, an initialisation vector and a tag, in bytes.
const SIZES: [u32; 4] = [32, 1, 12, 16];
const VECTOR: usize = 12;
/// No time limit.
const NEVER: u64 = u64::MAX;

/// The path of dayone's credential for the unified kernel image at a path.
pub(crate) fn credential_path(uki: &str) -> String {
    format!("{}/{NAME}.cred", companions_directory(uki))
}

/// The kernel argument that has the credential in place of a file. It needs no key, because the addon that has the argument is
/// signed.
pub(crate) fn credential_argument(lines: &str) -> String {
    format!("systemd.set_credential_binary={NAME}:{}", STANDARD.encode(lines))
}

/// The file with the credential. `None` if systemd would not read it, because it is too large.
pub(crate) fn credential_file(lines: &str) -> Option<Vec<u8>> {
    // Two contents must not have the same vector.
    let digest = Sha256::digest(lines);
    let vector = digest.get(..VECTOR)?;
    let header = header(vector);
    let cipher = Aes256Gcm::new_from_slice(&Sha256::digest(b"")).ok()?;
    let payload = Payload { msg: &plain(lines)?, aad: &header };
    let encrypted = cipher.encrypt(Nonce::from_slice(vector), payload).ok()?;
    let all = [header, encrypted].concat();
    (all.len() <= MAX_BYTES).then(|| STANDARD.encode(all).into_bytes())
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
