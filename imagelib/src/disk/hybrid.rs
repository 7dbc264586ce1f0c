//! Partition tables for ISO images without one, so that they also boot UEFI machines as a disk.
//!
//! The tables have only the EFI system partition, which firmware looks for. An entry for the whole image would overlap it,
//! and firmware based on EDK II would then ignore the whole table.

use std::ops::Range;

use super::SECTOR;
use super::gpt::{Gpt, GptError, Partition, ResizedGpt};
use super::guid::Guid;
use super::mbr::{EFI_SYSTEM, Mbr, MbrPartition};
use crate::digest::Digest;
use crate::overlay::{Patch, Segment};

/// The system area of ISO 9660, which is free for other uses: 32 KiB.
const SYSTEM_AREA: u64 = 32 << 10;
/// The logical block of an ISO image: its size stays a multiple of it.
const BLOCK: u64 = 2048;

/// The changes that make an image hybrid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hybrid {
    /// Changes to the system area, which must be all zeros before.
    pub patches: Vec<Patch>,
    /// What follows the image.
    pub appended: Vec<Segment>,
}

/// A GPT over an image of `size` bytes, a multiple of 2048, whose El Torito image for UEFI machines, a FAT file system,
/// is `esp`. Identifiers follow from `identity`, the digest of what the image is made of.
pub fn gpt(size: u64, esp: &Range<u64>, identity: &Digest) -> Result<Hybrid, GptError> {
    let (first, last) = sectors(size, esp)?;
    let partition = Partition {
        kind: Guid::EFI_SYSTEM,
        id: Guid::derived(identity, "partition"),
        first,
        last,
        name: "EFI System Partition".to_owned(),
    };
    let gpt = Gpt::new(Guid::derived(identity, "disk"), &[partition])?;
    let total = (size + gpt.backup_size()).next_multiple_of(BLOCK);
    let ResizedGpt { mut patches, backup } = gpt.resized(total)?;
    patches.push(Mbr::new([Some(MbrPartition::protective(total)), None, None, None]).table());
    let padding = Segment::zeros(total - size - gpt.backup_size());
    Ok(Hybrid { patches, appended: std::iter::once(padding).chain(backup).collect() })
}

/// A master boot record with the same partition, for firmware that looks at no GPT on such a disk. Nothing is appended.
pub fn mbr(size: u64, esp: &Range<u64>) -> Result<Hybrid, GptError> {
    let (first, last) = sectors(size, esp)?;
    let no_room = |_| GptError::NoRoom { first, last };
    let partition = MbrPartition {
        bootable: false,
        kind: EFI_SYSTEM,
        first_sector: u32::try_from(first).map_err(no_room)?,
        sectors: u32::try_from(last - first + 1).map_err(no_room)?,
    };
    let mbr = Mbr::new([Some(partition), None, None, None]);
    Ok(Hybrid { patches: vec![mbr.table()], appended: Vec::new() })
}

/// The first and the last sector of the partition.
fn sectors(size: u64, esp: &Range<u64>) -> Result<(u64, u64), GptError> {
    let (first, end) = (esp.start / SECTOR, esp.end.div_ceil(SECTOR));
    let last = end.saturating_sub(1);
    let within = esp.start.is_multiple_of(SECTOR) && esp.start >= SYSTEM_AREA && esp.start < esp.end && esp.end <= size;
    if within && size.is_multiple_of(BLOCK) { Ok((first, last)) } else { Err(GptError::NoRoom { first, last }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partition_is_the_range_and_the_size_stays_a_multiple_of_blocks() {
        let identity = Digest::of(b"");
        let Hybrid { patches, appended } = gpt(1 << 20, &(40960..50000), &identity).unwrap();
        assert!(patches.iter().all(|patch| patch.end() <= SYSTEM_AREA));
        let appended: u64 = appended.iter().map(Segment::length).sum();
        assert!(appended >= 33 * 512 && appended.is_multiple_of(BLOCK), "{appended}");
        assert_eq!(mbr(1 << 20, &(40960..50000)).unwrap().patches.len(), 1);
        for (size, esp) in
            [(1 << 20, 512..50000), (40960, 32768..50000), (1 << 20, 40961..50000), (100_000, 40960..50000)]
        {
            assert!(matches!(gpt(size, &esp, &identity), Err(GptError::NoRoom { .. })), "{size} {esp:?}");
            assert!(mbr(size, &esp).is_err());
        }
    }
}
