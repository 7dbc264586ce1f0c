//! Errors about CoreOS live ISOs.

use crate::iso::IsoError;

/// Why a CoreOS live ISO is invalid, or something does not fit into it. Offsets, sizes and limits are in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CoreosIsoError {
    /// The ISO is damaged or cannot be read.
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// A file that describes the areas is invalid.
    #[error("/{path} in the ISO image is damaged: {error}")]
    Json {
        /// The file.
        path: &'static str,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// The description names a file that does not exist.
    #[error("/{by} in the ISO image names /{path}, which is not there")]
    NoFile {
        /// The description.
        by: &'static str,
        /// The missing file.
        path: String,
    },
    /// An area lies outside its file or outside the image.
    #[error("the area of {length} bytes at offset {offset} that {by} describes lies outside {path}")]
    Outside {
        /// Who describes it.
        by: &'static str,
        /// The file.
        path: String,
        /// Where in the file.
        offset: u64,
        /// How long it is.
        length: u64,
    },
    /// Two areas overlap.
    #[error("the ISO image is damaged: its embed areas at the offsets {first} and {second} overlap")]
    Overlap {
        /// Where one begins.
        first: u64,
        /// Where the other begins.
        second: u64,
    },
    /// The Ignition area is too large.
    #[error("the area for an initramfs in the ISO image has {size} bytes, more than the limit of {limit}")]
    IgnitionSize {
        /// The size.
        size: u64,
        /// The bound.
        limit: u64,
    },
    /// The areas for kernel arguments are invalid, for this reason.
    #[error("the areas for kernel arguments in the ISO image {0}")]
    KernelArgumentAreas(&'static str),
    /// The areas for kernel arguments have an invalid size.
    #[error("the areas for kernel arguments in the ISO image have {size} bytes; dayone supports 2 to {limit}")]
    KernelArgumentSize {
        /// The size.
        size: u64,
        /// The bound.
        limit: u64,
    },
    /// The image has no areas for kernel arguments.
    #[error(
        "the kernel arguments of this CoreOS ISO image cannot be changed: it has no areas for them, as later releases \
         have; use a later one"
    )]
    NoKernelArgumentAreas,
    /// The archive is larger than the Ignition area.
    #[error(
        "the archive to embed has {size} bytes, and the ISO image has room for {capacity}; \
         shorten the Ignition config, or let it fetch its larger parts"
    )]
    ArchiveTooLarge {
        /// The archive's size.
        size: u64,
        /// The area's.
        capacity: u64,
    },
    /// The command line is longer than the areas for it.
    #[error("the kernel arguments have {size} bytes in all, and the ISO image has room for {capacity}")]
    KernelArgumentsTooLong {
        /// The command line's length.
        size: u64,
        /// What there is room for.
        capacity: u64,
    },
}
