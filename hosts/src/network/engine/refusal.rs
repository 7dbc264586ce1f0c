//! What nmstate has against a document, as findings.

use serde_yaml::Value;

use super::attempt::Refusal;
use super::hints;
use super::locate::{self, Attempts, locate};
use crate::nmstate_document::{Step, descend, is_secret, quoted};
use vocabulary::report::{DocumentPath, Report};

/// Reports a refusal of the whole document, at the smallest part without which nmstate does not say it.
pub(super) fn report_one(
    document: &Value,
    refusal: &Refusal,
    path: &DocumentPath,
    attempts: &mut Attempts,
    report: &mut Report,
) {
    match refusal {
        Refusal::Panic => report.error(
            "nmstate-defect",
            path,
            "makes the nmstate library fail (a defect in the library); please report it with this document",
        ),
        refusal => {
            let steps = locate(document, refusal, attempts);
            refused(document, &steps, refusal, &descend(path, &steps), report);
        }
    }
}

/// Reports what nmstate says of the part of `document` that `steps` lead to, which stands at `path` for the user.
pub(super) fn refused(
    document: &Value,
    steps: &[Step<'_>],
    refusal: &Refusal,
    path: &DocumentPath,
    report: &mut Report,
) {
    let (code, message) = match refusal {
        Refusal::Schema(message) => ("nmstate-schema", message),
        Refusal::Generation(message) => ("nmstate-refused", message),
        Refusal::Panic => return,
    };
    let line = visible(message);
    let is_about_value = match refusal {
        Refusal::Schema(message) => !message.starts_with("unknown field"),
        _ => message.to_ascii_lowercase().contains("invalid "),
    };
    let value = shown(document, steps).filter(|value| is_about_value && !line.contains(value.trim_matches('"')));
    let subject = match value {
        Some(value) => format!("is {value}, which nmstate refuses"),
        None => "is refused by nmstate".to_owned(),
    };
    let hint = hints::belongs(document, steps, message).map(|place| format!("; {place}"));
    let hint = hint.or_else(|| hints::written(document, steps, message).map(|hint| format!("; {hint}")));
    let hint = hint.unwrap_or_default();
    let character = hints::foreign_character(document, steps).filter(|_| is_about_value && !is_below_secret(steps));
    let character = character.map(|character| format!("; {character}")).unwrap_or_default();
    report.error(code, path, format!("{subject}: {line}{hint}{character}"));
}

/// Returns a message of nmstate on one line. Invisible characters are escaped, because the message may quote the document.
fn visible(message: &str) -> String {
    let mut line = String::new();
    for letter in message.chars().take(1024) {
        match letter {
            control if control.is_control() => line.push(' '),
            ascii if ascii.is_ascii() => line.push(ascii),
            other => line.extend(other.escape_debug()),
        }
    }
    line
}

/// Returns the value at the end of `steps` for a sentence, if it is a single one and no secret. The document may be what a
/// Secret of Kubernetes holds, and the sentence goes into a condition that more people may read: of texts, only those are
/// shown that are written like addresses.
fn shown(document: &Value, steps: &[Step<'_>]) -> Option<String> {
    if is_below_secret(steps) {
        return None;
    }
    match locate::at(document, steps)? {
        Value::String(text) if text.bytes().all(|b| b.is_ascii_hexdigit() || b".:/".contains(&b)) => Some(quoted(text)),
        Value::String(text) if hints::is_default(document, steps) => Some(quoted(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

fn is_below_secret(steps: &[Step<'_>]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Key(key) if is_secret(key)))
}
