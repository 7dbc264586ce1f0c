//! Checks a base without waiting for its file system for ever.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{BaseError, BaseFile, Storage, stat};
use crate::WAIT_LIMIT;

/// How long a look at the path is good for, in milliseconds. Whatever is at the path, the open file has the right bytes: only
/// the operator learns later that it was moved away.
const PATH_INTERVAL: u64 = 250;

impl BaseFile {
    /// Does the same as [`check`](Self::check), but looks at the path only every [`PATH_INTERVAL`]. Returns `None` if that
    /// would have to wait for the file system. `now` is the present time.
    pub fn check_now(&self, now: Instant) -> Option<Result<(), BaseError>> {
        let checked = self.check_path_now(now)?;
        Some(checked.and_then(|()| self.verify()))
    }

    /// The part of [`check_now`](Self::check_now) that a read does not do: a read finds out whether the open file has changed.
    pub fn check_path_now(&self, now: Instant) -> Option<Result<(), BaseError>> {
        if let Some(error) = self.hung() {
            return Some(Err(error));
        }
        if self.storage == Storage::Remote {
            return None;
        }
        if let Some(change) = self.change.get() {
            return Some(Err(self.changed(*change)));
        }
        let now = u64::try_from(now.saturating_duration_since(self.opened).as_millis()).unwrap_or(u64::MAX);
        let seen = self.path_seen.load(Ordering::Relaxed);
        if seen > 0 && now.saturating_sub(seen) < PATH_INTERVAL {
            return Some(Ok(()));
        }
        let opened = (self.fingerprint.device, self.fingerprint.inode);
        // If another file is at the path, `check` must find that out, because it is final.
        stat::cached_inode(&self.path).filter(|found| *found == opened)?;
        self.path_seen.store(now, Ordering::Relaxed);
        Some(Ok(()))
    }

    /// Does the same as [`check`](Self::check), and fails if the file system does not answer within
    /// [`WAIT_LIMIT`].
    pub fn check_in_time(self: &Arc<Self>) -> Result<(), BaseError> {
        self.check_now(Instant::now()).unwrap_or_else(|| self.result(self.checking.run(self.checker())))
    }

    /// Does the same as [`check_in_time`](Self::check_in_time), without blocking the calling thread.
    pub async fn check_in_time_async(self: &Arc<Self>) -> Result<(), BaseError> {
        match self.check_now(Instant::now()) {
            Some(checked) => checked,
            None => self.result(self.checking.run_async(self.checker()).await),
        }
    }

    fn checker(self: &Arc<Self>) -> impl FnOnce() -> Result<(), BaseError> + Send + 'static {
        let file = Arc::clone(self);
        move || file.check()
    }

    fn result(&self, answer: io::Result<Option<Result<(), BaseError>>>) -> Result<(), BaseError> {
        match answer {
            Ok(Some(checked)) => checked,
            Ok(None) => Err(self.unresponsive(self.checking.running_for().unwrap_or(WAIT_LIMIT))),
            Err(source) => Err(self.inaccessible(source)),
        }
    }

    /// The error if the file system does not answer at the moment.
    fn hung(&self) -> Option<BaseError> {
        let checking = self.checking.running_for().filter(|age| *age >= WAIT_LIMIT);
        checking.max(self.operations.hung_for()).map(|waited| self.unresponsive(waited))
    }

    pub(super) fn unresponsive(&self, waited: Duration) -> BaseError {
        BaseError::Unresponsive { path: self.path.clone(), waited }
    }
}
