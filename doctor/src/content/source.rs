//! The file as a source of bytes, by ranges.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use imagelib::source::Source;
use tokio::runtime::Handle;

use crate::http::{Ask, Session};
use crate::lab::Lab;
use crate::ranges::{self, Asking, Care};

/// What is fetched at a time.
const WINDOW: u64 = 64 << 10;

/// As many windows as are fetched: tables and descriptors need a handful.
const MAX_WINDOWS: usize = 16;

/// Fetches what is read, from threads that may wait.
pub(super) struct RangeSource {
    lab: Arc<Lab>,
    size: u64,
    handle: Handle,
    fetched: Mutex<Fetched>,
}

struct Fetched {
    windows: BTreeMap<u64, Bytes>,
    session: Session,
}

impl RangeSource {
    pub(super) fn new(lab: Arc<Lab>, size: u64, handle: Handle) -> Self {
        let fetched = Mutex::new(Fetched { windows: BTreeMap::new(), session: lab.session() });
        Self { lab, size, handle, fetched }
    }

    fn window(&self, number: u64) -> io::Result<Bytes> {
        let mut fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(window) = fetched.windows.get(&number) {
            return Ok(window.clone());
        }
        if fetched.windows.len() >= MAX_WINDOWS {
            return Err(io::Error::other("more would have to be read of it than a look may cost"));
        }
        let start = number.saturating_mul(WINDOW);
        let range = start..start.saturating_add(WINDOW).min(self.size);
        let window = self.handle.block_on(self.fetch(&mut fetched.session, &range))?;
        fetched.windows.insert(number, window.clone());
        Ok(window)
    }

    async fn fetch(&self, session: &mut Session, range: &Range<u64>) -> io::Result<Bytes> {
        let mut findings = Vec::new();
        let asking = Asking { care: Care::Headers, affects: &[] };
        let (answer, right) = ranges::read(&self.lab, session, &Ask::range(range), range, asking, &mut findings)
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
