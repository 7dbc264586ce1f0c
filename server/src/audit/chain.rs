//! Entries as lines, each with the hash of the entry before it.
//!
//! The hash of an entry covers the 32 bytes of the hash before it, and the bytes of its line up to the member `hash`. So it covers the
//! line as it is in the file, and no two forms of a line have the same hash.

use imagelib::digest::Digest;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// What the first entry of a chain has as the hash before it.
const ZERO: Digest = Digest::from_bytes([0; 32]);

fn hash_of(previous: &Digest, content: &[u8]) -> Digest {
    Digest::finish(Sha256::new_with_prefix(previous.as_bytes()).chain_update(content))
}

/// The end of a chain: the number of its last entry, and the hash of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) sequence: u64,
    pub(crate) hash: Digest,
}

impl Link {
    /// The end of a chain without entries.
    pub(crate) const START: Self = Self { sequence: 0, hash: ZERO };
}

/// Completes the text of an entry, a JSON object that is not empty, to a line, and returns the line with the hash.
pub(crate) fn seal(content: &str, previous: &Digest) -> (String, Digest) {
    let open = content.strip_suffix('}').unwrap_or(content);
    let hash = hash_of(previous, open.as_bytes());
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
    pub(super) previous: Digest,
    /// The hash of this entry.
    pub(super) hash: Digest,
}

impl Chained {
    /// Reads a line without its end. None if it is not an entry whose hash is right.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let chained = Self::read_unchecked(line)?;
        let content = line.get(..line.len().checked_sub(AFTER)?)?;
        (hash_of(&chained.previous, content) == chained.hash).then_some(chained)
    }

    /// Reads a line that looks like an entry, whatever its hash.
    pub(super) fn read_unchecked(line: &[u8]) -> Option<Self> {
        let after = line.get(line.len().checked_sub(AFTER)?..)?;
        let digits = after.strip_prefix(MEMBER.as_bytes())?.strip_suffix(b"\"}")?;
        let hash: Digest = std::str::from_utf8(digits).ok()?.parse().ok()?;
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

    fn content(sequence: u64, previous: &Digest) -> String {
        format!("{{\"sequence\":{sequence},\"previous\":\"{previous}\",\"host\":\"a\"}}")
    }

    #[test]
    fn a_sealed_entry_is_read_again() {
        let (line, hash) = seal(&content(1, &ZERO), &ZERO);
        let read = Chained::read(line.trim_end().as_bytes()).unwrap();
        assert_eq!((read.sequence, read.previous, read.hash), (1, ZERO, hash));
        let (next, other) = seal(&content(2, &hash), &hash);
        assert_ne!(hash, other);
        assert_eq!(Chained::read(next.trim_end().as_bytes()).unwrap().previous, hash);
        assert_eq!(Chained::read(b""), None);
        assert!("AB".repeat(32).parse::<Digest>().is_err(), "one form only");
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_found(position in 0_usize..1000, byte in any::<u8>()) {
            let (line, _) = seal(&content(7, &Digest::from_bytes([9; 32])), &Digest::from_bytes([9; 32]));
            let mut bytes = line.trim_end().as_bytes().to_vec();
            let position = position % bytes.len();
            prop_assume!(bytes[position] != byte);
            bytes[position] = byte;
            prop_assert_eq!(Chained::read(&bytes), None);
        }
    }
}
