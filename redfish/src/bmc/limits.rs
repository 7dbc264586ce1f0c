//! How long is waited for what.

use std::time::Duration;

use tokio::time::Instant;

/// How long is waited for what. The defaults suit BMCs, which are slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For one request to insert: some BMCs answer when they have read the image.
    pub insert: Duration,
    /// For the slot to show what was inserted or ejected.
    pub settle: Duration,
    /// For any other request that changes something.
    pub change: Duration,
    /// For the power to change when it is forced.
    pub power: Duration,
    /// Between a request that the BMC was too busy for and the next.
    pub pause: Duration,
    /// The first time between two looks; later ones are further apart, up to ten times as far.
    pub look: Duration,
}

/// How often a request is sent that the BMC is too busy for.
pub(super) const TRIES: u32 = 3;

impl Default for Limits {
    fn default() -> Self {
        Self {
            insert: Duration::from_mins(5),
            settle: Duration::from_mins(1),
            change: Duration::from_mins(1),
            power: Duration::from_mins(2),
            pause: Duration::from_secs(3),
            look: Duration::from_millis(500),
        }
    }
}

/// Looking again and again, further and further apart, until a limit.
pub(super) struct Looks {
    pause: Duration,
    longest: Duration,
    end: Instant,
}

impl Looks {
    pub(super) fn new(first: Duration, limit: Duration) -> Self {
        Self { pause: first, longest: first * 10, end: Instant::now() + limit }
    }

    /// Waits for the next look. False: the time is over.
    pub(super) async fn again(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.end {
            return false;
        }
        tokio::time::sleep_until((now + self.pause).min(self.end)).await;
        self.pause = (self.pause * 3 / 2).min(self.longest);
        true
    }
}
