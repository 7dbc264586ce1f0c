//! What was asked of a BMC and what it said, as evidence.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Bmc;
use crate::{Answer, Message, RedfishError};

/// One request that changes something, and its outcome. Holds names of properties only: an image's URL is a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// `POST` or `PATCH`.
    pub method: String,
    /// Where to.
    pub path: String,
    /// The properties that were sent.
    pub properties: Vec<String>,
    /// The answer's status; none if there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why it failed; none if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Attempt {
    /// Whether the BMC did it.
    pub fn succeeded(&self) -> bool {
        self.error.is_none()
    }

    pub(super) fn new(method: &str, path: &str, body: &Value, result: &Result<Answer, RedfishError>) -> Self {
        let mut properties = Vec::new();
        if let Some(object) = body.as_object() {
            for (name, value) in object {
                match value.as_object().filter(|inner| !inner.is_empty()) {
                    Some(inner) => properties.extend(inner.keys().map(|key| format!("{name}/{key}"))),
                    None => properties.push(name.clone()),
                }
            }
        }
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            properties,
            status: result
                .as_ref()
                .map_or_else(RedfishError::status, |answer| Some(answer.status))
                .map(|status| status.as_u16()),
            error: result.as_ref().err().map(|error| super::model::clean(&error.to_string())),
        }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(error) => write!(formatter, "{error} (it was sent {})", Properties(&self.properties)),
            None => write!(formatter, "{} {} with {}", self.method, self.path, Properties(&self.properties)),
        }
    }
}

struct Properties<'a>(&'a [String]);

impl fmt::Display for Properties<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { formatter.write_str("no property") } else { formatter.write_str(&self.0.join(", ")) }
    }
}

/// What an error means for the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Not about the request's form: connection, credentials, permission.
    Final,
    /// A licence is missing.
    Licence,
    /// The BMC could not read the image.
    Image,
    /// Something else is in the way: another medium, an operation that has not ended.
    Busy,
    /// There is no such action.
    NoAction,
    /// The request's form.
    Form,
    /// Whether the BMC did it is not known.
    Unknown,
}

impl Meaning {
    pub(super) fn of(error: &RedfishError) -> Self {
        if let RedfishError::TaskFailed { messages, .. } = error {
            // Its request was understood, or there would be no task.
            return by_text(messages).unwrap_or(Self::Image);
        }
        if matches!(
            error,
            RedfishError::Timeout { .. } | RedfishError::Broken { .. } | RedfishError::TaskUnfinished { .. }
        ) {
            return Self::Unknown;
        }
        let Some(status) = error.status() else { return Self::Final };
        let by_text = by_text(error.messages());
        match status.as_u16() {
            403 => by_text.filter(|meaning| *meaning == Self::Licence).unwrap_or(Self::Final),
            404 | 405 | 501 => by_text.filter(|meaning| *meaning == Self::Image).unwrap_or(Self::NoAction),
            400 | 406 | 411 | 413 | 415 | 422 => by_text.unwrap_or(Self::Form),
            409 | 412 | 423 | 428 | 429 | 500..=599 => by_text.unwrap_or(Self::Busy),
            _ => Self::Final,
        }
    }
}

