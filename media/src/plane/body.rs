//! The body of an answer: the bytes of a file, or of ranges of it.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _};
use http_body::{Body, Frame, SizeHint};
use imagelib::overlay::{Content, Overlay, Segment};
use imagelib::source::{Role, Source as _};

use super::metrics::Transfer;
use super::pool::{BUFFER, Buffer, Pool};
use crate::LogLimit;
use crate::access::{Reads, Refusal};
use crate::base_file::{BaseFiles, CachedRead};
use crate::listen::file_ranges::{FileRanges, MAX_RANGE_BYTES};
use crate::reading::Recorder;

static ZEROS: [u8; BUFFER] = [0; BUFFER];

/// How far the kernel reads ahead on another machine after a read that had to wait, within the requested range.
const READ_AHEAD: u64 = 2 << 20;

/// Below this length, a copy costs less than `sendfile(2)` and a call of its own for the head of the answer.
const SHORTEST: usize = 16 << 10;

/// A client is fast if it takes a range within this time.
const FAST: Duration = Duration::from_millis(50);

/// A piece of a body.
#[derive(Debug)]
pub(super) enum Part {
    /// Text between the ranges of a multipart body.
    Text(Bytes),
    /// Bytes of the image.
    Image(Range<u64>),
}

impl Part {
    fn length(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Image(range) => range.end - range.start,
        }
    }
}

/// Limits the log lines about bases that cannot be read: each request would cause one.
static ABORTED: LogLimit = LogLimit::new();

/// The body of a 200 or a 206. If the base has changed, it ends with an error, which closes the connection, and never
/// sends a wrong byte.
pub struct ImageBody {
    overlay: Arc<Overlay>,
    base: Arc<BaseFiles>,
    parts: VecDeque<Part>,
    rest: u64,
    /// The connection's queue of ranges that the kernel sends by itself, if it has one.
    files: Option<FileRanges>,
    /// How long the next such range is, and when the last one began.
    window: (usize, Option<Instant>),
    /// The first bytes, which were read before the answer began.
    first: Option<Bytes>,
    /// A read on another thread that waits for a disk, or for a permit.
    reading: Option<BoxFuture<'static, io::Result<Buffer>>>,
    pool: Arc<Pool>,
    transfer: Transfer,
    recorder: Option<Recorder>,
    /// What limits how many bytes of the file are delivered.
    reads: Option<Reads>,
    /// What the store keeps as long as this answer is under way.
    keeps: Option<Arc<dyn Any + Send + Sync>>,
}

impl ImageBody {
    pub(super) fn new(
        overlay: Arc<Overlay>,
        base: Arc<BaseFiles>,
        parts: VecDeque<Part>,
        pool: Arc<Pool>,
        mut transfer: Transfer,
        recorder: Option<Recorder>,
    ) -> Self {
        let rest = parts.iter().map(Part::length).sum();
        if rest == 0 {
            transfer.complete();
        }
        Self {
            overlay,
            base,
            parts,
            rest,
            files: None,
            window: (BUFFER, None),
            first: None,
            reading: None,
            pool,
            transfer,
            recorder,
            reads: None,
            keeps: None,
        }
    }

    /// Lets the kernel send ranges of private bases by itself, on the connection with this queue.
    pub(super) fn with_files(mut self, files: Option<FileRanges>) -> Self {
        self.files = files;
        self
    }

    /// Records what is sent.
    pub(super) fn recorded_by(mut self, recorder: Option<Recorder>) -> Self {
        self.recorder = recorder;
        self
    }

    /// Counts the bytes against the limit of the file.
    pub(super) fn with_reads(mut self, reads: Option<Reads>) -> Self {
        self.reads = reads;
        self
    }

    /// Holds what the store keeps as long as this answer is under way.
    pub(super) fn that_keeps(mut self, keeps: Option<Arc<dyn Any + Send + Sync>>) -> Self {
        self.keeps = keeps;
        self
    }

    /// Reads the first bytes, if they are cached. An error is an answer then, and not the end of a connection.
    pub(super) fn read_first(&mut self) -> io::Result<()> {
        // No transfer has begun that could end early.
        self.try_read_first().inspect_err(|_| self.transfer.complete())
    }

    fn try_read_first(&mut self) -> io::Result<()> {
        let Some(Part::Image(range)) = self.parts.front() else { return self.verify() };
        let Some(Segment::Base { file, offset, length }) = self.overlay.segments(range.clone()).next() else {
            return self.verify();
        };
        let base = self.base.get(&file).ok_or_else(|| missing(offset))?;
        if self.files.is_some() && length >= SHORTEST as u64 && base.is_private() {
            return self.verify();
        }
        let mut buffer = self.pool.take();
        match base.read_cached(offset, buffer.room(length))? {
            CachedRead::Read(0) => Err(missing(offset)),
            CachedRead::Read(count) => {
                buffer.set_filled(count);
                self.first = Some(Bytes::from_owner(buffer));
                Ok(())
            }
            CachedRead::WouldBlock => self.verify(),
        }
    }

    fn verify(&self) -> io::Result<()> {
        self.base.values().try_for_each(|base| base.verify_now().map_err(Into::into))
    }

