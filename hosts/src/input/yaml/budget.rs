//! How much one call may read.

use super::Problem;

/// How much one call may read, all texts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one text, unpacked.
    pub(in crate::input) text: usize,
    /// Documents of one text. A host with its Secrets has three.
    pub(in crate::input) documents: usize,
    /// Values. A host has 100 to 300.
    pub(in crate::input) values: usize,
    /// Bytes of text to parse, and of text in values after the aliases are resolved.
    pub(in crate::input) bytes: usize,
}

impl Limits {
    /// How many levels of collections a document may have.
    pub(in crate::input) const DEPTH: usize = 128;
    /// Unpacked bytes of a text in another document. Kubernetes stores less than a quarter of that in a Secret.
    pub(in crate::input) const EMBEDDED_TEXT: usize = 4 << 20;

    /// For a request: a thousand hosts with their Secrets, 4 KB each.
    pub const REQUEST: Self = Self { text: 4 << 20, documents: 20_000, values: 500_000, bytes: 32 << 20 };
    /// For a user's own files: a hundred thousand hosts.
    pub const FILES: Self = Self { text: 256 << 20, documents: 1_000_000, values: 20_000_000, bytes: 1 << 30 };
}

/// What is left of the limits of one call. Documents in a stream and documents that these contain as text share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::input) struct Budget {
    limits: Limits,
    values: usize,
    bytes: usize,
    /// Whether a reader ever needed more than was left.
    ran_out: bool,
}

impl Budget {
    pub(in crate::input) fn within(limits: Limits) -> Self {
        Self { limits, values: limits.values, bytes: limits.bytes, ran_out: false }
    }

    pub(in crate::input) fn limits(&self) -> Limits {
        self.limits
    }

    pub(in crate::input) fn take_bytes(&mut self, count: usize) -> Result<(), Problem> {
        self.take((0, count))
    }

    /// Takes values and bytes out of the budget. It is an error if it has fewer.
    pub(super) fn take(&mut self, (values, bytes): (usize, usize)) -> Result<(), Problem> {
        match (self.values.checked_sub(values), self.bytes.checked_sub(bytes)) {
            (Some(values), Some(bytes)) => (self.values, self.bytes) = (values, bytes),
            _ => {
                self.ran_out = true;
                return Err(Problem::too_much());
            }
        }
        Ok(())
    }

    /// Returns how many values and bytes were taken since the budget was `before`.
    pub(super) fn used_since(&self, before: &Self) -> (usize, usize) {
        (before.values.saturating_sub(self.values), before.bytes.saturating_sub(self.bytes))
    }

    /// Returns an equal share for each of `count` readers.
    pub(super) fn share(&self, count: usize) -> Self {
        Self { values: self.values / count.max(1), bytes: self.bytes / count.max(1), ran_out: false, ..*self }
    }

    /// Takes out what a reader has used of its share. Returns nothing if the reader needed more than the share.
    pub(super) fn take_used(&mut self, share: &Self, left: &Self) -> Option<()> {
        self.take(left.used_since(share)).ok()?;
        (!left.ran_out).then_some(())
    }
}
