//! Reading a document that nobody has checked yet: its bounds, its text, and the way to a place in it.

pub(crate) mod aliases;
pub(crate) mod interfaces;
pub(crate) mod mac;
mod misspelt;
pub(crate) mod other_names;
pub(crate) mod pattern;
pub(crate) mod ports;
pub(crate) mod references;
pub(crate) mod routes;
pub(crate) mod types;

use serde_yaml::{Mapping, Value};

use crate::members::get;
use vocabulary::report::{DocumentPath, Report};

/// How deep a document may be nested. NMState's own schema needs ten levels; every later walk may recurse.
const MAX_DEPTH: usize = 32;
/// How many values a document may hold, aliases written out: a host with a thousand interfaces has about 20 000.
const MAX_VALUES: usize = 100_000;
/// How many bytes of text a document may hold, aliases written out.
const MAX_TEXT: usize = 1 << 20;

/// How many errors about its text dayone reports. A document of a megabyte may have a hundred thousand.
const MAX_ERRORS: usize = 100;

/// Keys whose value must not be quoted, in whatever error.
const SECRET_KEYS: &[&str] = &["password", "private-key-password", "mka-cak", "psk"];

/// Keys whose value holds secrets and must be a mapping, lest nmstate's error quotes what stands there instead.
const SECRET_SECTIONS: &[&str] = &["802.1x", "macsec", "libreswan"];

/// Whether what stands at `key`, or inside it, is never quoted.
pub(crate) fn is_secret(key: &str) -> bool {
    SECRET_KEYS.contains(&key) || SECRET_SECTIONS.contains(&key)
}

/// One step from a value to one inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The path that `steps` lead to from `path`.
pub(crate) fn descend(path: &DocumentPath, steps: &[Step<'_>]) -> DocumentPath {
    steps.iter().fold(path.clone(), |path, step| match step {
        Step::Key(key) => path.key(key),
        Step::Index(index) => path.index(*index),
    })
}

/// Which element of the list at `list` a path is in.
pub(crate) fn index_in(path: &DocumentPath, list: &DocumentPath) -> Option<usize> {
    path.steps_from(list)?.first()?.as_index()
}

/// The text at `key`, where there is text.
pub(crate) fn text<'a>(map: &'a Mapping, key: &str) -> Option<&'a str> {
    get(map, key).and_then(Value::as_str)
}

/// The mapping at `key`, where there is one.
pub(crate) fn mapping<'a>(map: &'a Mapping, key: &str) -> Option<&'a Mapping> {
    get(map, key).and_then(Value::as_mapping)
}

/// The elements of the sequence at the end of `keys`; none where any of them is missing or something else.
pub(crate) fn elements<'a>(map: &'a Mapping, keys: &[&str]) -> &'a [Value] {
    let found = keys.split_last().and_then(|(last, way)| {
        let map = way.iter().try_fold(map, |map, key| mapping(map, key))?;
        get(map, last)?.as_sequence()
    });
    found.map_or(&[], Vec::as_slice)
}

/// Whether a value is true in the ways that NMState writes it.
pub(crate) fn is_true(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(value)) => *value,
        Some(Value::Number(number)) => number.as_u64() == Some(1),
        Some(Value::String(text)) => ["1", "true", "yes", "on", "y"].iter().any(|word| text.eq_ignore_ascii_case(word)),
        _ => false,
    }
}

/// Whether the member at `key` is true; `None` if there is no such member.
pub(crate) fn flag(map: &Mapping, key: &str) -> Option<bool> {
    get(map, key).filter(|value| !value.is_null()).map(|value| is_true(Some(value)))
}

/// The number at `key`, where there is one that fits.
pub(crate) fn small<T: TryFrom<u64>>(map: &Mapping, key: &str) -> Option<T> {
    number(get(map, key)).and_then(|number| T::try_from(number).ok())
}

/// The number that a value is in the ways that NMState writes it.
pub(crate) fn number(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        _ => None,
    }
}

/// What a name found in the document looks like in a message.
pub(crate) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(64).collect();
    if short.len() < text.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

/// Checks what must hold before anything else may look at a document: that it is small, that its keys are text,
/// and that no text holds a control character, so that each setting of a keyfile is one line. Says how many values
/// there are.
pub(crate) fn check(document: &Value, path: &DocumentPath, report: &mut Report) -> usize {
    let most = report.findings().len() + MAX_ERRORS;
    let mut walk = Walk { path, report, most, steps: Vec::new(), values: 0, text: 0 };
    walk.value(document);
    walk.values
}

struct Walk<'a, 'r> {
    path: &'r DocumentPath,
    report: &'r mut Report,
    /// How many findings the report may have.
    most: usize,
    steps: Vec<Step<'a>>,
    values: usize,
    text: usize,
}

impl<'a> Walk<'a, '_> {
    fn error(&mut self, code: &'static str, message: impl Into<String>) {
        // Making a path costs more than this look.
        if self.report.findings().len() < self.most {
            let path = descend(self.path, &self.steps);
            self.report.error_up_to(self.most, code, &path, || message.into());
        }
    }

    /// False where there is no sense in going on.
    fn value(&mut self, value: &'a Value) -> bool {
        self.values += 1;
        if self.values > MAX_VALUES || self.text > MAX_TEXT {
            self.steps.clear();
            self.error("document-too-large", "is too large for one host's network: check for repeated YAML aliases");
            return false;
        }
        if self.steps.len() > MAX_DEPTH {
            self.steps.truncate(2);
            self.error("document-too-deep", format!("is nested more than {MAX_DEPTH} levels deep"));
            return false;
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Sequence(values) => {
                return values.iter().enumerate().all(|(index, value)| self.inside(Step::Index(index), value));
            }
            Value::Mapping(map) => {
                for (key, value) in map {
                    let Value::String(name) = key else {
                        self.error("key-not-text", "has a key that is not text; put quotes around it");
                        continue;
                    };
                    if !self.key(name, value) {
                        return false;
                    }
                }
            }
            Value::Tagged(tagged) => {
                self.error("yaml-tag", format!("has the YAML tag {}, which NMState does not know", tagged.tag));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        true
    }

    fn key(&mut self, name: &'a str, value: &'a Value) -> bool {
        self.steps.push(Step::Key(name));
        self.text(name);
        if SECRET_KEYS.contains(&name) && !matches!(value, Value::String(_) | Value::Null) {
            // nmstate's own error would quote the value.
            self.error("secret-not-text", "is not text; put quotes around it");
        }
        if SECRET_SECTIONS.contains(&name) && !matches!(value, Value::Mapping(_) | Value::Null) {
            self.error("secret-section-not-a-mapping", "is not a mapping of keys to values");
        }
        let more = self.value(value);
        self.steps.pop();
        more
    }

    fn inside(&mut self, step: Step<'a>, value: &'a Value) -> bool {
        self.steps.push(step);
        let more = self.value(value);
        self.steps.pop();
        more
    }

    fn text(&mut self, text: &str) {
        self.text = self.text.saturating_add(text.len());
        if let Some(control) = text.chars().find(|c| c.is_control()) {
            let what = if control == '\n' { "a line break".into() } else { format!("U+{:04X}", u32::from(control)) };
            self.error(
                "control-character",
                format!("contains a control character ({what}), which a keyfile cannot hold; write it on one line"),
            );
        }
    }
}
