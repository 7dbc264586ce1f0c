//! A request to a BMC, and its form in HTTP.

use std::time::Duration;

use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, IF_MATCH, USER_AGENT};
use http::{HeaderName, HeaderValue, Method};
use serde_json::Value;
use url::Url;

/// The name and the version of this client.
const AGENT: &str = concat!("dayone/", env!("CARGO_PKG_VERSION"));

/// The token of a session (DSP0266 §13.3.4).
pub(super) const X_AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");
const ODATA_VERSION: HeaderName = HeaderName::from_static("odata-version");

/// The credentials in a request.
#[derive(Clone)]
pub(super) enum Authorization {
    None,
    Basic(HeaderValue),
    Session(HeaderValue),
}

/// A request to a BMC.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) body: Option<&'a Value>,
    pub(super) if_match: Option<&'a str>,
    /// The encoding of the answer.
    pub(super) encoding: Encoding,
    pub(super) timeout: Duration,
}

/// `Accept-Encoding`. With a compressed answer, BMCs send a weak `ETag`, which they later refuse in `If-Match`. But
/// some BMCs send only compressed answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Identity,
    Gzip,
}

impl<'a> Request<'a> {
    pub(super) fn new(method: &'a Method, path: &'a str, body: Option<&'a Value>, timeout: Duration) -> Self {
        Self { method, path, body, if_match: None, encoding: Encoding::Identity, timeout }
    }

    pub(super) fn get(path: &'a str, timeout: Duration) -> Self {
        Self::new(&Method::GET, path, None, timeout)
    }

    /// The message for this URL, without `Host`.
    pub(super) fn message(
        self,
        url: &Url,
        authorization: &Authorization,
    ) -> Result<http::Request<String>, http::Error> {
        let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let encoding = if self.encoding == Encoding::Gzip { "gzip" } else { "identity" };
        let mut message = http::Request::builder().method(self.method.clone()).uri(path);
        message = message.header(ACCEPT, "application/json").header(ACCEPT_ENCODING, encoding);
        message = message.header(ODATA_VERSION, "4.0");
        message = match authorization {
            Authorization::None => message,
            Authorization::Basic(value) => message.header(AUTHORIZATION, value),
            Authorization::Session(token) => message.header(X_AUTH_TOKEN, token),
        };
        if let Some(etag) = self.if_match {
            message = message.header(IF_MATCH, etag);
        }
        let (message, body) = match self.body {
            None => (message, String::new()),
            // Without this header, the web servers of BMCs answer 411.
            Some(Value::Null) => (message.header(CONTENT_LENGTH, "0"), String::new()),
            Some(body) => (message.header(CONTENT_TYPE, "application/json"), body.to_string()),
        };
        message.header(USER_AGENT, AGENT).body(body)
    }
}
