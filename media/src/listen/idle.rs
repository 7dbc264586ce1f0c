//! Detects connections that wait for too long. A timer for each byte or request would cost more than reading it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

/// Since when a connection waits for something, or that it does not wait. Clones belong to the same connection.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    created: Instant,
    /// Milliseconds after `created`, plus one. 0: it does not wait.
    since: Arc<AtomicU64>,
}

impl Waiting {
    /// A connection that waits from now on.
    pub(super) fn begun() -> Self {
        Self { created: Instant::now(), since: Arc::new(AtomicU64::new(1)) }
    }

    /// A connection that does not wait.
    pub(super) fn not_begun() -> Self {
        Self { created: Instant::now(), since: Arc::default() }
    }

    /// Begins to wait anew.
    pub(super) fn restart(&self) {
        let elapsed = u64::try_from(self.created.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.since.store(elapsed.saturating_add(1), Ordering::Relaxed);
    }

    /// Begins to wait, unless it waits already.
    pub(super) fn begin(&self) {
        if self.since.load(Ordering::Relaxed) == 0 {
            self.restart();
        }
    }

    /// Ends waiting.
    pub(super) fn end(&self) {
        self.since.store(0, Ordering::Relaxed);
    }

    /// Completes when the connection has waited for `timeout`. It sets its timer once per timeout, not with every start.
    pub(super) async fn overdue(&self, timeout: Duration) {
        loop {
            match self.since.load(Ordering::Relaxed).checked_sub(1) {
                None => sleep(timeout).await,
                Some(since) => {
                    let since = self.created + Duration::from_millis(since);
                    if since.elapsed() >= timeout {
                        return;
                    }
                    sleep_until(since + timeout).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_is_overdue_a_timeout_after_its_last_start() {
        let (waiting, start) = (Waiting::begun(), Instant::now());
        let moving = waiting.clone();
        tokio::spawn(async move {
            for _ in 0..10 {
                sleep(Duration::from_millis(30)).await;
                moving.restart();
            }
        });
        waiting.overdue(Duration::from_millis(200)).await;
        assert!(start.elapsed() >= Duration::from_millis(10 * 30 + 200 - 1));
    }

    #[tokio::test]
    async fn only_an_uninterrupted_wait_is_overdue() {
        let (waiting, start) = (Waiting::not_begun(), Instant::now());
        let other = waiting.clone();
        tokio::spawn(async move {
            for _ in 0..5 {
                other.begin();
                sleep(Duration::from_millis(50)).await;
                other.end();
            }
            sleep(Duration::from_millis(250)).await;
            other.begin();
        });
        waiting.overdue(Duration::from_millis(200)).await;
        assert!(start.elapsed() >= Duration::from_millis(5 * 50 + 250 + 200 - 1));
    }
}
