//! For how long images have not been ready.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::kind::Memory;

/// How long a base may take to be read, on a slow disk: so long, what is not ready is taken for what will be.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// Since when images have not been ready, by their owners' names.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<HashMap<String, Instant>>);

impl Waiting {
    /// The image is not ready at this time: for how long it has not been.
    pub(super) fn for_how_long(&self, owner: &str, now: Instant) -> Duration {
        now.saturating_duration_since(*self.lock().entry(owner.to_owned()).or_insert(now))
    }

    /// It is ready, or will never be.
    pub(super) fn is_over(&self, owner: &str) {
        self.lock().remove(owner);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory for Waiting {
    fn forget(&self, owner: &str) {
        self.is_over(owner);
    }

    fn is_waiting(&self, owner: &str) -> bool {
        self.lock().get(owner).is_some_and(|since| since.elapsed() < PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_begins_anew_once_it_was_over() {
        let (waiting, now) = (Waiting::default(), Instant::now());
        let later = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(waiting.for_how_long("a", now), Duration::ZERO);
        assert_eq!(waiting.for_how_long("a", later(7)), Duration::from_secs(7));
        assert_eq!(waiting.for_how_long("b", later(7)), Duration::ZERO);
        assert!(waiting.is_waiting("a"));
        waiting.is_over("a");
        assert!(!waiting.is_waiting("a"));
        assert_eq!(waiting.for_how_long("a", later(9)), Duration::ZERO);
    }
}
