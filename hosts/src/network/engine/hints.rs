//! Where a key belongs that nmstate does not know at its place, and how a value is written that it does not take.

use nmstate::NetworkState;
use serde::Deserialize;
use serde_yaml::Value;

use super::locate::{at, with, without};
use crate::nmstate_document::{Step, quoted};

/// Mappings that hold what people write beside them.
const HOLDERS: [&str; 2] = ["options", "config"];

/// Where the unknown key at the end of `steps` is known: one level up, or in a mapping beside it.
pub(super) fn belongs(document: &Value, steps: &[Step<'_>], message: &str) -> Option<String> {
    let (Step::Key(key), way) = steps.split_last()? else { return None };
    if !message.contains(&format!("unknown field `{key}`")) {
        return None;
    }
    let value = at(document, steps)?;
    let rest = without(document, steps);
    let is_known = |place: &[Step<'_>]| {
        let moved = with(&rest, place, (key, value));
        moved.is_some_and(|moved| match NetworkState::deserialize(&moved) {
            Ok(_) => true,
            // Other mistakes are other findings. What is wrong with the key itself is said of it.
            Err(error) => !error.to_string().contains(&format!("`{key}`")),
        })
    };
    if let Some((Step::Key(holder), above)) = way.split_last()
        && is_known(above)
    {
        return Some(format!("{} belongs one level up, beside {}", quoted(key), quoted(holder)));
    }
    let parent = at(document, way)?.as_mapping()?;
    let holder = HOLDERS.into_iter().find(|holder| {
        let place: Vec<Step<'_>> = way.iter().copied().chain([Step::Key(holder)]).collect();
        parent.get(*holder).is_some_and(Value::is_mapping) && is_known(&place)
    })?;
    Some(format!("{} belongs one level down, in {}", quoted(key), quoted(holder)))
}

/// How the value at the end of `steps` is written, where nmstate says that in the words of its parsers only.
pub(super) fn written(document: &Value, steps: &[Step<'_>], message: &str) -> Option<&'static str> {
    if is_default(document, steps) {
        Some("NMState has no word for it: write 0.0.0.0/0 or ::/0")
    } else if message.contains("invalid digit found in string") {
        Some("write a whole number")
    } else {
        None
    }
}

/// Which character that is not ASCII the text at the end of `steps` contains. Texts from web pages and spreadsheets have such characters. Many
/// of them are invisible, and others look like digits.
pub(super) fn foreign_character(document: &Value, steps: &[Step<'_>]) -> Option<String> {
    let character = at(document, steps)?.as_str()?.chars().find(|c| !c.is_ascii())?;
    let code = u32::from(character);
    Some(format!(
        "the value contains the character U+{code:04X}, which may be invisible or look like another; type the value again"
    ))
}

/// Whether it is the destination of a route, as other tools write that of a default route.
pub(super) fn is_default(document: &Value, steps: &[Step<'_>]) -> bool {
    matches!(steps.last(), Some(Step::Key("destination")))
        && at(document, steps).and_then(Value::as_str) == Some("default")
}
