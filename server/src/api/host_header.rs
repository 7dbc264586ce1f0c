//! Refuses requests whose `Host` header is missing or invalid (RFC 9112 §3.2), and those in which the listener has found a fault.

use std::net::Ipv6Addr;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONNECTION, HOST};
use http::{HeaderMap, HeaderValue, Version};
use media::listen::Fault;

use super::problem::{Problem, ProblemKind};

/// Middleware that passes a request on if its `Host` header is as the RFC requires, and the listener has found no fault.
pub(super) async fn check(request: Request, next: Next) -> Result<Response, Problem> {
    if let Some(fault) = request.extensions().get::<Fault>() {
        let kind = match fault {
            Fault::SeveralHosts | Fault::ChunkedTwice => ProblemKind::MalformedRequest,
            Fault::UnknownCoding => ProblemKind::UnsupportedTransferCoding,
        };
        let mut response = Problem::new(kind, fault.to_string()).into_response();
        // It is uncertain where the next request begins.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        return Ok(response);
    }
    match wrong_host(request.version(), request.headers()) {
        None => Ok(next.run(request).await),
        Some(detail) => Err(Problem::new(ProblemKind::MalformedRequest, detail)),
    }
}

fn wrong_host(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    match headers.get(HOST) {
        // HTTP/1.0 does not have the header.
        None if version < Version::HTTP_11 => None,
        None => Some("the request has no Host header; send the host and the port of this server's URL"),
        Some(value) if value.to_str().is_ok_and(is_host) => None,
        Some(_) => {
            Some("the request's Host header is not valid; send a host name or an IP address, optionally with a port")
        }
    }
}

/// Whether the text is `uri-host [ ":" port ]` (RFC 9110 §7.2). A URL without a host has an empty one.
fn is_host(text: &str) -> bool {
    let literal = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (is_valid, port) = if let Some((address, behind)) = literal {
        (address.parse::<Ipv6Addr>().is_ok(), behind)
    } else {
        let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
        (name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(&byte)), port)
    };
    is_valid && (port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_and_perhaps_a_port() {
        let hosts =
            ["localhost", "dayone_1.example:8080", "192.0.2.1:80", "[2001:db8::1]", "[::1]:8080", "a:", "%61", ""];
        for host in hosts {
            assert!(is_host(host), "{host}");
        }
        for other in [
            "localhost:abc",
            "localhost:80:80",
            "a b",
            "a/b",
            "localhost, evil",
            "user@localhost",
            "http://localhost",
            "2001:db8::1",
            "[::1",
            "[localhost]",
            "[::1]8080",
            "[::1]:x",
            "localhost\\",
        ] {
            assert!(!is_host(other), "{other}");
        }
    }

    #[test]
    fn only_old_requests_have_no_host() {
        let mut headers = HeaderMap::new();
        assert!(wrong_host(Version::HTTP_10, &headers).is_none() && wrong_host(Version::HTTP_11, &headers).is_some());
        headers.insert(HOST, "a b".parse().unwrap());
        assert!(wrong_host(Version::HTTP_10, &headers).is_some() && wrong_host(Version::HTTP_11, &headers).is_some());
        headers.insert(HOST, "localhost:8080".parse().unwrap());
        assert!(wrong_host(Version::HTTP_10, &headers).is_none() && wrong_host(Version::HTTP_11, &headers).is_none());
    }
}
