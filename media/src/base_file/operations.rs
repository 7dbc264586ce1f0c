//! Counts the operations on a base's file that are under way. A file system that hangs is noticed, and blocks only a
//! limited number of threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

/// How long a read may take before the file system counts as hung.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many reads for transfers may block a thread at once. Each reads up to 64 KiB, and the kernel reads ahead.
const TRANSFERS: usize = 8;

/// How many operations may block a thread at once, including those of the API.
const ALL: usize = 12;

/// The operations on one file.
#[derive(Debug)]
pub(super) struct Operations {
    state: Mutex<State>,
    ended: Condvar,
    transfers: Arc<Semaphore>,
}

#[derive(Debug)]
struct State {
    running: usize,
    /// When the last operation ended. If nothing ran then, when the first of the current operations began.
    since: Instant,
}

/// An operation that runs until this is dropped.
#[derive(Debug)]
pub(super) struct Operation<'a>(&'a Operations);

impl Default for Operations {
    fn default() -> Self {
        let state = Mutex::new(State { running: 0, since: Instant::now() });
        Self { state, ended: Condvar::new(), transfers: Arc::new(Semaphore::new(TRANSFERS)) }
    }
}

impl Operations {
    /// Begins an operation that may block the calling thread. If too many run, waits for one to end. Returns `None` if
    /// none ends in time.
    pub(super) fn begin(&self) -> Option<Operation<'_>> {
        let asked = Instant::now();
        let mut state = self.lock();
        while state.running >= ALL {
            let rest = PATIENCE.checked_sub(asked.elapsed())?;
            state = self.ended.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.running == 0 {
            state.since = Instant::now();
        }
        state.running += 1;
        Some(Operation(self))
    }

    /// For how long no operation has ended, if that is too long.
    pub(super) fn hung_for(&self) -> Option<Duration> {
        let state = self.lock();
        (state.running > 0).then(|| state.since.elapsed()).filter(|age| *age >= PATIENCE)
    }

    /// A permit for each thread that may read for transfers.
    pub(super) fn transfers(&self) -> Arc<Semaphore> {
        Arc::clone(&self.transfers)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.running = state.running.saturating_sub(1);
        state.since = Instant::now();
        drop(state);
        self.0.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hung_file_holds_a_bounded_number_of_threads_and_is_noticed() {
        let operations = Operations::default();
        let mut running: Vec<_> = (0..ALL).map(|_| operations.begin().unwrap()).collect();
        assert!(operations.hung_for().is_none());
        let asked = Instant::now();
        assert!(operations.begin().is_none());
        assert!(asked.elapsed() >= PATIENCE && asked.elapsed() < 2 * PATIENCE);
        assert!(operations.hung_for().is_some());
        running.pop();
        assert!(operations.hung_for().is_none(), "one has ended");
        assert!(operations.begin().is_some());
    }
}
