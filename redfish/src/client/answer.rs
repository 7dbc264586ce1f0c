//! The answers of a BMC.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, SystemTime};

use http::header::{DATE, ETAG, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::de::Error as _;
use serde_json::Value;

use crate::error::{self, RedfishError, RequestLine};

/// Maximum time to wait for a `Retry-After`.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// Maximum number of values in an answer. In memory, a value takes up to a hundred times its length. Registries of firmware settings have
/// one value in 21 bytes or more, so they come to this number only with two MiB.
const MAX_VALUES: usize = 100_000;

/// A resource as it was read. `Debug` leaves out the body, because BMCs repeat what was sent to them.
#[derive(Clone, PartialEq)]
pub struct Resource {
    /// The path of the resource, after redirects.
    pub path: String,
    /// The resource, a JSON object.
    pub body: Value,
    /// The `ETag` header, or else the property `@odata.etag`.
    pub etag: Option<String>,
}

/// The answer to a request that changes something. `Debug` shows only the status, because BMCs repeat what was sent to
/// them.
#[derive(Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status of the answer; after a task, of the last answer of its monitor.
    pub status: StatusCode,
    /// The body. `Null` if there is none, or if it is not JSON.
    pub body: Value,
    /// The path in the `Location` header: the resource that was created.
    pub location: Option<String>,
    /// How the BMC carried out the request.
    pub completion: Completion,
    /// The status of a task that has completed, with the BMC's messages, if the status is not `OK`: such as `Warning: the image is not
    /// mounted`.
    pub warning: Option<String>,
}

/// How a BMC carried out a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// Before it answered. After a 202 that names no task this is not certain: read the resource.
    Answered,
    /// In the task with this path, which has completed.
    Task(String),
    /// In the task with this path, which the BMC has forgotten before it reported the result. Read the resource.
    TaskGone(String),
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").finish_non_exhaustive()
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}

/// An answer with its whole body.
pub(super) struct Reply {
    /// The request as it may be shown.
    pub(super) request: RequestLine,
    pub(super) path: String,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body, or `Null` if it is not JSON.
    pub(super) fn lenient(&self) -> Value {
        parse(&self.body).unwrap_or(Value::Null)
    }

    /// The body, which must be a JSON object.
    pub(super) fn object(&self) -> Result<Value, RedfishError> {
        let reason = match parse(&self.body) {
            Ok(value @ Value::Object(_)) => return Ok(value),
            Ok(_) => "it is JSON, but not an object".to_owned(),
            Err(_) if self.body.is_empty() => "it is empty".to_owned(),
            Err(_) if has_too_many_values(&self.body) => {
                return Err(RedfishError::TooManyValues { request: self.request.clone(), limit: MAX_VALUES });
            }
            Err(error) => error.to_string(),
        };
        Err(RedfishError::NotJson { request: self.request.clone(), reason, was_service: false })
    }

    pub(super) fn resource(&self) -> Result<Resource, RedfishError> {
        let body = self.object()?;
        let header = self.header(&ETAG).map(str::to_owned);
        let etag = header.or_else(|| body.get("@odata.etag").and_then(Value::as_str).map(str::to_owned));
        Ok(Resource { path: self.path.clone(), body, etag: etag.filter(|etag| is_sendable(etag)) })
    }

    /// The path in `Location`, without the host: some BMCs write a name there that only they know, and the next request
    /// goes to the same BMC anyway.
    pub(super) fn location(&self) -> Option<String> {
        self.header(&LOCATION).and_then(local_path)
    }

    /// Whether the BMC is busy, or its web server does not reach the service behind it.
    pub(super) fn is_busy(&self) -> bool {
        error::is_busy(self.status)
    }

    /// Whether a web server answers with a page for browsers, in place of the service behind it.
    pub(super) fn is_page(&self) -> bool {
        self.status.is_success() && self.body.trim_ascii_start().starts_with(b"<")
    }

    /// `Retry-After` (RFC 9110 §10.2.3): a number of seconds, or a date.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let text = self.header(&RETRY_AFTER)?.trim();
        if let Ok(seconds) = text.parse::<u32>() {
            return Some(Duration::from_secs(seconds.into()));
        }
        let at = httpdate::parse_http_date(text).ok()?;
        // By the clock of the BMC, which its `Date` shows: many BMCs' clocks are wrong, such as in 1970.
        let now = self.header(&DATE).and_then(|date| httpdate::parse_http_date(date).ok());
        Some(at.duration_since(now.unwrap_or_else(SystemTime::now)).unwrap_or_default())
    }
}

