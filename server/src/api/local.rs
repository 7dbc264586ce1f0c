//! Which requests an API without tokens answers: those of programs on this machine.

use std::net::IpAddr;

use http::header::ORIGIN;
use http::{HeaderMap, Uri};

use super::origin::{Source, authority};
use super::problem::{Problem, ProblemKind};

/// Whether a browser may send this request because its user has followed a link. A browser that does not tell sends no `Origin` with it.
pub(super) fn is_link(headers: &HeaderMap) -> bool {
    !headers.contains_key(ORIGIN) && headers.get("sec-fetch-mode").is_none_or(|mode| mode == "navigate")
}

/// An API without tokens listens on loopback only, but a web page in a browser on this machine could still reach it: with a
/// form, an image or a script (then the browser tells that another site sends the request), or under a name of the attacker that
/// resolves to 127.0.0.1 (then `Host` has it).
pub(super) fn check(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    if Source::of(uri, headers) == Source::Foreign { Err(not_local()) } else { check_name(uri, headers) }
}

/// Checks that a request is to a name of this machine.
pub(super) fn check_name(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let named = authority(uri, headers).map(|authority| {
        // A colon within brackets belongs to the address.
        authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(authority, |(host, _)| host)
    });
    let local = named.is_none_or(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
    });
    if local { Ok(()) } else { Err(not_local()) }
}

fn not_local() -> Problem {
    let detail = "this API has no token, so it answers only requests to localhost or a loopback address that do not come \
                  from another web site; to use it otherwise, set a token (--api-token-file)";
    Problem::new(ProblemKind::ForeignOrigin, detail)
}

#[cfg(test)]
mod tests {
    use http::header::HOST;

    use super::*;

    fn local(host: Option<&str>, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        host.map(|host| headers.insert(HOST, host.parse().unwrap()));
        origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
        check(&Uri::from_static("/v1/bases"), &headers).is_ok()
    }

    #[test]
    fn other_web_sites_are_kept_from_an_open_api() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "127.0.0.2", "[::1]:8080", "[::1]"] {
            assert!(local(Some(host), None), "{host}");
            assert!(local(Some(host), Some(&format!("http://{host}"))), "{host}");
            assert!(!local(Some(host), Some("http://localhost:3000")), "{host}");
        }
        assert!(local(None, None));
        for host in ["evil.example", "evil.example:8080", "192.0.2.1", "[2001:db8::1]:80", "localhost.evil.example", ""]
        {
            assert!(!local(Some(host), None), "{host}");
            assert!(!local(Some(host), Some(&format!("http://{host}"))), "{host}");
        }
        assert!(!local(Some("localhost"), Some("https://evil.example")));
        assert!(!local(Some("localhost"), Some("null")));
    }
}
