//! The GUID partition table (UEFI 2.10 §5.3).
//!
//! The module keeps the table of a foreign disk as it is, wherever its entries are and however many it has, and describes
//! changes as patches: the table of an ISO image differs from that of a disk. The crate `gpt` would make a new table, so it
//! only lays out the tables of new disks (docs/adr/0005).

mod partition;

use std::io::{self, Cursor};
use std::ops::Range;

use ::gpt::GptConfig;

use super::SECTOR;
use super::guid::Guid;
use crate::fields::{array, put, u32_le, u64_le};
use crate::overlay::{Patch, Segment};
use crate::source::Source;

pub use partition::Partition;

/// How the header begins.
pub(crate) const SIGNATURE: [u8; 8] = *b"EFI PART";
const HEADER: usize = 92;
const ENTRY_SIZE: u32 = 128;
const ENTRY: usize = ENTRY_SIZE as usize;
/// How many entries a new table has room for: the least that UEFI allows.
const NEW_ENTRIES: u32 = 128;
/// More bytes of entries than any tool makes room for: 1024 entries.
const MAX_ENTRIES: u32 = 1024 * ENTRY_SIZE;
/// The first sector behind a new table.
const FIRST_USABLE: u64 = 2 + (NEW_ENTRIES * ENTRY_SIZE) as u64 / SECTOR;
/// The smallest disk that has room for a new table, its backup and a sector between them, in bytes.
const SMALLEST_DISK: usize = 68 * 512;

/// Why a disk's GPT cannot be used or made. Sizes are in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GptError {
    /// Reading the disk failed.
    #[error("the partition table (GPT) cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The checksum of the header or of the entries is wrong.
    #[error("the partition table (GPT) is damaged: the checksum of its {0} is wrong")]
    Checksum(&'static str),
    /// A number in the table is invalid.
    #[error("the partition table (GPT) is damaged: its {0}")]
    Damaged(&'static str),
    /// The entries have an unsupported size, or there are too many.
    #[error(
        "the partition table (GPT) has {count} entries of {size} bytes; dayone supports sizes that are multiples of \
         {ENTRY}, and up to {MAX_ENTRIES} bytes in all"
    )]
    Entries {
        /// The number of entries.
        count: u32,
        /// The size of each entry.
        size: u32,
    },
    /// The disk is too small for its table. With the disk's size.
    #[error("a disk of {0} bytes has no room for its partition table (GPT)")]
    TooSmall(u64),
    /// The crate `gpt` could not lay out a new table.
    #[error("the partition table (GPT) cannot be laid out: {0}")]
    Layout(#[from] ::gpt::GptError),
    /// There are more partitions than entries.
    #[error("there is room for {NEW_ENTRIES} partitions, not for {0}")]
    TooMany(usize),
    /// A partition overlaps a table or another partition.
    #[error("there is no room for a partition from sector {first} to sector {last}")]
    NoRoom {
        /// Its first sector.
        first: u64,
        /// Its last sector.
        last: u64,
    },
}

/// A disk's primary GPT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpt {
    header: Vec<u8>,
    entries: Vec<u8>,
    /// The size of an entry in bytes. Bytes after the known fields do not change.
    entry_size: usize,
}

/// The changes that adapt a GPT to a new size of its disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResizedGpt {
    /// Changes to the primary header and its entries.
    pub patches: Vec<Patch>,
    /// The backup: the end of the resized disk.
    pub backup: Vec<Segment>,
}

impl Gpt {
    /// Reads the primary table of a disk with sectors of 512 bytes. `None` if the disk has no GPT.
    pub fn read(source: &dyn Source) -> Result<Option<Self>, GptError> {
        if source.size() < 2 * SECTOR {
            return Ok(None);
        }
        let mut header = source.read_vec(SECTOR, SECTOR)?;
        if array(&header, 0) != Some(SIGNATURE) {
            return Ok(None);
        }
        let length = u32_le(&header, 12).and_then(|length| usize::try_from(length).ok());
        let length = length.filter(|length| (HEADER..=header.len()).contains(length));
        header.truncate(length.ok_or(GptError::Damaged("header has an impossible length"))?);
        let checksum = u32_le(&header, 16);
        if checksum != Some(header_checksum(&header)) {
            return Err(GptError::Checksum("header"));
        }
        if u64_le(&header, 24) != Some(1) {
            return Err(GptError::Damaged("header gives another place than its own"));
        }
        let (count, size) = (u32_le(&header, 80).unwrap_or(0), u32_le(&header, 84).unwrap_or(0));
        let length = count.checked_mul(size).filter(|length| (1..=MAX_ENTRIES).contains(length));
        let (Some(length), true, Ok(entry_size)) = (length, size.is_multiple_of(ENTRY_SIZE), usize::try_from(size))
        else {
            return Err(GptError::Entries { count, size });
        };
        let start = u64_le(&header, 72).filter(|start| *start >= 2).and_then(|start| start.checked_mul(SECTOR));
        let within = |start: &u64| start.checked_add(u64::from(length)).is_some_and(|end| end <= source.size());
        let start = start.filter(within).ok_or(GptError::Damaged("entries lie outside the disk"))?;
        let entries = source.read_vec(start, u64::from(length))?;
        if u32_le(&header, 88) != Some(crc32fast::hash(&entries)) {
            return Err(GptError::Checksum("entries"));
        }
        Ok(Some(Self { header, entries, entry_size }))
    }

