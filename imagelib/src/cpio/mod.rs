//! cpio archives in the format `newc` (Linux `Documentation/driver-api/early-userspace/buffer-format.rst`), the format of an
//! initramfs and of the Ignition embed area of a CoreOS ISO.
//!
//! [`Archive`] writes archives reproducibly. [`Reader`] reads foreign archives as the kernel does.

mod path;
mod reader;
mod writer;

pub use path::{MemberPath, MemberPathError};
pub use reader::{CpioError, Entry, FileKind, Reader, Skip};
pub use writer::{Archive, ArchiveError, Owner};

/// The header of a member: the magic and 13 numbers of eight hexadecimal digits.
const HEADER_LENGTH: usize = 110;
/// Header and name together, and the content, each end at a multiple of this number of bytes.
const ALIGNMENT: u64 = 4;
/// The name of the member that ends an archive.
const TRAILER: &str = "TRAILER!!!";
/// The length in bytes of the longest name that the kernel accepts, with its NUL (`PATH_MAX`).
const PATH_MAX: u32 = 4096;

/// The bits of a mode that determine the kind of a file.
const S_IFMT: u32 = 0o170_000;
const S_IFREG: u32 = 0o100_000;
const S_IFDIR: u32 = 0o040_000;
const S_IFLNK: u32 = 0o120_000;

/// How many bytes are missing from `position` to the next multiple of [`ALIGNMENT`].
fn padding(position: u64) -> u64 {
    position.wrapping_neg() % ALIGNMENT
}

#[cfg(test)]
mod tests;
