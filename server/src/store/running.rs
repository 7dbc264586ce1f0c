//! The operations on the data directory that are under way, by which a file system that does not answer is noticed.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long no operation may end before the file system counts as hung. A slow disk takes seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many operations may wait for a file system that hangs. Each of them holds a thread and a request.
pub(super) const WAITING: usize = 8;

/// The operations that are under way.
#[derive(Debug)]
pub(super) struct Running {
    state: Mutex<State>,
    patience: Duration,
}

#[derive(Debug)]
struct State {
    count: usize,
    /// When the last operation ended. If nothing ran then, when the first of the current operations began.
    since: Instant,
}

/// An operation that runs until this is dropped.
#[derive(Debug)]
pub(super) struct Operation<'a>(&'a Running);

impl Default for Running {
    fn default() -> Self {
        Self::with_patience(PATIENCE)
    }
}

impl Running {
    /// A file system counts as hung when no operation has ended for this time.
    pub(super) fn with_patience(patience: Duration) -> Self {
        Self { state: Mutex::new(State { count: 0, since: Instant::now() }), patience }
    }

    /// Begins an operation. `None` if the file system hangs, and enough operations wait for it already: if it answers again, these show it.
    pub(super) fn begin(&self) -> Option<Operation<'_>> {
        let mut state = self.state.lock();
        if state.count == 0 {
            state.since = Instant::now();
        } else if state.count >= WAITING && state.since.elapsed() >= self.patience {
            return None;
        }
        state.count += 1;
        Some(Operation(self))
    }

    /// Whether no operation has ended for too long.
    pub(super) fn is_hung(&self) -> bool {
        let state = self.state.lock();
        state.count > 0 && state.since.elapsed() >= self.patience
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.count = state.count.saturating_sub(1);
        state.since = Instant::now();
    }
}
