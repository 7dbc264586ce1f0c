//! Times as people read them.

use crate::api::timestamp::rfc3339_millis;
use crate::boots::Timestamp;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_a_date_and_a_time() {
        let moment = Moment::of("2026-02-28T23:59:59.123Z".to_owned());
        assert_eq!((moment.full.as_str(), moment.short.as_str()), ("2026-02-28 23:59:59", "23:59:59"));
    }
}
