//! Records what was read from one file.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use parking_lot::Mutex;

use super::clients::{Clients, Request};
use super::ranges::Ranges;
use super::rate::Rate;
use super::reads::{Reads, TakeAfter, TakenRead};
use super::recent::Recent;
use super::time::Time;
use crate::access::Moment;

/// The record of what was read from a file, and by whom. It costs 0.1 µs for each piece of up to 64 KiB.
#[derive(Debug, Default)]
pub struct FileReading(Mutex<State>);

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) ranges: Ranges,
    pub(super) recent: Recent,
    pub(super) sent: u64,
    pub(super) rate: Rate,
    pub(super) clients: Clients,
    /// How many answers are being sent.
    pub(super) open: u32,
    pub(super) first: Option<Instant>,
    pub(super) last: Option<Instant>,
    /// When the latest request arrived to which something was sent.
    pub(super) latest_request: Option<Instant>,
    /// What each client has read and nobody has taken yet.
    pub(super) reads: Reads,
}

impl FileReading {
    /// Records a request that arrived at `now`. The recorder then records what is sent in answer to it.
    pub fn request(self: &Arc<Self>, request: &Request<'_>, now: Moment) -> Recorder {
        let mut state = self.0.lock();
        state.clients.request(request, Time(now.wall));
        state.open += 1;
        drop(state);
        Recorder { file: Arc::clone(self), peer: request.peer, begun: now.steady, keeps_reads: false }
    }

    /// Begins a new record. Current answers are still recorded.
    pub(super) fn restart(&self) {
        let mut state = self.0.lock();
        let (open, reads) = (state.open, std::mem::take(&mut state.reads));
        *state = State { open, reads, ..State::default() };
    }

    /// Calls `look` with the record, which stays locked until `look` returns.
    pub(super) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.lock())
    }

    /// Takes what clients have read, and how many reads were dropped.
    pub(super) fn take_reads(&self, name: &'static str, after: TakeAfter, now: Instant) -> (Vec<TakenRead>, u64) {
        self.0.lock().reads.take(name, after, now)
    }
}

/// Records what is sent in one answer.
#[derive(Debug)]
pub struct Recorder {
    file: Arc<FileReading>,
    peer: Option<IpAddr>,
    begun: Instant,
    /// Whether what the client reads is kept until somebody takes it.
    keeps_reads: bool,
}

impl Recorder {
    /// Keeps what the client reads until [`ImageReading::take_reads`](super::ImageReading::take_reads) takes it.
    #[must_use]
    pub fn keeping_reads(mut self, keeps_reads: bool) -> Self {
        self.keeps_reads = keeps_reads;
        self
    }

    /// Records that these bytes of the file were passed to the connection.
    pub fn sent(&self, range: &Range<u64>) {
        let (now, bytes) = (Instant::now(), range.end.saturating_sub(range.start));
        let mut state = self.file.0.lock();
        state.ranges.add(range.clone());
        state.recent.add(range);
        state.sent = state.sent.saturating_add(bytes);
        state.rate.add(now, bytes);
        state.first.get_or_insert(now);
        state.last = Some(now);
        state.latest_request = state.latest_request.max(Some(self.begun));
        if let Some(peer) = self.peer {
            let time = SystemTime::now();
            state.clients.sent(peer, bytes, Time(time));
            if self.keeps_reads {
                state.reads.add(peer, range, now, time);
            }
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let mut state = self.file.0.lock();
        state.open = state.open.saturating_sub(1);
    }
}
