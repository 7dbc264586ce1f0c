//! The properties that NetworkManager's settings have, and which values each can have.
//!
//! `properties.txt` is what libnm's introspection says of 1.30, 1.42 and 1.52: one property a line, as
//! `GROUP.KEY KIND`. An acceptance test compares it with libnm of each release, and writes it with `UPDATE_GOLDEN=1`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What a property's value must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Flag,
    Integer {
        least: i128,
        greatest: i128,
    },
    OneOf(Vec<i128>),
    /// The sum of bits of this mask.
    Bits(i128),
    Text,
    List,
    /// Anything that has a form of its own.
    Other,
}

/// A property of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) kind: Kind,
    /// Whether its value is a secret, which no finding may show.
    pub(super) is_secret: bool,
}

const TEXT: &str = include_str!("properties.txt");

/// By group and key.
static PROPERTIES: LazyLock<BTreeMap<&str, BTreeMap<&str, Property>>> = LazyLock::new(|| {
    let mut properties: BTreeMap<&str, BTreeMap<&str, Property>> = BTreeMap::new();
    for ((group, key), property) in TEXT.lines().filter_map(line) {
        properties.entry(group).or_default().insert(key, property);
    }
    properties
});

fn line(line: &'static str) -> Option<((&'static str, &'static str), Property)> {
    let (name, rest) = line.split_once(' ')?;
    let mut words: Vec<&str> = rest.split(' ').collect();
    let is_secret = words.pop_if(|word| *word == "secret").is_some();
    let (kind, numbers) = words.split_first()?;
    let numbers: Vec<i128> = numbers.iter().map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let kind = match (*kind, numbers.as_slice()) {
        ("bool", []) => Kind::Flag,
        ("int", [least, greatest]) => Kind::Integer { least: *least, greatest: *greatest },
        ("enum", [_, ..]) => Kind::OneOf(numbers),
        ("flags", [mask]) => Kind::Bits(*mask),
        ("text", []) => Kind::Text,
        ("list", []) => Kind::List,
        ("bytes" | "other", []) => Kind::Other,
        _ => return None,
    };
    Some((name.split_once('.')?, Property { kind, is_secret }))
}

/// The property that a key of a group stands for; both by NetworkManager's own names.
pub(super) fn property(group: &str, key: &str) -> Option<&'static Property> {
    PROPERTIES.get(group)?.get(key)
}

impl Kind {
    /// What a value must be, in words that follow "must be".
    pub(super) fn expected(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Integer { least, greatest } => format!("a number from {least} to {greatest}"),
            Self::OneOf(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!("one of {}", values.join(", "))
            }
            Self::Bits(mask) => format!("a sum of the bits of {mask}"),
            Self::Text | Self::Other => "text without a lone backslash".to_owned(),
            Self::List => "a list, its items separated by semicolons".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_property() {
        assert_eq!(PROPERTIES.values().map(BTreeMap::len).sum::<usize>(), TEXT.lines().count());
        let path_cost = property("bridge-port", "path-cost").unwrap();
        assert_eq!(path_cost.kind, Kind::Integer { least: 0, greatest: 65535 });
        assert_eq!(property("connection", "metered").unwrap().kind, Kind::OneOf(vec![0, 1, 2, 3, 4]));
        assert!(property("802-1x", "password").unwrap().is_secret && !path_cost.is_secret);
        assert_eq!(property("bridge", "path-cost"), None);
    }
}
