//! Errors about new images.

/// Why a new ISO 9660 image is impossible. Sizes are in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorError {
    /// Some readers of the image would see the path differently.
    #[error("the path {path:?} cannot be on an ISO image: {reason}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A path is both a file and the directory of another file.
    #[error("{0:?} cannot be both a file and a directory of the ISO image")]
    FileAndDirectory(String),
    /// A file is too large for a directory record.
    #[error("the file {path:?} of {size} bytes cannot be on an ISO image: the limit is 4 GiB - 1")]
    FileTooLarge {
        /// Its path.
        path: String,
        /// Its size.
        size: u64,
    },
    /// A directory has too many files, or there are too many directories.
    #[error("there are too many files or directories in {0:?} for an ISO image")]
    TooMany(String),
    /// The image has more blocks than 32 bits can count.
    #[error("the ISO image would be larger than 8 TiB")]
    TooLarge,
    /// An identifier of the volume is empty, too long or not ASCII.
    #[error("the {field} of the ISO image is not 1 to {limit} printable characters of ASCII")]
    Identifier {
        /// The identifier.
        field: &'static str,
        /// Its largest number of characters.
        limit: usize,
    },
    /// The file to boot from is missing.
    #[error("the ISO image has no file {0:?} to boot from")]
    NoBootFile(String),
    /// A bootable image has neither a BIOS nor a UEFI boot loader.
    #[error("the ISO image has nothing to boot; give a loader for BIOS, for UEFI, or both")]
    NothingToBoot,
    /// The boot information table of the BIOS boot loader cannot be filled in.
    #[error("{path:?} cannot be the BIOS boot loader of the ISO image: {reason}")]
    BiosLoader {
        /// Its path.
        path: String,
        /// Why.
        reason: &'static str,
    },
    /// The boot code does not fit into the first sector. With its size.
    #[error("the boot code for the first sector has {0} bytes; the limit is 432 (use isohdpfx.bin of ISOLINUX)")]
    BootCode(usize),
}
