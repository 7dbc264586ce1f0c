//! Recognises direct requests.

use std::mem::MaybeUninit;

use httparse::{Header, Request, Status};

/// How many headers a direct request may have. Firmware sends three to eight.
const HEADERS: usize = 24;

/// A `GET` or `HEAD` of HTTP/1.1 whose only header with a meaning is `Range`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectRequest<'a> {
    /// Whether the method is `HEAD`.
    pub is_head: bool,
    /// The path. It has no query, and nothing in it is encoded.
    pub path: &'a str,
    /// The `Range` header.
    pub range: Option<&'a str>,
    /// The `User-Agent` header.
    pub user_agent: Option<&'a str>,
}

/// What the beginning of the bytes from a client is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed<'a> {
    /// A direct request, and how many bytes it has.
    Direct(DirectRequest<'a>, usize),
    /// The beginning of a request.
    Incomplete,
    /// Something else, which hyper must look at.
    Other,
}

impl<'a> DirectRequest<'a> {
    /// Parses the first request of `bytes`.
    pub(super) fn parse(bytes: &'a [u8]) -> Parsed<'a> {
        // A connection asks this before it reads each request.
        if bytes.is_empty() {
            return Parsed::Incomplete;
        }
        let mut headers: [MaybeUninit<Header<'a>>; HEADERS] = [const { MaybeUninit::uninit() }; HEADERS];
        let mut request = Request::new(&mut []);
        let length = match request.parse_with_uninit_headers(bytes, &mut headers) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Parsed::Incomplete,
            Err(_) => return Parsed::Other,
        };
        Self::of(&request).map_or(Parsed::Other, |direct| Parsed::Direct(direct, length))
    }

    fn of(request: &Request<'_, 'a>) -> Option<Self> {
        let is_head = match request.method {
            Some("GET") => false,
            Some("HEAD") => true,
            _ => return None,
        };
        let path = request.path.filter(|path| path.starts_with('/') && path.bytes().all(is_plain))?;
        let mut direct = Self { is_head, path, range: None, user_agent: None };
        let mut hosts = 0;
        for header in &*request.headers {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            match header.name.len() {
                // Any value is accepted, as by hyper.
                4 if is("Host") => hosts += 1,
                5 if is("Range") && direct.range.is_none() => direct.range = Some(text(header.value)?),
                6 if is("Accept") || is("Pragma") => {}
                10 if is("User-Agent") && direct.user_agent.is_none() => direct.user_agent = Some(text(header.value)?),
                10 if is("Connection") && header.value.eq_ignore_ascii_case(b"keep-alive") => {}
                // The media plane ignores credentials, and never compresses. A cache of its own would ask whether it may.
                13 if is("Authorization") || is("Cache-Control") => {}
                15 if is("Accept-Encoding") || is("Accept-Language") => {}
                // Whatever this is, it may change the meaning of the request.
                _ => return None,
            }
        }
        (request.version == Some(1) && hosts == 1).then_some(direct)
    }
}

/// A character that stands for itself in a path (RFC 3986 §2.3), or separates its parts.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte)
}

/// The value of a header, if all of it is text.
fn text(value: &[u8]) -> Option<&str> {
    let is_text = value.iter().all(|byte| (b' '..=b'~').contains(byte) || *byte == b'\t');
    std::str::from_utf8(value).ok().filter(|_| is_text)
}

#[cfg(test)]
mod tests;
