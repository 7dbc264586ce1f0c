//! A [`Source`] read from front to back.

use std::io::{self, BufRead, Read};

use crate::cpio::Skip;
use crate::source::Source;

const BUFFER: usize = 64 << 10;

/// Reads a source through a buffer and skips parts without reading them. Remembers errors of the source, which a decoder
/// would report like a damaged stream.
pub(super) struct Cursor<'s, S: ?Sized> {
    source: &'s S,
    /// Where in the source the buffer begins.
    start: u64,
    buffer: Vec<u8>,
    used: usize,
    failure: Option<io::Error>,
}

impl<'s, S: Source + ?Sized> Cursor<'s, S> {
    pub(super) fn new(source: &'s S) -> Self {
        Self { source, start: 0, buffer: Vec::new(), used: 0, failure: None }
    }

    /// The offset in the source of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.start.saturating_add(self.used as u64)
    }

    /// The error of the source, if there was one.
    pub(super) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// The next `count` bytes, fewer at the end.
    pub(super) fn peek(&self, count: u64) -> io::Result<Vec<u8>> {
        let left = self.source.size().saturating_sub(self.position());
        self.source.read_vec(self.position(), left.min(count))
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.used..).unwrap_or_default()
    }
}

impl<S: Source + ?Sized> BufRead for Cursor<'_, S> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.rest().is_empty() {
            self.start = self.position();
            self.used = 0;
            self.buffer.resize(BUFFER, 0);
            let result = self.source.read_at(self.start, &mut self.buffer);
            self.buffer.truncate(*result.as_ref().unwrap_or(&0));
            if let Err(error) = result {
                let copy = io::Error::new(error.kind(), error.to_string());
                if error.kind() != io::ErrorKind::Interrupted {
                    self.failure = Some(error);
                }
                return Err(copy);
            }
        }
        Ok(self.rest())
    }

    fn consume(&mut self, count: usize) {
        self.used = self.used.saturating_add(count).min(self.buffer.len());
    }
}

impl<S: Source + ?Sized> Read for Cursor<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<S: Source + ?Sized> Skip for Cursor<'_, S> {
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        let from = self.position();
        let to = from.saturating_add(count).min(self.source.size()).max(from);
        if let Some(used) = usize::try_from(to - self.start).ok().filter(|used| *used <= self.buffer.len()) {
            self.used = used;
        } else {
            self.start = to;
            self.used = 0;
            self.buffer.clear();
        }
        Ok(to - from)
    }
}