/// Keys of messages (Base 1.19 and makers' registries) and words, with what they mean.
fn by_text(messages: &[Message]) -> Option<Meaning> {
    // `SourceDoesNotSupportProtocol`, `CouldNotEstablishConnection` and the others are of the Base registry; RAC0720
    // and RAC0904 are Dell's for a location that it cannot read, VRM0021 for virtual media that is detached or in use.
    const IMAGE_KEYS: [&str; 9] = [
        "CouldNotEstablishConnection",
        "ResourceAtUriUnauthorized",
        "ResourceAtUriInUnknownFormat",
        "SourceDoesNotSupportProtocol",
        "RAC0904",
        "ResourceAtUriNotFound",
        "RAC0720",
        "RAC0723",
        "InvalidURL",
    ];
    const BUSY_KEYS: [&str; 6] = [
        "ResourceInUse",
        "OperationNotAllowed",
        "ServiceTemporarilyUnavailable",
        "Conflict",
        "VRM0021",
        "MaxVirtualMediaConnectionEstablished",
    ];
    const IMAGE_WORDS: [&str; 16] = [
        "cannot download",
        "download",
        "unable to locate the iso",
        "could not connect",
        "connection refused",
        "unreachable",
        "unable to access the",
        "cannot access the",
        "failed to connect",
        "no such file",
        "timed out",
        "unable to mount",
        "failed to mount",
        "could not be reached",
        "not accessible",
        "not reachable",
    ];
    let any_key =
        |keys: &[&str]| messages.iter().any(|message| keys.iter().any(|key| message.key().eq_ignore_ascii_case(key)));
    let texts = messages.iter().map(|message| message.text.to_ascii_lowercase()).collect::<Vec<_>>();
    let any_word = |words: &[&str]| texts.iter().any(|text| words.iter().any(|word| text.contains(word)));
    if any_word(&["licens", "licenc", "product key"]) {
        Some(Meaning::Licence)
    } else if any_key(&IMAGE_KEYS) || any_word(&IMAGE_WORDS) {
        Some(Meaning::Image)
    } else if any_key(&BUSY_KEYS) || any_word(&["already", "in use", "in progress"]) {
        Some(Meaning::Busy)
    } else {
        None
    }
}

/// A property that a refusal names, and whether it is missing or too much.
pub(super) fn named<'a>(error: &RedfishError, properties: &[&'a str]) -> Vec<(&'a str, Fault)> {
    let mut found = Vec::new();
    for message in error.messages() {
        let text = message.text.to_ascii_lowercase();
        let key = message.key().to_ascii_lowercase();
        let is_missing =
            key.contains("missing") || ["missing", "require", "must be"].iter().any(|word| text.contains(word));
        let is_too_much = ["unknown", "notsupported", "notwritable", "notinlist", "typeerror", "formaterror"]
            .iter()
            .any(|word| key.contains(word))
            || [
                "unknown",
                "not supported",
                "not in the list",
                "not writable",
                "read only",
                "unrecognized",
                "not a valid",
            ]
            .iter()
            .any(|word| text.contains(word));
        let fault = match (is_too_much, is_missing) {
            (true, _) => Fault::TooMuch,
            (false, true) => Fault::Missing,
            (false, false) => continue,
        };
        for property in properties {
            let lower = property.to_ascii_lowercase();
            let is_named = text.contains(&lower)
                || message
                    .about
                    .iter()
                    .any(|about| about.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(property)));
            if is_named && !found.iter().any(|(known, _)| known == property) {
                found.push((*property, fault));
            }
        }
    }
    found
}

/// Whether the BMC does not want the image's URL as it is.
pub(super) fn refuses_url(error: &RedfishError) -> bool {
    error.messages().iter().any(|message| {
        let key = message.key();
        let is_value =
            ["Format", "NotInList", "Type", "Conflict", "OutOfRange", "TooLong"].iter().any(|word| key.contains(word));
        is_value && message.about.iter().any(|about| matches!(about.as_str(), "Image" | "#/Image" | "/Image"))
    })
}

/// What is wrong with a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Missing,
    TooMuch,
}

impl Bmc {
    /// Posts, and notes it.
    pub(super) async fn try_post(
        &self,
        path: &str,
        body: &Value,
        limit: Duration,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), RedfishError> {
        let result = self.client().post(path, body, limit).await;
        attempts.push(Attempt::new("POST", path, body, &result));
        result.map(drop)
    }

    /// Patches, and notes it.
    pub(super) async fn try_patch(
        &self,
        path: &str,
        body: &Value,
        etag: Option<&str>,
        limit: Duration,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), RedfishError> {
        let result = self.client().update(path, body, etag, limit).await;
        attempts.push(Attempt::new("PATCH", path, body, &result));
        result.map(drop)
    }
}
