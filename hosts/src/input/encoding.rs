//! How texts are packed: gzip (RFC 1952) for large files and Secrets, and base64 in Secrets.

use std::borrow::Cow;
use std::io::Read as _;

use base64::prelude::*;
use flate2::bufread::GzDecoder;

use super::yaml::{Budget, Problem};

/// The first bytes of every gzip stream. No text begins with them, because the second is not UTF-8.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Decompresses `bytes` to at most `limit` bytes, if they are a gzip stream, and takes the result out of the budget.
pub(super) fn decompressed<'a>(
    bytes: Cow<'a, [u8]>,
    limit: usize,
    budget: &mut Budget,
) -> Result<Cow<'a, [u8]>, Problem> {
    if !bytes.starts_with(&MAGIC) {
        return Ok(bytes);
    }
    let mut decoder = GzDecoder::new(bytes.as_ref());
    let mut unpacked = Vec::new();
    // One byte more than the limit shows that the stream is too long.
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

/// Decodes base64. Kubernetes ignores line ends in it, and a folded YAML scalar has spaces instead.
pub(super) fn base64_decoded(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    let compact: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    BASE64_STANDARD.decode(compact)
}