    /// A new table with these partitions, which must not overlap. Their order determines their numbers.
    pub fn new(disk: Guid, partitions: &[Partition]) -> Result<Self, GptError> {
        let mut sorted: Vec<&Partition> = partitions.iter().collect();
        sorted.sort_by_key(|partition| partition.first);
        let mut free = FIRST_USABLE;
        for &&Partition { first, last, .. } in &sorted {
            if first < free || last < first || last == u64::MAX {
                return Err(GptError::NoRoom { first, last });
            }
            free = last + 1;
        }
        if partitions.len() > NEW_ENTRIES as usize {
            return Err(GptError::TooMany(partitions.len()));
        }
        // The disk's size does not matter: only the primary table is kept, and `resized` gives it the right one.
        let device = Cursor::new(vec![0; SMALLEST_DISK]);
        let mut table = GptConfig::new().writable(true).create_from_device(device, Some(disk.into()))?;
        table.update_partitions((1..).zip(partitions.iter().map(Into::into)).collect())?;
        let table = table.write()?.into_inner();
        Self::read(&table)?.ok_or(GptError::Damaged("header is missing"))
    }

    /// The partitions with their numbers, from 0 on, by which [`Gpt::place`] finds them.
    pub fn partitions(&self) -> impl Iterator<Item = (usize, Partition)> {
        let entries = self.entries.chunks_exact(self.entry_size).enumerate();
        entries.filter_map(|(index, entry)| Some((index, Partition::read(entry.first_chunk()?)?)))
    }

    /// The sectors of the primary header and its entries.
    pub fn sectors(&self) -> [Range<u64>; 2] {
        let start = self.entries_start();
        [1..2, start..start + self.entries_sectors()]
    }

    /// Where the backup header stands, in sectors.
    pub fn backup_sector(&self) -> u64 {
        u64_le(&self.header, 32).unwrap_or(0)
    }

    /// The last sector that partitions may have.
    pub fn last_usable(&self) -> u64 {
        u64_le(&self.header, 48).unwrap_or(0)
    }

    /// The size of the backup at the end of the disk, in bytes.
    pub fn backup_size(&self) -> u64 {
        (self.entries_sectors() + 1) * SECTOR
    }

    /// Moves a partition to these sectors, the last included. Does nothing if there is no partition with this number.
    pub fn place(&mut self, index: usize, first: u64, last: u64) {
        if let Some(entry) = self.entries.chunks_exact_mut(self.entry_size).nth(index) {
            put(entry, 32, &first.to_le_bytes());
            put(entry, 40, &last.to_le_bytes());
        }
    }

    /// The changes that make it the table of a disk of `size` bytes, a multiple of 512. The size includes the backup at the
    /// end. Partitions may reach into the backup: other tools make such tables, and systems accept them.
    pub fn resized(&self, size: u64) -> Result<ResizedGpt, GptError> {
        let too_small = || GptError::TooSmall(size);
        let last = (size / SECTOR).checked_sub(1).filter(|_| size.is_multiple_of(SECTOR)).ok_or_else(too_small)?;
        let backup_entries = last.checked_sub(self.entries_sectors()).ok_or_else(too_small)?;
        let [_, primary_entries] = self.sectors();
        if backup_entries < primary_entries.end {
            return Err(too_small());
        }
        let mut primary = self.header.clone();
        put(&mut primary, 32, &last.to_le_bytes());
        put(&mut primary, 48, &(backup_entries - 1).to_le_bytes());
        put(&mut primary, 88, &crc32fast::hash(&self.entries).to_le_bytes());
        seal(&mut primary);
        let mut backup_header = primary.clone();
        put(&mut backup_header, 24, &last.to_le_bytes());
        put(&mut backup_header, 32, &1_u64.to_le_bytes());
        put(&mut backup_header, 72, &backup_entries.to_le_bytes());
        seal(&mut backup_header);

        let used = self.used_entries().to_vec();
        let sectors = |bytes: Vec<u8>, sectors: u64| {
            let padding = (sectors * SECTOR).saturating_sub(bytes.len() as u64);
            [Segment::bytes(bytes), Segment::zeros(padding)]
        };
        let backup = [sectors(used.clone(), self.entries_sectors()), sectors(backup_header, 1)];
        let patches = vec![Patch::bytes(SECTOR, primary), Patch::bytes(primary_entries.start * SECTOR, used)];
        Ok(ResizedGpt { patches, backup: backup.concat() })
    }

    fn entries_start(&self) -> u64 {
        u64_le(&self.header, 72).unwrap_or(0)
    }

    fn entries_sectors(&self) -> u64 {
        (self.entries.len() as u64).div_ceil(SECTOR)
    }

    /// The entries up to the last one that is not zero. It is whole: where it ends with zeros, the disk may still have something else.
    fn used_entries(&self) -> &[u8] {
        let used = self.entries.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.entries.get(..used.next_multiple_of(self.entry_size)).unwrap_or_default()
    }
}

/// The checksum of a header, which counts as zero in it.
fn header_checksum(header: &[u8]) -> u32 {
    let mut header = header.to_vec();
    put(&mut header, 16, &[0; 4]);
    crc32fast::hash(&header)
}

fn seal(header: &mut [u8]) {
    let checksum = header_checksum(header);
    put(header, 16, &checksum.to_le_bytes());
}

#[cfg(test)]
mod tests;
