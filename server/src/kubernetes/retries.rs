//! How long to wait after a failure: for each object by itself, and longer after each failure in a row.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

const FIRST: Duration = Duration::from_millis(5);
/// A host waits for its image. No event reports that an API server, a webhook or a policy has been repaired.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// A failure that takes longer than this holds up a worker.
const SLOW: Duration = Duration::from_secs(1);
/// After as many failures in a row, the reason is hardly chance.
const PERSISTENT: u32 = 12;

/// Failures in a row, by owner, and the workers for slow retries.
#[derive(Debug)]
pub(super) struct Retries {
    failures: Mutex<HashMap<String, Failures>>,
    slow_workers: Semaphore,
}

/// Failures in a row.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Failures {
    count: u32,
    /// Whether the last one was slow.
    is_slow: bool,
}

impl Failures {
    /// Whether users should get to know of them. A slow failure may have lasted as long as many fast ones.
    pub(super) fn are_persistent(self) -> bool {
        self.is_slow || self.count >= PERSISTENT
    }

    /// Whether to tell users the reason again: less and less often, since each message may differ from the one before.
    pub(super) fn are_news(self) -> bool {
        self.are_persistent() && (self.count == PERSISTENT || self.count.is_power_of_two())
    }
}

impl Retries {
    /// Retries of objects that this number of workers reconciles.
    pub(super) fn new(workers: u16) -> Self {
        let slow_workers = Semaphore::new(usize::from(workers / 2).max(1));
        Self { failures: Mutex::default(), slow_workers }
    }

    /// Counts a failure after this time.
    pub(super) fn failed(&self, owner: &str, took: Duration) -> Failures {
        let mut all = self.failures.lock();
        let failures = all.entry(owner.to_owned()).or_default();
        *failures = Failures { count: failures.count.saturating_add(1), is_slow: took >= SLOW };
        *failures
    }

    /// How long to wait after the failures in a row.
    pub(super) fn wait(&self, owner: &str) -> Duration {
        let count = self.failures.lock().get(owner).map_or(0, |failures| failures.count);
        FIRST.saturating_mul(2_u32.saturating_pow(count.saturating_sub(1))).min(MAX_PAUSE)
    }

    /// Whether the last attempt failed slowly.
    pub(super) fn is_slow(&self, owner: &str) -> bool {
        self.failures.lock().get(owner).is_some_and(|failures| failures.is_slow)
    }

    /// Returns the permission to hold up a worker, unless half of the workers are held up already. The others remain for all other
    /// objects, such as the new ones.
    pub(super) fn slow_worker(&self) -> Option<SemaphorePermit<'_>> {
        self.slow_workers.try_acquire().ok()
    }

    /// Forgets the failures of an owner.
    pub(super) fn forget(&self, owner: &str) {
        self.failures.lock().remove(owner);
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

    /// Counts a fast failure, and returns the wait after it.
    fn failed(retries: &Retries, owner: &str) -> Duration {
        retries.failed(owner, Duration::ZERO);
        retries.wait(owner)
    }

    #[test]
    fn the_wait_doubles_for_each_on_its_own_up_to_its_bound_and_success_forgets() {
        let retries = Retries::new(8);
        let waits: Vec<u128> = (0..4).map(|_| failed(&retries, "a").as_millis()).collect();
        assert_eq!(waits, [5, 10, 20, 40]);
        assert_eq!(failed(&retries, "b"), FIRST);
        let last = (0..100).map(|_| failed(&retries, "a")).last().unwrap();
        assert_eq!(last, Duration::from_secs(30), "an outage that is over must not last much longer for a host");
        retries.forget("a");
        assert_eq!(failed(&retries, "a"), FIRST);
    }

    #[test]
    fn slow_failures_hold_up_half_of_the_workers_at_most() {
        let retries = Retries::new(8);
        retries.failed("a", Duration::from_secs(10));
        retries.failed("b", Duration::from_millis(10));
        assert!(retries.is_slow("a") && !retries.is_slow("b") && !retries.is_slow("new"));
        let held: Vec<_> = std::iter::from_fn(|| retries.slow_worker()).collect();
        assert_eq!(held.len(), 4);
        drop(held);
        assert!(retries.slow_worker().is_some());
        retries.failed("a", Duration::from_millis(10));
        assert!(!retries.is_slow("a"), "a fast failure holds up nobody");
        assert!(Retries::new(1).slow_worker().is_some(), "a single worker still tries again");
    }

    #[test]
    fn users_get_to_know_of_slow_failures_at_once_and_of_fast_ones_after_some() {
        let retries = Retries::new(8);
        let told = |owner, took| (1..=32_u32).filter(|_| retries.failed(owner, took).are_news()).count();
        assert_eq!(told("slow", SLOW), 7, "1, 2, 4, 8, 12, 16 and 32");
        assert_eq!(told("fast", Duration::ZERO), 3, "12, 16 and 32");
        assert!(!retries.failed("once", Duration::ZERO).are_persistent());
    }

    #[test]
    fn what_failed_together_is_not_tried_again_together() {
        let waits: std::collections::BTreeSet<Duration> = (0..50).map(|_| jittered(MAX_PAUSE)).collect();
        assert!(waits.len() > 1, "{waits:?}");
        let bounds = MAX_PAUSE..=Duration::from_secs(36);
        assert!(waits.iter().all(|wait| bounds.contains(wait)), "{waits:?}");
    }
}
