//! The master boot record (UEFI 2.10 §5.2): four partitions at the end of a disk's first sector.

use std::io;

use super::SECTOR;
use crate::fields::{array, put, u32_le};
use crate::overlay::Patch;
use crate::source::Source;

/// The partition type that stands for a GPT.
pub const PROTECTIVE: u8 = 0xEE;
/// The partition type of an EFI system partition.
pub const EFI_SYSTEM: u8 = 0xEF;

const ENTRIES: usize = 446;
const ENTRY: usize = 16;
const SIGNATURE: [u8; 2] = [0x55, 0xAA];

/// Where the type stands in an entry, the address of the last sector, the first sector, and how many there are.
const KIND: usize = 4;
const END: usize = 5;
const FIRST: usize = 8;
const COUNT: usize = 12;
/// The address of what lies beyond cylinder 1023.
const OUT_OF_REACH: [u8; 3] = [0xFE, 0xFF, 0xFF];

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

    /// The partition of an entry; none where the entry is not used. One of type 0 is: that of the whole image on
    /// Debian's ISOs.
    fn read(entry: &[u8; ENTRY]) -> Option<Self> {
        let sectors = u32_le(entry, COUNT).filter(|sectors| *sectors != 0)?;
        let bootable = entry.first().is_some_and(|flag| flag & 0x80 != 0);
        Some(Self { bootable, kind: entry.get(KIND).copied()?, first_sector: u32_le(entry, FIRST)?, sectors })
    }

    /// The entry. Its addresses in cylinders, heads and sectors say "out of reach", except for a partition from the first
    /// sector on, the whole of a hybrid image: BIOSes guess the disk's geometry from it, and isohybrid's is [`ISOHYBRID`].
    fn to_bytes(self) -> [u8; ENTRY] {
        let mut entry = [0; ENTRY];
        let (begin, end) = match self.first_sector {
            0 => ([0, 1, 0], ISOHYBRID.address(u64::from(self.sectors).saturating_sub(1))),
            // A protective entry begins at cylinder 0, head 0, sector 2 (UEFI 2.10, table 5.4).
            1 => ([0, 2, 0], OUT_OF_REACH),
            _ => (OUT_OF_REACH, OUT_OF_REACH),
        };
        put(&mut entry, 0, &[if self.bootable { 0x80 } else { 0 }]);
        put(&mut entry, 1, &begin);
        put(&mut entry, KIND, &[self.kind]);
        put(&mut entry, END, &end);
        put(&mut entry, FIRST, &self.first_sector.to_le_bytes());
        put(&mut entry, COUNT, &self.sectors.to_le_bytes());
        entry
    }
}

/// A disk's master boot record. What it says beyond its partitions' places stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mbr {
    entries: [[u8; ENTRY]; 4],
    /// The geometry in which the ends of the entries are written, which firmware guesses from them.
    geometry: Option<Geometry>,
}

impl Mbr {
    /// A record with these partitions; none where the entry is not used.
    pub fn new(partitions: [Option<MbrPartition>; 4]) -> Self {
        Self { entries: partitions.map(|entry| entry.map_or([0; ENTRY], MbrPartition::to_bytes)), geometry: None }
    }

    /// The record of a disk; none where it has none.
    pub fn read(source: &dyn Source) -> io::Result<Option<Self>> {
        if source.size() < SECTOR {
            return Ok(None);
        }
        let sector = source.read_vec(0, SECTOR)?;
        if array(&sector, 510) != Some(SIGNATURE) {
            return Ok(None);
        }
        let entry = |index: usize| array(&sector, ENTRIES + index * ENTRY).unwrap_or([0; ENTRY]);
        let mut mbr = Self { entries: [entry(0), entry(1), entry(2), entry(3)], geometry: None };
        mbr.geometry = GEOMETRIES.into_iter().find(|geometry| mbr.has(*geometry));
        Ok(Some(mbr))
    }

    /// The partitions with their numbers, from 0 on, by which [`Mbr::place`] finds them.
    pub fn partitions(&self) -> impl Iterator<Item = (usize, MbrPartition)> {
        self.entries.iter().enumerate().filter_map(|(index, entry)| Some((index, MbrPartition::read(entry)?)))
    }

    /// Whether every entry begins as entries do. Boot sectors of file systems have the same signature, and code or text in this place.
    pub fn is_plausible(&self) -> bool {
        self.entries.iter().all(|[flag, ..]| matches!(flag, 0 | 0x80))
    }

    /// The size of a cylinder in bytes, where the entries show the geometry that they were written with.
    pub fn cylinder(&self) -> Option<u64> {
        self.geometry.map(|geometry| geometry.cylinder() * SECTOR)
    }

    /// Lays the partition of this number from its first to its last sector, as far as 32 bits reach.
    pub fn place(&mut self, index: usize, first: u64, last: u64) {
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
        if let Some(entry) = self.entries.get_mut(index) {
            put(entry, FIRST, &number(first));
            put(entry, COUNT, &number(last.saturating_add(1).saturating_sub(first)));
            if let Some(geometry) = self.geometry {
                put(entry, END, &geometry.address(last));
            }
        }
    }

