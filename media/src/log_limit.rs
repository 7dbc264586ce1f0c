//! Rate limits for log lines, and for entries of an audit log, that any client on the network can cause.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The period of the rate limit.
const WINDOW: Duration = Duration::from_mins(1);

/// How many lines may be written per period.
const LINES: u32 = 20;

/// A rate limit for one kind of log line: 20 lines a minute.
#[derive(Debug, Default)]
pub struct LogLimit(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    since: Option<Instant>,
    lines: u32,
    suppressed: u64,
}

impl LogLimit {
    /// A limit that has admitted no line yet.
    pub const fn new() -> Self {
        Self(Mutex::new(Window { since: None, lines: 0, suppressed: 0 }))
    }

    /// Returns whether a line may be written, and if so how many were suppressed since the last one.
    pub fn admit(&self) -> Option<u64> {
        self.admit_at(Instant::now())
    }

    fn admit_at(&self, now: Instant) -> Option<u64> {
        let mut window = self.0.lock();
        if window.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            window.since = Some(now);
            window.lines = 0;
        }
        if window.lines >= LINES {
            window.suppressed += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_limited_and_suppressed_ones_are_counted() {
        let (limit, now) = (LogLimit::new(), Instant::now());
        let written = (0..1000).filter(|_| limit.admit_at(now).is_some()).count();
        assert_eq!(written, LINES as usize);
        assert_eq!(limit.admit_at(now + WINDOW), Some(1000 - u64::from(LINES)));
        assert_eq!(limit.admit_at(now + WINDOW), Some(0));
    }
}
