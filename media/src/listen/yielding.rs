//! A stream that yields to other connections after a number of bytes.
//!
//! Tokio's own budget counts operations, not bytes. With a fast client a write is never pending, so one download would
//! send megabytes before any other task runs. Here a connection yields after [`TURN`] bytes. What it writes next is
//! then still in the processor's cache.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::{SendAncillaryBuffer, SendFlags};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use super::file_ranges::{self, FileRanges};
use super::idle::Waiting;
use super::queue::{SendQueue, Socket};

/// How many bytes a connection writes before it yields. The write that reaches the limit is the last one. It is not
/// shortened to the limit, which would add a very short write to each turn. But no write is longer than a turn.
const TURN: usize = 128 << 10;

/// A stream that yields after [`TURN`] bytes, and records when bytes move.
pub(super) struct YieldingStream<S> {
    stream: S,
    /// For a byte in either direction.
    for_byte: Waiting,
    queue: SendQueue,
    /// What placeholders stand for, if the stream can send it.
    files: Option<FileRanges>,
    written: usize,
    /// How many bytes this turn has.
    turn: usize,
    /// `yield_now`, which wakes the task only after the reactor has run. A plain `wake_by_ref` would not wait for that.
    yielding: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<S: Socket> YieldingStream<S> {
    pub(super) fn new(stream: S, for_byte: Waiting, queue: SendQueue) -> Self {
        Self { stream, for_byte, queue, files: None, written: 0, turn: TURN, yielding: None }
    }

    /// Sends ranges of files in place of their placeholders.
    pub(super) fn with_files(self, files: Option<FileRanges>) -> Self {
        Self { files, ..self }
    }

    /// Ready when it is this connection's turn.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.written >= self.turn {
            let yielding = self.yielding.get_or_insert_with(|| Box::pin(tokio::task::yield_now()));
            ready!(yielding.as_mut().poll(cx));
            self.yielding = None;
            self.written = 0;
            self.turn = TURN;
        }
        Poll::Ready(())
    }

    /// Writes slices of which some are placeholders: what comes before the first one, or a part of what that one stands for.
    /// Returns `None` if no slice is a placeholder.
    fn poll_with_files(&mut self, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Option<Poll<io::Result<usize>>> {
        let (files, socket) = (self.files.as_ref()?, self.stream.socket()?);
        let first = slices.iter().position(|slice| FileRanges::is_placeholder(slice))?;
        Some(match slices.get(..first).unwrap_or_default() {
            [] => {
                // Short calls of sendfile make small packets.
                self.turn = file_ranges::MAX_RANGE_BYTES;
                let rest = slices.first().map_or(0, |slice| slice.len());
                poll_send(cx, socket, || files.send(socket, rest))
            }
            // What follows at once goes into the same packet.
            before => poll_send(cx, socket, || Ok(sendmsg(socket, before, SendFlags::MORE | SendFlags::NOSIGNAL)?)),
        })
    }

    fn wrote(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(count)) => {
                self.written = self.written.saturating_add(count);
                self.queue.written(count, &self.stream);
                if count > 0 {
                    self.for_byte.restart();
                }
            }
            // While this task waits for the socket, others run.
            Poll::Pending => self.written = 0,
            Poll::Ready(Err(_)) => {}
        }
        written
    }
}

impl<S: AsyncRead + Socket + Unpin> AsyncRead for YieldingStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.for_byte.restart();
        }
        read
    }
}

impl<S: AsyncWrite + Socket + Unpin> AsyncWrite for YieldingStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_turn(cx));
        if let Some(written) = self.poll_with_files(cx, &[IoSlice::new(bytes)]) {
            return self.wrote(written);
        }
        let bytes = bytes.get(..TURN).unwrap_or(bytes);
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_turn(cx));
        if let Some(written) = self.poll_with_files(cx, slices) {
            return self.wrote(written);
        }
        let mut total = 0_usize;
        let fits = |slice: &&IoSlice<'_>| {
            total = total.saturating_add(slice.len());
            total <= TURN
        };
        let whole = slices.iter().take_while(fits).count();
        let written = match (slices.get(..whole), slices.first()) {
            // The first slice alone is longer than a turn.
            (Some([]), Some(first)) => {
                let part = first.get(..TURN).unwrap_or(first);
                Pin::new(&mut self.stream).poll_write(cx, part)
            }
            (Some(whole), _) => Pin::new(&mut self.stream).poll_write_vectored(cx, whole),
            (None, _) => Poll::Ready(Ok(0)),
        };
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Calls `write` when the socket takes bytes, until it does not say that it would have to wait.
fn poll_send(
    cx: &mut Context<'_>,
    socket: &TcpStream,
    mut write: impl FnMut() -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_write_ready(cx))?;
        match socket.try_io(Interest::WRITABLE, &mut write) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            sent => return Poll::Ready(sent),
        }
    }
}

fn sendmsg(socket: &TcpStream, slices: &[IoSlice<'_>], flags: SendFlags) -> rustix::io::Result<usize> {
    rustix::io::retry_on_intr(|| rustix::net::sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), flags))
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::task::Waker;

    use tokio::io::{AsyncWriteExt as _, sink};
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn a_connection_yields_after_its_turn() {
        let mut stream = YieldingStream::new(sink(), Waiting::begun(), SendQueue::new(Arc::new(Semaphore::new(1))));
        let mut polls = vec![];
        for lengths in [&[100_usize][..], &[TURN, 7], &[TURN * 3], &[0, TURN - 1, 2]] {
            let buffers: Vec<_> = lengths.iter().map(|length| vec![0; *length]).collect();
            let slices: Vec<_> = buffers.iter().map(|buffer| IoSlice::new(buffer)).collect();
            let count = poll_fn(|cx| Pin::new(&mut stream).poll_write_vectored(cx, &slices)).await.unwrap();
            polls.push(count);
        }
        assert_eq!(polls, [100, TURN, TURN, TURN - 1]);
        assert_eq!(poll_fn(|cx| Pin::new(&mut stream).poll_write(cx, &[0; 9])).await.unwrap(), 9);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut stream).poll_write(&mut cx, b"x").is_pending(), "the turn is over");
        stream.write_all(&vec![1; 5 * TURN]).await.unwrap();
    }
}
