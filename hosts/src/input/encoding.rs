//! How texts are packed: gzip (RFC 1952) for large files and Secrets, and base64 in Secrets. And in which encoding they are: Windows
//! PowerShell and Excel write UTF-16.

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

/// Returns the size of a text; for a gzip stream, the unpacked size that it states (RFC 1952, section 2.3.1). dayone refuses a stream that
/// states a wrong size.
pub(super) fn unpacked_size(bytes: &[u8]) -> usize {
    match bytes.split_last_chunk::<4>() {
        Some((stream, size)) if stream.starts_with(&MAGIC) => {
            usize::try_from(u32::from_le_bytes(*size)).unwrap_or(usize::MAX).max(bytes.len())
        }
        _ => bytes.len(),
    }
}

/// Decodes base64. Kubernetes ignores line ends in it, and a folded YAML scalar has spaces instead.
pub(super) fn base64_decoded(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    let compact: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    BASE64_STANDARD.decode(compact)
}

/// Returns a text in UTF-8. A text without the byte order mark of UTF-16 stays as it is (YAML 1.2, section 5.2).
pub(super) fn as_utf8(text: Cow<'_, [u8]>) -> Result<Cow<'_, [u8]>, Problem> {
    let (units, is_little) = match text.as_ref() {
        [0xff, 0xfe, units @ ..] => (units, true),
        [0xfe, 0xff, units @ ..] => (units, false),
        _ => return Ok(text),
    };
    let (pairs, rest) = units.as_chunks::<2>();
    let unit = |pair: &[u8; 2]| if is_little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) };
    let decoded: Result<String, _> = char::decode_utf16(pairs.iter().map(unit)).collect();
    match decoded {
        Ok(text) if rest.is_empty() => Ok(Cow::Owned(text.into_bytes())),
        _ => {
            let message = "has the byte order mark of UTF-16, and is not UTF-16 text; save the file as UTF-8";
            Err(Problem::new("not-utf-8", message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_tells_the_encoding() {
        let text = "name\tmäc 🖥\r\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let little = [&[0xff, 0xfe][..], &little].concat();
        let big = [&[0xfe, 0xff][..], &big].concat();
        for marked in [&little[..], &big, text.as_bytes()] {
            assert_eq!(&*as_utf8(marked.into()).unwrap(), text.as_bytes());
        }
        assert_eq!(&*as_utf8(b"\xe4,b"[..].into()).unwrap(), b"\xe4,b");
        for broken in [&b"\xff\xfea"[..], b"\xfe\xff\xd8\x00"] {
            assert_eq!(as_utf8(broken.into()).unwrap_err().code, "not-utf-8", "{broken:?}");
        }
    }
}
