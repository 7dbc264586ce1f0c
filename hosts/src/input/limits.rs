//! How much is read at once.

/// How much one call may read, all texts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one text, unpacked.
    pub(super) text: usize,
    /// Documents of one text. A host with its Secrets is three.
    pub(super) documents: usize,
    /// Values: a host has 100 to 300.
    pub(super) values: usize,
    /// Bytes of text to parse, and of text in values after aliases have been resolved.
    pub(super) bytes: usize,
}

impl Limits {
    /// How many levels of collections a document may have.
    pub(super) const DEPTH: usize = 128;
    /// Bytes of a text that another document holds, unpacked: Kubernetes stores less than a quarter of it in a Secret.
    pub(super) const HELD: usize = 4 << 20;

    /// Of what somebody sends: a thousand hosts with their Secrets, at 4 KB each.
    pub const REQUEST: Self = Self { text: 4 << 20, documents: 20_000, values: 500_000, bytes: 32 << 20 };
    /// Of a user's own files: ten times ten thousand hosts.
    pub const FILES: Self = Self { text: 256 << 20, documents: 1_000_000, values: 20_000_000, bytes: 1 << 30 };
}
