//! Values that dayone cannot use: duplicate keys, unknown tags, integers of more than 64 bits.
//!
//! Such a value may be in an annotation that nobody reads, and must not keep dayone from reading the rest of a stream. So
//! the reader of the text leaves a mark in place of the value, and the code that needs the value reports it. No mark leaves
//! [`crate::input`]: before a value is passed on unchanged, [`check`] looks for marks in it.

use serde_yaml::value::{Tag, TaggedValue};
use serde_yaml::{Mapping, Value};

use vocabulary::report::{DocumentPath, Report, Reported};

/// The prefix of the tags of marks. YAML text cannot contain it, so no document can forge a mark.
const MARK: char = '\0';
/// Ansible's tag for texts that are no Jinja expressions. It means something in the variables of an inventory only.
pub(super) const UNSAFE: &str = "unsafe";
/// How many characters of a tag a message shows.
const SHOWN: usize = 80;
/// How many marks [`check`] reports. A document of a few megabytes may have hundreds of thousands.
const MAX_ERRORS: usize = 100;

/// Why dayone cannot use a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::input) enum InvalidValue {
    /// Its key appears twice in one mapping.
    DuplicateKey,
    /// It has a tag of this name, without the `!`. The non-specific tag is `!` itself.
    UnknownTag(String),
    /// It does not fit its tag, such as `!!int one`.
    TagMismatch,
    /// It is an integer of more than 64 bits.
    IntegerTooLarge,
    /// It is a mapping with a merge key (`<<`) that dayone cannot resolve, so its members are unknown.
    UnresolvedMerge,
    /// It is a variable of Ansible, and a number that Ansible reads as octal: `010`.
    Octal(String),
}

impl InvalidValue {
    /// Returns the mark. It contains no number, text or collection, so that code that looks through tags finds no value.
    pub(super) fn mark(&self) -> Value {
        let (letter, tag) = match self {
            Self::DuplicateKey => ('k', ""),
            Self::UnknownTag(tag) => ('t', tag.as_str()),
            Self::TagMismatch => ('f', ""),
            Self::IntegerTooLarge => ('n', ""),
            Self::UnresolvedMerge => ('m', ""),
            Self::Octal(number) => ('o', number.as_str()),
        };
        let tag: String = [MARK, letter].into_iter().chain(tag.chars().take(SHOWN)).collect();
        Value::Tagged(Box::new(TaggedValue { tag: Tag::new(tag), value: f64::NAN.into() }))
    }

    /// Returns the mark of a scalar with the tag [`UNSAFE`], from which only [`unsafe_text`] reads the scalar.
    pub(super) fn mark_unsafe(text: &str) -> Value {
        let tag: String = [MARK, 'u'].into_iter().chain(text.chars()).collect();
        Value::Tagged(Box::new(TaggedValue { tag: Tag::new(tag), value: f64::NAN.into() }))
    }

    /// Returns what the mark `value` stands for.
    pub(in crate::input) fn of(value: &Value) -> Option<Self> {
        let Value::Tagged(tagged) = value else { return None };
        let tag = tagged.tag.to_string();
        let tag = tag.strip_prefix('!').unwrap_or(&tag);
        let Some(mark) = tag.strip_prefix(MARK) else { return Some(Self::UnknownTag(tag.to_owned())) };
        let mut rest = mark.chars();
        Some(match rest.next() {
            Some('k') => Self::DuplicateKey,
            Some('f') => Self::TagMismatch,
            Some('n') => Self::IntegerTooLarge,
            Some('m') => Self::UnresolvedMerge,
            Some('o') => Self::Octal(rest.collect()),
            Some('u') => Self::UnknownTag(UNSAFE.to_owned()),
            _ => Self::UnknownTag(rest.collect()),
        })
    }

    /// Returns the code of the finding, and a sentence whose subject is the path of the value.
    pub(in crate::input) fn code_and_message(&self) -> (&'static str, String) {
        match self {
            Self::DuplicateKey => ("duplicate-key", "appears twice in one mapping; remove one of the two".to_owned()),
            Self::UnknownTag(tag) if tag == "vault" => (
                "unknown-tag",
                "has the YAML tag \"!vault\": Ansible Vault has encrypted the value; decrypt it first".to_owned(),
            ),
            Self::UnknownTag(tag) => {
                let written = if tag == "!" { tag.clone() } else { format!("!{tag}") };
                ("unknown-tag", format!("has the YAML tag {written:?}, which dayone does not know"))
            }
            Self::TagMismatch => ("wrong-type", "does not fit its YAML tag".to_owned()),
            Self::IntegerTooLarge => (
                "wrong-type",
                "is an integer of more than 64 bits, which dayone cannot read exactly; put quotes around it if it is \
                 text"
                    .to_owned(),
            ),
            Self::UnresolvedMerge => (
                "duplicate-key",
                "has a merge key (<<) that dayone cannot resolve: it appears twice, or it merges a value with a YAML \
                 tag; list several mappings as `<<: [*a, *b]`"
                    .to_owned(),
            ),
            Self::Octal(number) => {
                let (decimal, octal) = super::octals::readings(number).unwrap_or_default();
                let message = format!(
                    "is {number}, which Ansible reads as {octal}, and other programs as {decimal}; write the number that you mean \
                     without the zero, or put quotes around it if it is text"
                );
                ("number-octal", message)
            }
        }
    }
}

