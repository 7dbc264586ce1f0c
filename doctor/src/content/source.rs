//! Reads the file by ranges, for the parsers of images.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use imagelib::source::Source;
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::context::Context;
use crate::http::{Request, Session};
use crate::ranges::{self, Checks, RangeCheck};

/// How many bytes are fetched at a time.
const WINDOW: u64 = 64 << 10;

/// Maximum number of windows. Tables and descriptors need only a few.
const MAX_WINDOWS: usize = 16;

/// Fetches ranges when they are read. Blocks the reading thread.
pub(super) struct RangeSource {
    context: Arc<Context>,
    size: u64,
    handle: Handle,
    fetched: Mutex<Fetched>,
}

struct Fetched {
    windows: BTreeMap<u64, Bytes>,
    session: Session,
}

impl RangeSource {
    pub(super) fn new(context: Arc<Context>, size: u64, handle: Handle) -> Self {
        let fetched = Mutex::new(Fetched { windows: BTreeMap::new(), session: context.session() });
        Self { context, size, handle, fetched }
    }

    fn window(&self, number: u64) -> io::Result<Bytes> {
        let mut fetched = self.fetched.lock();
        if let Some(window) = fetched.windows.get(&number) {
            return Ok(window.clone());
        }
        if fetched.windows.len() >= MAX_WINDOWS {
            return Err(io::Error::other("it would have to read too much of the file"));
        }
        let start = number.saturating_mul(WINDOW);
        let range = start..start.saturating_add(WINDOW).min(self.size);
        let window = self.handle.block_on(self.fetch(&mut fetched.session, &range))?;
        fetched.windows.insert(number, window.clone());
        Ok(window)
    }

    async fn fetch(&self, session: &mut Session, range: &Range<u64>) -> io::Result<Bytes> {
        let mut findings = Vec::new();
        let check = RangeCheck { checks: Checks::Headers, affects: &[] };
        let (answer, right) = ranges::read(&self.context, session, &Request::range(range), range, check, &mut findings)
            .await
            .map_err(io::Error::other)?;
        match findings.into_iter().next() {
            Some(finding) if !right => Err(io::Error::other(finding.message)),
            _ => Ok(answer.body),
        }
    }
}

impl Source for RangeSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.size {
            return Ok(0);
        }
        let window = self.window(offset / WINDOW)?;
        let within = usize::try_from(offset % WINDOW).unwrap_or(usize::MAX);
        let rest = window.get(within..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}
