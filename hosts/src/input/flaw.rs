//! Values that a document must not have where somebody reads them: keys given twice, unknown tags, numbers beyond 64 bits.
//!
//! Such a value may stand in an annotation that nobody reads, and must not keep the rest of a stream from being read. So
//! the reader of the text leaves a mark in place of the value. Whoever reads the member reports the mark. No mark leaves
//! [`crate::input`]: what is passed on as it stands goes through [`report`] first.

use serde_yaml::value::{Tag, TaggedValue};
use serde_yaml::{Mapping, Value};

use vocabulary::report::{DocumentPath, Report};

/// An error that has been reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reported;

/// What the tags of marks begin with. YAML text cannot hold it, so no document can forge a mark.
const MARK: char = '\0';
/// How much of a tag is shown.
const SHOWN: usize = 80;

/// Why a value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Its key stands twice in one mapping.
    Twice,
    /// It has a tag of this name, without the `!`.
    Tag(String),
    /// It does not fit its tag, such as `!!int one`.
    Misfit,
    /// It is a whole number beyond 64 bits.
    Number,
    /// It is a mapping whose merge key (`<<`) cannot be resolved, so what it holds is unknown.
    Merge,
}

impl Flaw {
    /// The mark in place of the value. It holds no number, text or collection: nothing that looks through tags finds a value.
    pub(super) fn mark(&self) -> Value {
        let (letter, tag) = match self {
            Self::Twice => ('k', ""),
            Self::Tag(tag) => ('t', tag.as_str()),
            Self::Misfit => ('f', ""),
            Self::Number => ('n', ""),
            Self::Merge => ('m', ""),
        };
        let tag: String = [MARK, letter].into_iter().chain(tag.chars().take(SHOWN)).collect();
        Value::Tagged(Box::new(TaggedValue { tag: Tag::new(tag), value: f64::NAN.into() }))
    }

    /// The flaw that `value` is marked with.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let Value::Tagged(tagged) = value else { return None };
        let tag = tagged.tag.to_string();
        let tag = tag.strip_prefix('!').unwrap_or(&tag);
        let Some(mark) = tag.strip_prefix(MARK) else { return Some(Self::Tag(tag.to_owned())) };
        let mut rest = mark.chars();
        Some(match rest.next() {
            Some('k') => Self::Twice,
            Some('f') => Self::Misfit,
            Some('n') => Self::Number,
            Some('m') => Self::Merge,
            _ => Self::Tag(rest.collect()),
        })
    }

    /// The code of a finding, and a sentence whose subject is the value's place.
    pub(super) fn said(&self) -> (&'static str, String) {
        match self {
            Self::Twice => ("duplicate-key", "appears twice in one mapping; remove one of the two".to_owned()),
            Self::Tag(tag) if tag == "vault" => (
                "unknown-tag",
                "has the YAML tag \"!vault\": Ansible Vault has encrypted the value; decrypt it first".to_owned(),
            ),
            Self::Tag(tag) => {
                ("unknown-tag", format!("has the YAML tag {:?}, which dayone does not know", format!("!{tag}")))
            }
            Self::Misfit => ("wrong-type", "does not fit its YAML tag".to_owned()),
            Self::Number => (
                "wrong-type",
                "is an integer of more than 64 bits, which dayone cannot read exactly; put quotes around it if it is \
                 text"
                    .to_owned(),
            ),
            Self::Merge => (
                "duplicate-key",
                "has a merge key (<<) that dayone cannot resolve: it appears twice, or it merges a value with a YAML \
                 tag; list several mappings as `<<: [*a, *b]`"
                    .to_owned(),
            ),
        }
    }
}

/// The code and the sentence about `value`, where something else belongs: `wanted`.
pub(super) fn wrong_type(value: &Value, wanted: &str) -> (&'static str, String) {
    match Flaw::of(value) {
        Some(flaw) => flaw.said(),
        None => ("wrong-type", format!("is {}; {wanted} belongs here", kind_of(value))),
    }
}

/// What sort of value it is, in the words of a sentence.
pub(super) fn kind_of(value: &Value) -> &'static str {
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

/// Reports every flaw inside `value`, which stands at `path`.
pub(super) fn report(value: &Value, path: &DocumentPath, report: &mut Report) -> Result<(), Reported> {
    let before = report.findings().len();
    look(value, path, report);
    if report.findings().len() == before { Ok(()) } else { Err(Reported) }
}

/// [`report`] of the members of a mapping.
pub(super) fn report_members(members: &Mapping, path: &DocumentPath, report: &mut Report) -> Result<(), Reported> {
    let before = report.findings().len();
    look_into(members, path, report);
    if report.findings().len() == before { Ok(()) } else { Err(Reported) }
}

/// Documents are no deeper than their reader allows.
fn look(value: &Value, path: &DocumentPath, report: &mut Report) {
    match value {
        Value::Mapping(members) => look_into(members, path, report),
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate().filter(|(_, item)| may_have(item)) {
                look(item, &path.index(index), report);
            }
        }
        _ => {
            if let Some((code, message)) = Flaw::of(value).map(|flaw| flaw.said()) {
                report.error(code, path, message);
            }
        }
    }
}

fn look_into(members: &Mapping, path: &DocumentPath, report: &mut Report) {
    for (key, value) in members {
        if let Some((code, message)) = Flaw::of(key).map(|flaw| flaw.said()) {
            report.error(code, path, format!("has a key that {message}"));
        }
        if may_have(value) {
            look(value, &path.key(key.as_str().unwrap_or("?")), report);
        }
    }
}

/// Whether a value can be flawed: to make a path costs more than to look.
fn may_have(value: &Value) -> bool {
    matches!(value, Value::Mapping(_) | Value::Sequence(_) | Value::Tagged(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_its_flaw_and_holds_no_value() {
        for flaw in [Flaw::Twice, Flaw::Tag("vault".to_owned()), Flaw::Misfit, Flaw::Number, Flaw::Merge] {
            let mark = flaw.mark();
            assert_eq!(Flaw::of(&mark), Some(flaw));
            assert!(!mark.is_null() && !mark.is_mapping() && !mark.is_sequence() && !mark.is_bool());
            assert!(mark.as_str().is_none() && mark.as_u64().is_none() && mark.as_i64().is_none());
        }
        assert_eq!(Flaw::of(&Value::Null), None);
    }
}
