//! The access log. A client that mounts an image reads thousands of small ranges, so only its first request gets a
//! line.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::header::{RANGE, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, StatusCode, Version};
use tracing::field::display;

use super::path::Target;
use crate::LogLimit;
use crate::listen::{DirectRequest, Peer, client_of};
use crate::reading::Request;

/// After this time, a client gets another line for the same image.
const QUIET: Duration = Duration::from_mins(10);

/// How many clients and images are remembered.
const REMEMBERED: usize = 4096;

/// The access log of a media plane.
#[derive(Debug, Default)]
pub(super) struct AccessLog {
    /// By a hash of client and image.
    seen: Mutex<HashMap<u64, Instant>>,
    hasher: RandomState,
    unknown: LogLimit,
}

/// A request as the log, and the record of a file's reading, show it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) peer: Option<Peer>,
    pub(super) method: &'a Method,
    pub(super) version: Version,
    /// The `Range` header.
    pub(super) range: Option<&'a str>,
    pub(super) asks_range: bool,
    /// The `User-Agent` header.
    pub(super) user_agent: Option<&'a str>,
}

impl<'a> From<&'a Parts> for Shown<'a> {
    fn from(head: &'a Parts) -> Self {
        Self {
            peer: head.extensions.get().copied(),
            method: &head.method,
            version: head.version,
            range: text(&head.headers, &RANGE),
            asks_range: head.headers.contains_key(RANGE),
            user_agent: text(&head.headers, &USER_AGENT),
        }
    }
}

impl<'a> Shown<'a> {
    /// A request that is answered without hyper.
    pub(super) fn direct(request: &DirectRequest<'a>, peer: Peer) -> Self {
        Self {
            peer: Some(peer),
            method: if request.is_head { &Method::HEAD } else { &Method::GET },
            version: Version::HTTP_11,
            range: request.range.map(beginning),
            asks_range: request.range.is_some(),
            user_agent: request.user_agent.map(beginning),
        }
    }

    /// The client's address; an IPv4-mapped address as that of IPv4.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.peer.map(|peer| peer.address.ip().to_canonical())
    }

    /// What the record of a file's reading needs.
    pub(super) fn reading(&self) -> Request<'a> {
        Request {
            peer: self.address(),
            user_agent: self.user_agent,
            tls: self.peer.and_then(|peer| peer.tls),
            is_head: self.method == Method::HEAD,
            asks_range: self.asks_range,
        }
    }
}

/// The outcome of a request.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) status: StatusCode,
    /// How many bytes of the image the answer has.
    pub(super) length: u64,
    /// Whether the request was for a published image.
    pub(super) known: bool,
    /// The name of the image's host.
    pub(super) host: Option<&'a str>,
}

impl AccessLog {
    /// Writes a line: at `info` for the first request of a client for an image, at `debug` for later ones. Lines at
    /// `info` about unknown images are limited, because anybody can cause them. `now` is the present time.
    pub(super) fn write(&self, request: Shown<'_>, target: Option<Target<'_>>, outcome: &Outcome<'_>, now: Instant) {
        let Shown { peer, method, range, user_agent: agent, .. } = request;
        let address = peer.map(|peer| peer.address);
        let (token, file) = target.map_or(("", ""), Target::shown);
        let (version, tls) = (version(request.version), peer.and_then(|peer| peer.tls).unwrap_or("none"));
        let Outcome { status, length, known, host } = outcome;
        let (status, peer) = (status.as_u16(), address.map(display));
        let mut suppressed = None;
        let at_info = if *known {
            self.is_first(address.map(|address| address.ip()), if token.is_empty() { file } else { token }, now)
        } else {
            let admitted = self.unknown.admit();
            suppressed = admitted.filter(|suppressed| *suppressed > 0);
            admitted.is_some()
        };
        if at_info {
            tracing::info!(
                peer, %method, host, token, file, status, range, length, agent, version, tls, suppressed, "media"
            );
        } else {
            tracing::debug!(peer, %method, host, token, file, status, range, length, agent, version, tls, "media");
        }
    }

    fn is_first(&self, address: Option<IpAddr>, token: &str, now: Instant) -> bool {
        let key = self.hasher.hash_one((address.map(client_of), token));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.get(&key).is_some_and(|last| now.duration_since(*last) < QUIET) {
            return false;
        }
        if seen.len() >= REMEMBERED {
            seen.retain(|_, last| now.duration_since(*last) < QUIET);
            if seen.len() >= REMEMBERED {
                seen.clear();
            }
        }
        seen.insert(key, now);
        true
    }
}

/// A version of HTTP as it stands in messages.
fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_11 => "HTTP/1.1",
        _ => "other",
    }
}

/// The beginning of a header's value, for a log.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(beginning)
}

/// The first 200 bytes.
fn beginning(text: &str) -> &str {
    text.get(..200).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_at_info_is_for_the_first_request_of_a_client_and_image() {
        let (log, now) = (AccessLog::default(), Instant::now());
        let (one, two) = (Some(IpAddr::from([10, 0, 0, 1])), Some(IpAddr::from([10, 0, 0, 2])));
        assert_eq!(
            [(one, "a"), (one, "a"), (one, "b"), (two, "a")].map(|(ip, t)| log.is_first(ip, t, now)),
            [true, false, true, true]
        );
        // A client of IPv6 can have any address of its network.
        let [six, again] = [1, 2].map(|host| Some(IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, host])));
        assert_eq!([log.is_first(six, "a", now), log.is_first(again, "a", now)], [true, false]);
        for i in 0..2 * REMEMBERED {
            log.is_first(one, &i.to_string(), now);
        }
        assert!(log.seen.lock().unwrap().len() <= REMEMBERED);
    }
}
