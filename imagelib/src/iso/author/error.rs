//! Why an image cannot be written.

/// Why an image cannot be written as ISO 9660.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorError {
    /// A path that not every reader of the image would see as it is.
    #[error("the path {path:?} cannot be on an ISO image: {reason}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A path under which there is a file, and which is the directory of another file as well.
    #[error("{0:?} cannot be both a file and a directory of the ISO image")]
    FileAndDirectory(String),
    /// A file whose size a directory record cannot say.
    #[error("the file {path:?} of {size} bytes cannot be on an ISO image: the limit is 4 GiB - 1")]
    FileTooLarge {
        /// Its path.
        path: String,
        /// Its size.
        size: u64,
    },
    /// More files in one directory, or more directories, than can be told apart.
    #[error("there are too many files or directories in {0:?} for an ISO image")]
    TooMany(String),
    /// More blocks than 32 bits can count.
    #[error("the ISO image would be larger than 8 TiB")]
    TooLarge,
    /// An identifier of the volume that does not fit.
    #[error("the {field} of the ISO image is not 1 to {limit} printable characters of ASCII")]
    Identifier {
        /// Which one.
        field: &'static str,
        /// How long it may be.
        limit: usize,
    },
    /// A file that is to be started and is not there.
    #[error("the ISO image has no file {0:?} to boot from")]
    NoBootFile(String),
    /// Nothing to start.
    #[error("the ISO image has nothing to boot; give a loader for BIOS, for UEFI, or both")]
    NothingToBoot,
    /// A loader that cannot be told where it stands.
    #[error("{path:?} cannot be the BIOS boot loader of the ISO image: {reason}")]
    BiosLoader {
        /// Its path.
        path: String,
        /// Why.
        reason: &'static str,
    },
    /// Code that is not what the first sector can hold.
    #[error("the boot code for the first sector has {0} bytes; the limit is 432 (use isohdpfx.bin of ISOLINUX)")]
    BootCode(usize),
}
