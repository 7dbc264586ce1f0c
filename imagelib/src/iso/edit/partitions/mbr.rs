//! The MBR: four entries of 16 bytes from byte 446 on, and the signature.

use super::{Grown, Growth, Partition, SECTOR};
use crate::iso::BLOCK;
use crate::iso::edit::bytes::{difference, put};
use crate::iso::fields::{u16_le, u32_le};

const ENTRIES: usize = 446;
const ENTRY: usize = 16;

/// Where the address of the last sector stands in an entry.
const END: usize = 5;

/// The type of an entry that keeps systems without GPT off the disk (UEFI 2.10 §5.2.3).
const PROTECTIVE: u8 = 0xee;

#[derive(Debug)]
pub(super) struct Mbr {
    bytes: Vec<u8>,
}

impl Mbr {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mbr = Self { bytes: bytes.to_vec() };
        (u16_le(bytes, 510) == Some(0xaa55) && mbr.entries().next().is_some()).then_some(mbr)
    }

    /// The entries that are in use: where they stand, their types and their sectors.
    fn entries(&self) -> impl Iterator<Item = (usize, u8, Partition)> {
        (0..4).filter_map(|index| {
            let at = ENTRIES + index * ENTRY;
            let (first, count) = (u32_le(&self.bytes, at + 8)?, u32_le(&self.bytes, at + 12)?);
            let last = u64::from(first) + u64::from(count).checked_sub(1)?;
            Some((at, *self.bytes.get(at + 4)?, Partition { first: u64::from(first), last }))
        })
    }

    pub(super) fn partitions(&self) -> Vec<Partition> {
        self.entries().filter(|(_, kind, _)| *kind != PROTECTIVE).map(|(_, _, partition)| partition).collect()
    }

    pub(super) fn grow(&self, growth: Growth<'_>, grown: &mut Grown) {
        let mut bytes = self.bytes.clone();
        let all: Vec<Partition> = self.entries().map(|(_, _, partition)| partition).collect();
        let end = (grown.size / SECTOR).max(1) - 1;
        for (at, kind, partition) in self.entries() {
            let mut new = partition.grown(&all, growth);
            let alone = all.iter().all(|other| other.first <= partition.last);
            // One that says "all there is" stays.
            let whole = kind == PROTECTIVE && partition.last < u64::from(u32::MAX) && alone;
            // The partition of the whole image includes the backup of the GPT.
            if whole || (new.first == partition.first && new.last != partition.last) {
                new.last = end;
            }
            if new == partition {
                continue;
            }
            let count = (new.last + 1).saturating_sub(new.first);
            put(&mut bytes, at + 8, &u32::try_from(new.first).unwrap_or(u32::MAX).to_le_bytes());
            put(&mut bytes, at + 12, &u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
            if let Some(geometry) = self.geometry() {
                put(&mut bytes, at + END, &geometry.address(new.last));
            }
        }
        if bytes != self.bytes {
            grown.patches.extend(difference(0, &self.bytes, bytes));
            grown.changed.push("MBR");
        }
    }

    /// The size of a cylinder, if the image is made of whole ones, as isohybrid makes it.
    pub(super) fn cylinder_size(&self, image_size: u64) -> Option<u64> {
        let size = self.geometry()?.cylinder() * SECTOR;
        (size.is_multiple_of(BLOCK) && image_size.is_multiple_of(size)).then_some(size)
    }

    /// The geometry in which the ends of the entries are written, which firmware guesses from them.
    fn geometry(&self) -> Option<Geometry> {
        let fits = |geometry: &Geometry| {
            self.entries().any(|(at, _, partition)| {
                self.bytes.get(at + END..at + END + 3) == Some(&geometry.address(partition.last))
            })
        };
        GEOMETRIES.into_iter().find(fits)
    }
}

/// Heads, and sectors per track: what isohybrid and xorriso take, and what disks of all sizes have.
const GEOMETRIES: [Geometry; 2] = [Geometry { heads: 64, sectors: 32 }, Geometry { heads: 255, sectors: 63 }];

#[derive(Debug, Clone, Copy)]
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
        [head, sector | high << 6, low]
    }
}
