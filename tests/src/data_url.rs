//! `data:` URLs (RFC 2397), as Ignition configs hold files.

use base64::prelude::*;
use data_encoding::HEXLOWER_PERMISSIVE;

/// What is in one: base64, or text with some of its bytes as `%XX`.
pub fn content(url: &str) -> Vec<u8> {
    let (kind, data) = url.strip_prefix("data:").and_then(|url| url.split_once(',')).expect("a data URL");
    if kind.ends_with(";base64") {
        return BASE64_STANDARD.decode(data).expect("base64");
    }
    let mut parts = data.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (byte, rest) = part.split_at(2);
        bytes.extend(HEXLOWER_PERMISSIVE.decode(byte.as_bytes()).expect("two hexadecimal digits"));
        bytes.extend(rest.as_bytes());
    }
    bytes
}

/// The same, as text.
pub fn text(url: &str) -> String {
    String::from_utf8(content(url)).expect("text")
}

#[test]
fn both_forms_are_read() {
    assert_eq!(text("data:text/plain,a%20%2C%2cb"), "a ,,b");
    assert_eq!(text("data:;base64,YSxi"), "a,b");
    assert_eq!(text("data:,"), "");
}
