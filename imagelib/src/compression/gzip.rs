//! Writes gzip (RFC 1952).
//!
//! Images of the same recipe have the same bytes for ever, so the encoder is named. What `flate2` encodes with depends on the
//! features that any crate in the program asks of it.

use miniz_oxide::deflate::compress_to_vec;

/// Deflate, without flags, without a time, compressed as well as possible, by no system in particular.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
const BEST: u8 = 9;

/// Compresses to one member.
pub(super) fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut member = HEADER.to_vec();
    member.extend(compress_to_vec(bytes, BEST));
    member.extend(crc32fast::hash(bytes).to_le_bytes());
    // The last field is the length modulo 2^32: its low four bytes.
    member.extend(bytes.len().to_le_bytes().into_iter().take(4));
    member
}
