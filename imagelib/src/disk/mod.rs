//! Disks: partition tables and FAT file systems.
//!
//! The module never writes a disk. Changes of an existing disk are patches, and a new disk is a list of segments in which large
//! files are ranges of the base.

mod complete;
pub mod fat;
pub mod gpt;
pub mod guid;
pub mod hybrid;
pub mod mbr;
mod segments;
pub mod usb;

pub use complete::{IncompleteDisk, check_complete};

/// The size of a sector in bytes, the unit of all block addresses in this module.
pub const SECTOR: u64 = 512;
