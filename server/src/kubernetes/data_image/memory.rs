//! What dayone remembers of DataImages. It cannot be in their status, which belongs to the baremetal-operator.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::kubernetes::decide::Failure;
use crate::kubernetes::kind::Memory;
use crate::kubernetes::unready::pause;

/// The drives, by owner.
#[derive(Debug, Default)]
pub(in crate::kubernetes) struct Drives(Mutex<HashMap<String, Drive>>);

#[derive(Debug)]
struct Drive {
    /// The drive's URL, or why there is no drive.
    outcome: Result<String, Failure>,
    since: Instant,
    /// Whether a drive is published, even if a later one failed.
    published: bool,
    /// Whether an Event has reported the failure.
    reported: bool,
}

impl Drives {
    /// Notes the outcome of a reconciliation. Returns whether it differs from the one before.
    pub(super) fn note(&self, owner: &str, outcome: &Result<String, Failure>, now: Instant) -> bool {
        let mut drives = self.0.lock();
        let before = drives.get(owner);
        let differs = before.is_none_or(|before| before.outcome != *outcome);
        if differs {
            let published = outcome.is_ok() || before.is_some_and(|before| before.published);
            let drive = Drive { outcome: outcome.clone(), since: now, published, reported: false };
            drives.insert(owner.to_owned(), drive);
        }
        differs
    }

    /// Whether the object has a drive.
    pub(super) fn is_published(&self, owner: &str) -> bool {
        self.0.lock().get(owner).is_some_and(|drive| drive.published)
    }

    /// Whether the failure still has to be reported. A second call returns false.
    pub(super) fn report(&self, owner: &str) -> bool {
        self.0.lock().get_mut(owner).is_some_and(|drive| !std::mem::replace(&mut drive.reported, true))
    }

    /// How long to wait before the next reconciliation, if dayone does not watch all Secrets of the drive.
    pub(super) fn wait(&self, owner: &str, now: Instant) -> Duration {
        let since = self.0.lock().get(owner).map(|drive| now.saturating_duration_since(drive.since));
        pause(since.unwrap_or_default())
    }
}

impl Memory for Drives {
    fn forget(&self, owner: &str) {
        self.0.lock().remove(owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_until_something_changes() {
        let (drives, start) = (Drives::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let (here, there) = (Ok("here".to_owned()), Ok("there".to_owned()));
        drives.note("a", &here, at(0));
        assert_eq!(drives.wait("a", at(1)), Duration::from_secs(10));
        drives.note("a", &here, at(40));
        assert_eq!(drives.wait("a", at(40)), Duration::from_secs(40));
        assert_eq!(drives.wait("a", at(10_000)), Duration::from_mins(10));
        drives.note("a", &there, at(10_000));
        assert_eq!(drives.wait("a", at(10_000)), Duration::from_secs(10));
        assert_eq!(drives.wait("unknown", at(10_000)), Duration::from_secs(10));
    }

    #[test]
    fn each_failure_is_reported_once_and_none_unpublishes_the_drive() {
        let (drives, now) = (Drives::default(), Instant::now());
        let failure = |message: &str| Err(Failure { reason: "DataImageInvalid", message: message.to_owned() });
        drives.note("a", &failure("one"), now);
        assert!(!drives.is_published("a"));
        assert_eq!([drives.report("a"), drives.report("a")], [true, false]);
        drives.note("a", &failure("one"), now);
        assert!(!drives.report("a"));
        drives.note("a", &Ok("here".to_owned()), now);
        drives.note("a", &failure("two"), now);
        assert!(drives.report("a") && drives.is_published("a"));
        drives.forget("a");
        assert!(!drives.is_published("a"));
    }
}
