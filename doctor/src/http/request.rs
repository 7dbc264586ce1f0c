//! A request to the server.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, HeaderName, RANGE, USER_AGENT};
use http::{Method, Version};
use http_body_util::Empty;

use super::error::RequestError;

/// A request for the file, with only these headers, `Host` and `User-Agent`.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(super) method: Method,
    version: Version,
    /// The `Host` header. `None` means that of the URL; an empty text means no header.
    host: Option<String>,
    headers: Vec<(HeaderName, String)>,
}

impl Request {
    pub(crate) fn head() -> Self {
        Self { method: Method::HEAD, version: Version::HTTP_11, host: None, headers: Vec::new() }
    }

    pub(crate) fn get() -> Self {
        Self { method: Method::GET, ..Self::head() }
    }

    /// GET of these bytes. For an empty range, which HTTP cannot express, GET of one byte.
    pub(crate) fn range(range: &Range<u64>) -> Self {
        let last = range.end.saturating_sub(1).max(range.start);
        Self::get().with(RANGE, &format!("bytes={}-{last}", range.start))
    }

    #[must_use]
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    #[must_use]
    pub(crate) fn version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// Sets another `Host` header than that of the URL. An empty one leaves it out.
    #[must_use]
    pub(crate) fn host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    pub(super) fn build(
        &self,
        path: &str,
        host: &str,
        authorization: Option<&str>,
    ) -> Result<http::Request<Empty<Bytes>>, RequestError> {
        let mut builder = http::Request::builder().method(self.method.clone()).uri(path).version(self.version);
        let host = self.host.as_deref().unwrap_or(host);
        if !host.is_empty() {
            builder = builder.header(HOST, host);
        }
        if self.headers.iter().all(|(name, _)| *name != USER_AGENT) {
            builder = builder.header(USER_AGENT, concat!("dayone-doctor/", env!("CARGO_PKG_VERSION")));
        }
        if let Some(authorization) = authorization {
            builder = builder.header(AUTHORIZATION, authorization);
        }
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        builder.body(Empty::new()).map_err(|error| RequestError::Invalid(error.to_string()))
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.method, self.version)?;
        match self.host.as_deref() {
            Some("") => write!(f, ", no Host header")?,
            Some(host) => write!(f, ", host: {host}")?,
            None => {}
        }
        for (name, value) in &self.headers {
            let value = if *name == AUTHORIZATION { "Basic …" } else { value };
            write!(f, ", {name}: {value}")?;
        }
        Ok(())
    }
}
