//! A JSON object in the making.

use serde_json::{Map, Value};

/// Members in the order in which they are set.
#[derive(Debug, Default)]
pub(super) struct Object(Map<String, Value>);

impl Object {
    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// Sets a member where there is a value for it.
    pub(super) fn set_some(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object.0)
    }
}
