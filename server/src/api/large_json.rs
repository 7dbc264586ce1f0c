//! Answers in JSON that may have megabytes, such as a list of all boots.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http_body::{Frame, SizeHint};
use serde::Serialize;

use super::problem::Problem;

/// The length of a piece in bytes. The allocator would find no gap for longer pieces, and the heap would grow.
const PIECE: usize = 32 << 10;

/// An answer like [`axum::Json`], with the text in pieces. A text in one piece takes up to three times its length while it grows, and
/// keeps all of it until the last byte is sent.
pub(super) struct LargeJson<T>(pub(super) T);

impl<T: Serialize> IntoResponse for LargeJson<T> {
    fn into_response(self) -> Response {
        let mut text = Pieces::default();
        match serde_json::to_writer(&mut text, &self.0) {
            Ok(()) => ([(CONTENT_TYPE, "application/json")], Body::new(text.finished())).into_response(),
            Err(error) => Problem::internal(error).into_response(),
        }
    }
}

/// A body of known length.
#[derive(Debug, Default)]
struct Pieces {
    full: VecDeque<Bytes>,
    /// The last piece, which is not full.
    last: Vec<u8>,
    /// How many bytes are in the full ones.
    length: u64,
}

impl Pieces {
    fn end_piece(&mut self) {
        self.length += self.last.len() as u64;
        self.full.push_back(std::mem::take(&mut self.last).into());
    }

    fn finished(mut self) -> Self {
        if !self.last.is_empty() {
            self.end_piece();
        }
        self
    }
}

impl io::Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.last.is_empty() && !self.full.is_empty() {
            self.last.reserve_exact(PIECE);
        }
        let count = bytes.len().min(PIECE - self.last.len());
        self.last.extend_from_slice(bytes.get(..count).unwrap_or_default());
        if self.last.len() == PIECE {
            self.end_piece();
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.full.pop_front();
        self.length -= piece.as_ref().map_or(0, Bytes::len) as u64;
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.full.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

#[cfg(test)]
mod tests {
    use axum::Json;
    use http_body::Body as _;
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn the_answer_is_that_of_axum_in_pieces() {
        for count in [0, 1, 100, 10_000] {
            let names: Vec<String> = (0..count).map(|number| format!("host-{number}")).collect();
            let plain = Json(&names).into_response();
            let mut large = LargeJson(&names).into_response();
            assert_eq!(large.headers(), plain.headers());
            assert_eq!(large.status(), plain.status());
            let expected = plain.into_body().collect().await.unwrap().to_bytes();
            let mut read = Vec::new();
            while let Some(frame) = large.body_mut().frame().await {
                let piece = frame.unwrap().into_data().unwrap();
                assert!(!piece.is_empty() && piece.len() <= PIECE);
                read.extend_from_slice(&piece);
                let left = u64::try_from(expected.len() - read.len()).unwrap();
                assert_eq!(large.body().size_hint().exact(), Some(left));
            }
            assert_eq!(read, expected);
            assert!(large.body().is_end_stream());
        }
    }

    #[tokio::test]
    async fn the_length_is_known_before_anything_is_sent() {
        let text = "x".repeat(3 * PIECE);
        let body = LargeJson(&text).into_response().into_body();
        assert_eq!(body.size_hint().exact(), Some(3 * PIECE as u64 + 2));
    }
}
