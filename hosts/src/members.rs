//! Members of mappings in documents.

use serde_yaml::{Mapping, Value};

/// The largest mapping that is searched linearly.
const FEW: usize = 16;

/// Returns the value at `key`. Most mappings have few members, and a linear search is faster than hashing the key.
pub(crate) fn get<'a>(map: &'a Mapping, key: &str) -> Option<&'a Value> {
    if map.len() > FEW {
        return map.get(key);
    }
    map.iter().find_map(|(name, value)| matches!(name, Value::String(name) if name == key).then_some(value))
}

/// Makes a mapping in this order, without the members that are null.
pub(crate) fn mapping<const N: usize>(members: [(&str, Value); N]) -> Mapping {
    let present = members.into_iter().filter(|(_, value)| !value.is_null());
    present.map(|(key, value)| (key.into(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_among_few_and_many() {
        for count in [0, 1, FEW, FEW + 1, 100] {
            let map: Mapping = (0..count).map(|number| (format!("k{number}").into(), number.into())).collect();
            for number in 0..=100 {
                let key = format!("k{number}");
                assert_eq!(get(&map, &key), map.get(&key), "{count} {key}");
            }
        }
    }
}