    /// How many bytes are still to come.
    pub(super) fn rest(&self) -> u64 {
        self.rest
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(self.advance(first)));
        }
        if let Some(reading) = &mut self.reading {
            let buffer = ready!(reading.as_mut().poll(cx));
            self.reading = None;
            return Poll::Ready(Some(buffer.and_then(|buffer| self.advance(Bytes::from_owner(buffer)))));
        }
        loop {
            let Some(part) = self.parts.front() else { return Poll::Ready(None) };
            let range = match part {
                Part::Text(text) if !text.is_empty() => {
                    let text = text.clone();
                    return Poll::Ready(Some(self.advance(text)));
                }
                Part::Image(range) if !range.is_empty() => range.clone(),
                Part::Text(_) | Part::Image(_) => {
                    self.parts.pop_front();
                    continue;
                }
            };
            return match self.overlay.segments(range.clone()).next() {
                Some(Segment::Own(Content::Bytes(mut bytes))) => {
                    bytes.truncate(BUFFER);
                    Poll::Ready(Some(self.advance(bytes)))
                }
                Some(Segment::Own(Content::Zeros(length))) => {
                    let mut bytes = Bytes::from_static(&ZEROS);
                    bytes.truncate(usize::try_from(length).unwrap_or(BUFFER));
                    Poll::Ready(Some(self.advance(bytes)))
                }
                Some(Segment::Own(Content::Counter(counter))) => {
                    let mut buffer = self.pool.take();
                    let count = counter.fill(buffer.room(counter.len()));
                    buffer.set_filled(count);
                    Poll::Ready(Some(self.advance(Bytes::from_owner(buffer))))
                }
                Some(Segment::Base { file, offset, length }) => self.poll_base(cx, file, offset, length),
                None => Poll::Ready(Some(Err(missing(range.start)))),
            };
        }
    }

    fn poll_base(
        &mut self,
        cx: &mut Context<'_>,
        file: Role,
        offset: u64,
        length: u64,
    ) -> Poll<Option<io::Result<Bytes>>> {
        let Some(base) = self.base.get(&file) else { return Poll::Ready(Some(Err(missing(offset)))) };
        if let Some(files) = &self.files
            && length >= SHORTEST as u64
            && base.is_private()
        {
            let length = usize::try_from(length).unwrap_or(usize::MAX).min(next_window(&mut self.window));
            if base.is_cached(offset, length) {
                let placeholder = files.placeholder(base, offset, length);
                return Poll::Ready(Some(self.advance(placeholder)));
            }
        }
        let mut buffer = self.pool.take();
        match base.read_cached(offset, buffer.room(length)) {
            Ok(CachedRead::Read(0)) => Poll::Ready(Some(Err(missing(offset)))),
            Ok(CachedRead::Read(count)) => {
                buffer.set_filled(count);
                Poll::Ready(Some(self.advance(Bytes::from_owner(buffer))))
            }
            Ok(CachedRead::WouldBlock) => {
                self.transfer.metrics().cold_read();
                let base = Arc::clone(base);
                let read = async move {
                    let permit = base.read_permits().acquire_owned().await.map_err(io::Error::other)?;
                    let read = tokio::task::spawn_blocking(move || {
                        let _permit = permit;
                        base.will_need(offset, length.min(READ_AHEAD));
                        let room = buffer.room(length);
                        let count = room.len();
                        base.read_exact_at(offset, room)?;
                        buffer.set_filled(count);
                        Ok(buffer)
                    });
                    read.await.map_err(io::Error::other).flatten()
                };
                self.reading = Some(read.boxed());
                self.poll_bytes(cx)
            }
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }

    /// Counts bytes of the current part as sent. Fails if the file was delivered as often as it may be.
    fn advance(&mut self, bytes: Bytes) -> io::Result<Bytes> {
        let count = bytes.len() as u64;
        match self.parts.front_mut() {
            Some(Part::Text(text)) => text.clear(),
            Some(Part::Image(range)) => {
                if self.reads.as_ref().is_some_and(|reads| !reads.take(count)) {
                    return Err(io::Error::other(Refusal::Reads));
                }
                if let Some(recorder) = &self.recorder {
                    recorder.sent(&(range.start..range.start + count));
                }
                range.start += count;
            }
            None => {}
        }
        self.rest -= count;
        self.transfer.sent(count);
        if self.rest == 0 {
            self.transfer.complete();
        }
        Ok(bytes)
    }
}

/// The length of the next range that the kernel sends: from [`BUFFER`] up, as long as the client takes them fast. What a slow client
/// has not got counts as sent, so its ranges stay short.
fn next_window((length, began): &mut (usize, Option<Instant>)) -> usize {
    let now = Instant::now();
    if let Some(began) = began.replace(now) {
        *length = if now.duration_since(began) < FAST {
            (*length * 2).min(MAX_RANGE_BYTES)
        } else {
            (*length / 2).max(BUFFER)
        };
    }
    *length
}

/// The base is shorter than the overlay expects.
fn missing(offset: u64) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, format!("the base image has no bytes at offset {offset}"))
}

impl fmt::Debug for ImageBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImageBody").field("parts", &self.parts).field("rest", &self.rest).finish_non_exhaustive()
    }
}

impl Drop for ImageBody {
    fn drop(&mut self) {
        if self.rest > 0 {
            tracing::debug!(rest = self.rest, "transfer ended early");
        }
    }
}

impl Body for ImageBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let bytes = ready!(self.poll_bytes(cx));
        if let Some(Err(error)) = &bytes
            && let Some(suppressed) = ABORTED.admit()
        {
            if error.get_ref().and_then(|inner| inner.downcast_ref::<Refusal>()).is_some() {
                tracing::warn!(reason = %error, rest = self.rest, suppressed, "transfer aborted by a limit of the image");
            } else {
                tracing::error!(%error, rest = self.rest, suppressed, "transfer aborted: cannot read the image");
            }
        }
        Poll::Ready(bytes.map(|bytes| bytes.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.rest == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest)
    }
}

#[cfg(test)]
mod tests;
