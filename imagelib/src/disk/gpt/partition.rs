//! An entry of a table.

use super::ENTRY;
use crate::disk::fields::{array, put, u64_at};
use crate::disk::guid::Guid;

/// How many UTF-16 units a name has room for.
const NAME: usize = 36;

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// What it is for.
    pub kind: Guid,
    /// Which it is.
    pub id: Guid,
    /// Its first sector.
    pub first: u64,
    /// Its last sector, which is part of it.
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
            first: u64_at(entry, 32)?,
            last: u64_at(entry, 40)?,
            name: String::from_utf16_lossy(&units),
        })
    }

    pub(super) fn to_bytes(&self) -> [u8; ENTRY] {
        let mut entry = [0; ENTRY];
        put(&mut entry, 0, self.kind.as_bytes());
        put(&mut entry, 16, self.id.as_bytes());
        put(&mut entry, 32, &self.first.to_le_bytes());
        put(&mut entry, 40, &self.last.to_le_bytes());
        let name: Vec<u8> = self.name.encode_utf16().take(NAME).flat_map(u16::to_le_bytes).collect();
        put(&mut entry, 56, &name);
        entry
    }
}
