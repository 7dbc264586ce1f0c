//! How long to wait after a failure: for each object by itself, and longer after each failure in a row.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

const FIRST: Duration = Duration::from_millis(5);
/// A host waits for its image. No event reports that an API server, a webhook or a policy has been repaired.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Failures in a row, by owner.
#[derive(Debug, Default)]
pub(super) struct Retries(Mutex<HashMap<String, u32>>);

impl Retries {
    /// Counts a failure, and returns how long to wait.
    pub(super) fn failed(&self, owner: &str) -> Duration {
        let mut failures = self.0.lock();
        let count = failures.entry(owner.to_owned()).or_default();
        let wait = FIRST.saturating_mul(2_u32.saturating_pow(*count)).min(MAX_PAUSE);
        *count = count.saturating_add(1);
        wait
    }

    /// Forgets the failures of an owner.
    pub(super) fn forget(&self, owner: &str) {
        self.0.lock().remove(owner);
    }
}

/// Adds up to a fifth, so that replicas do not send their requests at the same moment, and a replica does not send the requests for all
/// its objects at the same moment.
pub(super) fn jittered(wait: Duration) -> Duration {
    let mut random = [0_u8];
    // Without random numbers, the plain wait works as well.
    let _ = getrandom::fill(&mut random);
    wait + wait.mul_f64(f64::from(u8::from_le_bytes(random)) / 255.0 / 5.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_for_each_on_its_own_up_to_its_bound_and_success_forgets() {
        let retries = Retries::default();
        let waits: Vec<u128> = (0..4).map(|_| retries.failed("a").as_millis()).collect();
        assert_eq!(waits, [5, 10, 20, 40]);
        assert_eq!(retries.failed("b"), FIRST);
        let last = (0..100).map(|_| retries.failed("a")).last().unwrap();
        assert_eq!(last, Duration::from_secs(30), "an outage that is over must not last much longer for a host");
        retries.forget("a");
        assert_eq!(retries.failed("a"), FIRST);
    }

    #[test]
    fn what_failed_together_is_not_tried_again_together() {
        let waits: std::collections::BTreeSet<Duration> = (0..50).map(|_| jittered(MAX_PAUSE)).collect();
        assert!(waits.len() > 1, "{waits:?}");
        let bounds = MAX_PAUSE..=Duration::from_secs(36);
        assert!(waits.iter().all(|wait| bounds.contains(wait)), "{waits:?}");
    }
}
