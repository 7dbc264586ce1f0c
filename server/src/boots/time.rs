//! Times in records.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A time in whole milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Converts a time. Times before 1970 become 1970.
    pub fn of(time: SystemTime) -> Self {
        let millis = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Self(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    /// Now.
    pub fn now() -> Self {
        Self::of(SystemTime::now())
    }

    /// Milliseconds since 1970.
    pub fn millis(self) -> u64 {
        self.0
    }

    /// The time from this to `later`; zero if the clock was set back.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0))
    }
}
