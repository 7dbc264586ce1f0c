//! Directories: records of 32 bytes, with long names in records before (FAT32 File System Specification 1.03, pages
//! 22 to 32).

use crate::fields::{array, u16_le, u32_le};

/// The length of a record.
pub(super) const RECORD: usize = 32;
/// How many UTF-16 units of a long name a record holds.
pub(super) const LONG_PART: usize = 13;
pub(super) const ATTRIBUTE_VOLUME: u8 = 0x08;
pub(super) const ATTRIBUTE_DIRECTORY: u8 = 0x10;
pub(super) const ATTRIBUTE_ARCHIVE: u8 = 0x20;
/// What marks a record as part of a long name.
pub(super) const ATTRIBUTE_LONG: u8 = 0x0F;
/// What marks the first record of a long name, which holds its end.
pub(super) const LAST_PART: u8 = 0x40;

const END: u8 = 0x00;
const DELETED: u8 = 0xE5;
/// Stands for 0xE5 at the beginning of a name.
const ESCAPED: u8 = 0x05;
const LOWER_STEM: u8 = 0x08;
const LOWER_EXTENSION: u8 = 0x10;

/// A file or a directory in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The long name, or else the short one.
    pub(super) name: String,
    pub(super) directory: bool,
    pub(super) first: u32,
    pub(super) size: u32,
    /// Where its record stands in the directory.
    pub(super) record: usize,
}

/// The files and directories of a directory, without itself, the one above and the volume's label.
pub(super) fn entries(bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut long = LongName::default();
    for (index, record) in bytes.as_chunks::<RECORD>().0.iter().enumerate() {
        let [first, ..] = *record;
        let attributes = record.get(11).copied().unwrap_or(0);
        if first == END {
            break;
        } else if first == DELETED {
            long = LongName::default();
        } else if attributes & 0x3F == ATTRIBUTE_LONG {
            long.add(record);
        } else {
            let long = std::mem::take(&mut long);
            if attributes & ATTRIBUTE_VOLUME == 0 && first != b'.' {
                entries.push(Entry {
                    name: long.of(record).unwrap_or_else(|| short_name(record)),
                    directory: attributes & ATTRIBUTE_DIRECTORY != 0,
                    first: u32::from(u16_le(record, 20).unwrap_or(0)) << 16
                        | u32::from(u16_le(record, 26).unwrap_or(0)),
                    size: u32_le(record, 28).unwrap_or(0),
                    record: index * RECORD,
                });
            }
        }
    }
    entries
}

/// Whether records follow the one that ends the directory. A new record would take the place of the end, and make them visible.
pub(super) fn has_records_behind_end(bytes: &[u8]) -> bool {
    let firsts = bytes.as_chunks::<RECORD>().0.iter().map(|[first, ..]| *first);
    firsts.skip_while(|first| *first != END).any(|first| first != END)
}

/// The checksum of a short name that its long name carries.
pub(super) fn checksum(short: &[u8; 11]) -> u8 {
    short.iter().fold(0_u8, |sum, byte| sum.rotate_right(1).wrapping_add(*byte))
}

/// A long name on its way: its parts come from the last to the first.
#[derive(Default)]
struct LongName {
    parts: Vec<[u16; LONG_PART]>,
    /// The number of the part that must come next; 0 when the name is complete or broken.
    next: u8,
    checksum: u8,
}

impl LongName {
    fn add(&mut self, record: &[u8; RECORD]) {
        let [order, ..] = *record;
        let checksum = record.get(13).copied().unwrap_or(0);
        let number = order & !LAST_PART;
        if order & LAST_PART != 0 {
            *self = Self { parts: Vec::new(), next: number, checksum };
        }
        if number == 0 || number > 20 || number != self.next || checksum != self.checksum {
            *self = Self::default();
            return;
        }
        self.next = number - 1;
        let mut part = [0; LONG_PART];
        let places = (1..11).step_by(2).chain((14..26).step_by(2)).chain([28, 30]);
        for (unit, at) in part.iter_mut().zip(places) {
            *unit = u16_le(record, at).unwrap_or(0);
        }
        self.parts.push(part);
    }

    /// The name, where it is complete and belongs to this record.
    fn of(self, record: &[u8; RECORD]) -> Option<String> {
        let short = array(record, 0)?;
        if self.parts.is_empty() || self.next != 0 || self.checksum != checksum(&short) {
            return None;
        }
        let units: Vec<u16> = self.parts.into_iter().rev().flatten().take_while(|unit| *unit != 0).collect();
        Some(String::from_utf16_lossy(&units)).filter(|name| !name.is_empty() && !name.contains('/'))
    }
}

fn short_name(record: &[u8; RECORD]) -> String {
    let case = record.get(12).copied().unwrap_or(0);
    let part = |range: std::ops::Range<usize>, lower: bool| {
        let text: String = record.get(range).unwrap_or_default().iter().map(|byte| character(*byte)).collect();
        let text = text.trim_end_matches(' ');
        if lower { text.to_ascii_lowercase() } else { text.to_owned() }
    };
    let (mut name, extension) = (part(0..8, case & LOWER_STEM != 0), part(8..11, case & LOWER_EXTENSION != 0));
    if !extension.is_empty() {
        name.push('.');
        name.push_str(&extension);
    }
    name
}

/// Which character it is beyond ASCII depends on a code page that nobody has written down.
fn character(byte: u8) -> char {
    if byte.is_ascii() && byte != ESCAPED && byte != b'/' { char::from(byte) } else { char::REPLACEMENT_CHARACTER }
}
