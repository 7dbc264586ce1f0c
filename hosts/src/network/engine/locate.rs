//! The place of an error that nmstate gives without one.

use serde_yaml::Value;

use super::attempt::{Refusal, generate};
use crate::nmstate_document::Step;

/// How many values nmstate may be shown again, all attempts together, to find the places of errors.
const VALUES: usize = 1_000_000;
/// What an attempt costs besides its values.
const ATTEMPT: usize = 20;

/// How often a document may be tried again in part: the larger the parts, the fewer times.
pub(super) struct Attempts {
    values: usize,
}

impl Attempts {
    /// For a document that holds so many values: four times the whole of it at least.
    pub(super) fn for_document(values: usize) -> Self {
        Self { values: VALUES.max(values.saturating_mul(4)) }
    }

    /// Whether a document of so many values may be tried.
    fn allow(&self, values: usize) -> bool {
        self.values >= values.saturating_add(ATTEMPT)
    }

    /// What nmstate says of `document`; none where there have been enough attempts.
    pub(super) fn generate(&mut self, document: &Value) -> Option<Result<(), Refusal>> {
        self.values = self.values.checked_sub(count(document) + ATTEMPT)?;
        Some(generate(document).map(drop))
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Mapping(map) => 1 + map.values().map(count).sum::<usize>(),
        Value::Sequence(list) => 1 + list.iter().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// The way to the smallest part of the document without which nmstate does not say `refusal`.
pub(super) fn locate<'a>(document: &'a Value, refusal: &Refusal, attempts: &mut Attempts) -> Vec<Step<'a>> {
    let (mut way, all): (Vec<Step<'a>>, usize) = (Vec::new(), count(document));
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
        let culprit = steps.iter().find(|(step, value)| {
            // A copy of the document for each of thousands of parts takes longer than all attempts.
            if matches!(step, Step::Key("name" | "type")) || !attempts.allow(all.saturating_sub(count(value))) {
                return false;
            }
            way.push(*step);
            let rest = without(document, &way);
            way.pop();
            let Some(said) = attempts.generate(&rest) else { return false };
            match (refusal, said) {
                (Refusal::Generation(message), Err(Refusal::Generation(other))) => way.is_empty() && *message != other,
                (Refusal::Schema(message), Err(Refusal::Schema(other))) => *message != other,
                (Refusal::Generation(_), Ok(())) | (Refusal::Schema(_), _) => true,
                _ => false,
            }
        });
        let Some((step, value)) = culprit.or_else(|| named(&steps, refusal)) else { return way };
        way.push(*step);
        here = value;
    }
}

/// The only value that the message quotes: without it something else is wrong, which says nothing.
fn named<'s, 'a>(steps: &'s [(Step<'a>, &'a Value)], refusal: &Refusal) -> Option<&'s (Step<'a>, &'a Value)> {
    let Refusal::Generation(message) = refusal else { return None };
    let is_named = |(step, value): &&(Step<'a>, &'a Value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return false,
        };
        !matches!(step, Step::Key("name" | "type" | "state") | Step::Index(_)) && message.contains(&format!("'{text}'"))
    };
    let mut found = steps.iter().filter(is_named);
    found.next().filter(|_| found.next().is_none())
}

/// What stands at the end of `steps`.
pub(super) fn at<'a>(document: &'a Value, steps: &[Step<'_>]) -> Option<&'a Value> {
    steps.iter().try_fold(document, |value, step| match (step, value) {
        (Step::Key(key), Value::Mapping(map)) => map.get(*key),
        (Step::Index(index), Value::Sequence(list)) => list.get(*index),
        _ => None,
    })
}

/// The value at the end of `steps`, to change it.
fn at_mut<'a>(document: &'a mut Value, steps: &[Step<'_>]) -> Option<&'a mut Value> {
    steps.iter().try_fold(document, |value, step| match (step, value) {
        (Step::Key(key), Value::Mapping(map)) => map.get_mut(*key),
        (Step::Index(index), Value::Sequence(list)) => list.get_mut(*index),
        _ => None,
    })
}

/// The document without the part at `steps`.
pub(super) fn without(document: &Value, steps: &[Step<'_>]) -> Value {
    let Some((end, way)) = steps.split_last() else { return Value::Null };
    let mut rest = document.clone();
    match (end, at_mut(&mut rest, way)) {
        (Step::Key(key), Some(Value::Mapping(map))) => drop(map.shift_remove(*key)),
        (Step::Index(index), Some(Value::Sequence(list))) if *index < list.len() => drop(list.remove(*index)),
        _ => {}
    }
    rest
}

/// The document with `member` added to the mapping at `steps`.
pub(super) fn with(document: &Value, steps: &[Step<'_>], member: (&str, &Value)) -> Option<Value> {
    let mut changed = document.clone();
    let map = at_mut(&mut changed, steps)?.as_mapping_mut().filter(|map| !map.contains_key(member.0))?;
    map.insert(member.0.into(), member.1.clone());
    Some(changed)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the library has no clock; this test has one")]
    fn a_document_is_not_copied_for_parts_that_cannot_be_tried_any_more() {
        let part = |number: usize| Value::from(vec![Value::from("part"), Value::from(number)]);
        let document = Value::from((0..2000).map(part).collect::<Vec<_>>());
        let start = Instant::now();
        let copies: Vec<Value> = (0..20).map(|_| document.clone()).collect();
        let twenty_copies = start.elapsed();
        assert_eq!(copies.len(), 20);

        let (start, refusal) = (Instant::now(), Refusal::Generation("is wrong".to_owned()));
        assert!(locate(&document, &refusal, &mut Attempts { values: 0 }).is_empty());
        // A copy for each part would be two thousand.
        assert!(start.elapsed() < twenty_copies * 20, "{:?} for {twenty_copies:?}", start.elapsed());
    }
}
