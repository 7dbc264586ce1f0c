//! Writes YAML that all readers read the same way.
//!
//! In YAML 1.1, which many programs read, more words without quotes are not text: `yes` and `off` are booleans, and
//! `52:54:00:12:34:56` is a number to base 60 (<https://yaml.org/type/>). So this writer leaves out quotes only if a text begins
//! with a letter and cannot be anything else.

use std::fmt::Write as _;

use serde_yaml::Value;

/// Words that are a boolean or null in YAML 1.1 or 1.2, in lower case.
const WORDS: &[&str] = &["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// Writes a document with its members in their order. The same value gives the same text.
pub(crate) fn document(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, false, &mut text);
    text
}

/// Writes several documents as one stream.
pub(crate) fn stream<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    values.into_iter().map(document).collect::<Vec<_>>().join("---\n")
}

/// Writes a value on lines of its own. If `begun`, the first line already has a key or a dash.
fn block(value: &Value, indent: usize, mut begun: bool, text: &mut String) {
    let mut pad = |text: &mut String| {
        if !std::mem::take(&mut begun) {
            text.extend(std::iter::repeat_n(' ', indent));
        }
    };
    match value {
        Value::Mapping(mapping) if !mapping.is_empty() => {
            for (key, value) in mapping {
                pad(text);
                text.push_str(&scalar(key));
                text.push(':');
                match value {
                    Value::Mapping(inside) if !inside.is_empty() => {
                        text.push('\n');
                        block(value, indent + 2, false, text);
                    }
                    Value::Sequence(inside) if !inside.is_empty() => {
                        text.push('\n');
                        block(value, indent, false, text);
                    }
                    _ => {
                        text.push(' ');
                        block(value, indent + 2, true, text);
                    }
                }
            }
        }
        Value::Sequence(sequence) if !sequence.is_empty() => {
            for value in sequence {
                pad(text);
                text.push_str("- ");
                block(value, indent + 2, true, text);
            }
        }
        Value::String(content) if indent > 0 && is_literal(content) => {
            pad(text);
            text.push_str(if content.ends_with('\n') { "|" } else { "|-" });
            for line in content.lines() {
                text.push('\n');
                if !line.is_empty() {
                    text.extend(std::iter::repeat_n(' ', indent));
                    text.push_str(line);
                }
            }
            text.push('\n');
        }
        _ => {
            pad(text);
            text.push_str(&scalar(value));
            text.push('\n');
        }
    }
}

/// Whether a text can be written as a literal block, and is the same when it is read again.
fn is_literal(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with([' ', '\n'])
        && !text.ends_with("\n\n")
        && !text.chars().any(|c| c != '\n' && must_be_escaped(c))
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if is_plain(text) => text.clone(),
        Value::String(text) => quoted(text),
        Value::Sequence(_) => "[]".to_owned(),
        Value::Mapping(_) => "{}".to_owned(),
        // Tags have no meaning in the documents that dayone writes.
        Value::Tagged(tagged) => scalar(&tagged.value),
    }
}

fn is_plain(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "_-./:;,=+@%?&".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(inside)
        && !text.ends_with(':')
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if must_be_escaped(c) => {
                // Writing to a String does not fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a character is not printable in YAML, or is a line break in YAML 1.1. All of them have four digits.
fn must_be_escaped(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_yaml::{Mapping, Number};

    use super::*;

    #[test]
    fn what_looks_like_something_else_is_quoted() {
        let value: Value = serde_yaml::from_str(
            "{a: '52:54:00:12:34:56', b: 'yes', c: 'No', d: '0755', e: 1.5, f: true, 'y': [], g: {}, h: '', i: '~',\n\
             j: 'http://[::1]/a', k: [[1, 'x y'], {l: null}], m: \"a\\nb\\n\", n: \" a\\nb\", o: 'a: b', p: 'c #d'}",
        )
        .unwrap();
        let text = document(&value);
        let expected = "a: \"52:54:00:12:34:56\"\nb: \"yes\"\nc: \"No\"\nd: \"0755\"\ne: 1.5\nf: true\n\"y\": []\ng: {}\n\
             h: \"\"\ni: \"~\"\nj: \"http://[::1]/a\"\nk:\n- - 1\n  - \"x y\"\n- l: null\nm: |\n  a\n  b\n\
             \"n\": \" a\\nb\"\no: \"a: b\"\np: \"c #d\"\n";
        assert_eq!(text, expected);
        assert_eq!(serde_yaml::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(stream([&value, &value]), format!("{text}---\n{text}"));
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof!["\\PC{0,8}", "[ \ta-c:#'\"\n-]{0,8}", any::<String>(), "[0-9:.eExX_+-]{0,6}"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(|number| Value::Number(Number::from(number))),
            text.prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            let key = prop_oneof!["[a-z]{1,4}", any::<String>()].prop_map(Value::String);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Sequence),
                prop::collection::vec((key, inner), 0..4)
                    .prop_map(|members| Value::Mapping(members.into_iter().collect::<Mapping>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(value in values()) {
            let text = document(&value);
            prop_assert_eq!(serde_yaml::from_str::<Value>(&text).unwrap(), value, "{}", text);
        }
    }
}
