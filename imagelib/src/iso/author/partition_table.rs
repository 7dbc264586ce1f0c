//! A master boot record over the image (UEFI §5.2.1), by which machines start it that see it as a disk.
//!
//! The whole image is a partition of type 0: the BIOS finds its active partition, and UEFI, which refuses partitions that
//! overlap, does not count it. The EFI system partition is one of type EF.

use sha2::{Digest as _, Sha256};

use super::boot::Boot;
use super::tree::Tree;
use super::{AuthorError, Hybrid};

/// Sectors of a disk, not of a CD.
const SECTOR: u64 = 512;
const SECTORS_PER_BLOCK: u64 = 4;

/// Heads and sectors of the geometry in which a cylinder has a mebibyte, and the most cylinders that an entry can say.
const HEADS: u8 = 64;
const SECTORS: u8 = 32;
const MOST_CYLINDERS: u64 = 1024;

/// What an entry says where its place has no cylinder, head and sector.
const BEYOND: [u8; 3] = [0xfe, 0xff, 0xff];

const CODE: usize = 432;
const TYPE_WHOLE: u8 = 0x00;
const TYPE_EFI_SYSTEM: u8 = 0xef;

/// The first sector of an image of `size` bytes.
pub(super) fn master_boot_record(
    hybrid: &Hybrid,
    boot: Option<&Boot>,
    tree: &Tree<'_>,
    locate: impl Fn(usize) -> u32,
    size: u64,
) -> Result<Vec<u8>, AuthorError> {
    let code = hybrid.boot_code.as_deref().unwrap_or_default();
    if code.len() > CODE {
        return Err(AuthorError::BootCode(code.len()));
    }
    let first_sector = |file: usize| u64::from(locate(file)) * SECTORS_PER_BLOCK;
    let loader = boot.and_then(|boot| boot.bios);
    let esp = boot.and_then(|boot| boot.uefi).and_then(|index| tree.files.get(index).map(|file| (index, file.size)));

    let mut sector = code.to_vec();
    sector.resize(CODE, 0);
    // ISOLINUX's code finds the loader by this.
    sector.extend(loader.map_or(0, first_sector).to_le_bytes());
    sector.extend(disk_identifier(tree));
    sector.extend([0; 2]);
    let mut entries = Vec::new();
    if let (Some(_), false) = (loader, code.is_empty()) {
        let count = size / SECTOR;
        entries.push(entry(0x80, TYPE_WHOLE, 0, count, [0, 1, 0], last_address(count)));
    }
    if let Some((index, size)) = esp {
        entries.push(entry(0, TYPE_EFI_SYSTEM, first_sector(index), u64::from(size).div_ceil(SECTOR), BEYOND, BEYOND));
    }
    entries.resize(4, [0; 16]);
    sector.extend(entries.concat());
    sector.extend([0x55, 0xaa]);
    Ok(sector)
}

/// An entry of the table. Images have fewer sectors than 32 bits can count, or UEFI takes what 32 bits say.
fn entry(status: u8, kind: u8, first: u64, count: u64, from: [u8; 3], to: [u8; 3]) -> [u8; 16] {
    let mut entry = [0; 16];
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let (first, count) = (number(first), number(count));
    let bytes = [status].into_iter().chain(from).chain([kind]).chain(to).chain(first).chain(count);
    entry.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    entry
}

/// The head, sector and cylinder of the last of `count` sectors.
fn last_address(count: u64) -> [u8; 3] {
    let cylinders = (count / (u64::from(HEADS) * u64::from(SECTORS))).clamp(1, MOST_CYLINDERS);
    let cylinder = (cylinders - 1).to_le_bytes();
    let [low, high, ..] = cylinder;
    // The two upper bits of the cylinder stand above the sector's six.
    [HEADS - 1, SECTORS | high << 6, low]
}

/// A number by which systems tell disks apart, from the files' paths and sizes.
fn disk_identifier(tree: &Tree<'_>) -> [u8; 4] {
    let mut hasher = Sha256::new_with_prefix(b"dayone disk\0");
    for file in &tree.files {
        hasher.update(file.path.as_str());
        hasher.update([0]);
        hasher.update(file.size.to_le_bytes());
    }
    let digest = hasher.finalize();
    let mut identifier = [0; 4];
    identifier.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    identifier
}
