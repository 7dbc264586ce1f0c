//! `yes`, `no`, `on` and `off` without quotes, which are booleans in YAML 1.1 and texts in YAML 1.2.

use serde_yaml::{Mapping, Value};

use super::ambiguous::Ambiguous;
use super::scalar::old_boolean;

/// Reads these scalars of a document as readers of YAML 1.1 do, where `is_boolean` holds for the keys that lead to the scalar.
pub(in crate::input) fn read(document: &mut Mapping, ambiguous: &[Ambiguous], is_boolean: impl Fn(&[&str]) -> bool) {
    Ambiguous::change(document, ambiguous, &mut |value, keys, text| {
        if let Some(boolean) = old_boolean(text)
            && is_boolean(keys)
        {
            *value = Value::Bool(boolean);
        }
    });
}
