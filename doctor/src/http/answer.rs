//! An answer of the server.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONNECTION, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_TYPE, ETAG, HeaderName, LAST_MODIFIED, LOCATION, SERVER, TRANSFER_ENCODING, WWW_AUTHENTICATE,
};
use http::{HeaderMap, StatusCode, Version};
use vocabulary::url_credentials;

use crate::evidence::Evidence;

/// The headers that evidence shows.
const TELLING: [HeaderName; 14] = [
    CONTENT_LENGTH,
    CONTENT_RANGE,
    ACCEPT_RANGES,
    CONTENT_ENCODING,
    TRANSFER_ENCODING,
    CONTENT_TYPE,
    CONTENT_DISPOSITION,
    LAST_MODIFIED,
    ETAG,
    CACHE_CONTROL,
    CONNECTION,
    LOCATION,
    WWW_AUTHENTICATE,
    SERVER,
];

/// How much of a header's value evidence shows, in characters.
const SHOWN: usize = 120;

/// An answer, with the part of its body that was read.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The request, without the path.
    pub(super) request: String,
    pub(crate) version: Version,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether the whole body was read.
    pub(crate) complete: bool,
    /// The time from the request to the last byte that was read.
    pub(crate) took: Duration,
}

impl Answer {
    /// A header's value. Empty if it is missing or not text.
    pub(crate) fn header(&self, name: &HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// `Content-Length`. `None` if it is missing, or if several differ.
    pub(crate) fn length(&self) -> Option<u64> {
        let mut lengths = self.headers.get_all(CONTENT_LENGTH).iter().map(|value| value.to_str().ok()?.parse().ok());
        let first = lengths.next()??;
        lengths.all(|length| length == Some(first)).then_some(first)
    }

    /// Why it has no [`length`](Self::length), for messages.
    pub(crate) fn missing_length(&self) -> &'static str {
        if self.headers.contains_key(CONTENT_LENGTH) {
            "several Content-Length headers that differ, or one that is not a number"
        } else {
            "no Content-Length"
        }
    }

    pub(crate) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    pub(crate) fn evidence(&self) -> Evidence {
        let mut answer = format!("{:?} {}", self.version, self.status.as_u16());
        for name in &TELLING {
            for value in self.headers.get_all(name) {
                let value = String::from_utf8_lossy(value.as_bytes());
                // Some addresses have credentials in their query.
                let value =
                    if name == LOCATION { url_credentials::hide_with_query(&value) } else { value.into_owned() };
                let shown: String = value.chars().take(SHOWN).collect();
                let more = if value.chars().nth(SHOWN).is_some() { "…" } else { "" };
                // Writing to a String does not fail.
                let _ = write!(answer, ", {name}: {shown}{more}");
            }
        }
        Evidence { request: self.request.clone(), answer }
    }
}
