//! Texts that were compressed with gzip (RFC 1952), as whoever has many of them, or a Secret with little room, does.

use std::borrow::Cow;

use super::yaml::{Budget, Problem};
use crate::compression::{Compression, CompressionError};

/// The first bytes of every gzip stream; no text begins so, since the second is no UTF-8.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// `bytes`, decompressed to `limit` bytes at most if they are a gzip stream. What that makes is taken out of the budget.
pub(super) fn unpacked<'a>(bytes: Cow<'a, [u8]>, limit: usize, budget: &mut Budget) -> Result<Cow<'a, [u8]>, Problem> {
    if !bytes.starts_with(&MAGIC) {
        return Ok(bytes);
    }
    let unpacked = Compression::Gzip.decompress(&bytes, limit as u64).map_err(|error| match error {
        CompressionError::TooLarge(..) => {
            let message = format!("is compressed with gzip and unpacks to more than the {limit} bytes that are read");
            Problem::new("input-too-large", message)
        }
        CompressionError::Trailing(_) => {
            Problem::new("gzip-damaged", "is compressed with gzip, and there are bytes behind the end of the stream")
        }
        _ => Problem::new("gzip-damaged", "is compressed with gzip, and damaged or cut off"),
    })?;
    budget.take_bytes(unpacked.len())?;
    Ok(Cow::Owned(unpacked))
}
