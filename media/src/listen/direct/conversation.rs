//! Reads direct requests from a connection, and writes their answers.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use http_body::Body as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::watch;

use super::request::Parsed;
use super::{DirectAnswer, DirectAnswers, DirectRequest, Sender};
use crate::listen::idle::Waiting;
use crate::listen::phase::Phase;
use crate::listen::table::Standing;

/// How much is read at once. Most heads are shorter. A connection keeps this memory, also while it waits for a request.
const READ: usize = 1 << 10;

/// A longer head is hyper's, which knows what is too long.
const MAX_HEAD_BYTES: usize = 8 << 10;

/// The direct requests of one connection.
pub(crate) struct Conversation<'a, S, D: DirectAnswers> {
    stream: S,
    /// What was read from the stream and does not belong to an answered request.
    read: BytesMut,
    direct: &'a D,
    memory: D::Memory,
    sender: Sender<'a>,
    standing: &'a Arc<Standing>,
    wait: &'a Waiting,
    /// The head of the current answer.
    head: Vec<u8>,
}

/// How a conversation ends.
pub(crate) enum Next<S> {
    /// The connection is over.
    Ended,
    /// hyper goes on, with the bytes that were read.
    Hyper(Bytes, S),
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin, D: DirectAnswers> Conversation<'a, S, D> {
    pub(crate) fn new(
        stream: S,
        direct: &'a D,
        sender: Sender<'a>,
        standing: &'a Arc<Standing>,
        wait: &'a Waiting,
    ) -> Self {
        let (read, memory) = (BytesMut::new(), D::Memory::default());
        Self { stream, read, direct, memory, sender, standing, wait, head: Vec::new() }
    }

    /// Answers direct requests until there is another one, or no more.
    pub(crate) async fn run(mut self, phase: &watch::Receiver<Phase>) -> io::Result<Next<S>> {
        // One future for all requests: beginning and ending one for each takes longer than polling it.
        let mut watched = phase.clone();
        let mut stopping = pin!(async move {
            // An error means that the listener is gone.
            let _ = watched.wait_for(|phase| !phase.is_serving()).await;
        });
        loop {
            match DirectRequest::parse(&self.read) {
                Parsed::Direct(request, length) if phase.borrow().is_serving() => {
                    self.wait.end();
                    self.head.clear();
                    let in_progress = self.standing.begin_request();
                    let Some(answer) = self.direct.answer(&request, self.sender, &mut self.memory, &mut self.head)
                    else {
                        break;
                    };
                    in_progress.answered(answer.status);
                    drop(in_progress);
                    self.read.advance(length);
                    self.send(answer).await?;
                }
                Parsed::Incomplete if self.read.len() < MAX_HEAD_BYTES => {
                    if !self.has_more(stopping.as_mut()).await? {
                        self.stream.shutdown().await?;
                        return Ok(Next::Ended);
                    }
                }
                // After the listener has begun to stop, hyper answers this request, and closes the connection.
                Parsed::Direct(..) | Parsed::Incomplete | Parsed::Other => break,
            }
        }
        self.wait.end();
        Ok(Next::Hyper(self.read.freeze(), self.stream))
    }

    /// Waits for bytes. Returns false if none come: the client sends no more, or the listener ends, which completes `stopping`.
    async fn has_more(&mut self, stopping: Pin<&mut impl Future<Output = ()>>) -> io::Result<bool> {
        self.wait.begin();
        self.read.reserve(READ);
        tokio::select! {
            biased;
            count = self.stream.read_buf(&mut self.read) => Ok(count? > 0),
            () = stopping => Ok(false),
        }
    }

    async fn send(&mut self, answer: DirectAnswer<D::Body>) -> io::Result<()> {
        let mut head = &self.head[..];
        let mut body = answer.body;
        let mut piece = Bytes::new();
        let stream = &mut self.stream;
        poll_fn(|cx| -> Poll<io::Result<()>> {
            loop {
                if piece.is_empty()
                    && let Some(current) = &mut body
                {
                    match ready!(Pin::new(current).poll_frame(cx)) {
                        Some(Ok(frame)) => piece = frame.into_data().unwrap_or_default(),
                        // The body has logged why. The client sees that bytes are missing.
                        Some(Err(_)) => return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
                        None => body = None,
                    }
                }
                if head.is_empty() && piece.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                ready!(write(stream, cx, &mut head, &mut piece))?;
            }
        })
        .await?;
        self.stream.flush().await
    }
}

/// Writes a part of both, or the rest.
fn write<S: AsyncWrite + Unpin>(
    stream: &mut S,
    cx: &mut Context<'_>,
    head: &mut &[u8],
    piece: &mut Bytes,
) -> Poll<io::Result<()>> {
    let stream = Pin::new(stream);
    let count = match (head.is_empty(), piece.is_empty()) {
        (false, false) => ready!(stream.poll_write_vectored(cx, &[IoSlice::new(head), IoSlice::new(piece)]))?,
        (false, true) => ready!(stream.poll_write(cx, head))?,
        (true, _) => ready!(stream.poll_write(cx, piece))?,
    };
    if count == 0 {
        return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
    }
    let of_head = count.min(head.len());
    *head = head.get(of_head..).unwrap_or_default();
    piece.advance((count - of_head).min(piece.len()));
    Poll::Ready(Ok(()))
}
