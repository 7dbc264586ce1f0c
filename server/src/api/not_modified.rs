//! Answers 304 (Not Modified) to clients that have the content already.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::{IntoResponse as _, IntoResponseParts, Response};
use bytes::Bytes;
use http::StatusCode;
use http_body::Frame;

/// The answer 304 with these headers.
pub(crate) fn not_modified(headers: impl IntoResponseParts) -> Response {
    (StatusCode::NOT_MODIFIED, headers, Body::new(OfUnknownSize)).into_response()
}

/// A body without content that does not tell its size. From the size of an empty body, axum would make `Content-Length: 0`. But the
/// length in a 304 is that of the content that a 200 would have (RFC 9110 §8.6), and hyper sends it in answers to HEAD.
struct OfUnknownSize;

impl http_body::Body for OfUnknownSize {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    // Otherwise, hyper would close the connection to end the body.
    fn is_end_stream(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use http::header::ETAG;
    use http_body::Body as _;

    use super::*;

    #[test]
    fn the_body_has_ended_and_tells_no_size() {
        let response = not_modified([(ETAG, "\"a\"")]);
        assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(response.headers()[ETAG], "\"a\"");
        assert!(response.body().is_end_stream() && response.body().size_hint().exact().is_none());
    }
}
