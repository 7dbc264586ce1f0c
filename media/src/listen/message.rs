//! Refuses requests that a proxy in front could read differently from dayone.

use http::header::{CONNECTION, CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

/// What is wrong with a request's headers. A missing or invalid `Host` is not a fault here, although RFC 9112 §3.2 requires a 400: old
/// firmware sends such requests, and only the path selects an image. The API refuses them by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// More than one `Host` header (RFC 9112 §3.2).
    #[error("the request has more than one Host header; send one")]
    SeveralHosts,
    /// `chunked` applied more than once (RFC 9112 §6.1).
    #[error("the request's Transfer-Encoding names chunked more than once; apply it once")]
    ChunkedTwice,
    /// A transfer coding other than `chunked`, which hyper does not decode (RFC 9112 §6.1).
    #[error("the request's Transfer-Encoding is not supported; send chunked only")]
    UnknownCoding,
}

impl Fault {
    /// Returns the first fault of these headers.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        if headers.get_all(HOST).iter().nth(1).is_some() {
            return Some(Self::SeveralHosts);
        }
        let mut chunked = false;
        for value in headers.get_all(TRANSFER_ENCODING) {
            for coding in value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                if coding.is_empty() {
                    continue;
                }
                if !coding.eq_ignore_ascii_case(b"chunked") {
                    return Some(Self::UnknownCoding);
                }
                if chunked {
                    return Some(Self::ChunkedTwice);
                }
                chunked = true;
            }
        }
        None
    }

    /// The answer of a listener whose service does not answer faults. It closes the connection, because it is uncertain where the next
    /// request begins.
    pub(super) fn answer<B: From<String>>(self) -> Response<B> {
        let mut response = Response::new(format!("{self}\n").into());
        *response.status_mut() = match self {
            Self::SeveralHosts | Self::ChunkedTwice => StatusCode::BAD_REQUEST,
            Self::UnknownCoding => StatusCode::NOT_IMPLEMENTED,
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        response
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    #[test]
    fn ambiguous_headers_are_faults() {
        use Fault::{ChunkedTwice, SeveralHosts, UnknownCoding};
        let cases: [(&[(HeaderName, &str)], _); 10] = [
            (&[], None),
            (&[(HOST, "a")], None),
            (&[(HOST, "a"), (HOST, "a")], Some(SeveralHosts)),
            (&[(HOST, "a"), (HOST, "b")], Some(SeveralHosts)),
            (&[(TRANSFER_ENCODING, "chunked")], None),
            (&[(TRANSFER_ENCODING, ", Chunked ,")], None),
            (&[(TRANSFER_ENCODING, "chunked, chunked")], Some(ChunkedTwice)),
            (&[(TRANSFER_ENCODING, "chunked"), (TRANSFER_ENCODING, "CHUNKED")], Some(ChunkedTwice)),
            (&[(TRANSFER_ENCODING, "gzip, chunked")], Some(UnknownCoding)),
            (&[(TRANSFER_ENCODING, "identity, chunked")], Some(UnknownCoding)),
        ];
        for (lines, fault) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.append(name, HeaderValue::from_static(value));
            }
            assert_eq!(Fault::of(&headers), fault, "{lines:?}");
        }
    }
}
