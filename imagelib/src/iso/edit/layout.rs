//! The records of one directory, taken apart to be changed and laid out again (ECMA-119 §6.8.1).

use super::names::compare;
use super::record_id::DirectoryId;
use super::tree::Directory;
use crate::fields::{both_endian, put, u32_le};
use crate::iso::directory;
use crate::iso::record::Naming;
use crate::iso::{Extent, IsoError};

const BLOCK: usize = 2048;

/// A record of a directory that is being changed.
#[derive(Debug, Clone)]
pub(super) struct DraftRecord {
    pub(super) origin: Origin,
    pub(super) bytes: Vec<u8>,
}

/// Where a record comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It begins there in the directory's bytes.
    Image(usize),
    /// It is that of a new directory.
    Directory(DirectoryId),
    /// It is that of a new file.
    File,
}

impl DraftRecord {
    /// A record like that of a directory itself, for something in it. None, if it would not fit a record.
    pub(super) fn new(own: &Self, origin: Origin, name: &[u8], system_use: &[u8]) -> Option<Self> {
        let mut bytes = vec![0; 33];
        // Date and volume sequence number; there is no clock here.
        put(&mut bytes, 18, own.bytes.get(18..25)?);
        put(&mut bytes, 28, own.bytes.get(28..32)?);
        let directory = !matches!(origin, Origin::File);
        put(&mut bytes, 25, &[if directory { 2 } else { 0 }, 0, 0]);
        put(&mut bytes, 32, &[u8::try_from(name.len()).ok()?]);
        bytes.extend(name);
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        bytes.extend(system_use);
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        let length = u8::try_from(bytes.len()).ok()?;
        put(&mut bytes, 0, &[length]);
        Some(Self { origin, bytes })
    }

    /// Makes it point to an extent, which begins at `block` of its volume.
    pub(super) fn set_extent(&mut self, block: u32, size: u32) {
        put(&mut self.bytes, 2, &both_endian(block));
        put(&mut self.bytes, 10, &both_endian(size));
    }

    /// The name as it stands there.
    pub(super) fn name(&self) -> &[u8] {
        let length = self.bytes.get(32).copied().map_or(0, usize::from);
        self.bytes.get(33..33 + length).unwrap_or_default()
    }

    /// Rock Ridge, and whatever else follows the name.
    pub(super) fn system_use(&self) -> &[u8] {
        let length = self.name().len();
        self.bytes.get(33 + length + usize::from(length.is_multiple_of(2))..).unwrap_or_default()
    }

    /// Adds to the number of links to a directory (Rock Ridge's PX), where the record has it.
    pub(super) fn add_links(&mut self, more: u32) {
        let Some((at, entry)) = self.entry(*b"PX") else { return };
        let Some(links) = u32_le(entry, 12) else { return };
        put(&mut self.bytes, at + 12, &both_endian(links.saturating_add(more)));
    }

    /// Where the Rock Ridge entry of that signature stands in the record, and the entry.
    pub(super) fn entry(&self, signature: [u8; 2]) -> Option<(usize, &[u8])> {
        let mut rest = self.system_use();
        while let Some(length) = rest.get(2).copied().map(usize::from).filter(|length| *length >= 4) {
            let entry = rest.get(..length)?;
            if entry.starts_with(&signature) {
                return Some((self.bytes.len() - rest.len(), entry));
            }
            rest = rest.get(length..)?;
        }
        None
    }
}

/// A directory that is being changed.
#[derive(Debug, Clone, Default)]
pub(super) struct DraftDirectory {
    pub(super) records: Vec<DraftRecord>,
    /// Records have been added, so that those behind them have other places.
    pub(super) grown: bool,
    /// Where it is now, where it is not where it was.
    pub(super) moved: Option<Extent>,
    /// Whether the records stand in the order of their names, once that is known. Removed records do not change it.
    is_sorted: Option<bool>,
}

impl DraftDirectory {
    /// A new directory, with the records of itself and its parent.
    pub(super) fn new(own: DraftRecord, parent: DraftRecord) -> Self {
        Self { records: vec![own, parent], grown: true, ..Self::default() }
    }

    /// The records of a directory of the image.
    pub(super) fn of(directory: &Directory) -> Result<Self, IsoError> {
        let mut records = Vec::new();
        let start = directory.extent.offset;
        directory::records(&directory.bytes, start, |record| {
            let at = usize::try_from(record.offset - start).unwrap_or_default();
            let bytes = directory.bytes.get(at..at + record.length).unwrap_or_default().to_vec();
            records.push(DraftRecord { origin: Origin::Image(at), bytes });
            Ok(())
        })?;
        Ok(Self { records, ..Self::default() })
    }

    pub(super) fn record(&mut self, origin: Origin) -> Option<&mut DraftRecord> {
        self.records.iter_mut().find(|record| record.origin == origin)
    }

    /// The records of itself and its parent, where both are there.
    pub(super) fn head(&mut self) -> Option<(&mut DraftRecord, &mut DraftRecord)> {
        match self.records.as_mut_slice() {
            [own, parent, ..] if own.name() == [0] && parent.name() == [1] => Some((own, parent)),
            _ => None,
        }
    }

    /// Adds a record where the order of names wants it.
    pub(super) fn insert(&mut self, names: Naming, new: DraftRecord) {
        let is_before = |one: &DraftRecord, other: &DraftRecord| compare(names, one.name(), other.name()).is_le();
        let others = self.records.get(2..).unwrap_or_default();
        // A comparison with each of thousands of records would cost more than all else.
        let index = if *self.is_sorted.get_or_insert_with(|| others.is_sorted_by(is_before)) {
            others.partition_point(|record| is_before(record, &new))
        } else {
            others.iter().position(|record| !is_before(record, &new)).unwrap_or(others.len())
        };
        self.records.insert(self.records.len().min(index + 2), new);
        self.grown = true;
    }

    /// The bytes of the directory: the records where they were, or, with new ones among them, one after the other.
    /// `length` is what it had.
    pub(super) fn layout(&self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let mut end = 0_usize;
        for record in &self.records {
            let at = match record.origin {
                Origin::Image(at) if !self.grown => at,
                _ if end % BLOCK + record.bytes.len() > BLOCK => end.next_multiple_of(BLOCK),
                _ => end,
            };
            end = at + record.bytes.len();
            if end > bytes.len() {
                bytes.resize(end.next_multiple_of(BLOCK), 0);
            }
            put(&mut bytes, at, &record.bytes);
        }
        bytes
    }
}
