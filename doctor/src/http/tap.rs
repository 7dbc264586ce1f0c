//! Keeps the first bytes of a connection as they arrived: hyper converts the names of headers to lower case.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many bytes are kept, enough for the head of an answer.
const KEPT: usize = 8 << 10;

/// The first bytes that arrived on a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct First(Arc<Mutex<Vec<u8>>>);

impl First {
    /// Whether it contains these bytes.
    pub(super) fn contains(&self, wanted: &[u8]) -> bool {
        let bytes = self.0.lock();
        bytes.windows(wanted.len()).any(|window| window == wanted)
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock();
        let room = KEPT.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }
}

/// A stream whose first bytes are kept.
#[derive(Debug)]
pub(super) struct Tap<S> {
    stream: S,
    first: First,
}

impl<S> Tap<S> {
    pub(super) fn new(stream: S) -> (Self, First) {
        let first = First::default();
        (Self { stream, first: first.clone() }, first)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tap<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.first.add(buf.filled().get(before..).unwrap_or_default());
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tap<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
