//! Volume descriptors (ECMA-119 §8).

use super::directory::Directories;
use super::names::Form;
use super::{AuthorError, BlockMap, NewIso};
use crate::fields::both_endian;

const LENGTH: usize = 2048;

/// The first of January 1980 (§8.4.26.1), in Greenwich.
const DATE: &[u8; 17] = b"1980010100000000\0";
const NO_DATE: &[u8; 17] = b"0000000000000000\0";

/// Refuses identifiers that do not fit.
pub(super) fn check(iso: &NewIso) -> Result<(), AuthorError> {
    if iso.volume_id.is_empty() {
        return Err(AuthorError::Identifier { field: "volume identifier", limit: 32 });
    }
    for (field, text, limit) in [
        ("volume identifier", &iso.volume_id, 32),
        ("publisher", &iso.publisher, 128),
        ("preparer", &iso.preparer, 128),
    ] {
        if text.len() > limit || !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(AuthorError::Identifier { field, limit });
        }
    }
    Ok(())
}

/// The descriptor of one tree: primary (§8.4), or supplementary with Joliet's escape sequence (§8.5).
pub(super) fn volume(iso: &NewIso, places: &BlockMap, directories: &Directories<'_>) -> Vec<u8> {
    let joliet = directories.form == Form::Joliet;
    let text = |text: &str, length: usize| if joliet { ucs_2(text, length) } else { ascii(text, length) };
    let [table_l, table_m] = match places.path_tables {
        [l, m, _, _] if !joliet => [l, m],
        [_, _, l, m] => [l, m],
    };
    let mut descriptor = head(if joliet { 2 } else { 1 });
    descriptor.push(0);
    descriptor.extend(text("LINUX", 32));
    descriptor.extend(text(&iso.volume_id, 32));
    descriptor.extend([0; 8]);
    descriptor.extend(both_endian(places.end));
    // Level 3 of UCS-2.
    let mut escape = if joliet { b"%/E".to_vec() } else { Vec::new() };
    escape.resize(32, 0);
    descriptor.extend(escape);
    // The first volume of one, in blocks of 2048 bytes.
    for number in [1_u16, 1, 2048] {
        descriptor.extend(number.to_le_bytes());
        descriptor.extend(number.to_be_bytes());
    }
    descriptor.extend(both_endian(directories.path_table_size()));
    descriptor.extend(table_l.to_le_bytes());
    descriptor.extend([0; 4]);
    descriptor.extend(table_m.to_be_bytes());
    descriptor.extend([0; 4]);
    descriptor.extend(directories.root_record());
    for identifier in [&iso.volume_id, &iso.publisher, &iso.preparer, ""] {
        descriptor.extend(text(identifier, 128));
    }
    // Files with a copyright, an abstract, a bibliography: none.
    for _ in 0..3 {
        descriptor.extend(text("", 37));
    }
    for date in [DATE, DATE, NO_DATE, NO_DATE] {
        descriptor.extend(date);
    }
    descriptor.extend([1, 0]);
    descriptor.resize(LENGTH, 0);
    descriptor
}

/// The boot record, which says where the boot catalog is ("El Torito" 1.0, §2.0).
pub(super) fn boot_record(catalog: u32) -> Vec<u8> {
    let mut descriptor = head(0);
    descriptor.extend(b"EL TORITO SPECIFICATION");
    descriptor.resize(71, 0);
    descriptor.extend(catalog.to_le_bytes());
    descriptor.resize(LENGTH, 0);
    descriptor
}

/// What ends the descriptors (§8.3).
pub(super) fn terminator() -> Vec<u8> {
    head(255)
}

fn head(kind: u8) -> Vec<u8> {
    let mut head = vec![kind];
    head.extend(b"CD001\x01");
    head
}

fn ascii(text: &str, length: usize) -> Vec<u8> {
    let mut field = text.as_bytes().to_vec();
    field.resize(length, b' ');
    field
}

/// The text as far as it fits, and spaces. A field of odd length ends with a zero byte.
fn ucs_2(text: &str, length: usize) -> Vec<u8> {
    let units = text.encode_utf16().chain(std::iter::repeat(u16::from(b' '))).take(length / 2);
    let mut field: Vec<u8> = units.flat_map(u16::to_be_bytes).collect();
    field.resize(length, 0);
    field
}
