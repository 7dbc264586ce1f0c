//! FAT file systems: FAT12, FAT16 and FAT32, with long names (Microsoft, FAT32 File System Specification 1.03).
//!
//! One that lies in a base is read here, and trusted only when all of it fits together; then fatfs edits it in memory,
//! and what has changed are patches. A new one is laid out here, as segments (docs/adr/0005 says why).

mod device;
mod directory;
mod edit;
mod error;
mod geometry;
mod image;
mod layout;
mod name;
mod shape;
mod table;
mod tree;

pub use edit::FatEdit;
pub use error::FatError;
pub use image::{FatFile, FatImage};
pub use layout::NewFat;
pub use name::{FatPath, VolumeLabel};

#[cfg(test)]
mod tests;
