//! How long to wait for what.

use std::time::Duration;

use tokio::time::Instant;

/// How long [`Bmc`](super::Bmc) waits for what. The defaults suit BMCs, which are slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For one insert request: some BMCs answer only after they have read the image. Default: 5 minutes.
    pub insert: Duration,
    /// For the slot to show an insert or an eject. Default: 1 minute.
    pub settle: Duration,
    /// For any other request that changes something. Default: 1 minute.
    pub change: Duration,
    /// For a forced change of the power. Default: 2 minutes.
    pub power: Duration,
    /// For a firmware to take settings after the host's start, with the restarts that it makes for that. Default: 20 minutes.
    pub firmware: Duration,
    /// Before a request is repeated because the BMC was busy. Default: 3 seconds.
    pub pause: Duration,
    /// Between the first two reads of a resource that is polled. The interval grows to ten times as much. Default:
    /// 0.5 seconds.
    pub poll_interval: Duration,
}

/// The end of a limit that is past the last moment that the system knows.
const MAX_LIMIT: Duration = Duration::from_hours(24 * 365);

/// How often a request is sent to a BMC that is too busy for it.
pub(super) const MAX_TRIES: u32 = 3;

impl Default for Limits {
    fn default() -> Self {
        Self {
            insert: Duration::from_mins(5),
            settle: Duration::from_mins(1),
            change: Duration::from_mins(1),
            power: Duration::from_mins(2),
            firmware: Duration::from_mins(20),
            pause: Duration::from_secs(3),
            poll_interval: Duration::from_millis(500),
        }
    }
}

/// Paces a loop that polls a resource at growing intervals, until a time limit.
pub(super) struct Poll {
    interval: Duration,
    longest: Duration,
    end: Instant,
}

impl Poll {
    pub(super) fn new(interval: Duration, limit: Duration) -> Self {
        let now = Instant::now();
        let end = now.checked_add(limit).unwrap_or_else(|| now + MAX_LIMIT);
        Self { interval, longest: interval.saturating_mul(10), end }
    }

    /// Waits until the resource is to be read again. Returns false if the time is over.
    pub(super) async fn wait(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.end {
            return false;
        }
        let next = now.checked_add(self.interval).unwrap_or(self.end);
        tokio::time::sleep_until(next.min(self.end)).await;
        self.interval = (self.interval.saturating_mul(3) / 2).min(self.longest);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_limit_without_an_end_is_long() {
        let mut poll = Poll::new(Duration::from_millis(1), Duration::MAX);
        assert!(poll.wait().await && poll.end > Instant::now() + Duration::from_hours(1));
        let mut poll = Poll::new(Duration::MAX, Duration::from_millis(1));
        assert!(poll.wait().await && !poll.wait().await);
    }
}
