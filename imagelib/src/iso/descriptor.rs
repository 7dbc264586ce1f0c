//! Volume descriptors (ECMA-119 §8), one block each, from the seventeenth block of the volume on.

use super::directory::FileEntry;
use super::fields::{read_bytes, u32_both};
use super::record::Record;
use super::{BLOCK, IsoError};
use crate::fields::{array, u16_le, u32_le};
use crate::source::Source;

/// The blocks before the descriptors, which belong to the system (§6.2.1): partition tables, boot code.
const SYSTEM_AREA: u64 = 16 * BLOCK;

/// Real images have three to five descriptors.
const MAX_DESCRIPTORS: u64 = 64;

/// Where the size of the path tables stands in a descriptor (§8.4.13).
pub(super) const PATH_TABLE_SIZE: usize = 132;
/// Where the root directory's record stands in a descriptor (§8.4.18).
pub(super) const ROOT_RECORD: usize = 156;

/// What a volume descriptor describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescriptorKind {
    /// The volume, with ISO 9660 names (and Rock Ridge ones).
    Primary,
    /// The volume, with Joliet names.
    Joliet,
    /// The volume in another way, such as ISO 9660:1999.
    Supplementary,
    /// The boot catalog of El Torito.
    ElTorito,
    /// Something else, which is left alone.
    Other(u8),
}

/// A volume descriptor and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// The descriptor's first byte in the image.
    pub offset: u64,
    /// What it describes.
    pub kind: DescriptorKind,
}

/// All that the descriptors of one volume say.
#[derive(Debug)]
pub(super) struct Descriptors {
    pub(super) all: Vec<Descriptor>,
    pub(super) volume_id: String,
    /// In bytes, counted from the volume's base.
    pub(super) space_size: u64,
    pub(super) primary_root: FileEntry,
    pub(super) joliet_root: Option<FileEntry>,
    pub(super) boot_catalog: Option<u64>,
    pub(super) udf: bool,
}

/// Reads the descriptors of the volume whose first block stands at `base`.
pub(super) fn read(source: &dyn Source, base: u64) -> Result<Descriptors, IsoError> {
    let first = base.saturating_add(SYSTEM_AREA);
    let mut all = Vec::new();
    let mut primary = None;
    let mut joliet_root = None;
    let mut boot_catalog = None;
    for index in 0..MAX_DESCRIPTORS {
        let offset = first.saturating_add(index * BLOCK);
        let Some(block) = read_block(source, offset)?.filter(|block| block.get(1..6) == Some(b"CD001")) else {
            return Err(match index {
                0 => IsoError::NotIso(offset),
                _ => IsoError::Descriptors("have no terminator"),
            });
        };
        let kind = match (block.first(), block.get(88..91)) {
            (Some(255), _) => {
                let (volume_id, space_size, primary_root) =
                    primary.ok_or(IsoError::Descriptors("have no primary one"))?;
                let udf = is_udf(source, offset + BLOCK)?;
                return Ok(Descriptors { all, volume_id, space_size, primary_root, joliet_root, boot_catalog, udf });
            }
            (Some(0), _) if block.get(7..).is_some_and(|id| id.starts_with(b"EL TORITO SPECIFICATION")) => {
                boot_catalog = u32_le(&block, 71).map(|lba| base.saturating_add(u64::from(lba) * BLOCK));
                DescriptorKind::ElTorito
            }
            (Some(1), _) => {
                let root = root(source, &block, base, offset)?;
                let id = block.get(40..72).unwrap_or_default();
                let space_size = u64::from(u32_both(&block, 80, offset, "volume space size")?) * BLOCK;
                if primary.is_none() {
                    primary = Some((String::from_utf8_lossy(id).trim_end().to_owned(), space_size, root));
                }
                DescriptorKind::Primary
            }
            // UCS-2 levels 1, 2 and 3 of ISO/IEC 10646, which is how Joliet is told.
            (Some(2), Some(b"%/@" | b"%/C" | b"%/E")) => {
                joliet_root.get_or_insert(root(source, &block, base, offset)?);
                DescriptorKind::Joliet
            }
            (Some(2), _) => DescriptorKind::Supplementary,
            (code, _) => DescriptorKind::Other(code.copied().unwrap_or_default()),
        };
        all.push(Descriptor { offset, kind });
    }
    Err(IsoError::Descriptors("do not end"))
}

/// The block and the size of a path table (§8.4.13 to 8.4.17).
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathTable {
    /// Where the descriptor has the number of its block: from 148 on in big-endian order.
    pub(crate) field: usize,
    /// Its first byte in the image. It may lie outside.
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// The path tables that a descriptor names: the main one and the optional one of each byte order.
pub(crate) fn path_tables(descriptor: &[u8], base: u64) -> Vec<PathTable> {
    let length = u32_le(descriptor, PATH_TABLE_SIZE).unwrap_or_default().into();
    let table = |field: usize| {
        let block = array(descriptor, field)?;
        let block = if field < 148 { u32::from_le_bytes(block) } else { u32::from_be_bytes(block) };
        let offset = base.saturating_add(u64::from(block) * BLOCK);
        Some(PathTable { field, offset, length }).filter(|_| block != 0)
    };
    [140, 144, 148, 152].into_iter().filter_map(table).collect()
}

/// The root directory that a descriptor names.
fn root(source: &dyn Source, block: &[u8], base: u64, offset: u64) -> Result<FileEntry, IsoError> {
    let block_size = u16_le(block, 128).unwrap_or_default();
    if u64::from(block_size) != BLOCK {
        return Err(IsoError::BlockSize(block_size));
    }
    let bytes = block.get(ROOT_RECORD..ROOT_RECORD + 34).unwrap_or_default();
    let record = Record::parse(bytes, offset + ROOT_RECORD as u64)?;
    if !record.is_directory() {
        return Err(IsoError::Record {
            offset: record.offset,
            reason: "belongs to the root directory, but is a file's",
        });
    }
    FileEntry::from_record(source, &record, base, String::new())
}

/// Whether UDF structures (ECMA-167 part 2) follow: such a bridge image has a second file system over the same
/// files, which an edit of this one would not reach.
fn is_udf(source: &dyn Source, from: u64) -> Result<bool, IsoError> {
    for index in 0..MAX_DESCRIPTORS {
        let block = read_block(source, from + index * BLOCK)?;
        match block.as_deref().and_then(|block| block.get(1..6)) {
            Some(b"NSR02" | b"NSR03") => return Ok(true),
            Some(b"BEA01" | b"BOOT2" | b"CD001") => {}
            _ => break,
        }
    }
    Ok(false)
}

/// The block at `offset`, where the image has one.
fn read_block(source: &dyn Source, offset: u64) -> Result<Option<Vec<u8>>, IsoError> {
    if offset.checked_add(BLOCK).is_none_or(|end| end > source.size()) {
        return Ok(None);
    }
    read_bytes(source, offset, BLOCK).map(Some)
}
