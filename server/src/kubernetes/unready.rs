//! For how long images have not been ready, and why.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::kind::Memory;

/// How long reading a base may take on a slow disk, or a base may be away. Until then, dayone assumes that the image will be
/// ready.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// Why an image is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Its base is not there, or not usable yet.
    Base,
    /// It has failed, for this reason.
    Failure(&'static str),
}

/// Why and since when images have not been ready, by owner.
#[derive(Debug, Default)]
pub(super) struct Unready(Mutex<HashMap<String, (Trouble, Instant)>>);

impl Unready {
    /// Notes why the image is not ready now. Returns for how long that has been the reason.
    pub(super) fn duration(&self, owner: &str, trouble: Trouble, now: Instant) -> Duration {
        let mut all = self.0.lock();
        let noted = all.entry(owner.to_owned()).or_insert((trouble, now));
        if noted.0 != trouble {
            *noted = (trouble, now);
        }
        now.saturating_duration_since(noted.1)
    }

    /// Notes that the image is ready.
    pub(super) fn clear(&self, owner: &str) {
        self.0.lock().remove(owner);
    }
}

impl Memory for Unready {
    fn forget(&self, owner: &str) {
        self.clear(owner);
    }

    fn is_waiting(&self, owner: &str) -> bool {
        let noted = self.0.lock().get(owner).copied();
        noted.is_some_and(|(trouble, since)| trouble == Trouble::Base && since.elapsed() < PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_begins_again_once_the_image_was_ready_or_the_trouble_is_another() {
        let (unready, now) = (Unready::default(), Instant::now());
        let later = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(unready.duration("a", Trouble::Base, now), Duration::ZERO);
        assert_eq!(unready.duration("a", Trouble::Base, later(7)), Duration::from_secs(7));
        assert_eq!(unready.duration("b", Trouble::Base, later(7)), Duration::ZERO);
        assert!(unready.is_waiting("a"));
        unready.clear("a");
        assert!(!unready.is_waiting("a"));
        assert_eq!(unready.duration("a", Trouble::Base, later(9)), Duration::ZERO);
        let (invalid, missing) = (Trouble::Failure("Invalid"), Trouble::Failure("Missing"));
        assert_eq!(unready.duration("a", invalid, later(10)), Duration::ZERO);
        assert!(!unready.is_waiting("a"), "nothing will change by itself");
        assert_eq!(unready.duration("a", missing, later(90)), Duration::ZERO);
        assert_eq!(unready.duration("a", missing, later(95)), Duration::from_secs(5));
    }
}
