//! Numbers as people read them.

use imagelib::medium_reads::MediumReads;

/// A number of bytes in a readable unit: `1.2 GB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) if bytes < 10 * unit => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

/// A duration in a readable unit: `45 s`, `12 min`, `3 h`.
pub(crate) fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

/// How much of an image a BMC reads, and how long that takes one that is slow.
pub(crate) fn medium_reads(reads: &MediumReads) -> String {
    const SLOW: u64 = 50_000;
    let MediumReads { format, at_least, at_most, .. } = reads;
    let [least, most] = [at_least, at_most].map(|bytes| duration(bytes / SLOW));
    format!("{format}: {} to {}, at {}/s {least} to {most}", bytes(*at_least), bytes(*at_most), bytes(SLOW))
}

/// A count with its noun: `1 file`, `2 files`.
pub(crate) fn count(number: usize, one: &str) -> String {
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
        assert_eq!([0, 1, 2].map(|number| count(number, "file")), ["0 files", "1 file", "2 files"]);
    }
}
