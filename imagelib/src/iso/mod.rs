//! Reading ISO 9660 images (ECMA-119) with Rock Ridge (IEEE P1282) and Joliet names.
//!
//! The readers do not trust an image: they limit sizes, depths and counts, so that garbage soon gives an error. Everything
//! that they find has its byte offset in the image, because an edit is a set of patches: dayone never rebuilds an image.
//! [`author`] makes new images.

pub mod author;
pub mod coreos;
pub(crate) mod descriptor;
mod directory;
pub mod edit;
pub mod el_torito;
mod error;
pub(crate) mod fields;
pub(crate) mod hfs;
pub(crate) mod mark;
mod record;
mod rock_ridge;
mod volume;
mod walk;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use descriptor::{Descriptor, DescriptorKind};
pub use directory::{EntryKind, Extent, FileEntry};
pub use error::IsoError;
pub use volume::{TreeKind, Volume};
pub use walk::Walk;

/// The only logical block size in practice, in bytes: the size of a CD-ROM sector.
pub const BLOCK: u64 = 2048;
