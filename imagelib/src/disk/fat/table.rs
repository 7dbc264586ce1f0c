//! The allocation table: which cluster follows which.

use bytes::Bytes;

use super::FatError;
use super::geometry::{FIRST_CLUSTER, Geometry, Width};
use crate::fields::{u16_le, u32_le};

/// An allocation table, and which of its clusters have been found to belong to something.
pub(super) struct Table<'a> {
    geometry: &'a Geometry,
    bytes: Bytes,
    seen: Vec<bool>,
}

impl<'a> Table<'a> {
    pub(super) fn new(geometry: &'a Geometry, bytes: Bytes) -> Self {
        let seen = vec![false; geometry.clusters as usize];
        Self { geometry, bytes, seen }
    }

    /// The clusters of the chain that begins with `first`, up to `limit` of them. Each belongs to one chain only.
    pub(super) fn chain(&mut self, first: u32, limit: u64) -> Result<Vec<u32>, FatError> {
        let mut chain = Vec::new();
        let mut next = Some(first);
        while let Some(cluster) = next {
            if chain.len() as u64 >= limit {
                return Err(FatError::Damaged("a chain of clusters is longer than its file"));
            }
            let seen = cluster.checked_sub(FIRST_CLUSTER).and_then(|index| self.seen.get_mut(index as usize));
            let seen = seen.ok_or(FatError::Damaged("a chain of clusters leads out of the file system"))?;
            if std::mem::replace(seen, true) {
                return Err(FatError::Damaged("a cluster belongs to two files"));
            }
            chain.push(cluster);
            next = self.next(cluster)?;
        }
        Ok(chain)
    }

    /// How many clusters are free.
    pub(super) fn free(&self) -> u64 {
        let last = self.geometry.clusters + FIRST_CLUSTER;
        (FIRST_CLUSTER..last).filter(|cluster| self.entry(*cluster) == Some(0)).count() as u64
    }

    /// The cluster that follows; none after the last.
    fn next(&self, cluster: u32) -> Result<Option<u32>, FatError> {
        let bad = bad(self.geometry.width);
        match self.entry(cluster) {
            Some(entry) if entry > bad => Ok(None),
            Some(entry) if entry >= FIRST_CLUSTER && entry < bad => Ok(Some(entry)),
            _ => Err(FatError::Damaged("a chain of clusters has no end")),
        }
    }

    pub(super) fn entry(&self, cluster: u32) -> Option<u32> {
        let index = cluster as usize;
        match self.geometry.width {
            Width::Fat12 => {
                let pair = u16_le(&self.bytes, index + index / 2)?;
                Some(u32::from(if index.is_multiple_of(2) { pair & 0xFFF } else { pair >> 4 }))
            }
            Width::Fat16 => u16_le(&self.bytes, index * 2).map(u32::from),
            // The upper four bits are reserved.
            Width::Fat32 => u32_le(&self.bytes, index * 4).map(|entry| entry & 0x0FFF_FFFF),
        }
    }
}

/// The entry of a cluster that is not used because it is bad. Greater ones end a chain.
fn bad(width: Width) -> u32 {
    match width {
        Width::Fat12 => 0xFF7,
        Width::Fat16 => 0xFFF7,
        Width::Fat32 => 0x0FFF_FFF7,
    }
}

/// A table with these entries, which a table of another width had.
pub(super) fn encode(entries: &[u32], old: Width, new: Width) -> Vec<u8> {
    let shift = bad(new) - bad(old);
    // The first entry has the kind of medium. For some kinds it is 0xFF0, which is less than the mark of a bad cluster.
    let shifted = |index: usize, entry: u32| if index == 0 || entry >= bad(old) { entry + shift } else { entry };
    let entries = entries.iter().enumerate().map(|(index, entry)| shifted(index, *entry));
    match new {
        Width::Fat12 => {
            let mut bytes = Vec::new();
            for (index, entry) in entries.enumerate() {
                let [low, high, ..] = entry.to_le_bytes();
                match bytes.last_mut().filter(|_| !index.is_multiple_of(2)) {
                    // The upper four bits of the byte before, and a byte.
                    Some(shared) => {
                        *shared |= low << 4;
                        bytes.push(high << 4 | low >> 4);
                    }
                    None => bytes.extend([low, high & 0xF]),
                }
            }
            bytes
        }
        Width::Fat16 => entries.flat_map(|entry| [entry.to_le_bytes()[0], entry.to_le_bytes()[1]]).collect(),
        Width::Fat32 => entries.flat_map(u32::to_le_bytes).collect(),
    }
}
