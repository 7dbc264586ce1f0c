//! Members of network data that are neither short texts nor mappings.

use std::ops::RangeInclusive;

use serde_yaml::{Mapping, Value};

use crate::input::flaw::{self, Reported};
use crate::input::object::{Fields, report_wrong_type};
use vocabulary::report::{DocumentPath, Report};

/// How long a list of links, networks or routes may be. Beyond is no host that exists.
const LENGTH: usize = 2000;

/// The elements of the list at `key`; none where there is none. What is no list is reported.
fn list<'a>(fields: &Fields<'a>, key: &str, report: &mut Report) -> &'a [Value] {
    match fields.mapping.get(key) {
        None | Some(Value::Null) => &[],
        Some(Value::Sequence(list)) if list.len() > LENGTH => {
            let message = format!("has {} entries; dayone accepts at most {LENGTH}", list.len());
            report.error("list-too-long", &fields.path.key(key), message);
            &[]
        }
        Some(Value::Sequence(list)) => list,
        Some(other) => {
            report_wrong_type(other, &fields.path.key(key), "a list", report);
            &[]
        }
    }
}

/// The mappings in the list at `key`. What is no mapping is reported.
pub(super) fn mappings<'a>(fields: &Fields<'a>, key: &str, report: &mut Report) -> Vec<Fields<'a>> {
    let mut found = Vec::new();
    for (index, value) in list(fields, key, report).iter().enumerate() {
        let path = fields.path.key(key).index(index);
        match value {
            Value::Mapping(mapping) => found.push(Fields::new(mapping, path)),
            other => report_wrong_type(other, &path, "a mapping", report),
        }
    }
    found
}

/// The texts in the list at `key`, with their places; a text of its own is a list of one.
pub(super) fn texts<'a>(fields: &Fields<'a>, key: &str, report: &mut Report) -> Vec<(&'a str, DocumentPath)> {
    let path = fields.path.key(key);
    if let Some(Value::String(text)) = fields.mapping.get(key) {
        return if text.is_empty() { Vec::new() } else { vec![(text, path)] };
    }
    let mut found = Vec::new();
    for (index, value) in list(fields, key, report).iter().enumerate() {
        let path = path.index(index);
        match value {
            Value::String(text) => found.push((text.as_str(), path)),
            other => report_wrong_type(other, &path, "a text", report),
        }
    }
    found
}

/// The text at `key`, which has to be there. `what` says what it is.
pub(super) fn required<'a>(
    fields: &Fields<'a>,
    key: &str,
    what: &str,
    report: &mut Report,
) -> Result<&'a str, Reported> {
    let found = fields.text(key, report)?;
    found.ok_or_else(|| fields.wrong(key, "member-missing", format!("is missing: {what}"), report))
}

/// The whole number at `key`, which may be written as a text.
pub(super) fn number(
    fields: &Fields<'_>,
    key: &str,
    range: RangeInclusive<u64>,
    report: &mut Report,
) -> Result<Option<u64>, Reported> {
    let found = match fields.mapping.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) if text.is_empty() => return Ok(None),
        Some(Value::String(text)) => text.parse().ok(),
        Some(Value::Number(number)) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Some(other) => {
            flaw::report(other, &fields.path.key(key), report)?;
            None
        }
    };
    let (least, greatest) = (*range.start(), *range.end());
    found.filter(|number| range.contains(number)).map(Some).ok_or_else(|| {
        let message = format!("is not a whole number from {least} to {greatest}");
        fields.wrong(key, "out-of-range", message, report)
    })
}

/// JSON that a program wrote may have 9000.0 for 9000.
fn whole(number: f64) -> Option<u64> {
    number.to_string().parse().ok()
}

/// Warns of members that are not known: `known` are.
pub(super) fn report_unknown(fields: &Fields<'_>, known: &[&str], report: &mut Report) {
    for key in unknown(fields.mapping, known) {
        let message = "is ignored: network_data.json has no such key here";
        report.warning("member-not-read", &fields.path.key(key), message);
    }
}

fn unknown<'a>(mapping: &'a Mapping, known: &[&str]) -> impl Iterator<Item = &'a str> {
    mapping.keys().map(|key| key.as_str().unwrap_or("?")).filter(|key| !known.contains(key))
}
