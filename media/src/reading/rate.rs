//! How fast a file is read: over the last ten seconds.

use std::time::{Duration, Instant};

const WINDOW: usize = 10;

/// Bytes by second.
#[derive(Debug, Clone, Default)]
pub(super) struct Rate {
    /// When the first byte was sent.
    start: Option<Instant>,
    /// The second, counted from the start, of the latest byte.
    latest: u64,
    /// The bytes of that second and of the ten before it, each in the place of its number's remainder.
    seconds: [u64; WINDOW + 1],
}

impl Rate {
    pub(super) fn add(&mut self, now: Instant, bytes: u64) {
        let start = *self.start.get_or_insert(now);
        let second = now.saturating_duration_since(start).as_secs().max(self.latest);
        for passed in self.latest.saturating_add(1)..=second.min(self.latest.saturating_add(WINDOW as u64 + 1)) {
            // Those that nothing happened in.
            *self.place(passed) = 0;
        }
        if second > self.latest.saturating_add(WINDOW as u64 + 1) {
            self.seconds = [0; WINDOW + 1];
        }
        self.latest = second;
        *self.place(second) += bytes;
    }

    /// Bytes per second.
    pub(super) fn per_second(&self, now: Instant) -> u64 {
        let Some(start) = self.start else { return 0 };
        let elapsed = now.saturating_duration_since(start);
        let second = elapsed.as_secs().max(self.latest);
        let first = second.saturating_sub(WINDOW as u64);
        let bytes: u64 = (first..=self.latest).map(|second| self.at(second)).sum();
        let window = elapsed.saturating_sub(Duration::from_secs(first)).max(Duration::from_secs(1));
        u64::try_from(u128::from(bytes) * 1000 / window.as_millis().max(1)).unwrap_or(u64::MAX)
    }

    fn place(&mut self, second: u64) -> &mut u64 {
        let [first, rest @ ..] = &mut self.seconds;
        let index = usize::try_from(second % (WINDOW as u64 + 1)).unwrap_or(0);
        rest.get_mut(index.wrapping_sub(1)).unwrap_or(first)
    }

    fn at(&self, second: u64) -> u64 {
        let index = usize::try_from(second % (WINDOW as u64 + 1)).unwrap_or(0);
        self.seconds.get(index).copied().unwrap_or(0)
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
    }
}
