//! FAT file systems: FAT12, FAT16 and FAT32, with long names (Microsoft, FAT32 File System Specification 1.03).
//!
//! The module reads the file system in a base itself, and accepts it only if all of it is consistent. The crate `fatfs` then
//! edits it in memory, and the changed bytes become patches. The module lays out new file systems as segments
//! (docs/adr/0005 has the reasons).

mod device;
mod directory;
mod edit;
mod error;
mod geometry;
mod grow;
mod image;
mod layout;
mod name;
mod shape;
mod table;
mod tree;

pub use edit::FatEdit;
pub use error::FatError;
pub use grow::GrownFat;
pub use image::{FatFile, FatImage};
pub use layout::NewFat;
pub use name::{FatPath, VolumeLabel};

#[cfg(test)]
mod tests;
