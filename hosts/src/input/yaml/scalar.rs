//! The values of scalars: YAML 1.2's core schema (§10.3.2) as `serde_yaml` and nmstate read it.

use granit_parser::{ScalarStyle, Tag};
use serde_yaml::Value;

use super::InvalidValue;

/// The prefix of the tags of YAML's own types.
const CORE: &str = "tag:yaml.org,2002:";

/// Returns the value of a scalar, which may be an invalid one.
pub(super) fn value(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain { plain(text) } else { text.into() };
    };
    if let Some(invalid) = local(tag) {
        return invalid.mark();
    }
    let core = tag.suffix_in_namespace(CORE);
    let value = match core.as_deref() {
        Some("bool") => boolean(text).map(Value::Bool),
        Some("int") => integer(text),
        Some("float") => float(text).map(Value::from),
        Some("null") => is_null(text).then_some(Value::Null),
        _ => Some(text.into()),
    };
    value.unwrap_or_else(|| InvalidValue::TagMismatch.mark())
}

/// Returns the invalid value for an application's own tag, such as `!vault`.
pub(super) fn local(tag: &Tag) -> Option<InvalidValue> {
    let name = tag.suffix_in_namespace("!")?;
    Some(InvalidValue::UnknownTag(if name.is_empty() { "!".to_owned() } else { name.into_owned() }))
}

/// Returns the value of a scalar without quotes and tag.
fn plain(text: &str) -> Value {
    // Nearly all are words, which the first character shows.
    if text.bytes().next().is_some_and(|first| {
        !matches!(
            first,
            b'0'..=b'9' | b'+' | b'-' | b'.' | b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'i' | b'I'
        )
    }) {
        return text.into();
    }
    if text.is_empty() || is_null(text) {
        return Value::Null;
    }
    if let Some(value) = boolean(text) {
        return Value::Bool(value);
    }
    if let Some(number) = integer(text) {
        return number;
    }
    match float(text) {
        Some(number) if !is_padded(text) => number.into(),
        _ => text.into(),
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "null" | "Null" | "NULL" | "~")
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Reads an integer in the base of its prefix. More than 64 bits make it invalid.
fn integer(text: &str) -> Option<Value> {
    if let Some(number) = unsigned(text, u64::from_str_radix) {
        return Some(number.into());
    }
    if let Some(number) = negative(text, i64::from_str_radix) {
        return Some(number.into());
    }
    let is_beyond = unsigned(text, u128::from_str_radix).is_some() || negative(text, i128::from_str_radix).is_some();
    is_beyond.then(|| InvalidValue::IntegerTooLarge.mark())
}

fn unsigned<T, E>(text: &str, parse: fn(&str, u32) -> Result<T, E>) -> Option<T> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let based = based(text).and_then(|(digits, base)| parse(digits, base).ok());
    based.or_else(|| (is_digits(text) && !is_padded(text)).then(|| parse(text, 10).ok()).flatten())
}

fn negative<T, E>(text: &str, parse: fn(&str, u32) -> Result<T, E>) -> Option<T> {
    let digits = text.strip_prefix('-')?;
    match based(digits) {
        Some((digits, base)) => parse(&format!("-{digits}"), base).ok(),
        None if is_digits(digits) && !is_padded(text) => parse(text, 10).ok(),
        None => None,
    }
}

/// Splits the digits of a number from the prefix of its base.
fn based(text: &str) -> Option<(&str, u32)> {
    let base = |prefix, base| Some((text.strip_prefix(prefix)?, base));
    let (digits, base) = base("0x", 16).or_else(|| base("0o", 8)).or_else(|| base("0b", 2))?;
    (!digits.starts_with(['+', '-'])).then_some((digits, base))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the digits begin with a zero, which no number of YAML 1.2 does.
fn is_padded(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.len() > 1 && digits.starts_with('0') && is_digits(digits)
}

fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    match (unsigned, text) {
        (".inf" | ".Inf" | ".INF", _) => return Some(f64::INFINITY),
        (_, "-.inf" | "-.Inf" | "-.INF") => return Some(f64::NEG_INFINITY),
        (_, ".nan" | ".NaN" | ".NAN") => return Some(f64::NAN),
        _ => {}
    }
    let is_signed_twice = unsigned.len() < text.len() && unsigned.starts_with(['+', '-']);
    unsigned.parse().ok().filter(|number: &f64| number.is_finite() && !is_signed_twice)
}

/// Reads a boolean that YAML 1.1 knows and YAML 1.2 does not.
pub(in crate::input) fn old_boolean(text: &str) -> Option<bool> {
    let is = |words: [&str; 3]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(["yes", "on", "y"]) {
        Some(true)
    } else if is(["no", "off", "n"]) {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns what `serde_yaml` makes of a scalar.
    fn peer(text: &str) -> Option<Value> {
        let tagged = format!("- {text}\n");
        match serde_yaml::from_str(&tagged) {
            Ok(Value::Sequence(all)) => all.into_iter().next(),
            Err(_) => None,
            Ok(_) => panic!("{text}"),
        }
    }

    fn scalar_value(text: &str) -> Value {
        plain(text)
    }

    #[test]
    fn scalars_mean_what_they_mean_to_nmstate() {
        for text in [
            "",
            "~",
            "null",
            "Null",
            "NULL",
            "nuLL",
            "true",
            "True",
            "TRUE",
            "tRUE",
            "false",
            "no",
            "0",
            "-0",
            "+0",
            "00",
            "010",
            "-010",
            "+010",
            "0x1F",
            "-0x1f",
            "0o17",
            "-0o17",
            "0b101",
            "0x",
            "0x+1",
            "-0x-1",
            "1_000",
            "18446744073709551615",
            "-9223372036854775808",
            "1.5",
            ".5",
            "5.",
            "1e3",
            "1e400",
            "-1e3",
            "+1.5",
            "+.inf",
            ".inf",
            "-.Inf",
            "+-1",
            "-+1",
            "--1",
            "inf",
            "nan",
            "NaN",
            "infinity",
            "-inf",
            "0e0",
            "00.5",
            "0.0",
            "52:54:00:00:00:01",
            "1:30",
            "0o8",
            "0b2",
        ] {
            assert_eq!(Some(scalar_value(text)), peer(text), "{text}");
        }
        assert!(matches!(scalar_value(".nan"), Value::Number(number) if number.is_nan()));
        for beyond in ["18446744073709551616", "-9223372036854775809", "123456789012345678901", "0xFFFFFFFFFFFFFFFFF"] {
            assert_eq!(InvalidValue::of(&scalar_value(beyond)), Some(InvalidValue::IntegerTooLarge), "{beyond}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(80 * ProptestConfig::default().cases))]
        #[test]
        fn any_scalar_means_what_it_means_to_nmstate(text in "[-+.0-9a-fxobinftruelNAsy_e~]{1,8}") {
            let peer = peer(&text);
            // An indicator such as `-` is not a scalar.
            if let Some(peer) = peer.filter(|peer| !peer.is_sequence()) {
                prop_assert_eq!(scalar_value(&text), peer);
            }
        }
    }
}
