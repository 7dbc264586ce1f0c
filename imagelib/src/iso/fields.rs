//! Reads from an image whose errors say at which offset.

use super::IsoError;
use crate::fields::{array, u32_le};
use crate::source::Source;

/// The `length` bytes of the image from `offset` on.
pub(crate) fn read_bytes(source: &dyn Source, offset: u64, length: u64) -> Result<Vec<u8>, IsoError> {
    source.read_vec(offset, length).map_err(|source| IsoError::Read { offset, source })
}

/// A number that is recorded first in little-endian, then in big-endian order (ECMA-119 §7.3.3). `base` is the offset of
/// `bytes` in the image.
pub(super) fn u32_both(bytes: &[u8], at: usize, base: u64, field: &'static str) -> Result<u32, IsoError> {
    match (u32_le(bytes, at), array(bytes, at + 4).map(u32::from_be_bytes)) {
        (Some(little), Some(big)) if little == big => Ok(little),
        _ => Err(IsoError::BothEndian { field, offset: base.saturating_add(at as u64) }),
    }
}