/// Reads JSON as BMCs write it: after a byte order mark (RFC 8259 §8.1), and with bytes that are not UTF-8, such as FF for each
/// character of an asset tag that was never set. One such property must not hide all others.
fn parse(body: &[u8]) -> serde_json::Result<Value> {
    if has_too_many_values(body) {
        return Err(serde_json::Error::custom("too many values"));
    }
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    match String::from_utf8_lossy(body) {
        Cow::Borrowed(text) => serde_json::from_str(text),
        Cow::Owned(text) => serde_json::from_str(&text),
    }
}

/// Whether an answer has more values than fit in memory beside those of other BMCs.
fn has_too_many_values(body: &[u8]) -> bool {
    // Each value stands behind one of these. Texts have few of them.
    body.iter().filter(|byte| matches!(byte, b'[' | b'{' | b',')).count() > MAX_VALUES
}

/// Whether an `ETag` can be sent. Some BMCs end the one in the body with a line break.
pub(super) fn is_sendable(etag: &str) -> bool {
    !etag.is_empty() && HeaderValue::from_str(etag).is_ok()
}

/// How long to wait before a request is repeated. `attempt` counts from 0.
pub(super) fn pause(attempt: u32, reply: Option<&Reply>) -> Duration {
    let growing = Duration::from_millis(500).saturating_mul(1 << attempt.min(5));
    reply.and_then(Reply::retry_after).unwrap_or(growing).min(MAX_RETRY_AFTER)
}

/// The path and the query of a reference, which may be a whole URL.
pub(crate) fn local_path(reference: &str) -> Option<String> {
    let reference = reference.trim();
    let path = match reference.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => rest.find('/').and_then(|at| rest.get(at..))?,
        // The query of a path may have a URL.
        _ => reference,
    };
    let path = path.split('#').next().unwrap_or_default();
    let is_valid = path.starts_with('/') && path.len() <= 2048 && !path.contains(char::is_control);
    is_valid.then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_byte_that_is_no_text_hides_no_other_property() {
        let system = b"\xef\xbb\xbf{\"AssetTag\": \"a\xff\", \"PowerState\": \"On\"}";
        assert_eq!(parse(system).unwrap(), json!({"AssetTag": "a\u{fffd}", "PowerState": "On"}));
        assert!(parse(b"<html>\xff").is_err() && parse(b"").is_err());
    }

    #[test]
    fn the_number_of_values_is_bounded() {
        let reply = |count: usize| {
            let path = "/redfish/v1/Systems".to_owned();
            let request = RequestLine { method: "GET", path: path.clone() };
            let body = format!("{{\"Members\": [{}[0]]}}", "[0],".repeat(count)).into_bytes();
            Reply { request, path, status: StatusCode::OK, headers: HeaderMap::new(), body }
        };
        assert!(reply(MAX_VALUES / 2 - 2).object().is_ok());
        let more = reply(MAX_VALUES / 2);
        assert_eq!(more.lenient(), Value::Null);
        let error = more.object().unwrap_err();
        assert_eq!(error.to_string(), "GET /redfish/v1/Systems: the answer has more than 100000 values");
        assert!(!error.is_transient(), "the next answer has as many");
    }

    #[test]
    fn a_date_to_wait_for_is_by_the_clock_of_the_bmc() {
        let request = RequestLine { method: "GET", path: "/redfish/v1/".to_owned() };
        for year in ["1970", "2099"] {
            let date = |second: u64| {
                let start = if year == "1970" { 0 } else { 4_070_908_800 };
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(start + second);
                HeaderValue::try_from(httpdate::fmt_http_date(time)).unwrap()
            };
            let headers = HeaderMap::from_iter([(DATE, date(10)), (RETRY_AFTER, date(15))]);
            let (path, status) = (request.path.clone(), StatusCode::SERVICE_UNAVAILABLE);
            let reply = Reply { request: request.clone(), path, status, headers, body: Vec::new() };
            assert_eq!(pause(0, Some(&reply)), Duration::from_secs(5), "{year}");
        }
    }

    #[test]
    fn references_become_paths_of_the_same_bmc() {
        for (reference, path) in [
            ("/redfish/v1/Systems/1", Some("/redfish/v1/Systems/1")),
            (
                "https://internal.example/redfish/v1/SessionService/Sessions/7",
                Some("/redfish/v1/SessionService/Sessions/7"),
            ),
            ("//evil.example/x", Some("//evil.example/x")),
            (" /redfish/v1/x#fragment", Some("/redfish/v1/x")),
            ("/redfish/v1/x?from=http://host.example/y", Some("/redfish/v1/x?from=http://host.example/y")),
            ("https://host.example", None),
            ("redfish/v1", None),
            ("", None),
            ("/a\nb", None),
        ] {
            assert_eq!(local_path(reference).as_deref(), path, "{reference}");
        }
    }
}
