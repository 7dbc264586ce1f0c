//! Entries as lines, each with the hash of the entry before it.
//!
//! The hash of an entry covers the 32 bytes of the hash before it, and the bytes of its line up to the member `hash`. So it covers the
//! line as it is in the file, and no two forms of a line have the same hash.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The hash of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ChainHash([u8; 32]);

/// Why a text is not a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the hash must have 64 lower-case hexadecimal digits")]
pub struct NotAHash;

impl ChainHash {
    /// What the first entry of a chain has as the hash before it.
    const ZERO: Self = Self([0; 32]);

    fn of(previous: &Self, content: &[u8]) -> Self {
        Self(Sha256::new().chain_update(previous.0).chain_update(content).finalize().into())
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ChainHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let bytes = HEXLOWER.decode(text.as_bytes()).map_err(|_| NotAHash)?;
        bytes.try_into().map(Self).map_err(|_| NotAHash)
    }
}

impl Serialize for ChainHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ChainHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The end of a chain: the number of its last entry, and the hash of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) sequence: u64,
    pub(super) hash: ChainHash,
}

impl Link {
    /// The end of a chain without entries.
    pub(super) const START: Self = Self { sequence: 0, hash: ChainHash::ZERO };
}

/// Completes the text of an entry, a JSON object that is not empty, to a line, and returns the line with the hash.
pub(super) fn seal(content: &str, previous: &ChainHash) -> (String, ChainHash) {
    let open = content.strip_suffix('}').unwrap_or(content);
    let hash = ChainHash::of(previous, open.as_bytes());
    (format!("{open}{MEMBER}{hash}\"}}\n"), hash)
}

const MEMBER: &str = ",\"hash\":\"";
/// How many bytes of a line come after what the hash covers: the member, 64 digits, and the end of the object.
const AFTER: usize = MEMBER.len() + 64 + 2;

/// The members of an entry that make the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Chained {
    pub(super) sequence: u64,
    /// The hash of the entry before it.
    pub(super) previous: ChainHash,
    /// The hash of this entry.
    pub(super) hash: ChainHash,
}

impl Chained {
    /// Reads a line without its end. None if it is not an entry whose hash is right.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let chained = Self::read_unchecked(line)?;
        let content = line.get(..line.len().checked_sub(AFTER)?)?;
        (ChainHash::of(&chained.previous, content) == chained.hash).then_some(chained)
    }

    /// Reads a line that looks like an entry, whatever its hash.
    pub(super) fn read_unchecked(line: &[u8]) -> Option<Self> {
        let after = line.get(line.len().checked_sub(AFTER)?..)?;
        let digits = after.strip_prefix(MEMBER.as_bytes())?.strip_suffix(b"\"}")?;
        let hash: ChainHash = std::str::from_utf8(digits).ok()?.parse().ok()?;
        let chained: Self = serde_json::from_slice(line).ok()?;
        (chained.hash == hash).then_some(chained)
    }

    /// The end of the chain after this entry.
    pub(super) fn link(&self) -> Link {
        Link { sequence: self.sequence, hash: self.hash }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn content(sequence: u64, previous: &ChainHash) -> String {
        format!("{{\"sequence\":{sequence},\"previous\":\"{previous}\",\"host\":\"a\"}}")
    }

    #[test]
    fn a_sealed_entry_is_read_again() {
        let (line, hash) = seal(&content(1, &ChainHash::ZERO), &ChainHash::ZERO);
        let read = Chained::read(line.trim_end().as_bytes()).unwrap();
        assert_eq!((read.sequence, read.previous, read.hash), (1, ChainHash::ZERO, hash));
        let (next, other) = seal(&content(2, &hash), &hash);
        assert_ne!(hash, other);
        assert_eq!(Chained::read(next.trim_end().as_bytes()).unwrap().previous, hash);
        assert_eq!(Chained::read(b""), None);
        assert!("AB".repeat(32).parse::<ChainHash>().is_err(), "one form only");
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_found(position in 0_usize..1000, byte in any::<u8>()) {
            let (line, _) = seal(&content(7, &ChainHash([9; 32])), &ChainHash([9; 32]));
            let mut bytes = line.trim_end().as_bytes().to_vec();
            let position = position % bytes.len();
            prop_assume!(bytes[position] != byte);
            bytes[position] = byte;
            prop_assert_eq!(Chained::read(&bytes), None);
        }
    }
}
