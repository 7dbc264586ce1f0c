//! A change to a few bytes of a base.

use std::fmt;

use bytes::Bytes;

use super::Counter;

/// New bytes at an offset of a base. A patch never changes the base's length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The offset in the base, in bytes.
    pub offset: u64,
    /// The new bytes.
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

    /// The offset of the first byte after the patch, at most `u64::MAX`.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.content.len())
    }
}

/// The bytes of a patch.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// These bytes.
    Bytes(Bytes),
    /// This number of zero bytes, which take no memory.
    Zeros(u64),
    /// Ascending numbers, which take no memory either.
    Counter(Counter),
}

impl Content {
    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Zeros(length) => *length,
            Self::Counter(counter) => counter.len(),
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Content {
    /// Lengths only, because embedded files contain keys and passwords.
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
