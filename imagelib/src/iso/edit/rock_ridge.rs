//! Rock Ridge entries (IEEE P1282 §4) of new files.

use super::layout::DraftRecord;
use crate::fields::both_endian;

/// What RR, which older programs write, says is there: PX, TF, and NM.
const PX_TF: u8 = 0x81;
const NM: u8 = 0x08;

/// The entries of something new in the directory whose own record is `own`: permissions, the directory's times, and
/// the name, where it has one.
pub(super) fn entries(own: &DraftRecord, mode: u32, links: u32, number: u32, name: Option<&str>) -> Option<Vec<u8>> {
    let mut entries = Vec::new();
    if own.entry(*b"RR").is_some() {
        entries.extend([b'R', b'R', 5, 1, if name.is_some() { PX_TF | NM } else { PX_TF }]);
    }
    // The file serial number is in later editions only.
    let length = own.entry(*b"PX").map_or(36, |(_, entry)| if entry.len() >= 44 { 44 } else { 36 });
    entries.extend([b'P', b'X', length, 1]);
    for number in [mode, links, 0, 0] {
        entries.extend(both_endian(number));
    }
    if length == 44 {
        entries.extend(both_endian(number));
    }
    if let Some((_, times)) = own.entry(*b"TF") {
        entries.extend(times);
    }
    if let Some(name) = name {
        entries.extend([b'N', b'M', u8::try_from(name.len() + 5).ok()?, 1, 0]);
        entries.extend(name.as_bytes());
    }
    Some(entries)
}
