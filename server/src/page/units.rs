//! Numbers and times as people read them.

use crate::api::timestamp::rfc3339_millis;
use crate::boots::Timestamp;

/// A number of bytes in a readable unit: `1.2 GB`.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) if bytes < 10 * unit => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

/// A duration in a readable unit: `45 s`, `12 min`, `3 h`.
pub(super) fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

/// A moment, for a machine and for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    /// RFC 3339.
    pub(super) machine: String,
    /// Date and time in UTC: `2026-02-28 23:59:59`.
    pub(super) full: String,
    /// The time of day in UTC: `23:59:59`.
    pub(super) short: String,
}

impl Moment {
    /// Reads a time in the form of RFC 3339 and in UTC, as dayone writes it.
    pub(super) fn of(machine: String) -> Self {
        let part = |range: std::ops::Range<usize>| machine.get(range).unwrap_or_default().to_owned();
        let (date, short) = (part(0..10), part(11..19));
        Self { full: format!("{date} {short}"), short, machine }
    }
}

impl From<Timestamp> for Moment {
    fn from(time: Timestamp) -> Self {
        Self::of(rfc3339_millis(time))
    }
}

/// A count with its noun: `1 file`, `2 files`.
pub(super) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short() {
        assert_eq!(
            [0, 999, 1000, 9_999, 206_400, 1_250_000_000].map(bytes),
            ["0 B", "999 B", "1.0 kB", "9.9 kB", "206 kB", "1.2 GB"]
        );
        assert_eq!([119, 120, 7200].map(duration), ["119 s", "2 min", "2 h"]);
        let moment = Moment::of("2026-02-28T23:59:59.123Z".to_owned());
        assert_eq!((moment.full.as_str(), moment.short.as_str()), ("2026-02-28 23:59:59", "23:59:59"));
    }
}
