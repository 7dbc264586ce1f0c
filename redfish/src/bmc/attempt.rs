//! The requests that change something, and what a BMC's refusal means.

use std::fmt;
use std::time::Duration;

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Bmc;
use super::properties::clean;
use crate::error::IN_POST;
use crate::{Answer, Message, RedfishError};

/// One request that changes something, and its outcome. Has only the names of the properties that were sent, because an
/// image's URL is a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// `POST` or `PATCH`.
    pub method: String,
    /// The path of the resource or of the action.
    pub path: String,
    /// The names of the properties that were sent, such as `Image` or `Boot/BootSourceOverrideTarget`.
    pub properties: Vec<String>,
    /// The HTTP status of the answer. `None` if there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why the request failed. `None` if it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The status of the BMC's task, with its messages, if the task has completed with a status other than `OK`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Whether the BMC did not answer, or was too busy. Only for the next step, so records do not have it.
    #[serde(skip)]
    is_unavailable: bool,
}

impl Attempt {
    /// Whether the request succeeded.
    pub fn succeeded(&self) -> bool {
        self.error.is_none()
    }

    /// Whether the refusal is one that some BMCs give only while the host is on.
    pub fn may_need_host_off(&self) -> bool {
        self.status == Some(409) || self.error.as_ref().is_some_and(|error| error.contains(IN_POST))
    }

    /// How the BMC's task completed, in parentheses. Empty if there was none, or if its status was `OK`.
    pub(super) fn task_warning(&self) -> String {
        self.warning.as_ref().map(|warning| format!(" (its task completed with {warning})")).unwrap_or_default()
    }

    /// Whether the request failed because the BMC did not answer, or was too busy.
    pub(super) fn is_unavailable(&self) -> bool {
        self.is_unavailable
    }

    /// Keeps what a request came to.
    fn record(
        method: &str,
        path: &str,
        body: &Value,
        result: Result<Answer, RedfishError>,
        attempts: &mut Vec<Self>,
    ) -> Result<(), RedfishError> {
        attempts.push(Self::new(method, path, body, &result));
        result.map(drop)
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
            error: result.as_ref().err().map(|error| clean(&error.to_string())),
            warning: result.as_ref().ok().and_then(|answer| answer.warning.as_deref()).map(clean),
            is_unavailable: result.as_ref().err().is_some_and(RedfishError::is_unavailable),
        }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sent = if self.properties.is_empty() { "no property" } else { &self.properties.join(", ") };
        match &self.error {
            Some(error) => write!(formatter, "{error} (it was sent {sent})"),
            None => write!(formatter, "{} {} with {sent}{}", self.method, self.path, self.task_warning()),
        }
    }
}

/// What an error means for the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// No other form of the request helps: the connection, the credentials or a permission failed.
    Final,
    /// A licence is missing.
    Licence,
    /// The BMC could not read the image.
    Image,
    /// Something else is in the way, such as another medium or an operation that has not ended.
    Busy,
    /// The action does not exist.
    NoAction,
    /// The BMC refuses the form of the request.
    Form,
    /// It is not known whether the BMC carried out the request.
    Unknown,
}

impl Meaning {
    pub(super) fn of(error: &RedfishError) -> Self {
        if let RedfishError::TaskFailed { messages, .. } = error {
            // The BMC accepted the form of the request, or it would not have created a task.
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
            // It is about the server of the image: the client has another error for a password that the BMC refuses.
            401 => by_text.filter(|meaning| *meaning == Self::Image).unwrap_or(Self::Final),
            403 if by_text == Some(Self::Licence) => Self::Licence,
            // OpenBMC refuses a property that cannot be written with 403, and later versions with 405.
            403 | 405 if is_about_property(error) => Self::Form,
            404 | 405 | 501 => by_text.filter(|meaning| *meaning == Self::Image).unwrap_or(Self::NoAction),
            400 | 406 | 411 | 413 | 415 | 422 => by_text.unwrap_or(Self::Form),
            // The BMC's web server has passed the request on, and got no answer in time.
            504 => by_text.unwrap_or(Self::Unknown),
            409 | 412 | 423 | 428 | 429 | 500..=599 => by_text.unwrap_or(Self::Busy),
            _ => Self::Final,
        }
    }

    /// The same for a request that the BMC must not carry out twice. A BMC also answers 5xx if it fails after it has begun, or if its web
    /// server loses the service behind it. The BMC has done nothing if its messages say that it is busy, or if it says when to ask again
    /// (503 with `Retry-After`, RFC 9110 §15.6.4).
    pub(super) fn of_one_time(error: &RedfishError) -> Self {
        let meaning = Self::of(error);
        let may_be_done = error.failure().is_some_and(|failure| {
            failure.status.is_server_error()
                && failure.status != StatusCode::NOT_IMPLEMENTED
                && !(failure.status == StatusCode::SERVICE_UNAVAILABLE && failure.retry_after.is_some())
        });
        match meaning {
            Self::Busy if may_be_done && by_text(error.messages()) != Some(Self::Busy) => Self::Unknown,
            // For example, a message says that something timed out.
            Self::Image if may_be_done => Self::Unknown,
            meaning => meaning,
        }
    }
}

