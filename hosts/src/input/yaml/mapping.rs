//! Members of mappings: given once, and merged.

use serde_yaml::mapping::Entry;
use serde_yaml::{Mapping, Value};

use crate::input::flaw::Flaw;
use crate::members::get;

/// Adds a member. Of a key that stands twice, nobody knows which value is meant.
pub(super) fn insert(mapping: &mut Mapping, key: Value, value: Value) {
    match mapping.entry(key) {
        Entry::Vacant(entry) => drop(entry.insert(value)),
        Entry::Occupied(mut entry) => drop(entry.insert(Flaw::Twice.mark())),
    }
}

/// `mapping` with YAML 1.1's merge key `<<` resolved, as `kubectl` does: keys of its own win, then the earlier merge.
/// A merge key that holds no mappings stays, and is then an unknown key to whoever reads it. With one that is flawed,
/// nobody knows what the mapping holds.
pub(super) fn merged(mut mapping: Mapping) -> Value {
    let mergeable = match get(&mapping, "<<") {
        Some(Value::Mapping(_)) => true,
        Some(Value::Sequence(all)) if all.iter().any(|one| Flaw::of(one).is_some()) => return Flaw::Merge.mark(),
        Some(Value::Sequence(all)) => all.iter().all(Value::is_mapping),
        Some(Value::Tagged(_)) => return Flaw::Merge.mark(),
        _ => false,
    };
    if !mergeable {
        return Value::Mapping(mapping);
    }
    let sources = match mapping.shift_remove("<<") {
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
