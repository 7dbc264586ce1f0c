//! The summary of a reading: `kernel read, initrd 43 %, rootfs 2 %, 206 KB/s, 3 min left`.

use std::fmt;
use std::time::Duration;

use imagelib::layout::BootRole;

use super::progress::{Progress, QUIET, percent};

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.asked_for {
            return f.write_str("not requested yet");
        }
        if self.sent == 0 {
            return f.write_str("requested, nothing read yet");
        }
        let mut parts: Vec<String> = Vec::new();
        for role in [BootRole::Kernel, BootRole::Initrd, BootRole::Rootfs] {
            match self.of(role) {
                Some((read, size)) if read >= size => parts.push(format!("{role} read")),
                Some((read, size)) => parts.push(format!("{role} {} %", percent(read, size))),
                None => {}
            }
        }
        if parts.is_empty() {
            parts.push(format!("{} read", Bytes(self.sent)));
        }
        match (self.stalled, self.idle) {
            (Some(stalled), _) => parts.push(format!("stalled for {}", Span(stalled))),
            (None, Some(idle)) if idle >= QUIET => parts.push(format!("last read {} ago", Span(idle))),
            _ => {
                parts.push(format!("{}/s", Bytes(self.rate)));
                parts.extend(self.left.map(|left| format!("{} left", Span(left))));
            }
        }
        f.write_str(&parts.join(", "))
    }
}

/// A number of bytes in a readable unit.
struct Bytes(u64);

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

/// A duration in a readable unit.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            seconds @ 0..120 => write!(f, "{seconds} s"),
            seconds @ 120..7200 => write!(f, "{} min", seconds / 60),
            seconds => write!(f, "{} h", seconds / 3600),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Instant, SystemTime};

    use imagelib::layout::Layout;

    use super::super::file::State;
    use super::super::snapshot::{FileSnapshot, ReadingSnapshot};
    use super::*;

    /// What is said of a kernel and an initrd of 1 MB each after these reads, each of a file, up to a byte, so many
    /// seconds ago, and with so many answers on their way.
    fn said(reads: &[(&'static str, u64, u64)], open: u32) -> String {
        let (now, time) = (Instant::now() + Duration::from_secs(10_000), SystemTime::now());
        let files = ["vmlinuz", "initrd.img", "boot.ipxe"].map(|name| {
            let mut state = State { open, ..State::default() };
            for (_, end, ago) in reads.iter().filter(|(read, ..)| *read == name) {
                let then = now.checked_sub(Duration::from_secs(*ago)).unwrap();
                state.ranges.add(0..*end);
                state.recent.add(&(0..*end));
                state.sent += end;
                state.rate.add(then, *end);
                state.last = Some(then);
            }
            FileSnapshot::of(name, 1_000_000, state, now, time)
        });
        let snapshot = ReadingSnapshot { since: time, taken: time, files: files.to_vec() };
        let layout = |file: &FileSnapshot| {
            let role = [("vmlinuz", BootRole::Kernel), ("initrd.img", BootRole::Initrd)];
            let role = role.into_iter().find(|(name, _)| *name == file.name).map(|(_, role)| role);
            Arc::new(Layout::whole(file.name, role, file.size))
        };
        Progress::new(&snapshot, layout).to_string()
    }

    #[test]
    fn the_summary_tells_an_operator_the_progress() {
        assert_eq!(said(&[], 0), "not requested yet");
        assert_eq!(said(&[("boot.ipxe", 300, 2)], 0), "300 B read, 150 B/s, 6664 s left".replace("6664 s", "111 min"));
        let kernel = ("vmlinuz", 1_000_000, 4);
        assert_eq!(said(&[kernel], 0), "kernel read, 250 KB/s");
        let initrd = ("initrd.img", 436_000, 4);
        assert_eq!(said(&[kernel, initrd], 1), "kernel read, initrd 43 %, 359 KB/s, 6 s left");
        assert_eq!(said(&[("vmlinuz", 1, 1)], 1), "kernel 1 %, 1 B/s, 277 h left");
        let (kernel, initrd) = (("vmlinuz", 1_000_000, 50), ("initrd.img", 436_000, 40));
        assert_eq!(said(&[kernel, initrd], 0), "kernel read, initrd 43 %, stalled for 40 s");
        assert_eq!(said(&[kernel], 0), "kernel read, last read 50 s ago");
        assert_eq!(said(&[kernel], 1), "kernel read, stalled for 50 s", "somebody wants more and does not take it");
    }

    #[test]
    fn amounts_and_times_are_short() {
        let amounts = [0, 999, 1000, 9_999, 10_000, 206_400, 1_250_000, 99_999_999, 1_000_000_000];
        let said = ["0 B", "999 B", "1.0 KB", "9.9 KB", "10 KB", "206 KB", "1.2 MB", "99 MB", "1.0 GB"];
        assert_eq!(amounts.map(|amount| Bytes(amount).to_string()), said);
        let said = [0, 119, 120, 7199, 7200].map(|seconds| Span(Duration::from_secs(seconds)).to_string());
        assert_eq!(said, ["0 s", "119 s", "2 min", "119 min", "2 h"]);
    }
}
