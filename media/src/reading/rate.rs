//! How fast a file is read, over the last ten seconds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Length of the window in seconds.
const WINDOW: u64 = 10;

/// The bytes of each second.
#[derive(Debug, Clone, Default)]
pub(super) struct Rate {
    /// When the first byte was sent.
    start: Option<Instant>,
    /// The seconds in which bytes were sent, counted from the start, with their bytes. None is older than the window.
    seconds: VecDeque<(u64, u64)>,
    /// In how many seconds bytes were sent, since the start.
    busy: u64,
}

impl Rate {
    pub(super) fn add(&mut self, now: Instant, bytes: u64) {
        let start = *self.start.get_or_insert(now);
        let second = now.saturating_duration_since(start).as_secs();
        match self.seconds.back_mut() {
            // A byte that was recorded late counts for the latest second.
            Some((latest, total)) if *latest >= second => *total += bytes,
            _ => {
                self.seconds.push_back((second, bytes));
                self.busy += 1;
            }
        }
        while self.seconds.pop_front_if(|(oldest, _)| *oldest + WINDOW < second).is_some() {}
    }

    /// In how many seconds bytes were sent.
    pub(super) fn busy_seconds(&self) -> u64 {
        self.busy
    }

    /// Bytes per second.
    pub(super) fn per_second(&self, now: Instant) -> u64 {
        let Some(start) = self.start else { return 0 };
        let elapsed = now.saturating_duration_since(start);
        let latest = self.seconds.back().map_or(0, |(second, _)| *second);
        let first = elapsed.as_secs().max(latest).saturating_sub(WINDOW);
        let bytes: u64 = self.seconds.iter().filter(|(second, _)| *second >= first).map(|(_, bytes)| bytes).sum();
        let window = elapsed.saturating_sub(Duration::from_secs(first)).max(Duration::from_secs(1));
        u64::try_from(u128::from(bytes) * 1000 / window.as_millis().max(1)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_ten_seconds() {
        let start = Instant::now();
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let mut rate = Rate::default();
        assert_eq!(rate.per_second(start), 0);
        rate.add(start, 500);
        assert_eq!(rate.per_second(at(0.1)), 500, "no rate is taken over less than a second");
        for tenth in 1..200 {
            rate.add(at(f64::from(tenth) / 10.0), 100);
        }
        let steady = rate.per_second(at(19.95));
        assert!((950..=1050).contains(&steady), "{steady}");
        let stalled = [20.0, 25.0, 29.0, 29.95, 31.0, 1000.0].map(|seconds| rate.per_second(at(seconds)));
        assert!(stalled.is_sorted_by(|one, next| one >= next), "{stalled:?}");
        assert_eq!(stalled[4..], [0, 0]);
        rate.add(at(1000.0), 7000);
        assert_eq!(rate.per_second(at(1001.0)), 7000 / 10, "what was before does not come back");
        assert_eq!(rate.busy_seconds(), 21, "the pause does not count");
    }
}