/// The meaning of the keys of messages (Base 1.19 and vendors' registries), and of words in their texts.
fn by_text(messages: &[Message]) -> Option<Meaning> {
    // The names are from the Base registry. RAC0720 and RAC0904 are Dell's for a location that an iDRAC cannot read,
    // VRM0021 for virtual media that is detached or in use.
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
    const BUSY_KEYS: [&str; 9] = [
        "ResourceInUse",
        "ResourceInUseWithDetail",
        "ResourceNotReadyRetry",
        "DeviceIsBusy",
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
    // iLO sends no texts, only keys such as LicenseKeyRequired.
    let has_licence_key = messages.iter().any(|message| message.key().to_ascii_lowercase().contains("licens"));
    if has_licence_key || any_word(&["licens", "licenc", "product key"]) {
        Some(Meaning::Licence)
    } else if any_key(&IMAGE_KEYS) || any_word(&IMAGE_WORDS) {
        Some(Meaning::Image)
    } else if any_key(&BUSY_KEYS) || any_word(&["already", "in use", "in progress"]) {
        Some(Meaning::Busy)
    } else {
        None
    }
}

/// Parts of the keys of messages about a property or a parameter that the BMC does not take.
const UNSUPPORTED_KEYS: [&str; 6] = ["unknown", "notsupported", "notwritable", "notinlist", "typeerror", "formaterror"];

/// Whether a refusal is about a property or a parameter, by the keys of its messages.
fn is_about_property(error: &RedfishError) -> bool {
    error.messages().iter().any(|message| {
        let key = message.key().to_ascii_lowercase();
        let has_any = |parts: &[&str]| parts.iter().any(|part| key.contains(part));
        has_any(&["property", "parameter"]) && (has_any(&UNSUPPORTED_KEYS) || key.contains("missing"))
    })
}

/// The properties that a refusal names, each with what is wrong with it.
pub(super) fn named_properties<'a>(error: &RedfishError, properties: &[&'a str]) -> Vec<(&'a str, Fault)> {
    const MISSING: [&str; 3] = ["missing", "require", "must be"];
    const UNSUPPORTED: [&str; 7] =
        ["unknown", "not supported", "not in the list", "not writable", "read only", "unrecognized", "not a valid"];
    let has_any = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    let mut found = Vec::new();
    for message in error.messages() {
        let text = message.text.to_ascii_lowercase();
        let key = message.key().to_ascii_lowercase();
        let fault = if has_any(&key, &UNSUPPORTED_KEYS) || has_any(&text, &UNSUPPORTED) {
            Fault::Unsupported
        } else if key.contains("missing") || has_any(&text, &MISSING) {
            Fault::Missing
        } else {
            continue;
        };
        for property in properties {
            let is_last_segment =
                |path: &String| path.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(property));
            let is_named = text.contains(&property.to_ascii_lowercase()) || message.about.iter().any(is_last_segment);
            if is_named && !found.iter().any(|(known, _)| known == property) {
                found.push((*property, fault));
            }
        }
    }
    found
}

/// Whether the BMC refuses the value of the image's URL.
pub(super) fn refuses_url(error: &RedfishError) -> bool {
    // OpenBMC's answer to every scheme but https:// and smb://, before it fetches anything. If a task fails with
    // it, the BMC has accepted the URL.
    let refuses_scheme = error.failure().is_some() && error.says("ResourceAtUriInUnknownFormat");
    let refuses_value = |message: &Message| {
        let key = message.key();
        let is_value =
            ["Format", "NotInList", "Type", "Conflict", "OutOfRange", "TooLong"].iter().any(|word| key.contains(word));
        is_value && message.about.iter().any(|about| matches!(about.as_str(), "Image" | "#/Image" | "/Image"))
    };
    refuses_scheme || error.messages().iter().any(refuses_value)
}

/// What is wrong with a property of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Missing,
    Unsupported,
}

impl Bmc {
    /// Sends a POST and records it.
    pub(super) async fn try_post(
        &self,
        path: &str,
        body: &Value,
        limit: Duration,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), RedfishError> {
        let result = self.client().post(path, body, limit).await;
        Attempt::record("POST", path, body, result, attempts)
    }

    /// Sends a PATCH and records it.
    pub(super) async fn try_patch(
        &self,
        path: &str,
        body: &Value,
        etag: Option<&str>,
        limit: Duration,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), RedfishError> {
        let result = self.client().update(path, body, etag, limit).await;
        Attempt::record("PATCH", path, body, result, attempts)
    }

    /// Sends a PATCH of settings that take effect later, and records it. Does not wait for a task, which may end only then.
    pub(super) async fn try_stage(
        &self,
        path: &str,
        body: &Value,
        etag: Option<&str>,
        limit: Duration,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), RedfishError> {
        let result = self.client().stage(path, body, etag, limit).await;
        Attempt::record("PATCH", path, body, result, attempts)
    }
}
