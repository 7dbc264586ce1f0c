//! The master boot record (UEFI 2.10 §5.2): four partitions at the end of a disk's first sector.

use std::io;

use super::SECTOR;
use super::fields::{array, put, u32_at};
use crate::overlay::Patch;
use crate::source::Source;

/// The partition type that stands for a GPT.
pub const PROTECTIVE: u8 = 0xEE;
/// The partition type of an EFI system partition.
pub const EFI_SYSTEM: u8 = 0xEF;

const ENTRIES: usize = 446;
const ENTRY: usize = 16;
const SIGNATURE: [u8; 2] = [0x55, 0xAA];

/// A partition of a master boot record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MbrPartition {
    /// Whether it is marked as the one to boot from.
    pub bootable: bool,
    /// Its type.
    pub kind: u8,
    /// Its first sector.
    pub first_sector: u32,
    /// How many sectors it has.
    pub sectors: u32,
}

impl MbrPartition {
    /// The partition that keeps tools which know no GPT off a disk of `size` bytes that has one.
    pub fn protective(size: u64) -> Self {
        let sectors = u32::try_from((size / SECTOR).saturating_sub(1)).unwrap_or(u32::MAX);
        Self { bootable: false, kind: PROTECTIVE, first_sector: 1, sectors }
    }

    fn read(entry: &[u8; ENTRY]) -> Option<Self> {
        let kind = entry.get(4).copied().filter(|kind| *kind != 0)?;
        let bootable = entry.first().is_some_and(|flag| flag & 0x80 != 0);
        Some(Self { bootable, kind, first_sector: u32_at(entry, 8)?, sectors: u32_at(entry, 12)? })
    }

    /// The entry. Its addresses in cylinders, heads and sectors are those for what is out of their reach.
    fn to_bytes(self) -> [u8; ENTRY] {
        let mut entry = [0; ENTRY];
        // A protective entry begins at cylinder 0, head 0, sector 2 (UEFI 2.10, table 5.4).
        let begin = if self.first_sector == 1 { [0, 2, 0] } else { [0xFE, 0xFF, 0xFF] };
        put(&mut entry, 0, &[if self.bootable { 0x80 } else { 0 }]);
        put(&mut entry, 1, &begin);
        put(&mut entry, 4, &[self.kind]);
        put(&mut entry, 5, &[0xFE, 0xFF, 0xFF]);
        put(&mut entry, 8, &self.first_sector.to_le_bytes());
        put(&mut entry, 12, &self.sectors.to_le_bytes());
        entry
    }
}

/// A disk's master boot record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mbr {
    /// The partitions; none where the entry is not used.
    pub partitions: [Option<MbrPartition>; 4],
}

impl Mbr {
    /// The record of a disk; none where it has none.
    pub fn read(source: &dyn Source) -> io::Result<Option<Self>> {
        if source.size() < SECTOR {
            return Ok(None);
        }
        let sector = source.read_vec(0, SECTOR)?;
        if array(&sector, 510) != Some(SIGNATURE) {
            return Ok(None);
        }
        let entry = |index: usize| array(&sector, ENTRIES + index * ENTRY).and_then(|entry| MbrPartition::read(&entry));
        Ok(Some(Self { partitions: [entry(0), entry(1), entry(2), entry(3)] }))
    }

    /// What puts this partition into the entry of this number, 0 to 3, of a disk that has a record.
    pub fn patch(index: usize, partition: &MbrPartition) -> Patch {
        Patch::bytes((ENTRIES + index.min(3) * ENTRY) as u64, partition.to_bytes().to_vec())
    }

    /// What makes it the record of a disk. The boot code before the partitions stays.
    pub fn table(&self) -> Patch {
        let entries = self.partitions.iter().flat_map(|entry| entry.map_or([0; ENTRY], MbrPartition::to_bytes));
        Patch::bytes(ENTRIES as u64, entries.chain(SIGNATURE).collect::<Vec<u8>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::Content;

    fn apply(disk: &mut [u8], patch: Patch) {
        let Content::Bytes(bytes) = patch.content else { panic!("bytes") };
        put(disk, usize::try_from(patch.offset).unwrap(), &bytes);
    }

    fn disk(mbr: &Mbr) -> Vec<u8> {
        let mut disk = vec![0; 1024];
        apply(&mut disk, mbr.table());
        disk
    }

    #[test]
    fn what_is_written_is_read() {
        let esp = MbrPartition { bootable: true, kind: EFI_SYSTEM, first_sector: 400, sectors: 5760 };
        let mbr = Mbr { partitions: [Some(MbrPartition::protective(1 << 20)), Some(esp), None, None] };
        assert_eq!(Mbr::read(&disk(&mbr)).unwrap(), Some(mbr));
        assert_eq!(Mbr::read(&vec![0; 1024]).unwrap(), None);
        assert_eq!(Mbr::read(&vec![0; 100]).unwrap(), None);
    }

    #[test]
    fn a_patch_is_of_one_entry() {
        let mut bytes = disk(&Mbr::default());
        let partition = MbrPartition { bootable: false, kind: 0x17, first_sector: 0, sectors: 9 };
        apply(&mut bytes, Mbr::patch(2, &partition));
        assert_eq!(Mbr::read(&bytes).unwrap().unwrap().partitions, [None, None, Some(partition), None]);
    }

    #[test]
    fn a_disk_too_large_for_it_is_protected_as_far_as_it_reaches() {
        assert_eq!(MbrPartition::protective(1 << 50).sectors, u32::MAX);
        assert_eq!(MbrPartition::protective(1 << 20).sectors, 2047);
    }
}
