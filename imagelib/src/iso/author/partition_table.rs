//! A master boot record over the image (UEFI §5.2.1), by which machines start it that see it as a disk.
//!
//! The whole image is a partition of type 0: the BIOS finds its active partition, and UEFI, which refuses partitions that
//! overlap, does not count it. The EFI system partition is one of type EF.

use sha2::{Digest as _, Sha256};

use super::boot::Boot;
use super::tree::Tree;
use super::{AuthorError, BLOCK, Hybrid};
use crate::digest::Digest;
use crate::disk::SECTOR;
use crate::disk::mbr::{EFI_SYSTEM, Mbr, MbrPartition};

const CODE: usize = 432;
const TYPE_WHOLE: u8 = 0x00;

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
    let first_sector = |file: usize| u64::from(locate(file)) * (BLOCK / SECTOR);
    let loader = boot.and_then(|boot| boot.bios);
    // An image has fewer sectors than 32 bits can count, or UEFI takes what 32 bits can say.
    let partition = |kind, first: u64, size: u64| MbrPartition {
        bootable: kind == TYPE_WHOLE,
        kind,
        first_sector: u32::try_from(first).unwrap_or(u32::MAX),
        sectors: u32::try_from(size.div_ceil(SECTOR)).unwrap_or(u32::MAX),
    };
    let whole = loader.filter(|_| !code.is_empty()).map(|_| partition(TYPE_WHOLE, 0, size));
    let esp = boot.and_then(|boot| boot.uefi).and_then(|index| Some((index, tree.files.get(index)?)));
    let esp = esp.map(|(index, file)| partition(EFI_SYSTEM, first_sector(index), file.size.into()));
    let mut partitions = whole.into_iter().chain(esp);

    let mut sector = code.to_vec();
    sector.resize(CODE, 0);
    // ISOLINUX's code finds the loader by this.
    sector.extend(loader.map_or(0, first_sector).to_le_bytes());
    sector.extend(disk_identifier(tree));
    sector.extend([0; 2]);
    sector.extend(Mbr::new([partitions.next(), partitions.next(), None, None]).to_bytes());
    Ok(sector)
}

/// A number by which systems tell disks apart, from the files' paths and sizes.
fn disk_identifier(tree: &Tree<'_>) -> [u8; 4] {
    let mut hasher = Sha256::new_with_prefix(b"dayone disk\0");
    for file in &tree.files {
        hasher.update(file.path.as_str());
        hasher.update([0]);
        hasher.update(file.size.to_le_bytes());
    }
    let [a, b, c, d, ..] = *Digest::finish(hasher).as_bytes();
    [a, b, c, d]
}
