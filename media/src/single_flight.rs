//! Runs operations that may never return, such as `stat(2)` on a dead NFS server, on a thread of their own.
//!
//! Nobody can end such a thread: it sleeps in the kernel until the server is back. Each [`SingleFlight`] therefore has
//! at most one thread. Callers share its result, and no caller waits longer than [`WAIT_LIMIT`] after the thread has
//! started.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout_at;

/// How long callers wait. A file system that is only slow answers a `stat` within this time, and BMCs wait longer.
pub const WAIT_LIMIT: Duration = Duration::from_secs(5);

/// Runs one operation at a time, and gives its result to all callers that wait.
#[derive(Debug)]
pub struct SingleFlight<T> {
    state: Mutex<State<T>>,
    finished: Condvar,
    notified: Notify,
}

#[derive(Debug)]
struct State<T> {
    running: Option<Run>,
    /// The number of the next run.
    next: u64,
    /// The number of the last run that finished, and its result.
    last: Option<(u64, T)>,
}

/// A run that callers wait for.
#[derive(Debug, Clone, Copy)]
struct Run {
    number: u64,
    since: Instant,
}

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        let state = Mutex::new(State { running: None, next: 0, last: None });
        Self { state, finished: Condvar::new(), notified: Notify::new() }
    }
}

impl<T: Clone + Send + 'static> SingleFlight<T> {
    /// Runs the operation, or waits for the run that is under way. Returns `None` if it has not finished within
    /// [`WAIT_LIMIT`]. Fails if no thread can be started.
    pub fn run(self: &Arc<Self>, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Option<T>> {
        let run = self.start(work)?;
        let mut state = self.lock();
        loop {
            if let Some(answer) = state.answer(run) {
                return Ok(Some(answer));
            }
            let Some(rest) = WAIT_LIMIT.checked_sub(run.since.elapsed()) else { return Ok(None) };
            state = self.finished.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Does the same as [`run`](Self::run), without blocking the calling thread.
    pub async fn run_async(self: &Arc<Self>, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Option<T>> {
        let run = self.start(work)?;
        let end = (run.since + WAIT_LIMIT).into();
        loop {
            let notified = self.notified.notified();
            if let Some(answer) = self.lock().answer(run) {
                return Ok(Some(answer));
            }
            if timeout_at(end, notified).await.is_err() {
                return Ok(self.lock().answer(run));
            }
        }
    }

    /// The result of the last run that finished.
    pub fn last(&self) -> Option<T> {
        self.lock().last.as_ref().map(|(_, answer)| answer.clone())
    }

    /// How long the current run has been running. `None` if nothing runs.
    pub fn running_for(&self) -> Option<Duration> {
        self.lock().running.map(|run| run.since.elapsed())
    }

    fn start(self: &Arc<Self>, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Run> {
        let mut state = self.lock();
        if let Some(run) = state.running {
            return Ok(run);
        }
        let run = Run { number: state.next, since: Instant::now() };
        let shared = Arc::clone(self);
        thread::Builder::new().name("base-check".to_owned()).spawn(move || {
            let answer = work();
            let mut state = shared.lock();
            state.last = Some((run.number, answer));
            state.running = None;
            drop(state);
            shared.finished.notify_all();
            shared.notified.notify_waiters();
        })?;
        state.next += 1;
        state.running = Some(run);
        Ok(run)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> State<T> {
    /// The result of this run, or of a later one, which is as good.
    fn answer(&self, run: Run) -> Option<T> {
        let (number, answer) = self.last.as_ref()?;
        (*number >= run.number).then(|| answer.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn callers_share_a_run_and_wait_no_longer_than_the_limit() {
        let flight = Arc::new(SingleFlight::default());
        assert_eq!(flight.run(|| 1).unwrap(), Some(1));
        assert_eq!(flight.run_async(|| 2).await.unwrap(), Some(2));

        let (answer, hung) = mpsc::channel();
        let begun = Instant::now();
        let first = Arc::clone(&flight);
        let first = thread::spawn(move || first.run(move || hung.recv().unwrap()).unwrap());
        while flight.running_for().is_none() {
            thread::yield_now();
        }
        assert_eq!(flight.run_async(|| panic!("a second thread")).await.unwrap(), None);
        assert_eq!(first.join().unwrap(), None);
        assert!((WAIT_LIMIT..2 * WAIT_LIMIT).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        let asked = Instant::now();
        assert_eq!(flight.run(|| panic!("a second thread")).unwrap(), None);
        assert!(asked.elapsed() < WAIT_LIMIT / 10, "a later caller does not wait again");

        answer.send(3).unwrap();
        while flight.running_for().is_some() {
            thread::yield_now();
        }
        assert_eq!(flight.run(|| 4).unwrap(), Some(4));
    }
}
