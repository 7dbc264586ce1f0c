//! A host that reads the same parts of its image again and again, because it restarts for ever.

use std::time::{Duration, Instant};

use crate::boots::reading::Reads;

/// How long a host may read only what was read before. Firmware reads some parts twice.
const NOTHING_NEW: Duration = Duration::from_mins(5);

/// Since when, and how much, a host has read without reading anything new.
pub(super) struct Repetition {
    /// How many bytes of the image were read at least once.
    distinct: u64,
    /// How many bytes the server had sent when the host read something new, or nothing at all.
    sent: u64,
    since: Instant,
}

impl Repetition {
    pub(super) fn new(now: Instant) -> Self {
        Self { distinct: 0, sent: 0, since: now }
    }

    /// Whether the host has read for so long, or for `limit` if that is shorter, without reading anything new, and as many bytes as were
    /// ever read: a host that has restarted once may need long to read the same again over a slow link.
    pub(super) fn goes_on(&mut self, reads: &Reads, limit: Duration, now: Instant) -> bool {
        if reads.distinct != self.distinct || !reads.in_progress {
            *self = Self { distinct: reads.distinct, sent: reads.sent, since: now };
        }
        let again = reads.sent.saturating_sub(self.sent);
        now.saturating_duration_since(self.since) >= NOTHING_NEW.min(limit) && again > self.distinct
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boots::reading::Requested;

    fn reads(distinct: u64, sent: u64, in_progress: bool) -> Reads {
        let (text, requested) = (String::new(), Requested::Yes);
        Reads { text, in_progress, distinct, sent, requested, copied: false, since_start: None }
    }

    #[test]
    fn only_a_host_that_reads_everything_again_for_long_repeats_itself() {
        let start = Instant::now();
        let limit = Duration::from_mins(30);
        let mut repetition = Repetition::new(start);
        let mut at = |minutes, distinct, sent, in_progress| {
            let reads = reads(distinct, sent, in_progress);
            repetition.goes_on(&reads, limit, start + Duration::from_mins(minutes))
        };
        assert!(!at(20, 100, 100, true), "all is new");
        assert!(!at(25, 100, 150, true), "half of it again, over a slow link");
        assert!(!at(40, 100, 199, true));
        assert!(at(41, 100, 201, true), "all of it again");
        assert!(!at(42, 101, 202, true), "something new");
        assert!(!at(43, 101, 400, true), "all of it again, at once");
        assert!(at(47, 101, 400, true));
        // A pause, as of a host that restarts, begins it anew: until it reads again, nobody reads.
        assert!(!at(48, 101, 400, false));
        assert!(!at(54, 101, 450, true));
    }

    #[test]
    fn a_short_limit_counts() {
        let start = Instant::now();
        let mut repetition = Repetition::new(start);
        let reads = |sent| reads(10, sent, true);
        let limit = Duration::from_secs(30);
        assert!(!repetition.goes_on(&reads(10), limit, start));
        assert!(!repetition.goes_on(&reads(40), limit, start + Duration::from_secs(29)));
        assert!(repetition.goes_on(&reads(40), limit, start + Duration::from_secs(30)));
    }
}
