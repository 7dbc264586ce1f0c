//! Members of mappings: duplicate keys and merge keys.

use std::collections::BTreeMap;

use serde_yaml::mapping::Entry;
use serde_yaml::{Mapping, Value};

use super::InvalidValue;
use super::ambiguous::MERGE;
use crate::members::get;

/// Adds a member. If the key appears twice, nobody knows which value is meant, and the value becomes invalid.
pub(super) fn insert(mapping: &mut Mapping, key: Value, value: Value) {
    match mapping.entry(key) {
        Entry::Vacant(entry) => drop(entry.insert(value)),
        Entry::Occupied(mut entry) => drop(entry.insert(InvalidValue::DuplicateKey.mark())),
    }
}

/// Returns the keys of the members before a merge key that adds other values for them.
pub(super) fn before_merge(mapping: &Mapping) -> Vec<String> {
    let sources = match get(mapping, MERGE) {
        Some(Value::Sequence(sources)) => sources.as_slice(),
        Some(source) => std::slice::from_ref(source),
        None => return Vec::new(),
    };
    let mut added: BTreeMap<&str, &Value> = BTreeMap::new();
    for (key, value) in sources.iter().filter_map(Value::as_mapping).flatten() {
        if let Some(key) = key.as_str() {
            added.entry(key).or_insert(value);
        }
    }
    let mut found = Vec::new();
    for (key, value) in mapping {
        match key.as_str() {
            Some(MERGE) => break,
            Some(key) if added.get(key).is_some_and(|other| *other != value) => found.push(key.to_owned()),
            _ => {}
        }
    }
    found
}

/// Resolves YAML 1.1's merge key `<<`: the mapping's own keys win, then the earlier merge. A merge key without mappings stays, as an
/// unknown key. If a merged value is invalid, the whole mapping is.
pub(super) fn merged(mut mapping: Mapping) -> Value {
    let mergeable = match get(&mapping, MERGE) {
        Some(Value::Mapping(_)) => true,
        Some(Value::Sequence(all)) if all.iter().any(|one| InvalidValue::of(one).is_some()) => {
            return InvalidValue::UnresolvedMerge.mark();
        }
        Some(Value::Sequence(all)) => all.iter().all(Value::is_mapping),
        Some(Value::Tagged(_)) => return InvalidValue::UnresolvedMerge.mark(),
        _ => false,
    };
    if !mergeable {
        return Value::Mapping(mapping);
    }
    let sources = match mapping.shift_remove(MERGE) {
        Some(Value::Sequence(sources)) => sources,
        Some(source) => vec![source],
        None => Vec::new(),
    };
    for source in sources {
        if let Value::Mapping(source) = source {
            for (key, value) in source {
                mapping.entry(key).or_insert(value);
            }
        }
    }
    Value::Mapping(mapping)
}
