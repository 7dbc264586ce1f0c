//! What a scalar means: YAML 1.2's core schema (§10.3.2) as `serde_yaml` and nmstate read it.

use granit_parser::{ScalarStyle, Tag};
use serde_yaml::Value;

use crate::input::flaw::Flaw;

/// What the tags of YAML's own types begin with.
const CORE: &str = "tag:yaml.org,2002:";

/// The value of a scalar, which may be flawed.
pub(super) fn value(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain { plain(text) } else { text.into() };
    };
    if let Some(flaw) = local(tag) {
        return flaw.mark();
    }
    let core = tag.suffix_in_namespace(CORE);
    let value = match core.as_deref() {
        Some("bool") => boolean(text).map(Value::Bool),
        Some("int") => integer(text),
        Some("float") => float(text).map(Value::from),
        Some("null") => is_null(text).then_some(Value::Null),
        _ => Some(text.into()),
    };
    value.unwrap_or_else(|| Flaw::Misfit.mark())
}

/// The flaw of a value with this tag, if the tag is an application's own (`!vault`).
pub(super) fn local(tag: &Tag) -> Option<Flaw> {
    let name = tag.suffix_in_namespace("!")?;
    Some(Flaw::Tag(if name.is_empty() { "!".to_owned() } else { name.into_owned() }))
}

/// The value of a text without quotes and tag.
fn plain(text: &str) -> Value {
    // Nearly all are words, which are told by how they begin.
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

/// A whole number, in the base that it says; flawed where it is beyond 64 bits.
fn integer(text: &str) -> Option<Value> {
    if let Some(number) = unsigned(text, u64::from_str_radix) {
        return Some(number.into());
    }
    if let Some(number) = negative(text, i64::from_str_radix) {
        return Some(number.into());
    }
    let is_beyond = unsigned(text, u128::from_str_radix).is_some() || negative(text, i128::from_str_radix).is_some();
    is_beyond.then(|| Flaw::Number.mark())
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

/// The digits of a number that says its base, and the base.
fn based(text: &str) -> Option<(&str, u32)> {
    let base = |prefix, base| Some((text.strip_prefix(prefix)?, base));
    let (digits, base) = base("0x", 16).or_else(|| base("0o", 8)).or_else(|| base("0b", 2))?;
    (!digits.starts_with(['+', '-'])).then_some((digits, base))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether zeros stand before the digits: such a text is none of YAML 1.2's numbers.
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

/// The boolean that a text is to YAML 1.1, and no longer to YAML 1.2.
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

    /// What `serde_yaml` makes of a scalar, unless its text is more than that.
    fn peer(text: &str) -> Option<Value> {
        let tagged = format!("- {text}\n");
        match serde_yaml::from_str(&tagged) {
            Ok(Value::Sequence(all)) => all.into_iter().next(),
            Err(_) => None,
            Ok(_) => panic!("{text}"),
        }
    }

    fn ours(text: &str) -> Value {
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
            assert_eq!(Some(ours(text)), peer(text), "{text}");
        }
        assert!(matches!(ours(".nan"), Value::Number(number) if number.is_nan()));
        for beyond in ["18446744073709551616", "-9223372036854775809", "123456789012345678901", "0xFFFFFFFFFFFFFFFFF"] {
            assert_eq!(Flaw::of(&ours(beyond)), Some(Flaw::Number), "{beyond}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn any_scalar_means_what_it_means_to_nmstate(text in "[-+.0-9a-fxobinftruelNAsy_e~]{1,8}") {
            let peer = peer(&text);
            // Where the text is an indicator, such as `-`, it is no scalar.
            if let Some(peer) = peer.filter(|peer| !peer.is_sequence()) {
                prop_assert_eq!(ours(&text), peer);
            }
        }
    }
}
