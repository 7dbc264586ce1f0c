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
    /// Before a request is repeated because the BMC was busy. Default: 3 seconds.
    pub pause: Duration,
    /// Between the first two reads of a resource that is polled. The interval grows to ten times as much. Default:
    /// 0.5 seconds.
    pub poll_interval: Duration,
}

/// How often a request is sent to a BMC that is too busy for it.
pub(super) const MAX_TRIES: u32 = 3;

impl Default for Limits {
    fn default() -> Self {
        Self {
            insert: Duration::from_mins(5),
            settle: Duration::from_mins(1),
            change: Duration::from_mins(1),
            power: Duration::from_mins(2),
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
        Self { interval, longest: interval * 10, end: Instant::now() + limit }
    }

    /// Waits until the resource is to be read again. Returns false if the time is over.
    pub(super) async fn wait(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.end {
            return false;
        }
        tokio::time::sleep_until((now + self.interval).min(self.end)).await;
        self.interval = (self.interval * 3 / 2).min(self.longest);
        true
    }
}
