//! A request.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, HeaderName, RANGE};
use http::{Method, Request, Version};
use http_body_util::Empty;

use super::Trouble;

/// A request for the file, with exactly these headers, the `Host` header and a `User-Agent`.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(super) method: Method,
    version: Version,
    /// None: that of the URL.
    host: Option<String>,
    headers: Vec<(HeaderName, String)>,
}

impl Ask {
    pub(crate) fn head() -> Self {
        Self { method: Method::HEAD, version: Version::HTTP_11, host: None, headers: Vec::new() }
    }

    pub(crate) fn get() -> Self {
        Self { method: Method::GET, ..Self::head() }
    }

    /// GET of these bytes. Of an empty range, which HTTP has no words for, one byte.
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

    /// Another `Host` header than the URL's; none if it is empty.
    #[must_use]
    pub(crate) fn host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    pub(super) fn request(
        &self,
        path: &str,
        host: &str,
        authorization: Option<&str>,
    ) -> Result<Request<Empty<Bytes>>, Trouble> {
        let mut builder = Request::builder().method(self.method.clone()).uri(path).version(self.version);
        let host = self.host.as_deref().unwrap_or(host);
        if !host.is_empty() {
            builder = builder.header(HOST, host);
        }
        builder = builder.header(http::header::USER_AGENT, concat!("dayone-doctor/", env!("CARGO_PKG_VERSION")));
        if let Some(authorization) = authorization {
            builder = builder.header(AUTHORIZATION, authorization);
        }
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        builder.body(Empty::new()).map_err(|error| Trouble::Request(error.to_string()))
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.method, self.version)?;
        match self.host.as_deref() {
            Some("") => write!(f, ", no host")?,
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
