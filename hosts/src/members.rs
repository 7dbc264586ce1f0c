//! Members of the mappings that documents are made of.

use serde_yaml::{Mapping, Value};

/// How many members are looked at in turn.
const FEW: usize = 16;

/// What stands at `key`. Most mappings have few members, and to look at each is faster than to hash the key.
pub(crate) fn get<'a>(map: &'a Mapping, key: &str) -> Option<&'a Value> {
    if map.len() > FEW {
        return map.get(key);
    }
    map.iter().find_map(|(name, value)| matches!(name, Value::String(name) if name == key).then_some(value))
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
