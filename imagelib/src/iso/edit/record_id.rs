//! Where the records of directories are.

/// A directory of one of the trees, by its place in [`Image::directories`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DirectoryId(pub(super) usize);

/// A record, by its directory and by where it begins in that directory's bytes.
pub(super) type RecordId = (DirectoryId, usize);
