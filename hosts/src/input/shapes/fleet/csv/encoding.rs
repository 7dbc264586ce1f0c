//! The encoding of a table. Excel's "Unicode Text" is UTF-16.

use std::borrow::Cow;

/// Returns the text in UTF-8 without its byte order mark. A text without the mark of UTF-16 stays as it is.
pub(super) fn as_utf8(text: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let (units, is_little) = match text {
        [0xff, 0xfe, units @ ..] => (units, true),
        [0xfe, 0xff, units @ ..] => (units, false),
        _ => return Ok(Cow::Borrowed(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text))),
    };
    let (pairs, rest) = units.as_chunks::<2>();
    let unit = |pair: &[u8; 2]| if is_little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) };
    let decoded: Result<String, _> = char::decode_utf16(pairs.iter().map(unit)).collect();
    match decoded {
        Ok(text) if rest.is_empty() => Ok(Cow::Owned(text.into_bytes())),
        _ => Err("has the byte order mark of UTF-16, and is not UTF-16 text; save the table as UTF-8".to_owned()),
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
        for marked in [
            [&[0xff, 0xfe][..], &little].concat(),
            [&[0xfe, 0xff][..], &big].concat(),
            [&[0xef, 0xbb, 0xbf][..], text.as_bytes()].concat(),
            text.as_bytes().to_vec(),
        ] {
            assert_eq!(as_utf8(&marked).as_deref(), Ok(text.as_bytes()));
        }
        assert_eq!(as_utf8(b"\xe4,b").as_deref(), Ok(&b"\xe4,b"[..]));
        for broken in [&b"\xff\xfea"[..], b"\xfe\xff\xd8\x00"] {
            assert!(as_utf8(broken).is_err(), "{broken:?}");
        }
    }
}
