//! Whether a request comes from a page of this server or from another web site.

use http::header::{HOST, ORIGIN, REFERER};
use http::{HeaderMap, Uri};
use url::Url;

/// What a browser tells about the web site that a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A page of this server.
    Own,
    /// Another web site.
    Foreign,
    /// The request does not tell: the user typed the address, or the client is not a browser.
    Untold,
}

impl Source {
    /// Reads the source of a request from its headers.
    ///
    /// Browsers send `Sec-Fetch-Site` to https and localhost only, `Origin` with everything but GET and HEAD, and `Referer` as
    /// the page's policy wants. None of them can be set by a script.
    pub(crate) fn of(uri: &Uri, headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        if let Some(site) = headers.get("sec-fetch-site") {
            return match site.as_bytes() {
                b"same-origin" => Self::Own,
                b"none" => Self::Untold,
                _ => Self::Foreign,
            };
        }
        match text(ORIGIN).or_else(|| text(REFERER)) {
            None => Self::Untold,
            Some(page) if is_own(page, uri, headers) => Self::Own,
            Some(_) => Self::Foreign,
        }
    }
}

/// Whether the URL of a page has the host and the port of the request. The scheme may differ: a proxy before the server may speak
/// TLS.
fn is_own(page: &str, uri: &Uri, headers: &HeaderMap) -> bool {
    let (Some(authority), Ok(page)) = (authority(uri, headers), Url::parse(page)) else { return false };
    if !matches!(page.scheme(), "http" | "https") {
        return false;
    }
    Url::parse(&format!("{}://{authority}", page.scheme()))
        .is_ok_and(|own| (own.host(), own.port_or_known_default()) == (page.host(), page.port_or_known_default()))
}

/// The host and the port that the client asked for.
pub(super) fn authority<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    uri.authority().map(http::uri::Authority::as_str).or_else(|| headers.get(HOST)?.to_str().ok())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn source(told: &[(&'static str, &'static str)]) -> Source {
        let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("dayone.example:8080"))]);
        for (name, value) in told {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        Source::of(&Uri::from_static("/v1/check"), &headers)
    }

    #[test]
    fn browsers_tell_where_a_request_comes_from() {
        let own = "http://dayone.example:8080";
        assert_eq!(source(&[]), Source::Untold);
        assert_eq!(source(&[("origin", own)]), Source::Own);
        assert_eq!(source(&[("origin", "https://DAYONE.example:8080")]), Source::Own);
        assert_eq!(source(&[("referer", "http://dayone.example:8080/images")]), Source::Own);
        assert_eq!(source(&[("sec-fetch-site", "same-origin"), ("origin", own)]), Source::Own);
        assert_eq!(source(&[("sec-fetch-site", "none")]), Source::Untold);
        for foreign in [
            "null",
            "",
            "http://dayone.example",
            "http://dayone.example:80",
            "http://evil.example:8080",
            "http://dayone.example:8080.evil.example",
            "http://dayone.example:8080@evil.example",
            "data:text/html,x",
        ] {
            assert_eq!(source(&[("origin", foreign)]), Source::Foreign, "{foreign}");
        }
        for site in ["cross-site", "same-site", "", "Same-Origin"] {
            assert_eq!(source(&[("sec-fetch-site", site), ("origin", own)]), Source::Foreign, "{site}");
        }
        assert_eq!(source(&[("origin", "http://evil.example"), ("referer", own)]), Source::Foreign);
    }
}
