//! A change to a few bytes of a base.

use std::fmt;

use bytes::Bytes;

use super::Counter;

/// What stands at an offset instead of the base's own bytes. A patch never changes the base's length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Where in the base it begins, in bytes.
    pub offset: u64,
    /// What stands there.
    pub content: Content,
}

impl Patch {
    /// Bytes at an offset.
    pub fn bytes(offset: u64, bytes: impl Into<Bytes>) -> Self {
        Self { offset, content: Content::Bytes(bytes.into()) }
    }

    /// Zeros at an offset.
    pub fn zeros(offset: u64, length: u64) -> Self {
        Self { offset, content: Content::Zeros(length) }
    }

    /// Where the base's own bytes go on. A patch past `u64::MAX`, which no base can hold, ends there.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.content.len())
    }
}

/// The bytes of a patch.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// These bytes.
    Bytes(Bytes),
    /// So many zero bytes, which nobody has to hold in memory.
    Zeros(u64),
    /// Numbers that count up, which nobody has to hold either.
    Counter(Counter),
}

impl Content {
    /// How many bytes it is.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Zeros(length) => *length,
            Self::Counter(counter) => counter.len(),
        }
    }

    /// Whether it is no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Content {
    /// Lengths only: what is embedded holds keys and passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::Zeros(length) => write!(f, "Zeros({length})"),
            Self::Counter(counter) => write!(f, "{counter:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_shows_its_length_and_never_its_bytes() {
        let patch = Patch::bytes(7, &b"psk=secret"[..]);
        assert_eq!(format!("{patch:?}"), "Patch { offset: 7, content: Bytes(10 bytes) }");
        assert_eq!(patch.end(), 17);
        assert_eq!(Patch::zeros(u64::MAX - 1, 3).end(), u64::MAX);
        assert!(Content::Zeros(0).is_empty());
    }
}
