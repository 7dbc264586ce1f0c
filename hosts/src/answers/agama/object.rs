//! Objects of JSON whose members stay as they were written.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// An object with the text of each member, in their order. No name is there twice: readers differ in which of them they take.
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
                    if members.iter().any(|(each, _)| *each == name) {
                        return Err(A::Error::custom("a member twice"));
                    }
                    members.push((name, text));
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
