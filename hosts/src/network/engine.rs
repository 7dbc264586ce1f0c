//! The nmstate crate: the one place that calls it, and what turns its errors into findings.

mod apart;
mod hints;
mod locate;

use std::panic::{AssertUnwindSafe, catch_unwind};

use nmstate::NetworkState;
use serde::Deserialize;
use serde_yaml::Value;

use self::apart::Apart;
use self::locate::{Attempts, locate};
use super::parts::Bad;
use crate::nmstate_document::{Step, descend, is_secret, quoted};
use vocabulary::report::{DocumentPath, Report};

/// What nmstate says about a document.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Refusal {
    /// It is not of the schema.
    Schema(String),
    /// No profiles can be made of it.
    Generation(String),
    /// It panicked, which is a defect of the crate.
    Panic,
}

/// The profiles that nmstate makes of a document: file name as it gives it, and content, nothing escaped.
fn generate(document: &Value) -> Result<Vec<(String, String)>, Refusal> {
    let generate = || {
        let state = NetworkState::deserialize(document).map_err(|error| Refusal::Schema(error.to_string()))?;
        let mut files = state.gen_conf().map_err(|error| Refusal::Generation(error.msg().to_owned()))?;
        Ok(files.remove("NetworkManager").unwrap_or_default())
    };
    catch_unwind(AssertUnwindSafe(generate)).unwrap_or(Err(Refusal::Panic))
}

/// The profiles that nmstate makes of a document, or findings that say why it makes none.
///
/// nmstate's errors carry no position, and it stops at the first. So every interface, route and rule is shown to it by
/// itself; what is wrong only between them is found by leaving parts of the document out: where a part is missing and the
/// error with it, there it is. `values` is how many values the document holds.
pub(crate) fn convert(
    document: &Value,
    values: usize,
    path: &DocumentPath,
    report: &mut Report,
) -> Option<Vec<(String, String)>> {
    let refusal = match generate(document) {
        Ok(files) => return Some(files),
        Err(refusal) => refusal,
    };
    let before = report.findings().len();
    let mut attempts = Attempts::for_document(values);
    Apart::of(document, path, &mut attempts).report_all(Bad::default(), report);
    if report.findings().len() == before {
        report_one(document, &refusal, path, &mut attempts, report);
    }
    None
}

/// Reports what nmstate has against the parts of a document that has errors already, but for those that have these.
pub(super) fn diagnose(document: &Value, values: usize, bad: Bad, path: &DocumentPath, report: &mut Report) {
    let mut attempts = Attempts::for_document(values);
    Apart::of(document, path, &mut attempts).report_all(bad, report);
}

/// Reports a refusal of the whole document, at the smallest part without which nmstate does not say it.
fn report_one(document: &Value, refusal: &Refusal, path: &DocumentPath, attempts: &mut Attempts, report: &mut Report) {
    match refusal {
        Refusal::Panic => report.error(
            "nmstate-defect",
            path,
            "makes the nmstate library fail (a defect of the library); please report it with this document",
        ),
        refusal => {
            let steps = locate(document, refusal, attempts);
            refused(document, &steps, refusal, &descend(path, &steps), report);
        }
    }
}

/// Reports what nmstate says of the part of `document` that `steps` lead to, which stands at `path` for the user.
fn refused(document: &Value, steps: &[Step<'_>], refusal: &Refusal, path: &DocumentPath, report: &mut Report) {
    let (code, message) = match refusal {
        Refusal::Schema(message) => ("nmstate-schema", message),
        Refusal::Generation(message) => ("nmstate-refused", message),
        Refusal::Panic => return,
    };
    let line: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(1024).collect();
    let is_about_value = match refusal {
        Refusal::Schema(message) => !message.starts_with("unknown field"),
        _ => message.to_ascii_lowercase().contains("invalid "),
    };
    let value = shown(document, steps).filter(|value| is_about_value && !line.contains(value.trim_matches('"')));
    let subject = match value {
        Some(value) => format!("is {value}, which nmstate refuses"),
        None => "is refused by nmstate".to_owned(),
    };
    let hint = hints::belongs(document, steps, message).map(|place| format!("; {place}")).unwrap_or_default();
    report.error(code, path, format!("{subject}: {line}{hint}"));
}

/// Returns the value at the end of `steps` for a sentence, if it is a single one and no secret. The document may be what a
/// Secret of Kubernetes holds, and the sentence goes into a condition that more people may read: of texts, only those are
/// shown that are written like addresses.
fn shown(document: &Value, steps: &[Step<'_>]) -> Option<String> {
    let keys = steps.iter().filter_map(|step| if let Step::Key(key) = step { Some(*key) } else { None });
    if keys.into_iter().any(is_secret) {
        return None;
    }
    match locate::at(document, steps)? {
        Value::String(text) if text.bytes().all(|b| b.is_ascii_hexdigit() || b".:/".contains(&b)) => Some(quoted(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
