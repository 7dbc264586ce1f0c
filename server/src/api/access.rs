//! Access control of the API.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, Uri};

use super::problem::{Problem, ProblemKind};
use super::tokens::ApiTokens;

/// Middleware: lets a request pass if it has one of the tokens; or, if the server has no tokens, if it comes from a program on
/// this machine.
pub(super) async fn check(
    State(tokens): State<Arc<ApiTokens>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if tokens.is_empty() {
        check_local(request.uri(), request.headers())?;
    } else {
        check_token(&tokens, request.headers())?;
    }
    Ok(next.run(request).await)
}

fn check_token(tokens: &ApiTokens, headers: &HeaderMap) -> Result<(), Problem> {
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = header.and_then(|value| value.split_once(' ')).and_then(|(scheme, token)| {
        // RFC 9110 §11.1: schemes are case-insensitive.
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    match token {
        Some(token) if tokens.admit(token) => Ok(()),
        Some(_) => Err(Problem::new(ProblemKind::Unauthorized, "the bearer token is not valid on this server")),
        None => Err(Problem::new(
            ProblemKind::Unauthorized,
            "send one of this server's tokens in the header: Authorization: Bearer TOKEN",
        )),
    }
}

/// An API without tokens listens on loopback only, but a web page in a browser on this machine could still reach it: with a
/// form (then the request has an `Origin`), or under a name of the attacker that resolves to 127.0.0.1 (then `Host` has it).
fn check_local(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let named = uri.host().or_else(|| {
        let authority = headers.get(HOST)?.to_str().ok()?;
        // A colon within brackets belongs to the address.
        Some(authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(authority, |(host, _)| host))
    });
    let local = named.is_none_or(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
    });
    if local && !headers.contains_key(ORIGIN) {
        return Ok(());
    }
    let detail = "this API has no token, so it answers only requests to localhost or a loopback address that do not come \
                  from a browser; to use it otherwise, set a token (--api-token-file)";
    Err(Problem::new(ProblemKind::ForeignOrigin, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(host: Option<&str>, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        host.map(|host| headers.insert(HOST, host.parse().unwrap()));
        origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
        check_local(&Uri::from_static("/v1/bases"), &headers).is_ok()
    }

    #[test]
    fn browsers_are_kept_from_an_open_api() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "127.0.0.2", "[::1]:8080", "[::1]"] {
            assert!(local(Some(host), None), "{host}");
        }
        assert!(local(None, None));
        for host in ["evil.example", "evil.example:8080", "192.0.2.1", "[2001:db8::1]:80", "localhost.evil.example", ""]
        {
            assert!(!local(Some(host), None), "{host}");
        }
        assert!(!local(Some("localhost"), Some("https://evil.example")));
        assert!(!local(Some("localhost"), Some("null")));
    }

    #[test]
    fn a_token_is_read_as_rfc_6750_writes_it() {
        let mut tokens = ApiTokens::default();
        tokens.add("0123456789abcdef", "the test").unwrap();
        let admitted = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            check_token(&tokens, &headers).is_ok()
        };
        assert!(admitted("Bearer 0123456789abcdef") && admitted("bearer  0123456789abcdef"));
        for wrong in ["0123456789abcdef", "Basic 0123456789abcdef", "Bearer", "Bearer ", "Bearer 0123456789abcde"] {
            assert!(!admitted(wrong), "{wrong}");
        }
    }
}
