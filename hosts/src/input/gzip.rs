//! Texts that were compressed with gzip (RFC 1952), as whoever has many of them, or a Secret with little room, does.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::bufread::GzDecoder;

use super::yaml::{Budget, Problem};

/// The first bytes of every gzip stream; no text begins so, since the second is no UTF-8.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// `bytes`, decompressed to `limit` bytes at most if they are a gzip stream. What that makes is taken out of the budget.
pub(super) fn unpacked<'a>(bytes: Cow<'a, [u8]>, limit: usize, budget: &mut Budget) -> Result<Cow<'a, [u8]>, Problem> {
    if !bytes.starts_with(&MAGIC) {
        return Ok(bytes);
    }
    let mut decoder = GzDecoder::new(bytes.as_ref());
    let mut unpacked = Vec::new();
    // One more than may be, to know that there is more.
    if decoder.by_ref().take(limit as u64 + 1).read_to_end(&mut unpacked).is_err() {
        return Err(Problem::new("gzip-damaged", "is compressed with gzip, and damaged or cut off"));
    }
    if unpacked.len() > limit {
        let message = format!("is compressed with gzip and unpacks to more than the {limit} bytes that dayone reads");
        return Err(Problem::new("input-too-large", message));
    }
    if !decoder.into_inner().is_empty() {
        let message = "is compressed with gzip, and there are bytes behind the end of the stream";
        return Err(Problem::new("gzip-damaged", message));
    }
    budget.take_bytes(unpacked.len())?;
    Ok(Cow::Owned(unpacked))
}
