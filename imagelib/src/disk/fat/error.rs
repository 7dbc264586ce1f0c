//! What can be wrong with a FAT file system, and with what is to be put into one.

use std::io;

/// Why a FAT image cannot be read, edited or made. Offsets are in bytes from the beginning of the file system.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FatError {
    /// The image's bytes could not be read.
    #[error("the FAT file system cannot be read: {0}")]
    Read(#[source] io::Error),
    /// Something else than a FAT file system.
    #[error("not a FAT file system: {0}")]
    NotFat(&'static str),
    /// A file system that contradicts itself.
    #[error("the FAT file system is damaged: {0}; check it with fsck.fat")]
    Damaged(&'static str),
    /// The image is shorter than the file system it holds.
    #[error("the FAT file system is incomplete: it takes {expected} bytes, its image has {actual}")]
    Incomplete {
        /// How long the file system says it is.
        expected: u64,
        /// How long the image is.
        actual: u64,
    },
    /// More than any real image has.
    #[error("the {what} of the FAT file system take more than {limit} bytes, which is more than dayone reads")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// The bound.
        limit: u64,
    },
    /// A name that FAT cannot hold.
    #[error("{name:?} cannot be a name in a FAT file system: {reason}")]
    Name {
        /// The name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// Two names that differ only in their case, or a file where a directory is wanted.
    #[error("{0:?} is in the FAT file system twice: names that differ only in upper and lower case are the same there")]
    Twice(String),
    /// A file to be appended to, or a directory to be put into, that is not there.
    #[error("the FAT file system has no {kind} {path:?}")]
    NotFound {
        /// What was wanted.
        kind: &'static str,
        /// Its path.
        path: String,
    },
    /// Not enough room for what is to be written.
    #[error("the FAT file system is full: {needed} more bytes are needed, {free} are free")]
    Full {
        /// How many bytes more.
        needed: u64,
        /// How many there are.
        free: u64,
    },
    /// The root directory of FAT12 and FAT16 cannot grow.
    #[error("the directory of {0:?} in the FAT file system has no room for another file")]
    DirectoryFull(String),
    /// A file of 4 GiB or more, or a file system of 2 TiB or more.
    #[error("{0:?} is larger than FAT allows: files are smaller than 4 GiB, file systems than 2 TiB")]
    FileTooLarge(String),
    /// The file system could not be edited.
    #[error("{path:?} in the FAT file system cannot be written: {source}")]
    Edit {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
}
