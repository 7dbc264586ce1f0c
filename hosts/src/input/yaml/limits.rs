//! The limits of what one call may read.

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
    /// Values that dayone makes of others, again for each host that gets them: of a template, of a policy, of an inventory with ranges
    /// and groups. A host of a fleet has 50 to 100.
    pub(in crate::input) copied_values: usize,
    /// Bytes of text in these values, and of tables and inventories, again for each fleet that reads them.
    pub(in crate::input) copied_bytes: usize,
}

impl Limits {
    /// How many levels of collections a document may have.
    pub(in crate::input) const DEPTH: usize = 128;
    /// Unpacked bytes of a text in another document. Kubernetes stores less than a quarter of that in a Secret.
    pub(in crate::input) const EMBEDDED_TEXT: usize = 4 << 20;

    /// For a request: a thousand hosts with their Secrets, 4 KB each; or a fleet of ten thousand hosts with 200 values each.
    pub const REQUEST: Self = Self {
        text: 4 << 20,
        documents: 20_000,
        values: 500_000,
        bytes: 32 << 20,
        copied_values: 2_000_000,
        copied_bytes: 128 << 20,
    };
    /// For a user's own files: a hundred thousand hosts.
    pub const FILES: Self = Self {
        text: 256 << 20,
        documents: 1_000_000,
        values: 20_000_000,
        bytes: 1 << 30,
        copied_values: 20_000_000,
        copied_bytes: 2 << 30,
    };
}
