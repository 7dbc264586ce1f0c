//! Numbers in the byte orders of ECMA-119 §7. Reading past the end of a slice is `None`.

use super::IsoError;

pub(super) fn u16_le(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|raw| u16::from_le_bytes(*raw))
}

pub(super) fn u32_le(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|raw| u32::from_le_bytes(*raw))
}

fn u32_be(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|raw| u32::from_be_bytes(*raw))
}

/// A number that stands first in little-endian, then in big-endian order (§7.3.3). `base` is where `bytes` begin in
/// the image.
pub(super) fn u32_both(bytes: &[u8], at: usize, base: u64, field: &'static str) -> Result<u32, IsoError> {
    match (u32_le(bytes, at), u32_be(bytes, at + 4)) {
        (Some(little), Some(big)) if little == big => Ok(little),
        _ => Err(IsoError::BothEndian { field, offset: base.saturating_add(at as u64) }),
    }
}

pub(super) fn u64_le(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|raw| u64::from_le_bytes(*raw))
}
