//! Path tables (ECMA-119 §9.4): all directories of a tree, once in each byte order.

use super::directory::{Directories, Directory};

/// The table in little-endian order (type L), and the one in big-endian order (type M).
pub(super) fn both_orders(directories: &Directories<'_>) -> [Vec<u8>; 2] {
    [table(directories, u32::to_le_bytes, u16::to_le_bytes), table(directories, u32::to_be_bytes, u16::to_be_bytes)]
}

fn table(directories: &Directories<'_>, u32_bytes: fn(u32) -> [u8; 4], u16_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mut table = Vec::new();
    for Directory { identifier, block, parent, .. } in &directories.all {
        table.extend([u8::try_from(identifier.len()).unwrap_or(u8::MAX), 0]);
        table.extend(u32_bytes(*block));
        // Counted from one. There are no more directories than 16 bits can count.
        table.extend(u16_bytes(u16::try_from(parent + 1).unwrap_or(u16::MAX)));
        table.extend(identifier);
        table.resize(table.len().next_multiple_of(2), 0);
    }
    table
}
