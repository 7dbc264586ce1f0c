//! Members of network data, which other programs write less strictly than Kubernetes objects.

use std::ops::RangeInclusive;

use serde_yaml::Value;

use crate::input::fields::Fields;
use crate::input::yaml::invalid;
use vocabulary::report::{DocumentPath, Report, Reported};

/// How long a list of links, networks or routes may be. No real host has more.
const LENGTH: usize = 2000;

/// Translates a document, and fails if it has errors, whatever `translate` returns for it.
pub(in crate::input::shapes) fn without_errors<T>(
    report: &mut Report,
    translate: impl FnOnce(&mut Report) -> Result<T, Reported>,
) -> Result<T, Reported> {
    // A report of its own, because `report` may have errors of other documents.
    let mut found = Report::new();
    let translated = translate(&mut found);
    let has_errors = found.has_errors();
    report.append(found);
    if has_errors { Err(Reported) } else { translated }
}

/// Returns whether the list at `key` is too long, which it reports.
fn is_too_long(fields: &Fields<'_>, key: &str, report: &mut Report) -> bool {
    let length = fields.mapping.get(key).and_then(Value::as_sequence).map_or(0, Vec::len);
    if length > LENGTH {
        let message = format!("has {length} entries; dayone accepts at most {LENGTH}");
        report.error("list-too-long", &fields.path.key(key), message);
    }
    length > LENGTH
}

/// Returns the mappings in the list at `key`, and reports everything else.
pub(in crate::input::shapes) fn mappings<'a>(fields: &Fields<'a>, key: &str, report: &mut Report) -> Vec<Fields<'a>> {
    if is_too_long(fields, key, report) { Vec::new() } else { fields.mappings(key, report).unwrap_or_default() }
}

/// Returns the texts in the list at `key`, with their paths. A single text counts as a list of one.
pub(in crate::input::shapes) fn texts<'a>(
    fields: &Fields<'a>,
    key: &str,
    report: &mut Report,
) -> Vec<(&'a str, DocumentPath)> {
    match fields.mapping.get(key) {
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![(text, fields.path.key(key))],
        _ if is_too_long(fields, key, report) => Vec::new(),
        _ => fields.texts(key, report).unwrap_or_default(),
    }
}

/// Returns the texts in the list at `key`, with their paths. A single text is a list with blanks between its members, as for
/// cloud-init.
pub(in crate::input::shapes) fn words<'a>(
    fields: &Fields<'a>,
    key: &str,
    report: &mut Report,
) -> Vec<(&'a str, DocumentPath)> {
    match fields.mapping.get(key) {
        Some(Value::String(text)) => text.split_whitespace().map(|word| (word, fields.path.key(key))).collect(),
        _ => texts(fields, key, report),
    }
}

/// Returns the integer at `key`, which may be written as a text.
pub(in crate::input::shapes) fn number(
    fields: &Fields<'_>,
    key: &str,
    range: RangeInclusive<u64>,
    report: &mut Report,
) -> Result<Option<u64>, Reported> {
    let found = match fields.mapping.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) if text.is_empty() => return Ok(None),
        Some(Value::String(text)) => text.parse().ok(),
        // A program may write 9000.0 for 9000 in JSON.
        Some(Value::Number(number)) => number.as_u64().or_else(|| number.as_f64()?.to_string().parse().ok()),
        Some(other) => {
            invalid::check(other, &fields.path.key(key), report)?;
            None
        }
    };
    let (least, greatest) = (*range.start(), *range.end());
    found.filter(|number| range.contains(number)).map(Some).ok_or_else(|| {
        let message = format!("is not a whole number from {least} to {greatest}");
        fields.wrong(key, "out-of-range", message, report)
    })
}

/// Warns of members other than the `known` ones.
pub(super) fn report_unknown(fields: &Fields<'_>, known: &[&str], report: &mut Report) {
    let keys = fields.mapping.keys().map(|key| key.as_str().unwrap_or("?"));
    for key in keys.filter(|key| !known.contains(key)) {
        let message = "is ignored: network_data.json has no such key here";
        report.warning("member-not-read", &fields.path.key(key), message);
    }
}