    /// What makes it the record of a disk. The boot code before the partitions stays.
    pub fn table(&self) -> Patch {
        Patch::bytes(ENTRIES as u64, self.to_bytes())
    }

    /// The four entries and the signature: the end of the sector.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.entries.concat().into_iter().chain(SIGNATURE).collect()
    }

    /// Whether an entry ends where it would in this geometry.
    fn has(&self, geometry: Geometry) -> bool {
        let last = |partition: MbrPartition| u64::from(partition.first_sector) + u64::from(partition.sectors) - 1;
        let end = |entry| Some(geometry.address(last(MbrPartition::read(entry)?)));
        self.entries.iter().any(|entry| end(entry).is_some_and(|end| array(entry, END) == Some(end)))
    }
}

/// Heads, and sectors per track: what isohybrid and xorriso take, and what disks of all sizes have.
const GEOMETRIES: [Geometry; 2] = [ISOHYBRID, Geometry { heads: 255, sectors: 63 }];
const ISOHYBRID: Geometry = Geometry { heads: 64, sectors: 32 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Geometry {
    heads: u64,
    sectors: u64,
}

impl Geometry {
    fn cylinder(self) -> u64 {
        self.heads * self.sectors
    }

    /// Head, sector and cylinder of a sector: cylinders end at 1023.
    fn address(self, sector: u64) -> [u8; 3] {
        let cylinder = (sector / self.cylinder()).min(1023);
        let within = sector % self.cylinder();
        let [head, ..] = (within / self.sectors).to_le_bytes();
        let [sector, ..] = (within % self.sectors + 1).to_le_bytes();
        let [low, high, ..] = cylinder.to_le_bytes();
        // The two upper bits of the cylinder stand above the sector's six.
        [head, sector | high << 6, low]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::Content;

    fn disk(mbr: &Mbr) -> Vec<u8> {
        let mut disk = vec![0; 1024];
        let Patch { offset, content: Content::Bytes(bytes) } = mbr.table() else { panic!("bytes") };
        put(&mut disk, usize::try_from(offset).unwrap(), &bytes);
        disk
    }

    fn partitions(mbr: &Mbr) -> Vec<(usize, MbrPartition)> {
        mbr.partitions().collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let esp = MbrPartition { bootable: true, kind: EFI_SYSTEM, first_sector: 400, sectors: 5760 };
        let protective = MbrPartition::protective(1 << 20);
        let mbr = Mbr::new([Some(protective), None, Some(esp), None]);
        assert_eq!(Mbr::read(&disk(&mbr)).unwrap(), Some(mbr.clone()));
        assert_eq!(partitions(&mbr), [(0, protective), (2, esp)]);
        assert_eq!(Mbr::read(&vec![0; 1024]).unwrap(), None);
        assert_eq!(Mbr::read(&vec![0; 100]).unwrap(), None);
    }

    #[test]
    fn a_partition_of_type_0_is_one() {
        let whole = MbrPartition { bootable: true, kind: 0, first_sector: 0, sectors: 9 };
        let mbr = Mbr::read(&disk(&Mbr::new([Some(whole), None, None, None]))).unwrap().unwrap();
        assert_eq!(partitions(&mbr), [(0, whole)]);
    }

    #[test]
    fn a_partition_that_is_placed_anew_keeps_the_geometry_of_the_others() {
        let partition = MbrPartition { bootable: true, kind: 0x17, first_sector: 0, sectors: 2048 * 3 };
        let mut bytes = disk(&Mbr::new([Some(partition), None, None, None]));
        assert_eq!(bytes[ENTRIES + END..][..3], [63, 32, 2]);
        put(&mut bytes, ENTRIES + END, &OUT_OF_REACH);
        assert_eq!(Mbr::read(&bytes).unwrap().unwrap().cylinder(), None);
        put(&mut bytes, ENTRIES + END, &[63, 32, 2]);
        let mut mbr = Mbr::read(&bytes).unwrap().unwrap();
        assert_eq!(mbr.cylinder(), Some(1 << 20));
        mbr.place(0, 0, 2048 * 700 - 1);
        mbr.place(4, 1, 2);
        assert_eq!(partitions(&mbr), [(0, MbrPartition { sectors: 2048 * 700, ..partition })]);
        assert_eq!(disk(&mbr)[ENTRIES + END..][..3], [63, 32 | 2 << 6, 187]);
        mbr.place(0, 0, 1 << 40);
        assert_eq!(partitions(&mbr), [(0, MbrPartition { sectors: u32::MAX, ..partition })]);
    }

    #[test]
    fn a_disk_too_large_for_it_is_protected_as_far_as_it_reaches() {
        assert_eq!(MbrPartition::protective(1 << 50).sectors, u32::MAX);
        assert_eq!(MbrPartition::protective(1 << 20).sectors, 2047);
    }
}
