//! What Rock Ridge (IEEE P1282) adds to a directory record, as entries of the System Use Sharing Protocol (P1281). Naming
//! are short enough that all of it fits the record: nothing continues elsewhere.

use crate::fields::both_endian;

/// The first of January 1980, as §9.1.5 has it: years since 1900, month, day, hours, minutes, seconds, offset from
/// Greenwich.
pub(super) const DATE: [u8; 7] = [80, 1, 1, 0, 0, 0, 0];

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;

/// What an entry is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attributes {
    /// A directory with so many directories in it.
    Directory(u32),
    /// A file of these permissions.
    File(u16),
}

/// Permissions, owner and date (PX, TF), as every record has them, and the name (NM).
pub(super) fn entries(attributes: Attributes, name: Option<&str>) -> Vec<u8> {
    let (mode, links) = match attributes {
        Attributes::Directory(directories) => (DIRECTORY | 0o755, directories.saturating_add(2)),
        Attributes::File(mode) => (REGULAR | u32::from(mode & 0o7777), 1),
    };
    let mut area = b"PX\x24\x01".to_vec();
    for number in [mode, links, 0, 0] {
        area.extend(both_endian(number));
    }
    // When it was modified, last read, and last changed in its attributes.
    area.extend(b"TF\x1a\x01\x0e");
    area.extend([DATE; 3].concat());
    if let Some(name) = name {
        area.extend(b"NM");
        // IsoPath keeps names at 128 bytes.
        area.push(u8::try_from(name.len() + 5).unwrap_or(u8::MAX));
        area.extend([1, 0]);
        area.extend(name.as_bytes());
    }
    area
}

/// What begins the root's own record (SP), and what follows there (ER), by which readers know Rock Ridge.
pub(super) fn root(entries: &[u8]) -> Vec<u8> {
    let mut area = b"SP\x07\x01\xbe\xef\x00".to_vec();
    area.extend(entries);
    let identifier = b"RRIP_1991A";
    area.extend(b"ER\x12\x01");
    area.extend([10, 0, 0, 1]);
    area.extend(identifier);
    area
}
