//! Detects idle connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The time at which a connection last moved a byte. Clones belong to the same connection.
#[derive(Debug, Clone)]
pub(super) struct Activity {
    since: Instant,
    /// Milliseconds after `since`.
    last: Arc<AtomicU64>,
}

impl Activity {
    /// The activity of a new connection.
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), last: Arc::default() }
    }

    /// Records that a byte moved.
    pub(super) fn mark(&self) {
        let elapsed = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(elapsed, Ordering::Relaxed);
    }

    /// Completes when no byte has moved for `timeout`. It sets its timer once per timeout, not with every byte.
    pub(super) async fn stalled(&self, timeout: Duration) {
        loop {
            let last = self.since + Duration::from_millis(self.last.load(Ordering::Relaxed));
            if last.elapsed() >= timeout {
                return;
            }
            sleep_until(last + timeout).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_stalls_a_timeout_after_its_last_byte() {
        let activity = Activity::new();
        let start = Instant::now();
        let moving = activity.clone();
        tokio::spawn(async move {
            for _ in 0..10 {
                tokio::time::sleep(Duration::from_millis(30)).await;
                moving.mark();
            }
        });
        activity.stalled(Duration::from_millis(200)).await;
        assert!(start.elapsed() >= Duration::from_millis(10 * 30 + 200 - 1));
    }
}
