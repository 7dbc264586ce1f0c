//! Directory records (ECMA-119 §9.1).

use super::IsoError;
use super::fields::u32_both;

const HIDDEN_ASSOCIATED: u8 = 0x04;
const DIRECTORY: u8 = 0x02;
const MULTI_EXTENT: u8 = 0x80;

/// The fixed part of a record, before the name.
const FIXED: usize = 33;

/// One record as it stands in a directory.
#[derive(Debug)]
pub(super) struct Record<'a> {
    /// Where the record stands in the image.
    pub(super) offset: u64,
    /// How many bytes it takes.
    pub(super) length: usize,
    /// The first block of the file's content, relative to the volume.
    pub(super) block: u64,
    /// The bytes of content in this extent.
    pub(super) size: u32,
    pub(super) name: &'a [u8],
    /// What follows the name: Rock Ridge.
    pub(super) system_use: &'a [u8],
    flags: u8,
    /// How many blocks of extended attributes stand before the content.
    attributes: u8,
}

impl<'a> Record<'a> {
    /// Reads the record at the beginning of `bytes`, which end no later than its block does.
    pub(super) fn parse(bytes: &'a [u8], offset: u64) -> Result<Self, IsoError> {
        let damaged = |reason| IsoError::Record { offset, reason };
        let length = usize::from(bytes.first().copied().unwrap_or_default());
        let record = bytes.get(..length).ok_or(damaged("crosses the end of its block"))?;
        let (Some(&attributes), Some(&flags), Some(&unit), Some(&gap), Some(&name_length)) =
            (record.get(1), record.get(25), record.get(26), record.get(27), record.get(32))
        else {
            return Err(damaged("is too short"));
        };
        if unit != 0 || gap != 0 {
            return Err(damaged("describes an interleaved file, which is not supported"));
        }
        let name_end = FIXED + usize::from(name_length);
        let name = record.get(FIXED..name_end).ok_or(damaged("is shorter than its name"))?;
        if name.is_empty() {
            return Err(damaged("has no name"));
        }
        // A name of even length is followed by a byte of padding (§9.1.12).
        let system_use = record.get(name_end + usize::from(name_length % 2 == 0)..).unwrap_or_default();
        let extent = u32_both(record, 2, offset, "location of a file")?;
        let size = u32_both(record, 10, offset, "size of a file")?;
        // Extended attributes (§9.5) stand before the content and count as blocks of the extent.
        let block = u64::from(extent) + u64::from(attributes);
        Ok(Self { offset, length, block, size, name, system_use, flags, attributes })
    }

    pub(super) fn is_directory(&self) -> bool {
        self.flags & DIRECTORY != 0
    }

    /// Whether the record is about something that belongs to a file of the same name, such as a resource fork.
    pub(super) fn is_associated(&self) -> bool {
        self.flags & HIDDEN_ASSOCIATED != 0
    }

    /// Whether extended attributes (§9.5) stand before the content.
    pub(super) fn has_attributes(&self) -> bool {
        self.attributes != 0
    }

    /// Whether the file goes on in the next record.
    pub(super) fn continues(&self) -> bool {
        self.flags & MULTI_EXTENT != 0
    }

    /// Whether it is the record of the directory itself or of its parent (§7.6.2).
    pub(super) fn is_self_or_parent(&self) -> bool {
        matches!(self.name, [0 | 1])
    }
}

/// How the names of a tree are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    Iso,
    /// ISO 9660 names, with Rock Ridge's beside them. The number of bytes at the beginning of every record's system use
    /// that belong to something else.
    RockRidge(usize),
    Joliet,
}

impl Naming {
    /// The name in a record's own field, without a version.
    pub(super) fn decode(self, raw: &[u8]) -> String {
        if self == Self::Joliet { joliet_name(raw) } else { iso_name(raw) }
    }
}

/// A name of ISO 9660 as people write it: without the version and without the dot of an empty extension.
fn iso_name(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let name = text.split(';').next().unwrap_or_default();
    name.strip_suffix('.').unwrap_or(name).to_owned()
}

/// A Joliet name: UCS-2, big-endian. Some programs append the version here too, some do not.
fn joliet_name(raw: &[u8]) -> String {
    let units = raw.chunks_exact(2).map(|pair| match pair {
        [high, low] => u16::from_be_bytes([*high, *low]),
        _ => 0,
    });
    let name: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    match name.rsplit_once(';') {
        Some((stem, version)) if !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit()) => stem.to_owned(),
        _ => name,
    }
}
