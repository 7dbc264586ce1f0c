//! The clocks by which an image ends.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// A moment, by both clocks of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time of day. It can step in both directions.
    pub wall: SystemTime,
    /// The time since the system started. It never steps, and stands still while the system is suspended.
    pub steady: Instant,
}

impl Moment {
    /// The present moment, by the system's clocks.
    pub fn now() -> Self {
        Self { wall: SystemTime::now(), steady: Instant::now() }
    }
}

/// Tells the time. The default is the system's clocks; tests have clocks of their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Moment + Send + Sync>);

impl Clock {
    /// A clock that calls `now`.
    pub fn new(now: impl Fn() -> Moment + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The present moment.
    pub fn now(&self) -> Moment {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(Moment::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
