//! Texts that are stored inline if they are short.

use std::cmp::Ordering;

const INLINE: usize = 22;

/// The text of a step. Nearly all keys of documents are short, so that the path of a member needs no allocation for its key.
#[derive(Debug, Clone)]
pub(super) enum Name {
    Short([u8; INLINE], u8),
    Long(Box<str>),
}

impl Name {
    pub(super) fn new(text: &str) -> Self {
        let mut bytes = [0; INLINE];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(start), Ok(length)) => {
                start.copy_from_slice(text.as_bytes());
                Self::Short(bytes, length)
            }
            _ => Self::Long(text.into()),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Short(bytes, length) => {
                bytes.get(..usize::from(*length)).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default()
            }
            Self::Long(text) => text,
        }
    }

    /// Returns the bytes, whose order is that of the texts. Comparing them saves the validation of UTF-8.
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Short(bytes, length) => bytes.get(..usize::from(*length)).unwrap_or_default(),
            Self::Long(text) => text.as_bytes(),
        }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}
