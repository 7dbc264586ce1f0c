//! Reads JSON. This is faster than reading it as YAML, and not all JSON is YAML.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::{Mapping, Value};
use vocabulary::report::LineColumn;

use super::{Budget, Problem, mapping};

/// Reads the value of a JSON text. Returns nothing if the text is not JSON, and a problem if the budget is too small.
pub(super) fn value(text: &str, budget: &mut Budget) -> Result<Option<Value>, Problem> {
    let reader = Reader { budget: RefCell::new(budget), problem: RefCell::new(None) };
    let mut json = serde_json::Deserializer::from_str(text);
    let value = (&reader).deserialize(&mut json);
    match (value, reader.problem.into_inner()) {
        (Ok(value), _) => Ok(json.end().is_ok().then_some(value)),
        (Err(error), Some(problem)) => Err(problem.at(LineColumn { line: error.line(), column: error.column() })),
        (Err(_), None) => Ok(None),
    }
}

/// Builds values. It keeps the problem that stopped it, because `serde`'s errors carry only text.
struct Reader<'a> {
    budget: RefCell<&'a mut Budget>,
    problem: RefCell<Option<Problem>>,
}

impl Reader<'_> {
    fn check<E: serde::de::Error>(&self, take: impl FnOnce(&mut Budget) -> Result<(), Problem>) -> Result<(), E> {
        take(*self.budget.borrow_mut()).map_err(|problem| {
            *self.problem.borrow_mut() = Some(problem);
            E::custom("stopped")
        })
    }
}

impl<'de> DeserializeSeed<'de> for &Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.check(|budget| budget.take((1, 0)))?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.check(|budget| budget.take_bytes(value.len()))?;
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut sequence = Vec::new();
        while let Some(value) = access.next_element_seed(self)? {
            sequence.push(value);
        }
        Ok(Value::Sequence(sequence))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Mapping::new();
        while let Some((key, value)) = access.next_entry_seed(self, self)? {
            mapping::insert(&mut members, key, value);
        }
        Ok(mapping::merged(members))
    }
}
