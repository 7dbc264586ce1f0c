//! Places in a document, by the keys that lead there.

use serde_yaml::{Mapping, Value};

use super::Step;
use crate::members::get;

/// A way through a document: keys, and `*` for each element of a list.
pub(crate) type Pattern = &'static [&'static str];

/// A document in which much is looked for.
pub(crate) struct Searched<'a> {
    document: &'a Mapping,
    /// The keys that are anywhere in it: most patterns lead nowhere for want of one, and to follow each through every
    /// interface takes longer than to look once.
    keys: Vec<&'a str>,
}

impl<'a> Searched<'a> {
    pub(crate) fn of(document: &'a Mapping) -> Self {
        let mut keys = Vec::new();
        add_keys(document, &mut keys);
        keys.sort_unstable();
        keys.dedup();
        Self { document, keys }
    }

    /// Calls `found` for every value that the pattern leads to, with the way there.
    pub(crate) fn each(&self, at: Pattern, found: &mut dyn FnMut(&[Step<'a>], &'a Value)) {
        // The last key is the one that is rare.
        let may_lead = at.iter().rev().all(|step| *step == "*" || self.keys.binary_search(step).is_ok());
        if may_lead {
            visit(self.document, at, &mut Vec::new(), found);
        }
    }
}

fn add_keys<'a>(map: &'a Mapping, keys: &mut Vec<&'a str>) {
    for (key, value) in map {
        keys.extend(key.as_str());
        add_keys_in(value, keys);
    }
}

fn add_keys_in<'a>(value: &'a Value, keys: &mut Vec<&'a str>) {
    match value {
        Value::Mapping(map) => add_keys(map, keys),
        Value::Sequence(list) => list.iter().for_each(|value| add_keys_in(value, keys)),
        _ => {}
    }
}

fn visit<'a>(map: &'a Mapping, at: Pattern, steps: &mut Vec<Step<'a>>, found: &mut dyn FnMut(&[Step<'a>], &'a Value)) {
    if let Some((key, rest)) = at.split_first()
        && let Some(value) = get(map, key)
    {
        steps.push(Step::Key(key));
        visit_value(value, rest, steps, found);
        steps.pop();
    }
}

fn visit_value<'a>(
    value: &'a Value,
    at: Pattern,
    steps: &mut Vec<Step<'a>>,
    found: &mut dyn FnMut(&[Step<'a>], &'a Value),
) {
    match (at, value) {
        ([], value) => found(steps, value),
        (["*", rest @ ..], Value::Sequence(list)) => {
            for (index, value) in list.iter().enumerate() {
                steps.push(Step::Index(index));
                visit_value(value, rest, steps, found);
                steps.pop();
            }
        }
        (at, Value::Mapping(map)) => visit(map, at, steps, found),
        _ => {}
    }
}

/// Calls `change` for every value of `map` that the pattern leads to.
pub(crate) fn visit_mut(map: &mut Mapping, at: &[&str], change: &mut dyn FnMut(&mut Value)) {
    if let Some((key, rest)) = at.split_first()
        && let Some(value) = map.get_mut(*key)
    {
        visit_value_mut(value, rest, change);
    }
}

fn visit_value_mut(value: &mut Value, at: &[&str], change: &mut dyn FnMut(&mut Value)) {
    match (at, value) {
        ([], value) => change(value),
        (["*", rest @ ..], Value::Sequence(list)) => {
            for value in list {
                visit_value_mut(value, rest, change);
            }
        }
        (at, Value::Mapping(map)) => visit_mut(map, at, change),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_leads_to_every_value_there() {
        let yaml = "{a: [{b: 1}, {c: 2}, {b: {b: 3}}, [{b: 4}]], b: 5, '*': {b: 6}}";
        let document: Mapping = serde_yaml::from_str(yaml).unwrap();
        let searched = Searched::of(&document);
        let found = |at: Pattern| {
            let mut found = Vec::new();
            searched.each(at, &mut |steps, value| found.push((steps.to_vec(), value.clone())));
            found
        };
        let (a, b) = (Step::Key("a"), Step::Key("b"));
        let ways: Vec<_> = found(&["a", "*", "b"]).into_iter().map(|(steps, _)| steps).collect();
        assert_eq!(ways, [vec![a, Step::Index(0), b], vec![a, Step::Index(2), b]]);
        assert_eq!(found(&["b"]), [(vec![b], 5.into())]);
        assert_eq!(found(&["a", "*", "d"]), []);
        assert_eq!(found(&["b", "a"]), []);
    }
}
