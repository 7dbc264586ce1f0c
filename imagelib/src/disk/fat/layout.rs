//! A new file system as segments: files lie in one piece each, as ranges of whatever they are ranges of, and the tables
//! are counted rather than stored.

use std::collections::BTreeMap;

use super::geometry::{FIRST_CLUSTER, Geometry, Root, Width};
use super::shape::{self, BACKUP};
use super::tree::Tree;
use super::{FatError, FatPath, VolumeLabel};
use crate::disk::SECTOR;
use crate::disk::segments::Builder;
use crate::overlay::Segment;

/// A new file system. The same fields give the same bytes.
#[derive(Debug, Clone)]
pub struct NewFat<'a> {
    /// Its label.
    pub label: VolumeLabel,
    /// Its serial number, by which some systems tell volumes apart.
    pub id: u32,
    /// The files with their content. Their paths determine the directories.
    pub files: &'a BTreeMap<FatPath, Vec<Segment>>,
}

impl NewFat<'_> {
    /// A file system for a data drive: FAT12 or FAT16 on a whole disk, without a partition table.
    pub fn data_drive(&self) -> Result<Vec<Segment>, FatError> {
        let tree = Tree::new(self.files)?;
        let root_records = tree.directories.first().map_or(0, super::tree::Directory::records);
        let geometry = shape::small(|cluster| needed(&tree, cluster, false), root_records)?;
        Ok(self.lay(&tree, &geometry, 0).into_segments())
    }

    /// A file system for an EFI system partition, which begins with this sector of its disk: FAT32.
    pub(in crate::disk) fn partition(&self, first_sector: u32) -> Result<Builder, FatError> {
        let tree = Tree::new(self.files)?;
        let geometry = shape::fat32(|cluster| needed(&tree, cluster, true))?;
        Ok(self.lay(&tree, &geometry, first_sector))
    }

    fn lay(&self, tree: &Tree<'_>, geometry: &Geometry, first_sector: u32) -> Builder {
        let chains = Chains::new(tree, geometry);
        let mut out = Builder::default();
        let boot = shape::boot_sector(geometry, self.label, self.id, first_sector);
        out.bytes(&boot);
        if let Some(offset) = geometry.info {
            let info = shape::info_sector(geometry.clusters - (chains.next - FIRST_CLUSTER), chains.next);
            out.zeros_until(offset);
            out.bytes(&info);
            out.zeros_until(BACKUP * SECTOR);
            out.bytes(&boot);
            out.bytes(&info);
        }
        for copy in 0..geometry.tables {
            out.zeros_until(geometry.table + copy * geometry.table_size);
            chains.table(geometry, &mut out);
        }
        if let Root::Fixed { offset, .. } = geometry.root {
            out.zeros_until(offset);
            out.bytes(&tree.records(0, self.label, &chains.directories, &chains.files));
        }
        let place = |out: &mut Builder, first: u32| {
            if let Some(offset) = geometry.cluster(first) {
                out.zeros_until(offset);
            }
        };
        for (index, first) in chains.directories.iter().enumerate().filter(|(_, first)| **first != 0) {
            place(&mut out, *first);
            out.bytes(&tree.records(index, self.label, &chains.directories, &chains.files));
        }
        for (file, first) in tree.files.iter().zip(&chains.files) {
            place(&mut out, *first);
            out.segments(file.content.to_vec());
        }
        out.zeros_until(geometry.size);
        out
    }
}

/// How many clusters of this size all files and directories take.
fn needed(tree: &Tree<'_>, cluster: u64, with_root: bool) -> u64 {
    let directories = tree.directories.iter().skip(usize::from(!with_root));
    let directories = directories.map(|directory| (directory.records() * 32).div_ceil(cluster)).sum::<u64>();
    directories + tree.files.iter().map(|file| u64::from(file.size).div_ceil(cluster)).sum::<u64>()
}

/// Which clusters belong to what: all in a row. What has none begins with 0.
struct Chains {
    directories: Vec<u32>,
    files: Vec<u32>,
    /// The lengths of the chains, in the order of their clusters.
    lengths: Vec<u32>,
    next: u32,
}

impl Chains {
    fn new(tree: &Tree<'_>, geometry: &Geometry) -> Self {
        let mut chains = Self { directories: Vec::new(), files: Vec::new(), lengths: Vec::new(), next: FIRST_CLUSTER };
        for (index, directory) in tree.directories.iter().enumerate() {
            let fixed = index == 0 && matches!(geometry.root, Root::Fixed { .. });
            let first = chains.chain(geometry, if fixed { 0 } else { directory.records() * 32 });
            chains.directories.push(first);
        }
        for file in &tree.files {
            let first = chains.chain(geometry, u64::from(file.size));
            chains.files.push(first);
        }
        chains
    }

    fn chain(&mut self, geometry: &Geometry, bytes: u64) -> u32 {
        // The geometry has room for all of them.
        let length = u32::try_from(geometry.clusters_of(bytes)).unwrap_or(0);
        if length == 0 {
            return 0;
        }
        let first = self.next;
        self.next += length;
        self.lengths.push(length);
        first
    }

    /// The allocation table.
    fn table(&self, geometry: &Geometry, out: &mut Builder) {
        if geometry.width == Width::Fat32 {
            out.bytes(&0x0FFF_FFF8_u32.to_le_bytes());
            out.bytes(&u32::MAX.to_le_bytes());
            let mut next = FIRST_CLUSTER;
            for length in &self.lengths {
                out.counter(next + 1, length - 1);
                out.bytes(&0x0FFF_FFFF_u32.to_le_bytes());
                next += length;
            }
            return;
        }
        let mut entries = vec![0xFFF8_u16, 0xFFFF];
        for length in &self.lengths {
            // Fewer than 65536 clusters, so all of them fit.
            let first = u16::try_from(entries.len()).unwrap_or(u16::MAX);
            entries.extend(first + 1..=first.saturating_add(u16::try_from(length - 1).unwrap_or(0)));
            entries.push(0xFFFF);
        }
        if geometry.width == Width::Fat16 {
            out.bytes(&entries.into_iter().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
            return;
        }
        for pair in entries.chunks(2) {
            let entry = |index: usize| u32::from(pair.get(index).copied().unwrap_or(0) & 0xFFF);
            let [low, middle, high, _] = (entry(0) | entry(1) << 12).to_le_bytes();
            out.bytes(&[low, middle, high]);
        }
    }
}
