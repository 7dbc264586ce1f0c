//! What came of objects, which say nothing of it themselves: their status is the baremetal-operator's.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::kubernetes::decide::Failure;
use crate::kubernetes::kind::Memory;

/// Secrets of which no event tells are asked for again after as long as nothing has changed, within these bounds.
const SOONEST: Duration = Duration::from_secs(10);
const LATEST: Duration = Duration::from_mins(10);

/// What came of objects, by owner.
#[derive(Debug, Default)]
pub(in crate::kubernetes) struct Drives(Mutex<HashMap<String, Drive>>);

#[derive(Debug)]
struct Drive {
    /// Where it is, or why it is not there.
    outcome: Result<String, Failure>,
    since: Instant,
    /// Whether anything was published, be it earlier.
    published: bool,
    /// Whether a failure was told.
    told: bool,
}

impl Drives {
    /// Notes what came of an object.
    pub(super) fn note(&self, owner: &str, outcome: &Result<String, Failure>, now: Instant) {
        let mut drives = self.lock();
        let published = outcome.is_ok();
        let Some(drive) = drives.get_mut(owner) else {
            drives.insert(owner.to_owned(), Drive { outcome: outcome.clone(), since: now, published, told: false });
            return;
        };
        if drive.outcome != *outcome {
            *drive =
                Drive { outcome: outcome.clone(), since: now, published: published || drive.published, told: false };
        }
    }

    /// Whether the object has a drive.
    pub(super) fn is_published(&self, owner: &str) -> bool {
        self.lock().get(owner).is_some_and(|drive| drive.published)
    }

    /// Whether its failure is still to be told; from now on it is not.
    pub(super) fn is_untold(&self, owner: &str) -> bool {
        self.lock().get_mut(owner).is_some_and(|drive| !std::mem::replace(&mut drive.told, true))
    }

    /// When to look at it again, where no event tells that a Secret has changed.
    pub(super) fn wait(&self, owner: &str, now: Instant) -> Duration {
        let since = self.lock().get(owner).map(|drive| now.saturating_duration_since(drive.since));
        since.unwrap_or_default().clamp(SOONEST, LATEST)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Drive>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory for Drives {
    fn forget(&self, owner: &str) {
        self.lock().remove(owner);
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
        assert_eq!(drives.wait("a", at(1)), SOONEST);
        drives.note("a", &here, at(40));
        assert_eq!(drives.wait("a", at(40)), Duration::from_secs(40));
        assert_eq!(drives.wait("a", at(10_000)), LATEST);
        drives.note("a", &there, at(10_000));
        assert_eq!(drives.wait("a", at(10_000)), SOONEST);
        assert_eq!(drives.wait("unknown", at(10_000)), SOONEST);
    }

    #[test]
    fn a_failure_is_told_once_and_another_once_more_and_neither_unpublishes() {
        let (drives, now) = (Drives::default(), Instant::now());
        let failure = |message: &str| Err(Failure { reason: "DataImageInvalid", message: message.to_owned() });
        drives.note("a", &failure("one"), now);
        assert!(!drives.is_published("a"));
        assert_eq!([drives.is_untold("a"), drives.is_untold("a")], [true, false]);
        drives.note("a", &failure("one"), now);
        assert!(!drives.is_untold("a"));
        drives.note("a", &Ok("here".to_owned()), now);
        drives.note("a", &failure("two"), now);
        assert!(drives.is_untold("a") && drives.is_published("a"));
        drives.forget("a");
        assert!(!drives.is_published("a"));
    }
}
