//! Amounts and times in units that people read easily.

use std::fmt;

/// A number of bytes in a readable unit.
pub(super) struct Bytes(pub(super) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "KB")];
        match UNITS.into_iter().find(|(unit, _)| self.0 >= *unit) {
            Some((unit, name)) if self.0 < 10 * unit => {
                write!(f, "{}.{} {name}", self.0 / unit, self.0 % unit * 10 / unit)
            }
            Some((unit, name)) => write!(f, "{} {name}", self.0 / unit),
            None => write!(f, "{} B", self.0),
        }
    }
}

/// A number of seconds in a readable unit.
pub(super) struct Span(pub(super) u64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            seconds @ 0..120 => write!(f, "{seconds} s"),
            seconds @ 120..7200 => write!(f, "{} min", seconds / 60),
            seconds => write!(f, "{} h", seconds / 3600),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_times_are_short() {
        let amounts = [0, 999, 1000, 9_999, 10_000, 206_400, 1_250_000, 99_999_999, 1_000_000_000];
        let said = ["0 B", "999 B", "1.0 KB", "9.9 KB", "10 KB", "206 KB", "1.2 MB", "99 MB", "1.0 GB"];
        assert_eq!(amounts.map(|amount| Bytes(amount).to_string()), said);
        let said = [0, 119, 120, 7199, 7200].map(|seconds| Span(seconds).to_string());
        assert_eq!(said, ["0 s", "119 s", "2 min", "119 min", "2 h"]);
    }
}
