//! Reads requests in JSON. Errors name the place, and never a value.

use imagelib::compression::{Compression, Magic};
use serde::de::DeserializeOwned;
use vocabulary::text::without_middle;

use super::objects::ObjectsOnly;
use super::problem::{Problem, ProblemKind};
use crate::expected_value::expected_by_serde;

/// The longest message, in bytes. The names of all members of a request have room in it. The names in the request itself may have any
/// length, and a message can have one of them twice.
const MAX_MESSAGE_BYTES: usize = 2048;

/// A byte order mark, which some Windows programs write before JSON. A reader may ignore it (RFC 8259 §8.1).
const BYTE_ORDER_MARK: &[u8; 3] = b"\xef\xbb\xbf";

/// Reads `body` strictly. The problem names the place by line, column and path, and never a value, which might be a secret.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let place = |error: &serde_json::Error| format!("line {}, column {}", error.line(), error.column());
    if Magic::sniff(body) == Some(Magic::Known(Compression::Gzip)) {
        return Err(refuse("it is compressed with gzip; send it as it is"));
    }
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = deserialize(&mut deserializer, |error| Some(place(error)))?;
    let end = deserializer.end();
    end.map_err(|error| refuse(&format!("{}: there is something after the JSON value", place(&error))))?;
    Ok(value)
}

/// Reads a part of a body that dayone has put together. Errors name only paths, because the client does not know its lines.
pub(super) fn read_part<T: DeserializeOwned>(part: &[u8]) -> Result<T, Problem> {
    deserialize(&mut serde_json::Deserializer::from_slice(part), |_| None)
}

fn deserialize<'de, T: DeserializeOwned>(
    deserializer: &mut serde_json::Deserializer<impl serde_json::de::Read<'de>>,
    place: impl Fn(&serde_json::Error) -> Option<String>,
) -> Result<T, Problem> {
    serde_path_to_error::deserialize(ObjectsOnly(deserializer)).map_err(|error| {
        let path = Some(error.path().to_string()).filter(|path| path != ".");
        let error = error.into_inner();
        let place: Vec<String> = place(&error).into_iter().chain(path).collect();
        let message = without_value(&error);
        if place.is_empty() { refuse(&message) } else { refuse(&format!("{}: {message}", place.join(", "))) }
    })
}

fn refuse(message: &str) -> Problem {
    let message = without_middle(message, MAX_MESSAGE_BYTES);
    Problem::new(ProblemKind::MalformedRequest, format!("the JSON of the request is not valid: {message}"))
}

/// What a value should be, as JSON calls it.
fn named(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list",
        "a map" => "an object",
        _ if expected.starts_with("struct ") || expected.starts_with("enum ") => "an object",
        _ => expected_by_serde(expected).unwrap_or(expected),
    }
}

/// Removes values from messages. Only serde's messages about a wrong type quote them.
fn without_value(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&place).unwrap_or(&message);
    let quotes = ["invalid type: ", "invalid value: ", "invalid length ", "unknown variant "];
    if quotes.iter().any(|quote| message.starts_with(quote)) {
        return message.rsplit_once(", expected ").map_or_else(
            || "this has the wrong type".to_owned(),
            |(_, expected)| format!("this should be {}", named(expected)),
        );
    }
    message.to_owned()
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

    use media::access::Ttl;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Outer {
        inner: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Inner {
        list: Vec<u8>,
    }

    #[test]
    fn places_are_named_and_values_are_not() {
        for (bad, expected) in [
            ("{\"inner\": [\n{\"list\": \"hunter2\"}]}", "line 2, column 18, inner[0].list: this should be a list"),
            ("{\"inner\": [{\"list\": [], \"x\": 1}]}", "inner[0].x: unknown field `x`, expected `list`"),
            ("{\"inner\": [{}]}", "inner[0]: missing field `list`"),
            ("{\"inner\": [], \"inner\": []}", "duplicate field"),
            ("{\"inner\": []} hunter2", "line 1, column 15: there is something after the JSON value"),
            ("{\"inner\": [}", "line 1, column 12"),
            ("", "line 1, column 0: EOF"),
            ("\"hunter2, expected hunter2\"", "this should be an object"),
            (" [[{\"list\": [1]}]]", "line 1, column 1: this should be an object"),
            ("{\"inner\":\n[ [[1]]]}", "line 2, column 2, inner[0]: this should be an object"),
            ("\u{feff}{}", "line 1, column 2: missing field `inner`"),
            ("\u{feff}\u{feff}{}", "line 1, column 1"),
        ] {
            let problem = read::<Outer>(bad.as_bytes()).unwrap_err();
            assert!(problem.detail().contains(expected), "{bad}: {}", problem.detail());
            assert!(!problem.detail().contains("hunter2"), "{}", problem.detail());
        }
        assert!(read::<Outer>(b"{\"inner\": [{\"list\": [1]}]}").is_ok());
        assert!(read::<Outer>(b"\xef\xbb\xbf{\"inner\": []}").is_ok());
        assert!(read::<Outer>(b"\xff").is_err());
        let compressed = read::<Outer>(b"\x1f\x8b\x08hunter2").unwrap_err();
        assert!(compressed.detail().contains("compressed with gzip"), "{}", compressed.detail());
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Numbers {
        port: u16,
        group: u32,
        seconds: Option<u64>,
        offset: i64,
        reads: Option<NonZeroU32>,
        bytes: Option<NonZeroU64>,
        jobs: Option<NonZeroUsize>,
        flag: bool,
        ttl: Option<Ttl>,
    }

    #[test]
    fn errors_about_numbers_tell_the_range_and_no_type_of_rust() {
        for (bad, expected) in [
            ("{\"port\": 65536}", "port: this should be a whole number from 0 to 65535"),
            ("{\"group\": -1}", "group: this should be a whole number from 0 to 4294967295"),
            ("{\"seconds\": -1}", "seconds: this should be a whole number from 0"),
            ("{\"seconds\": \"1\"}", "seconds: this should be a whole number from 0"),
            ("{\"offset\": 1.5}", "offset: this should be a whole number"),
            ("{\"reads\": 0}", "reads: this should be a whole number from 1 to 4294967295"),
            ("{\"reads\": 4294967296}", "reads: this should be a whole number from 1 to 4294967295"),
            ("{\"bytes\": 0}", "bytes: this should be a whole number from 1"),
            ("{\"jobs\": 0}", "jobs: this should be a whole number from 1"),
            ("{\"flag\": 1}", "flag: this should be true or false"),
            ("{\"ttl\": -1}", "ttl: this should be a whole number of seconds from 1 to 315360000 (ten years)"),
            ("{\"ttl\": 0}", "use 1 to 315360000 seconds (ten years)"),
        ] {
            let problem = read::<Numbers>(bad.as_bytes()).unwrap_err();
            assert!(problem.detail().ends_with(expected), "{bad}: {}", problem.detail());
        }
    }

    #[test]
    fn the_message_about_a_long_name_is_short() {
        let body = format!("{{\"inner\": [{{\"{}\": 1}}]}}", "x".repeat(1 << 20));
        let detail = read::<Outer>(body.as_bytes()).unwrap_err().detail().to_owned();
        assert!(detail.contains("line 1, column ") && detail.ends_with("`, expected `list`"), "{detail}");
        assert!(detail.len() < MAX_MESSAGE_BYTES + 100, "{}", detail.len());
    }
}
