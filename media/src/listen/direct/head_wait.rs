//! How long a connection has waited for the head of a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

/// The time since which a connection waits for a head, or that it does not. Clones belong to the same connection. A timer for each
/// request would cost more than reading it.
#[derive(Debug, Clone)]
pub(crate) struct HeadWait {
    created: Instant,
    /// Milliseconds after `created`, plus one. 0: it does not wait.
    since: Arc<AtomicU64>,
}

impl HeadWait {
    /// A connection that does not wait.
    pub(crate) fn new() -> Self {
        Self { created: Instant::now(), since: Arc::default() }
    }

    /// The connection waits from now on, unless it does already.
    pub(super) fn begin(&self) {
        if self.since.load(Ordering::Relaxed) > 0 {
            return;
        }
        let elapsed = u64::try_from(self.created.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.since.store(elapsed.saturating_add(1), Ordering::Relaxed);
    }

    /// The head has come.
    pub(super) fn end(&self) {
        self.since.store(0, Ordering::Relaxed);
    }

    /// Completes when the connection has waited for `timeout`. It sets its timer once per timeout, not with every request.
    pub(crate) async fn overdue(&self, timeout: Duration) {
        loop {
            match self.since.load(Ordering::Relaxed).checked_sub(1) {
                None => sleep(timeout).await,
                Some(since) => {
                    let end = self.created + Duration::from_millis(since) + timeout;
                    if end <= Instant::now() {
                        return;
                    }
                    sleep_until(end).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_an_uninterrupted_wait_is_overdue() {
        let (wait, start) = (HeadWait::new(), Instant::now());
        let other = wait.clone();
        tokio::spawn(async move {
            for _ in 0..5 {
                other.begin();
                sleep(Duration::from_millis(50)).await;
                other.end();
            }
            sleep(Duration::from_millis(250)).await;
            other.begin();
        });
        wait.overdue(Duration::from_millis(200)).await;
        assert!(start.elapsed() >= Duration::from_millis(5 * 50 + 250 + 200 - 1));
    }
}
