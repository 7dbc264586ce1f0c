//! Objects of JSON whose members stay as they were written.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// An object with the text of each member, in the order of the members. No name appears twice: [`Unique`] reads the whole text first.
#[derive(Default)]
pub(super) struct Object(Vec<(String, Box<RawValue>)>);

impl Object {
    /// Reads an object; none if the text is not one.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The text of a member.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(each, _)| each == name).map(|(_, text)| text.get())
    }

    /// The value of a member.
    pub(super) fn value(&self, name: &str) -> Option<Value> {
        self.text(name).and_then(|text| serde_json::from_str(text).ok())
    }

    /// Replaces a member, or adds it at the end.
    pub(super) fn set(&mut self, name: &str, text: Box<RawValue>) {
        match self.0.iter_mut().find(|(each, _)| each == name) {
            Some((_, present)) => *present = text,
            None => self.0.push((name.to_owned(), text)),
        }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, text)| (name, text)))
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some((name, text)) = map.next_entry::<String, Box<RawValue>>()? {
                    members.push((name, text));
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Any JSON in which no object has a member twice. If a member appears twice, some readers take the first value and others the last, and
/// Jsonnet refuses the object.
pub(super) struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyValue;
        impl<'de> Visitor<'de> for AnyValue {
            type Value = Unique;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_unit<E: Error>(self) -> Result<Unique, E> {
                Ok(Unique)
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Unique, E> {
                Ok(Unique)
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Unique, E> {
                Ok(Unique)
            }

            fn visit_u64<E: Error>(self, _: u64) -> Result<Unique, E> {
                Ok(Unique)
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<Unique, E> {
                Ok(Unique)
            }

            fn visit_str<E: Error>(self, _: &str) -> Result<Unique, E> {
                Ok(Unique)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unique, A::Error> {
                while items.next_element::<Unique>()?.is_some() {}
                Ok(Unique)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Unique, A::Error> {
                let mut names = HashSet::new();
                while let Some(name) = members.next_key::<String>()? {
                    if !names.insert(name) {
                        return Err(A::Error::custom("a member twice in one object"));
                    }
                    members.next_value::<Unique>()?;
                }
                Ok(Unique)
            }
        }
        deserializer.deserialize_any(AnyValue)
    }
}
