//! The META partition on a disk of Talos: a partition with this name and of 1 MiB, without a file system. It begins with two copies of
//! a block of 256 KiB (`internal/pkg/meta/internal/adv/talos` in Talos' source). All numbers are big-endian:
//!
//! | offset | bytes | what it is |
//! | --- | --- | --- |
//! | 0 | 4 | `0x5a4b3c2d` |
//! | 4 | | values: a key in 4 bytes, a length in 4 bytes, the value. Key 0 ends them |
//! | end − 36 | 32 | SHA-256 of the block with zeros in this place |
//! | end − 4 | 4 | `0xa5b4c3d2` |
//!
//! Talos reads the first copy that is whole.

use std::io;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::{MetaValues, NETWORK_KEY, TalosError};
use crate::disk::SECTOR;
use crate::disk::gpt::Gpt;
use crate::fields::array;
use crate::overlay::Patch;
use crate::source::Source;

const NAME: &str = "META";
/// Talos takes no partition of another size for its own (`VolumeConfigController` in its source).
const PARTITION: u64 = 1 << 20;
const BLOCK: usize = 256 << 10;
const BEGIN: [u8; 4] = 0x5a4b_3c2d_u32.to_be_bytes();
const END: [u8; 4] = 0xa5b4_c3d2_u32.to_be_bytes();
const CHECKSUM: usize = 32;
/// What is behind the values.
const TRAILER: usize = CHECKSUM + END.len();
/// The longest values with their keys and lengths.
const ROOM: usize = BLOCK - BEGIN.len() - TRAILER;

/// A META partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaPartition {
    /// Where it begins, in bytes.
    offset: u64,
    values: MetaValues,
}

impl MetaPartition {
    /// Finds the partition on a disk. If neither block is whole, it has no values: Talos starts with none, too.
    pub(crate) fn find(disk: &dyn Source) -> io::Result<Option<Self>> {
        let Ok(Some(gpt)) = Gpt::read(disk) else { return Ok(None) };
        let size = |first: u64, last: u64| last.checked_sub(first)?.checked_add(1)?.checked_mul(SECTOR);
        let is_meta = |first, last, name: &str| name == NAME && size(first, last) == Some(PARTITION);
        let mut partitions = gpt.partitions().map(|(_, partition)| partition);
        let Some(meta) = partitions.find(|part| is_meta(part.first, part.last, &part.name)) else { return Ok(None) };
        let offset = meta.first.saturating_mul(SECTOR);
        if offset.checked_add(PARTITION).is_none_or(|end| end > disk.size()) {
            return Ok(None);
        }
        let copies = disk.read_vec(offset, 2 * BLOCK as u64)?;
        let mut copies = copies.as_chunks::<BLOCK>().0.iter();
        // Other systems may use the name.
        let is_talos = |copy: &[u8; BLOCK]| copy.starts_with(&BEGIN) || copy.iter().all(|byte| *byte == 0);
        if !copies.clone().any(is_talos) {
            return Ok(None);
        }
        let values = copies.find_map(|copy| read(copy)).unwrap_or_default();
        Ok(Some(Self { offset, values }))
    }

    /// The keys of its values.
    pub fn keys(&self) -> impl Iterator<Item = u8> {
        self.values.keys().copied()
    }

    /// Whether it has a network configuration.
    pub fn has_network(&self) -> bool {
        self.values.contains_key(&NETWORK_KEY)
    }

    /// The patches of the disk by which it has these values, too.
    pub(crate) fn patches(&self, added: MetaValues) -> Result<Vec<Patch>, TalosError> {
        let values = self.values.clone().into_iter().chain(added).collect::<MetaValues>();
        let mut begin = BEGIN.to_vec();
        for (key, value) in &values {
            begin.extend(u32::from(*key).to_be_bytes());
            begin.extend(u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes());
            begin.extend(value);
        }
        let size = begin.len() - BEGIN.len();
        let zeros = ROOM.checked_sub(size).ok_or(TalosError::NoRoom { size, room: ROOM })?;
        let mut hash = Sha256::new();
        hash.update(&begin);
        hash.update(vec![0; zeros + CHECKSUM]);
        hash.update(END);
        let (begin, end) = (Bytes::from(begin), Bytes::from([hash.finalize().as_slice(), &END].concat()));
        let copy = |start: u64| {
            let behind = start.saturating_add(begin.len() as u64);
            [
                Patch::bytes(start, begin.clone()),
                Patch::zeros(behind, zeros as u64),
                Patch::bytes(behind.saturating_add(zeros as u64), end.clone()),
            ]
        };
        let copies = [self.offset, self.offset.saturating_add(BLOCK as u64)];
        Ok(copies.into_iter().flat_map(copy).filter(|patch| !patch.content.is_empty()).collect())
    }
}

/// The values of a block; none, if it is not whole.
fn read(block: &[u8]) -> Option<MetaValues> {
    let (head, end) = block.split_at_checked(block.len().checked_sub(END.len())?)?;
    let (head, checksum) = head.split_at_checked(head.len().checked_sub(CHECKSUM)?)?;
    let mut hash = Sha256::new();
    hash.update(head);
    hash.update([0; CHECKSUM]);
    hash.update(end);
    let mut rest = head.strip_prefix(&BEGIN)?;
    if end != END || hash.finalize().as_slice() != checksum {
        return None;
    }
    let mut values = MetaValues::new();
    while let (Some(key), Some(length)) = (number(rest, 0), number(rest, 4)) {
        if key == 0 {
            break;
        }
        let behind = rest.get(8..)?;
        let (value, next) = behind.split_at_checked(usize::try_from(length).ok()?)?;
        // Talos, too, has keys of a byte.
        values.insert(key.to_be_bytes()[3], value.to_vec());
        rest = next;
    }
    Some(values)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests;
