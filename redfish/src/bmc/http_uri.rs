//! The URL from which a host's firmware boots (`Boot.HttpBootUri`).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::image_url::without_credentials;
use crate::without_tokens;

/// The property of `Boot` with the URL.
pub(super) const URI: &str = "HttpBootUri";
/// The value of `BootSourceOverrideTarget`.
pub(super) const TARGET: &str = "UefiHttp";

/// The target of forms in records that have no target.
pub(super) fn target() -> String {
    TARGET.to_owned()
}

/// A URL from which a BMC's host boots. It may be that of an image, which is a secret, so `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpUri(String);

impl HttpUri {
    pub(super) fn read(text: Option<String>) -> Option<Self> {
        // sushy-tools writes null as this word.
        text.filter(|text| text != "None").map(Self)
    }

    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The URL for people, as [`without_tokens`] shows it, and without a user name, a password and a query.
    #[must_use]
    pub fn without_tokens(&self) -> Self {
        Self(without_tokens(&without_credentials(&self.0)))
    }
}

impl fmt::Debug for HttpUri {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HttpUri(…)")
    }
}

/// Adds the URL to the properties of `Boot`.
pub(super) fn with_uri(mut boot: Map<String, Value>, uri: Option<&str>) -> Map<String, Value> {
    boot.insert(URI.to_owned(), json!(uri));
    boot
}
