//! Which settings of the firmware are changed, and what they were before.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::Url;

use crate::bmc::planned_request::PlannedRequest;
use crate::bmc::properties::clean;
use crate::without_tokens;

/// The settings of a firmware that a boot by HTTP changes. Has what is needed to undo that, in another process as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirmwareSettings {
    /// The path of the resource with the settings as they are.
    pub(super) bios: String,
    /// The path of the resource with the settings for the next start.
    pub(super) staged: String,
    /// The path of an iDRAC's jobs. An iDRAC applies settings only with a job. `None`: the BMC needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) jobs: Option<String>,
    /// The changes.
    pub(super) changes: Vec<Change>,
}

/// The change of one attribute. The values may be URLs of images, which are secrets, so `Debug` does not show them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    pub(super) attribute: String,
    pub(super) before: Value,
    pub(super) set: NewValue,
}

/// The value that an attribute gets.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NewValue {
    /// The URL of the image. It is not part of the settings: it is a secret, and may change between two attempts.
    Url,
    /// Any other value.
    Value(Value),
}

impl NewValue {
    pub(super) fn with(&self, image_url: &str) -> Value {
        match self {
            Self::Url => json!(image_url),
            Self::Value(value) => value.clone(),
        }
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Change({}, …)", self.attribute)
    }
}

impl FirmwareSettings {
    /// The names of the attributes that change.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.changes.iter().map(|change| change.attribute.as_str())
    }

    /// The attributes that change, each with its value from before as text for people: tokens and passwords in URLs are masked.
    pub fn before(&self) -> impl Iterator<Item = (&str, String)> {
        self.changes.iter().map(|change| (change.attribute.as_str(), shown(&change.before)))
    }

    /// These settings, with the values from before that an earlier attempt has found. What is in place now may be what that attempt
    /// has set.
    #[must_use]
    pub fn after(mut self, earlier: &Self) -> Self {
        let mut changes = earlier.changes.clone();
        for change in std::mem::take(&mut self.changes) {
            match changes.iter_mut().find(|known| known.attribute == change.attribute) {
                Some(known) => known.set = change.set,
                None => changes.push(change),
            }
        }
        Self { changes, ..self }
    }

    /// The body of the request that stages these attributes.
    pub(super) fn body(&self, attributes: &Map<String, Value>) -> Value {
        if self.jobs.is_some() {
            // Without it, an iDRAC makes no job, and the attributes wait for ever.
            json!({"@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"}, "Attributes": attributes})
        } else {
            json!({"Attributes": attributes})
        }
    }

    pub(in crate::bmc) fn request(&self, image_url: &str) -> PlannedRequest {
        let attributes = self.changes.iter().map(|change| (change.attribute.clone(), change.set.with(image_url)));
        PlannedRequest { method: "PATCH", path: self.staged.clone(), body: self.body(&attributes.collect()) }
    }
}

fn shown(value: &Value) -> String {
    let Some(text) = value.as_str() else { return value.to_string() };
    let mut text = clean(text);
    if let Ok(mut url) = Url::parse(&text)
        && url.password().is_some()
        && url.set_password(Some("***")).is_ok()
    {
        text = url.into();
    }
    without_tokens(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_from_before_are_shown_without_secrets() {
        for (value, text) in [
            (json!("Enabled"), "Enabled"),
            (json!(""), ""),
            (json!(42), "42"),
            (json!("http://192.0.2.1/i/abcdefghijklmnopqrstuvwxyz/boot.iso"), "http://192.0.2.1/i/abcdef…/boot.iso"),
            (json!("http://admin:hunter2@192.0.2.1/x"), "http://admin:***@192.0.2.1/x"),
        ] {
            assert_eq!(shown(&value), text);
        }
    }
}
