//! Numbers at an offset of a record. Reading past the end of the record gives `None`; writing past it writes nothing.

pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

pub(crate) fn u16_le(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

pub(crate) fn u32_le(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

pub(crate) fn u64_le(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// Writes `value` at `at`, if all of it fits.
pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(target) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..value.len())) {
        target.copy_from_slice(value);
    }
}

/// A number as ECMA-119 §7.3.3 has it: first little-endian, then big-endian.
pub(crate) fn both_endian(number: u32) -> [u8; 8] {
    let [a, b, c, d] = number.to_le_bytes();
    [a, b, c, d, d, c, b, a]
}
