//! Work that a file system may never answer, such as `stat(2)` on a dead NFS server, on a thread of its own.
//!
//! Such a thread cannot be ended: it sleeps in the kernel until the server is back. So there is at most one for each
//! value of [`Bounded`], callers share its answer, and none of them waits longer than [`BOUND`] after it was started.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout_at;

/// How long callers wait. A file system that is only slow answers a `stat` within this time; a BMC waits longer.
pub const BOUND: Duration = Duration::from_secs(5);

/// Runs one piece of work at a time.
#[derive(Debug)]
pub struct Bounded<T> {
    state: Mutex<State<T>>,
    finished: Condvar,
    notified: Notify,
}

#[derive(Debug)]
struct State<T> {
    running: Option<Run>,
    /// The number of the next run.
    next: u64,
    /// The number of the last run that finished, and its answer.
    last: Option<(u64, T)>,
}

/// A run that somebody waits for.
#[derive(Debug, Clone, Copy)]
struct Run {
    number: u64,
    since: Instant,
}

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        let state = Mutex::new(State { running: None, next: 0, last: None });
        Self { state, finished: Condvar::new(), notified: Notify::new() }
    }
}

impl<T: Clone + Send + 'static> Bounded<T> {
    /// Runs the work, or waits for the run that is under way. `None`: it has not finished within the bound.
    pub fn run(self: &Arc<Self>, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Option<T>> {
        let run = self.start(work)?;
        let mut state = self.lock();
        loop {
            if let Some(answer) = state.answer(run) {
                return Ok(Some(answer));
            }
            let Some(rest) = BOUND.checked_sub(run.since.elapsed()) else { return Ok(None) };
            state = self.finished.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// [`run`](Self::run), for callers that must not block their thread.
    pub async fn run_async(self: &Arc<Self>, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Option<T>> {
        let run = self.start(work)?;
        let end = (run.since + BOUND).into();
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

    /// The answer of the last run that finished.
    pub fn last(&self) -> Option<T> {
        self.lock().last.as_ref().map(|(_, answer)| answer.clone())
    }

    /// How long the run that is under way has been running.
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
    /// A later run answers the question as well.
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
    async fn callers_share_a_run_and_wait_no_longer_than_the_bound() {
        let bounded = Arc::new(Bounded::default());
        assert_eq!(bounded.run(|| 1).unwrap(), Some(1));
        assert_eq!(bounded.run_async(|| 2).await.unwrap(), Some(2));

        let (answer, hung) = mpsc::channel();
        let begun = Instant::now();
        let first = Arc::clone(&bounded);
        let first = thread::spawn(move || first.run(move || hung.recv().unwrap()).unwrap());
        while bounded.running_for().is_none() {
            thread::yield_now();
        }
        assert_eq!(bounded.run_async(|| panic!("a second thread")).await.unwrap(), None);
        assert_eq!(first.join().unwrap(), None);
        assert!((BOUND..2 * BOUND).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        let asked = Instant::now();
        assert_eq!(bounded.run(|| panic!("a second thread")).unwrap(), None);
        assert!(asked.elapsed() < BOUND / 10, "who comes later does not wait again");

        answer.send(3).unwrap();
        while bounded.running_for().is_some() {
            thread::yield_now();
        }
        assert_eq!(bounded.run(|| 4).unwrap(), Some(4));
    }
}
