//! The GUID partition table (UEFI 2.10 §5.3): a header and an array of entries at the beginning, and both again at the
//! very end.

use bytes::Bytes;

use super::{Grown, Growth, Partition, SECTOR};
use crate::iso::IsoError;
use crate::iso::edit::bytes::{difference, put};
use crate::iso::edit::error::{NotEditable, OpenError};
use crate::iso::fields::{u32_le, u64_le};
use crate::overlay::{Content, Segment};
use crate::source::Source;

const SIGNATURE: &[u8] = b"EFI PART";
/// The largest array that is kept; xorriso makes one of 248 entries, which is all that fits the system area.
const LARGEST_ARRAY: u64 = 64 << 10;

const HEADER_SIZE: usize = 12;
const HEADER_CRC: usize = 16;
const OWN_SECTOR: usize = 24;
const OTHER_SECTOR: usize = 32;
const LAST_USABLE: usize = 48;
const ARRAY_SECTOR: usize = 72;
const COUNT: usize = 80;
const ENTRY_SIZE: usize = 84;
const ARRAY_CRC: usize = 88;

#[derive(Debug)]
pub(super) struct Gpt {
    header: Vec<u8>,
    array: Vec<u8>,
    array_offset: u64,
    entry_size: usize,
}

impl Gpt {
    /// Reads the table whose header may be these bytes, the second sector of the image.
    pub(super) fn read(source: &dyn Source, header: &[u8]) -> Result<Option<Self>, OpenError> {
        if !header.starts_with(SIGNATURE) {
            return Ok(None);
        }
        let damaged = |reason| OpenError::NotEditable(NotEditable::Gpt(reason));
        if header_crc(header).is_none_or(|crc| u32_le(header, HEADER_CRC) != Some(crc)) {
            return Err(damaged("the checksum of its header is wrong"));
        }
        let (Some(count), Some(entry_size), Some(sector)) =
            (u32_le(header, COUNT), u32_le(header, ENTRY_SIZE), u64_le(header, ARRAY_SECTOR))
        else {
            return Err(damaged("its header is too short"));
        };
        if entry_size < 128 || entry_size % 128 != 0 {
            return Err(damaged("its entries have a size that none can have"));
        }
        let length = u64::from(count) * u64::from(entry_size);
        let array_offset = sector.saturating_mul(SECTOR);
        let end = array_offset.saturating_add(length);
        if length > LARGEST_ARRAY || sector < 2 || end > source.size() {
            return Err(damaged("its entries are too many, or not where they must be"));
        }
        let array =
            source.read_vec(array_offset, length).map_err(|source| IsoError::Read { offset: array_offset, source })?;
        if u32_le(header, ARRAY_CRC) != Some(crc32fast::hash(&array)) {
            return Err(damaged("the checksum of its entries is wrong"));
        }
        let entry_size = usize::try_from(entry_size).unwrap_or(128);
        Ok(Some(Self { header: header.to_vec(), array, array_offset, entry_size }))
    }

    /// The partitions of the entries that are in use, with where the entries begin in the array.
    fn entries(&self) -> impl Iterator<Item = (usize, Partition)> {
        self.array.chunks_exact(self.entry_size).enumerate().filter_map(|(index, entry)| {
            let used = entry.get(..16)?.iter().any(|byte| *byte != 0);
            let partition = Partition { first: u64_le(entry, 32)?, last: u64_le(entry, 40)? };
            used.then_some((index * self.entry_size, partition))
        })
    }

    pub(super) fn partitions(&self) -> Vec<Partition> {
        self.entries().map(|(_, partition)| partition).collect()
    }

    /// How many bytes stand at the end of the image.
    pub(super) fn backup_size(&self) -> u64 {
        (self.array.len() as u64).next_multiple_of(SECTOR) + SECTOR
    }

    pub(super) fn grow(&self, growth: Growth<'_>, grown: &mut Grown) {
        let all = self.partitions();
        let mut array = self.array.clone();
        for (at, partition) in self.entries() {
            let new = partition.grown(&all, growth);
            put(&mut array, at + 32, &new.first.to_le_bytes());
            put(&mut array, at + 40, &new.last.to_le_bytes());
        }
        // The backup: entries, then the header in the last sector.
        let length = self.backup_size() - SECTOR;
        let last = grown.size / SECTOR - 1;
        let backup_array = last - length / SECTOR;
        let crc = crc32fast::hash(&array);
        let primary = self.header(1, last, self.array_offset / SECTOR, backup_array - 1, crc);
        let backup = self.header(last, 1, backup_array, backup_array - 1, crc);

        let used = array.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let written = Bytes::from(array.get(..used).map(<[u8]>::to_vec).unwrap_or_default());
        let own = Segment::Own;
        grown.tail.push(own(Content::Bytes(written)));
        grown.tail.push(own(Content::Zeros(length - used as u64)));
        grown.tail.push(own(Content::Bytes(Bytes::from(backup))));

        grown.patches.extend(difference(SECTOR, &self.header, primary));
        grown.patches.extend(difference(self.array_offset, &self.array, array));
        grown.changed.push("GPT");
    }

    /// The header for one of its two places.
    fn header(&self, own: u64, other: u64, array: u64, last_usable: u64, array_crc: u32) -> Vec<u8> {
        let mut header = self.header.clone();
        put(&mut header, OWN_SECTOR, &own.to_le_bytes());
        put(&mut header, OTHER_SECTOR, &other.to_le_bytes());
        put(&mut header, LAST_USABLE, &last_usable.to_le_bytes());
        put(&mut header, ARRAY_SECTOR, &array.to_le_bytes());
        put(&mut header, ARRAY_CRC, &array_crc.to_le_bytes());
        let crc = header_crc(&header).unwrap_or_default();
        put(&mut header, HEADER_CRC, &crc.to_le_bytes());
        header
    }
}

/// The checksum of a header, which it has with zeros in the checksum's place.
fn header_crc(header: &[u8]) -> Option<u32> {
    let size = usize::try_from(u32_le(header, HEADER_SIZE)?).ok().filter(|size| *size >= 92)?;
    let mut bytes = header.get(..size)?.to_vec();
    put(&mut bytes, HEADER_CRC, &[0; 4]);
    Some(crc32fast::hash(&bytes))
}
