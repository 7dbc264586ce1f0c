//! Initramfs images as the kernel reads them: members one after the other, each a raw cpio archive that begins at a
//! multiple of 4, or a compressed archive, with any number of zero bytes between them
//! (Linux `Documentation/driver-api/early-userspace/buffer-format.rst` and `init/initramfs.c`).
//!
//! [`walk`] visits every entry, [`survey`] collects what later steps need, [`read_embed_area`] reads the small initramfs in a
//! CoreOS ISO, and [`appendix`] makes the bytes to append to an initramfs.

mod area;
mod cursor;
mod survey;
mod tree;
mod walk;

use std::io;

pub use area::read_embed_area;
pub use survey::{Survey, survey};
pub(crate) use tree::FileIn;
pub use tree::{Node, Placement, PlacementError, Tree};
pub use walk::{Member, ReadOutcome, StopReason, Visit, Walk, walk};

use crate::compression::Compression;
use crate::cpio::Archive;

/// Why an initramfs cannot be used. Offsets are in bytes from the beginning of the image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InitramfsError {
    /// Reading the image failed.
    #[error("the image cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The image is something else. With the offset of the first byte that is not zero.
    #[error("this is not an initramfs: at offset {0} there is neither a cpio archive nor a known compression")]
    NotAnInitramfs(u64),
    /// The image is something else, compressed.
    #[error(
        "this is not an initramfs, but something else that is compressed with {0}; if it is an ISO or the image of a disk, decompress it"
    )]
    OtherContent(Compression),
    /// The image has no entry, as zeros have none.
    #[error("this is not an initramfs: it has no entries")]
    Empty,
    /// The image cannot be read to its end.
    #[error("it can be read only up to offset {offset}: {reason}")]
    Unreadable {
        /// The offset of the member that cannot be read to its end.
        offset: u64,
        /// Why not.
        reason: StopReason,
    },
    /// A wanted file is too large.
    #[error("{path} in the image has {size} bytes, more than the {limit} bytes that dayone reads")]
    TooLarge {
        /// Its path.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A file name is not UTF-8.
    #[error("{0:?} (with replacements) in the image is not a file name in UTF-8")]
    Name(String),
}

/// The bytes to append to an initramfs of `base_size` bytes, so that the kernel unpacks `archive` over it: zeros up to the
/// next multiple of 4, because the kernel recognises a raw archive only there, and the archive.
pub fn appendix(base_size: u64, archive: &Archive) -> Vec<u8> {
    let padding: Vec<u8> = (0..base_size.wrapping_neg() % 4).map(|_| 0).collect();
    [padding, archive.to_bytes()].concat()
}

#[cfg(test)]
mod tests;
