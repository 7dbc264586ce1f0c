//! When a file has settled: when every further write gives it another ctime.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::Fingerprint;

/// The coarsest clock of a file system in use (FAT: 2 s; NFS and old ext3: 1 s; others: 10 ms or less).
pub(super) const TICK: Duration = Duration::from_secs(2);

/// The maximum number of files: more than anyone has base files that were changed while the clock was wrong.
const MAX_FILES: usize = 256;

/// Files whose last change is in the future, and when this process first saw each of them.
static SEEN: Mutex<Seen> = Mutex::new(Seen(VecDeque::new()));

/// Returns how long the tick of the file's last change may still last.
pub(super) fn remaining(file: &Fingerprint) -> Duration {
    let (seconds, nanoseconds) = file.changed;
    let (seconds, nanoseconds) = (u64::try_from(seconds).unwrap_or(0), u32::try_from(nanoseconds).unwrap_or(0));
    let changed = SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds));
    let age = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok());
    // A change in the future comes from another clock, or the clock was set back. This file would not settle before that time
    // comes. A file that was the same a tick ago has settled, whatever the clock says.
    let age = age.unwrap_or_else(|| {
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        seen.age(file, Instant::now())
    });
    TICK.saturating_sub(age)
}

/// Files by fingerprint, the last one at the end.
#[derive(Debug)]
struct Seen(VecDeque<(Fingerprint, Instant)>);

impl Seen {
    /// For how long the file has had this fingerprint, as far as this process knows.
    fn age(&mut self, file: &Fingerprint, now: Instant) -> Duration {
        if let Some((_, first)) = self.0.iter().find(|(seen, _)| seen == file) {
            return now.saturating_duration_since(*first);
        }
        self.0.retain(|(seen, _)| !seen.is_same_inode(file));
        if self.0.len() >= MAX_FILES {
            self.0.pop_front();
        }
        self.0.push_back((*file, now));
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed_at(seconds: i64) -> Fingerprint {
        Fingerprint { device: 1, inode: 2, size: 3, modified: (0, 0), changed: (seconds, 0) }
    }

    #[test]
    fn a_file_from_the_future_settles_as_others_do() {
        let future = changed_at(i64::from(u32::MAX) * 2);
        assert_eq!(remaining(&future), TICK);
        std::thread::sleep(Duration::from_millis(20));
        let rest = remaining(&future);
        assert!(rest + Duration::from_millis(20) <= TICK, "{rest:?}");
        assert_eq!(remaining(&changed_at(0)), Duration::ZERO);
    }

    #[test]
    fn another_write_begins_another_tick() {
        let (mut seen, start) = (Seen(VecDeque::new()), Instant::now());
        assert_eq!(seen.age(&changed_at(10), start), Duration::ZERO);
        assert_eq!(seen.age(&changed_at(10), start + TICK), TICK);
        assert_eq!(seen.age(&changed_at(11), start + TICK), Duration::ZERO);
        assert_eq!(seen.age(&changed_at(10), start + TICK), Duration::ZERO);
        assert_eq!(seen.0.len(), 1);
        for inode in 10..1000 {
            seen.age(&Fingerprint { inode, ..changed_at(10) }, start);
        }
        assert_eq!(seen.0.len(), MAX_FILES);
    }
}
