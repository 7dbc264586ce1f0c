//! An entry of a table.

use uuid::Uuid;

use super::ENTRY;
use crate::disk::guid::Guid;
use crate::fields::{array, u64_le};

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its type.
    pub kind: Guid,
    /// Its unique id.
    pub id: Guid,
    /// Its first sector.
    pub first: u64,
    /// Its last sector, included.
    pub last: u64,
    /// Its name.
    pub name: String,
}

impl Partition {
    /// The partition of an entry; none where the entry is not used.
    pub(super) fn read(entry: &[u8; ENTRY]) -> Option<Self> {
        let kind = Guid::from_bytes(array(entry, 0)?);
        if kind.is_zero() {
            return None;
        }
        let units = entry.get(56..)?.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
        let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
        Some(Self {
            kind,
            id: Guid::from_bytes(array(entry, 16)?),
            first: u64_le(entry, 32)?,
            last: u64_le(entry, 40)?,
            name: String::from_utf16_lossy(&units),
        })
    }
}

impl From<&Partition> for ::gpt::partition::Partition {
    fn from(partition: &Partition) -> Self {
        Self {
            part_type_guid: Uuid::from(partition.kind).into(),
            part_guid: partition.id.into(),
            first_lba: partition.first,
            last_lba: partition.last,
            flags: 0,
            name: partition.name.clone(),
        }
    }
}
