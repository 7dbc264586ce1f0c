//! For how long images have not been ready.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::kind::Memory;

/// How long reading a base may take on a slow disk. Until then, dayone assumes that the image will be ready.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// Since when images have not been ready, by owner.
#[derive(Debug, Default)]
pub(super) struct Unready(Mutex<HashMap<String, Instant>>);

impl Unready {
    /// Notes that the image is not ready now. Returns for how long it has not been.
    pub(super) fn duration(&self, owner: &str, now: Instant) -> Duration {
        now.saturating_duration_since(*self.0.lock().entry(owner.to_owned()).or_insert(now))
    }

    /// Notes that the image is ready, or has failed.
    pub(super) fn clear(&self, owner: &str) {
        self.0.lock().remove(owner);
    }
}

impl Memory for Unready {
    fn forget(&self, owner: &str) {
        self.clear(owner);
    }

    fn is_waiting(&self, owner: &str) -> bool {
        self.0.lock().get(owner).is_some_and(|since| since.elapsed() < PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_begins_again_once_the_image_was_ready() {
        let (unready, now) = (Unready::default(), Instant::now());
        let later = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(unready.duration("a", now), Duration::ZERO);
        assert_eq!(unready.duration("a", later(7)), Duration::from_secs(7));
        assert_eq!(unready.duration("b", later(7)), Duration::ZERO);
        assert!(unready.is_waiting("a"));
        unready.clear("a");
        assert!(!unready.is_waiting("a"));
        assert_eq!(unready.duration("a", later(9)), Duration::ZERO);
    }
}
