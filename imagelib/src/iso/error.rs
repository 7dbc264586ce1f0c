//! Errors about ISO images.

use std::io;

/// Why an image cannot be read as ISO 9660. Offsets are in bytes from the beginning of the image, sizes and limits in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IsoError {
    /// Reading the image failed.
    #[error("the ISO image cannot be read at offset {offset}: {source}")]
    Read {
        /// Where.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// There is no volume descriptor at this offset, where the first one must be.
    #[error("not an ISO 9660 image: there is no volume descriptor at offset {0}")]
    NotIso(u64),
    /// The volume descriptors have no end or no primary one.
    #[error("the ISO image is damaged: its volume descriptors {0}")]
    Descriptors(&'static str),
    /// The file is shorter than the volume it holds.
    #[error(
        "the ISO image is incomplete: its volume takes {expected} bytes, the file has {actual}; \
         download it again and compare its checksum"
    )]
    Incomplete {
        /// How long the volume says it is.
        expected: u64,
        /// How long the file is.
        actual: u64,
    },
    /// The file ends before the end of an EFI system partition behind the volume.
    #[error(
        "the ISO image is incomplete: its EFI system partition ends at offset {expected}, the file has {actual} bytes; \
         download it again and compare its checksum"
    )]
    IncompletePartition {
        /// Where the partition ends, or its file system if the partition is larger.
        expected: u64,
        /// How long the file is.
        actual: u64,
    },
    /// The volume has another logical block size than [`super::BLOCK`].
    #[error("the ISO image has blocks of {0} bytes, and only 2048 are supported")]
    BlockSize(u16),
    /// A number that is recorded in both byte orders differs between the two.
    #[error("the ISO image is damaged: the {field} at offset {offset} is not the same in both byte orders")]
    BothEndian {
        /// Which number.
        field: &'static str,
        /// Where it stands.
        offset: u64,
    },
    /// A directory record is invalid.
    #[error("the ISO image is damaged: the directory record at offset {offset} {reason}")]
    Record {
        /// Where it stands.
        offset: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A file or a directory lies outside the image.
    #[error(
        "the ISO image is damaged or incomplete: the directory record at offset {record} points to {length} bytes \
         at offset {start}, outside the image"
    )]
    Outside {
        /// Where the record stands.
        record: u64,
        /// Where the file would begin.
        start: u64,
        /// How long it would be.
        length: u64,
    },
    /// A directory, or all directories together, are larger than in any real image.
    #[error("the ISO image is damaged: its directories take more than {limit} bytes at offset {offset}")]
    DirectoriesTooLarge {
        /// The directory that exceeded the limit.
        offset: u64,
        /// The bound.
        limit: u64,
    },
    /// The directory at this offset contains itself, or is nested deeper than in any real image.
    #[error("the ISO image is damaged: the directory at offset {0} is nested in itself or too deep")]
    Nesting(u64),
    /// The boot catalog is invalid.
    #[error("the ISO image is damaged: its boot catalog at offset {offset} {reason}")]
    BootCatalog {
        /// Where it stands.
        offset: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A file is larger than it can be for its purpose.
    #[error("the file {name:?} in the ISO image has {size} bytes, more than the limit of {limit}")]
    FileTooLarge {
        /// Its name.
        name: String,
        /// Its size.
        size: u64,
        /// The bound.
        limit: u64,
    },
    /// A directory is in the place of a file, or the other way round.
    #[error("{name:?} in the ISO image is not a {wanted}")]
    Kind {
        /// The name.
        name: String,
        /// What it should be.
        wanted: &'static str,
    },
}
