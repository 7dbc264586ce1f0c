//! Disks: partition tables, FAT file systems, and what is made of them.
//!
//! A disk is never written out. What an existing one needs are patches over it, and a new one is a list of segments in
//! which large files are ranges of the base.

pub mod fat;
pub mod gpt;
pub mod guid;
pub mod hybrid;
pub mod mbr;
mod segments;
pub mod usb;

/// The size of a sector, in bytes: what the block addresses of all tables here count.
pub const SECTOR: u64 = 512;