/// Returns the text of a scalar with the tag [`UNSAFE`].
pub(in crate::input) fn unsafe_text(value: &Value) -> Option<String> {
    let Value::Tagged(tagged) = value else { return None };
    let tag = tagged.tag.to_string();
    let marked = tag.strip_prefix('!').unwrap_or(&tag).strip_prefix(MARK)?;
    marked.strip_prefix('u').map(str::to_owned)
}

/// Returns the code and the sentence for `value`, where `wanted` should be.
pub(in crate::input) fn wrong_type(value: &Value, wanted: &str) -> (&'static str, String) {
    match InvalidValue::of(value) {
        Some(invalid) => invalid.code_and_message(),
        None => ("wrong-type", format!("is {}; {wanted} belongs here", kind_of(value))),
    }
}

/// Returns the kind of a value, for a sentence.
pub(in crate::input) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "true or false without quotes",
        Value::Number(_) => "a number without quotes",
        Value::String(_) => "a text",
        Value::Sequence(_) => "a list",
        Value::Mapping(_) => "a mapping",
        Value::Tagged(_) => "a value with a tag",
    }
}

/// Reports the marks inside `value`, which is at `path`. The recursion ends, because the reader limits the depth.
pub(in crate::input) fn check(value: &Value, path: &DocumentPath, report: &mut Report) -> Result<(), Reported> {
    let most = report.findings().len() + MAX_ERRORS;
    check_value(value, path, most, report)
}

/// [`check`] for the members of a mapping.
pub(in crate::input) fn check_members(
    members: &Mapping,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<(), Reported> {
    let most = report.findings().len() + MAX_ERRORS;
    check_mapping(members, path, most, report)
}

/// Adds no more to a report that has `most` findings.
fn check_value(value: &Value, path: &DocumentPath, most: usize, report: &mut Report) -> Result<(), Reported> {
    let mut result = Ok(());
    match value {
        Value::Mapping(members) => result = check_mapping(members, path, most, report),
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate().filter(|(_, item)| may_be_marked(item)) {
                result = result.and(check_value(item, &path.index(index), most, report));
            }
        }
        _ => {
            if let Some(invalid) = InvalidValue::of(value) {
                let (code, message) = invalid.code_and_message();
                report.error_up_to(most, code, path, || message);
                result = Err(Reported);
            }
        }
    }
    result
}

fn check_mapping(members: &Mapping, path: &DocumentPath, most: usize, report: &mut Report) -> Result<(), Reported> {
    let mut result = Ok(());
    for (key, value) in members {
        if let Some(invalid) = InvalidValue::of(key) {
            let (code, message) = invalid.code_and_message();
            report.error_up_to(most, code, path, || format!("has a key that {message}"));
            result = Err(Reported);
        }
        if may_be_marked(value) {
            result = result.and(check_value(value, &path.key(key.as_str().unwrap_or("?")), most, report));
        }
    }
    result
}

/// Whether a mark can be here. Making a path costs more than this look.
fn may_be_marked(value: &Value) -> bool {
    matches!(value, Value::Mapping(_) | Value::Sequence(_) | Value::Tagged(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_keeps_its_reason_and_has_no_value() {
        for invalid in [
            InvalidValue::DuplicateKey,
            InvalidValue::UnknownTag("vault".to_owned()),
            InvalidValue::TagMismatch,
            InvalidValue::IntegerTooLarge,
            InvalidValue::UnresolvedMerge,
            InvalidValue::Octal("0110".to_owned()),
        ] {
            let mark = invalid.mark();
            assert_eq!(InvalidValue::of(&mark), Some(invalid));
            assert!(!mark.is_null() && !mark.is_mapping() && !mark.is_sequence() && !mark.is_bool());
            assert!(mark.as_str().is_none() && mark.as_u64().is_none() && mark.as_i64().is_none());
        }
        assert_eq!(InvalidValue::of(&Value::Null), None);
    }

    #[test]
    fn a_tag_is_shown_as_it_is_written() {
        for (tag, written) in [("!", "\"!\""), ("mine", "\"!mine\"")] {
            let (_, message) = InvalidValue::UnknownTag(tag.to_owned()).code_and_message();
            assert_eq!(message, format!("has the YAML tag {written}, which dayone does not know"));
        }
    }

    #[test]
    fn a_mark_of_an_unsafe_scalar_keeps_its_text_for_those_who_ask() {
        for text in ["{{ x }}", "5", "", "!\0t"] {
            let mark = InvalidValue::mark_unsafe(text);
            assert_eq!(unsafe_text(&mark).as_deref(), Some(text));
            assert_eq!(InvalidValue::of(&mark), Some(InvalidValue::UnknownTag("unsafe".to_owned())));
            assert!(mark.as_str().is_none() && mark.as_u64().is_none() && !mark.is_bool());
        }
        assert_eq!(unsafe_text(&InvalidValue::UnknownTag("unsafe".to_owned()).mark()), None);
        assert_eq!(unsafe_text(&Value::from("x")), None);
    }
}
