//! Reading ISO 9660 images (ECMA-119) with Rock Ridge (IEEE P1282) and Joliet names.
//!
//! Everything read is foreign: sizes, depths and counts are bounded, so that garbage gives an error in good time.
//! What is found carries its byte offsets in the image, because an edit is a set of patches over an image that is
//! never rebuilt. [`author`] writes images where there is none to edit.

pub mod author;
pub mod coreos;
pub(crate) mod descriptor;
mod directory;
pub mod edit;
pub mod el_torito;
mod error;
pub(crate) mod fields;
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

/// The only logical block size there is in practice, in bytes: that of a CD-ROM sector.
pub const BLOCK: u64 = 2048;
