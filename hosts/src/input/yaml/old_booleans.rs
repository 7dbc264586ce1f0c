//! `yes`, `no`, `on` and `off` without quotes, which are booleans in YAML 1.1 and texts in YAML 1.2.

use serde_yaml::{Mapping, Value};

use super::ambiguous::{Ambiguous, Step};
use super::scalar::old_boolean;

/// Reads these scalars of a document as readers of YAML 1.1 do, where `is_boolean` holds for the keys that lead to the scalar.
pub(in crate::input) fn read(document: &mut Mapping, ambiguous: &[Ambiguous], is_boolean: impl Fn(&[&str]) -> bool) {
    for scalar in ambiguous {
        let Some(boolean) = old_boolean(scalar.text()) else { continue };
        let way = scalar.way();
        let keys = way.iter().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        });
        let keys: Vec<&str> = keys.collect();
        if is_boolean(&keys)
            && let Some(value) = find(document, &way)
            && value.as_str() == Some(scalar.text())
        {
            *value = Value::Bool(boolean);
        }
    }
}

fn find<'d>(document: &'d mut Mapping, way: &[&Step]) -> Option<&'d mut Value> {
    let (Step::Key(first), rest) = way.split_first()? else { return None };
    let mut value = document.get_mut(first.as_str())?;
    for step in rest {
        value = match step {
            Step::Key(key) => value.as_mapping_mut()?.get_mut(key.as_str())?,
            Step::Index(index) => value.as_sequence_mut()?.get_mut(*index)?,
        };
    }
    Some(value)
}
