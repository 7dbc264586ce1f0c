//! Why a CoreOS live ISO cannot be customised.

use crate::iso::IsoError;

/// Why a CoreOS live ISO, or what shall go into it, does not fit. Offsets and sizes are in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CoreosIsoError {
    /// The ISO is damaged or cannot be read.
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// One of the files that describe the image is not as it should be.
    #[error("/{path} in the ISO image is damaged: {error}")]
    Json {
        /// The file.
        path: &'static str,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// A file that the image's description names and that is not there.
    #[error("/{by} in the ISO image names /{path}, which is not there")]
    NoFile {
        /// Who names it.
        by: &'static str,
        /// What is named.
        path: String,
    },
    /// An area that lies outside its file or outside the image.
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
    /// Two areas that share bytes.
    #[error("the ISO image is damaged: its embed areas at the offsets {first} and {second} overlap")]
    Overlap {
        /// Where one begins.
        first: u64,
        /// Where the other begins.
        second: u64,
    },
    /// An Ignition area of a size that none has.
    #[error("the area for an initramfs in the ISO image has {size} bytes, more than the limit of {limit}")]
    IgnitionSize {
        /// The size.
        size: u64,
        /// The bound.
        limit: u64,
    },
    /// The areas for kernel arguments are not as they should be.
    #[error("the areas for kernel arguments in the ISO image {0}")]
    KernelArgumentAreas(&'static str),
    /// An area for kernel arguments of a size that none has.
    #[error("the areas for kernel arguments in the ISO image have {size} bytes; dayone supports 2 to {limit}")]
    KernelArgumentSize {
        /// The size.
        size: u64,
        /// The bound.
        limit: u64,
    },
    /// The image has no areas for kernel arguments.
    #[error("the kernel arguments of this CoreOS ISO image cannot be changed: it is from before 2021; use a later one")]
    NoKernelArgumentAreas,
    /// An archive that is larger than the area for it.
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
    /// A command line that is longer than the areas for it.
    #[error("the kernel arguments have {size} bytes in all, and the ISO image has room for {capacity}")]
    KernelArgumentsTooLong {
        /// The command line's length.
        size: u64,
        /// What there is room for.
        capacity: u64,
    },
}
