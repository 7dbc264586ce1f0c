//! The nmstate crate: the one place that calls it, and what turns its errors into findings.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nmstate::NetworkState;
use serde::Deserialize;
use serde_yaml::{Mapping, Value};

use super::document::{Step, descend};
use crate::report::{DocumentPath, Report};

/// How often a document that nmstate refuses may be tried again in part, to find the place: the larger it is, the
/// fewer times.
fn max_attempts(values: usize) -> usize {
    (1_000_000 / values.max(1)).clamp(4, 512)
}

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
/// nmstate's errors carry no position. The place is found by leaving parts of the document out: where a part is
/// missing and the error with it, there it is. `values` is how many values the document holds.
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
    let mut attempts = max_attempts(values);
    match &refusal {
        Refusal::Schema(message) => {
            if !elementwise(document, path, &mut attempts, report) {
                report.error("nmstate-schema", path, sentence(message));
            }
        }
        Refusal::Generation(message) => {
            let steps = locate(document, &refusal, &mut attempts);
            report.error("nmstate-refused", &descend(path, &steps), sentence(message));
        }
        Refusal::Panic => report.error(
            "nmstate-defect",
            path,
            "makes the nmstate library fail (a defect of the library); please report it with this document",
        ),
    }
    None
}

/// nmstate's message as the end of a sentence whose subject is a path.
fn sentence(message: &str) -> String {
    let line: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(1024).collect();
    format!("is refused by nmstate: {line}")
}

/// Lists of the document whose elements can be judged one by one.
const LISTS: &[&[&str]] = &[&["interfaces"], &["routes", "config"], &["route-rules", "config"]];

/// Checks a document of the wrong schema part by part, so that all its wrong parts are found and not only the
/// first. False where each part is right by itself.
fn elementwise(document: &Value, path: &DocumentPath, attempts: &mut usize, report: &mut Report) -> bool {
    let Value::Mapping(map) = document else { return false };
    let mut found = false;
    for (key, value) in map {
        let Value::String(name) = key else { continue };
        let list = LISTS.iter().find_map(|way| match way {
            [only] if only == name => value.as_sequence().map(|list| (vec![Step::Key(only)], list)),
            [first, second] if first == name => {
                let list = value.get(second).and_then(Value::as_sequence)?;
                Some((vec![Step::Key(first), Step::Key(second)], list))
            }
            _ => None,
        });
        let parts: Vec<Vec<Step<'_>>> = match list {
            Some((way, list)) => (0..list.len()).map(|i| [way.as_slice(), &[Step::Index(i)]].concat()).collect(),
            None => Vec::new(),
        };
        let mut inside = false;
        for part in parts {
            inside |= judge(document, &part, path, attempts, report);
        }
        found |= inside;
        if !inside {
            found |= judge(document, &[Step::Key(name)], path, attempts, report);
        }
    }
    found
}

/// Whether the one part of the document at `steps` is of the wrong schema all by itself; then it is reported.
fn judge(document: &Value, steps: &[Step<'_>], path: &DocumentPath, attempts: &mut usize, report: &mut Report) -> bool {
    let Some(alone) = only(document, steps) else { return false };
    let Err(error) = NetworkState::deserialize(&alone) else { return false };
    let refusal = Refusal::Schema(error.to_string());
    let inside = locate(&alone, &refusal, attempts);
    // An element that is alone in its list stands first there.
    let rest = inside.get(steps.len()..).unwrap_or_default();
    let place = descend(&descend(path, steps), rest);
    report.error("nmstate-schema", &place, sentence(&error.to_string()));
    true
}

/// The document with nothing in it but the part at `steps`.
fn only(document: &Value, steps: &[Step<'_>]) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(document.clone()) };
    match (step, document) {
        (Step::Key(key), Value::Mapping(map)) => {
            let inside = only(map.get(*key)?, rest)?;
            Some(Value::Mapping(Mapping::from_iter([(Value::from(*key), inside)])))
        }
        (Step::Index(index), Value::Sequence(list)) => Some(Value::Sequence(vec![only(list.get(*index)?, rest)?])),
        _ => None,
    }
}

/// The way to the smallest part of the document without which nmstate does not say `refusal`.
fn locate<'a>(document: &'a Value, refusal: &Refusal, attempts: &mut usize) -> Vec<Step<'a>> {
    let mut way: Vec<Step<'a>> = Vec::new();
    let mut here = document;
    loop {
        let mut steps: Vec<(Step<'a>, &'a Value)> = match here {
            Value::Mapping(map) => {
                map.iter().filter_map(|(key, value)| Some((Step::Key(key.as_str()?), value))).collect()
            }
            Value::Sequence(list) => list.iter().enumerate().map(|(i, value)| (Step::Index(i), value)).collect(),
            _ => return way,
        };
        // What refers to interfaces comes before them: without an interface, what refers to it fails as well.
        steps.sort_by_key(|(step, _)| matches!(step, Step::Key("interfaces" | "name" | "type" | "state")));
        let culprit = steps.into_iter().find(|(step, _)| {
            if *attempts == 0 || matches!(step, Step::Key("name" | "type")) {
                return false;
            }
            *attempts -= 1;
            way.push(*step);
            let rest = without(document, &way);
            way.pop();
            match (refusal, generate(&rest)) {
                (Refusal::Generation(message), Err(Refusal::Generation(other))) => way.is_empty() && *message != other,
                (Refusal::Schema(message), Err(Refusal::Schema(other))) => *message != other,
                (Refusal::Generation(_), Ok(_)) | (Refusal::Schema(_), _) => true,
                _ => false,
            }
        });
        let Some((step, value)) = culprit else { return way };
        way.push(step);
        here = value;
    }
}

/// The document without the part at `steps`.
fn without(document: &Value, steps: &[Step<'_>]) -> Value {
    let Some((step, rest)) = steps.split_first() else { return Value::Null };
    match (step, document) {
        (Step::Key(key), Value::Mapping(map)) => map
            .iter()
            .filter(|(name, _)| !(rest.is_empty() && name.as_str() == Some(key)))
            .map(|(name, value)| {
                let value = if name.as_str() == Some(key) { without(value, rest) } else { value.clone() };
                (name.clone(), value)
            })
            .collect::<Mapping>()
            .into(),
        (Step::Index(index), Value::Sequence(list)) => list
            .iter()
            .enumerate()
            .filter(|(i, _)| !(rest.is_empty() && i == index))
            .map(|(i, value)| if i == *index { without(value, rest) } else { value.clone() })
            .collect::<Vec<_>>()
            .into(),
        _ => document.clone(),
    }
}
