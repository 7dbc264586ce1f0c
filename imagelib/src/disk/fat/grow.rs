//! A file system with more clusters than in its base. The clusters keep their numbers and their order, so the base's data follows the
//! longer allocation tables in one range, and no directory changes.

use bytes::Bytes;

use super::geometry::{BOOT_SECTOR, FIRST_CLUSTER, Geometry, Root, Width};
use super::image::{FatFile, FatImage};
use super::table::{self, Table};
use super::{FatEdit, FatError, FatPath};
use crate::fields::{put, u16_le, u32_le};
use crate::overlay::Segment;
use crate::source::Role;

/// A grown file system.
#[derive(Debug, Clone)]
pub struct GrownFat {
    /// What edits of it need. Their patches begin at offset 0, and the extents of its files are still those in the base.
    pub image: FatImage,
    /// Its bytes before these edits.
    pub segments: Vec<Segment>,
}

impl FatImage {
    /// The file system, which is in this file of the base, with the room that these edits need. FAT12 becomes FAT16 for it. If FAT16
    /// had to become FAT32, whose root directory is elsewhere, the error is [`FatError::Full`].
    pub fn grown(&self, file: Role, edits: &[(FatPath, FatEdit)]) -> Result<GrownFat, FatError> {
        let old = &self.geometry;
        let full = || self.full(edits);
        let boot = self.pieces.get(&0).ok_or_else(full)?;
        let sector = u64::from(u16_le(boot, 11).ok_or_else(full)?);
        // Each edit may add a record to a directory, which may then need another cluster.
        let more = self.needed(edits).saturating_sub(self.free_clusters) + 2 * edits.len() as u64;
        let new = old.with_more(more, sector).ok_or_else(full)?;
        let boot = boot_sector(boot, old, &new, sector).ok_or_else(full)?;
        let table = table(self, &new).ok_or_else(full)?;

        let mut image = self.clone();
        image.start = 0;
        image.geometry = new;
        image.free_clusters += u64::from(new.clusters - old.clusters);
        let before = old.data - self.root_length();
        let shift = new.data - old.data;
        image.pieces = self.pieces.range(before..).map(|(at, piece)| (at + shift, piece.clone())).collect();
        image.pieces.insert(0, boot.clone());
        image.pieces.extend((0..new.tables).map(|index| (new.table + index * new.table_size, table.clone())));
        for FatFile { record, kept, .. } in &mut image.files {
            *record += shift;
            kept.iter_mut().flatten().for_each(|at| *at += shift);
        }
        let mut own = vec![(0, boot.clone())];
        if let Some(at) = new.info {
            let info = info_sector(self.pieces.get(&at).ok_or_else(full)?, new.clusters - old.clusters);
            image.pieces.insert(at, info.clone());
            own.push((at, info));
        }
        if new.width == Width::Fat32 {
            let backup = u64::from(u16_le(&boot, 50).unwrap_or(0)) * sector;
            if backup > 0 && own.iter().all(|(at, _)| *at != backup) {
                own.push((backup, boot));
            }
        }
        own.sort_by_key(|(at, _)| *at);

        let base = |range: std::ops::Range<u64>| Segment::base(file, self.start + range.start..self.start + range.end);
        let mut segments = Vec::new();
        let mut at = 0;
        for (start, bytes) in own {
            segments.push(base(at..start));
            segments.push(Segment::bytes(bytes));
            at = start + BOOT_SECTOR;
        }
        segments.push(base(at..old.table));
        segments.extend((0..new.tables).map(|_| Segment::bytes(table.clone())));
        let data = u64::from(old.clusters) * u64::from(old.cluster_size);
        segments.push(base(before..old.data + data));
        segments.push(Segment::zeros(new.size - new.data - data));
        Ok(GrownFat { image, segments })
    }

    fn root_length(&self) -> u64 {
        match self.geometry.root {
            Root::Fixed { length, .. } => length,
            Root::Chain { .. } => 0,
        }
    }
}

impl Geometry {
    /// The same with more clusters. None if that is another kind of file system, or too large.
    fn with_more(&self, more: u64, sector: u64) -> Option<Self> {
        let mut clusters = self.clusters.checked_add(u32::try_from(more).ok()?)?;
        while Width::is_near_bound(clusters) {
            clusters += 1;
        }
        let width = Width::of(clusters);
        if (width == Width::Fat32) != (self.width == Width::Fat32) {
            return None;
        }
        let entries = u64::from(clusters) + u64::from(FIRST_CLUSTER);
        let table_size = (entries * width.bits()).div_ceil(8).next_multiple_of(sector).max(self.table_size);
        let shift = self.tables * (table_size - self.table_size);
        let data = self.data + shift;
        let size = data + u64::from(clusters) * u64::from(self.cluster_size);
        u32::try_from(size / sector).ok()?;
        if width != Width::Fat32 {
            u16::try_from(table_size / sector).ok()?;
        }
        let root = match self.root {
            Root::Fixed { offset, length } => Root::Fixed { offset: offset + shift, length },
            chain @ Root::Chain { .. } => chain,
        };
        Some(Self { width, clusters, table_size, root, data, size, ..*self })
    }
}

/// The boot sector with the new sizes.
fn boot_sector(boot: &Bytes, old: &Geometry, new: &Geometry, sector: u64) -> Option<Bytes> {
    let total = u32::try_from(new.size / sector).ok()?;
    let mut bytes = boot.to_vec();
    let small = u16::try_from(total).ok().filter(|_| u16_le(boot, 19).is_some_and(|small| small != 0));
    put(&mut bytes, 19, &small.unwrap_or(0).to_le_bytes());
    put(&mut bytes, 32, &small.map_or(total, |_| 0).to_le_bytes());
    let table = u32::try_from(new.table_size / sector).ok()?;
    match new.width {
        Width::Fat32 => put(&mut bytes, 36, &table.to_le_bytes()),
        Width::Fat12 | Width::Fat16 => put(&mut bytes, 22, &u16::try_from(table).ok()?.to_le_bytes()),
    }
    // Only people read this name, and blkid.
    if old.width != new.width && bytes.get(54..62) == Some(b"FAT12   ") {
        put(&mut bytes, 54, b"FAT16   ");
    }
    Some(bytes.into())
}

/// The sector that counts the free clusters, with more of them. It may say that it does not know.
fn info_sector(info: &Bytes, more: u32) -> Bytes {
    let mut bytes = info.to_vec();
    if let Some(free) = u32_le(info, 488).filter(|free| *free != u32::MAX) {
        put(&mut bytes, 488, &free.saturating_add(more).to_le_bytes());
    }
    bytes.into()
}

fn table(image: &FatImage, new: &Geometry) -> Option<Bytes> {
    let old = &image.geometry;
    let bytes = image.pieces.get(&old.table)?;
    let entries = old.clusters + FIRST_CLUSTER;
    let mut longer = match new.width {
        // The reserved bits stay, too.
        Width::Fat32 => bytes.get(..usize::try_from(entries).ok()? * 4)?.to_vec(),
        Width::Fat12 | Width::Fat16 => {
            let table = Table::new(old, bytes.clone());
            let entries: Option<Vec<u32>> = (0..entries).map(|entry| table.entry(entry)).collect();
            table::encode(&entries?, old.width, new.width)
        }
    };
    longer.resize(usize::try_from(new.table_size).ok()?, 0);
    Some(longer.into())
}
