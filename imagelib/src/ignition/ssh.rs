//! SSH public keys as they stand in `authorized_keys`.

use std::str::FromStr;

use base64::prelude::*;
use serde::{Deserialize, Serialize};

use vocabulary::checked_text;

/// Why a text is not a public key. The text is not shown: it may be a private one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SshPublicKeyError {
    /// More than one line.
    #[error("an SSH public key is one line; this has several, or control characters")]
    Lines,
    /// A private key.
    #[error("this is a private SSH key; give the public one (the file that ends in .pub), and replace this key")]
    Private,
    /// Something else, or a part of a key.
    #[error("this is not an SSH public key (such as \"ssh-ed25519 AAAA… comment\"), or a part of it is missing")]
    NotAKey,
}

/// One line of an `authorized_keys` file (`sshd(8)`): options if any, key type, key, comment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SshPublicKey(String);

checked_text!(SshPublicKey, SshPublicKeyError);

impl SshPublicKey {
    /// The type and the key itself, without options and comment.
    pub(crate) fn material(&self) -> (&str, &str) {
        material(&self.0).unwrap_or(("", &self.0))
    }
}

/// The type and the key itself in a line of an `authorized_keys` file.
pub(super) fn material(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(' ').peekable();
    while let Some(kind) = words.next() {
        if let Some(key) = words.peek().filter(|key| is_of_kind(kind, key)) {
            return Some((kind, key));
        }
    }
    None
}

impl FromStr for SshPublicKey {
    type Err = SshPublicKeyError;

    fn from_str(text: &str) -> Result<Self, SshPublicKeyError> {
        let line = text.trim();
        if line.contains("PRIVATE KEY") {
            return Err(SshPublicKeyError::Private);
        }
        if line.chars().any(char::is_control) {
            return Err(SshPublicKeyError::Lines);
        }
        if material(line).is_some() { Ok(Self(line.to_owned())) } else { Err(SshPublicKeyError::NotAKey) }
    }
}

/// Whether `key` is a key of type `kind`: RFC 4253 §6.6 puts the type into the key, as its first string.
fn is_of_kind(kind: &str, key: &str) -> bool {
    let known = ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"].iter().any(|prefix| kind.starts_with(prefix));
    let Some(blob) = BASE64_STANDARD.decode(key).ok().filter(|_| known) else { return false };
    let Some((length, rest)) = blob.split_first_chunk::<4>() else { return false };
    let length = u32::from_be_bytes(*length) as usize;
    rest.get(..length).is_some_and(|inner| inner == kind.as_bytes()) && whole_strings(rest.get(length..))
}

/// Whether there are one or more strings, each with its length before it, and nothing else.
fn whole_strings(bytes: Option<&[u8]>) -> bool {
    let mut rest = bytes.unwrap_or_default();
    let mut count = 0;
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let Some(next) = after.get(u32::from_be_bytes(*length) as usize..) else { return false };
        rest = next;
        count += 1;
    }
    count > 0 && rest.is_empty()
}
