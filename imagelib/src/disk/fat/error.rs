//! Errors about FAT file systems.

use std::io;

/// Why a FAT file system cannot be read, edited or made. Sizes and limits are in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FatError {
    /// Reading the image failed.
    #[error("the FAT file system cannot be read: {0}")]
    Read(#[source] io::Error),
    /// The image is not a FAT file system, for this reason.
    #[error("not a FAT file system: {0}")]
    NotFat(&'static str),
    /// The file system is inconsistent, for this reason.
    #[error("the FAT file system is damaged: {0}; check it with fsck.fat")]
    Damaged(&'static str),
    /// The image is shorter than its file system.
    #[error("the FAT file system is incomplete: it takes {expected} bytes, its image has {actual}")]
    Incomplete {
        /// The size of the file system.
        expected: u64,
        /// The size of the image.
        actual: u64,
    },
    /// A structure is larger than in any real image.
    #[error("the {what} of the FAT file system take more than {limit} bytes, which is more than dayone reads")]
    TooLarge {
        /// The structure, in the plural.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// FAT cannot have this name.
    #[error("{name:?} cannot be a name in a FAT file system: {reason}")]
    Name {
        /// The name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// Two names differ only in their case, or a file is in the place of a directory.
    #[error("{0:?} is in the FAT file system twice: names that differ only in upper and lower case are the same there")]
    Twice(String),
    /// A file or a directory that an edit needs does not exist.
    #[error("the FAT file system has no {kind} {path:?}")]
    NotFound {
        /// `file` or `directory`.
        kind: &'static str,
        /// Its path.
        path: String,
    },
    /// A directory has records behind its end. With its path; empty for the root directory.
    #[error(
        "the directory \"/{0}\" in the FAT file system is damaged: records follow its end, and a new file would make them \
         visible; make the file system anew"
    )]
    RecordsBehindEnd(String),
    /// The file system has not enough room.
    #[error("the FAT file system is full: {needed} more bytes are needed, {free} are free")]
    Full {
        /// The number of bytes that the edits need.
        needed: u64,
        /// The number of free bytes.
        free: u64,
    },
    /// The root directory is full. In FAT12 and FAT16 it cannot grow.
    #[error("the directory of {0:?} in the FAT file system has no room for another file")]
    DirectoryFull(String),
    /// The file has 4 GiB or more, or the file system 2 TiB or more.
    #[error("{0:?} is larger than FAT allows: files are smaller than 4 GiB, file systems than 2 TiB")]
    FileTooLarge(String),
    /// Editing failed.
    #[error("{path:?} in the FAT file system cannot be written: {source}")]
    Edit {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
}
