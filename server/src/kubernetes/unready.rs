//! For how long images have not been ready, and why. Also which images this process has published.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::decide::Failure;
use super::kind::Memory;

/// How long reading a base may take on a slow disk, or a base may be away. Until then, dayone assumes that the image will be
/// ready.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// When to read a Secret again that dayone does not watch: after as long as nothing has changed, within bounds.
pub(super) fn pause(unchanged: Duration) -> Duration {
    unchanged.clamp(Duration::from_secs(10), Duration::from_mins(10))
}

/// Why an image is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Its base is not there, or not usable yet.
    Base,
    /// It has failed, for this reason.
    Failure(&'static str),
}

/// Why and since when images have not been ready, by owner.
#[derive(Debug, Default)]
pub(super) struct Unready {
    troubles: Mutex<HashMap<String, (Trouble, Instant)>>,
    /// The URLs of the images that this process has published last. A later failure does not remove an image.
    published: Mutex<HashMap<String, String>>,
    /// The version of a Secret that dayone does not watch, and since when the Secret has had it.
    unwatched: Mutex<HashMap<String, (String, Instant)>>,
    /// Why images of objects that are being deleted are lost, and whether this replica wrote when it reported that.
    lost: Mutex<HashMap<String, (Failure, bool)>>,
}

impl Unready {
    /// Notes why the image is not ready now. Returns for how long that has been the reason.
    pub(super) fn duration(&self, owner: &str, trouble: Trouble, now: Instant) -> Duration {
        let mut all = self.troubles.lock();
        let noted = all.entry(owner.to_owned()).or_insert((trouble, now));
        if noted.0 != trouble {
            *noted = (trouble, now);
        }
        now.saturating_duration_since(noted.1)
    }

    /// Notes that the image is published under this URL.
    pub(super) fn published(&self, owner: &str, url: &str) {
        self.troubles.lock().remove(owner);
        self.published.lock().insert(owner.to_owned(), url.to_owned());
    }

    /// Whether this process serves the object's image under this URL.
    pub(super) fn serves(&self, owner: &str, url: &str) -> bool {
        self.published.lock().get(owner).is_some_and(|published| published == url)
    }

    /// Notes the version of the image's Secret, if dayone does not watch this Secret.
    pub(super) fn note_unwatched(&self, owner: &str, version: Option<&str>, now: Instant) {
        let mut all = self.unwatched.lock();
        match version {
            None => drop(all.remove(owner)),
            Some(version) if all.get(owner).is_some_and(|(noted, _)| noted == version) => {}
            Some(version) => drop(all.insert(owner.to_owned(), (version.to_owned(), now))),
        }
    }

    /// When to read the Secret again, if dayone does not watch it: after as long as it has not changed, within bounds.
    pub(super) fn read_again(&self, owner: &str, now: Instant) -> Option<Duration> {
        let since = self.unwatched.lock().get(owner).map(|(_, since)| *since)?;
        Some(pause(now.saturating_duration_since(since)))
    }

    /// Notes why the image of an object that is being deleted is lost, or that it is not lost. Returns whether dayone must report that: it
    /// reports each failure once, and once more when this replica begins to write.
    pub(super) fn is_news(&self, owner: &str, lost: Option<&Failure>, leads: bool) -> bool {
        let mut all = self.lost.lock();
        let Some(lost) = lost else {
            all.remove(owner);
            return false;
        };
        let reported = all.get(owner).filter(|(reported, _)| reported == lost);
        let is_news = reported.is_none_or(|(_, led)| leads && !led);
        if is_news {
            all.insert(owner.to_owned(), (lost.clone(), leads));
        }
        is_news
    }
}

impl Memory for Unready {
    fn forget(&self, owner: &str) {
        self.troubles.lock().remove(owner);
        self.published.lock().remove(owner);
        self.unwatched.lock().remove(owner);
        self.lost.lock().remove(owner);
    }

    fn is_waiting(&self, owner: &str) -> bool {
        let noted = self.troubles.lock().get(owner).copied();
        noted.is_some_and(|(trouble, since)| trouble == Trouble::Base && since.elapsed() < PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_begins_again_once_the_image_was_ready_or_the_trouble_is_another() {
        let (unready, now) = (Unready::default(), Instant::now());
        let later = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(unready.duration("a", Trouble::Base, now), Duration::ZERO);
        assert_eq!(unready.duration("a", Trouble::Base, later(7)), Duration::from_secs(7));
        assert_eq!(unready.duration("b", Trouble::Base, later(7)), Duration::ZERO);
        assert!(unready.is_waiting("a"));
        unready.published("a", "http://d/one");
        assert!(!unready.is_waiting("a"));
        assert_eq!(unready.duration("a", Trouble::Base, later(9)), Duration::ZERO);
        let (invalid, missing) = (Trouble::Failure("Invalid"), Trouble::Failure("Missing"));
        assert_eq!(unready.duration("a", invalid, later(10)), Duration::ZERO);
        assert!(!unready.is_waiting("a"), "nothing will change by itself");
        assert_eq!(unready.duration("a", missing, later(90)), Duration::ZERO);
        assert_eq!(unready.duration("a", missing, later(95)), Duration::from_secs(5));
    }

    #[test]
    fn a_failure_leaves_the_image_that_was_published() {
        let (unready, now) = (Unready::default(), Instant::now());
        unready.published("a", "http://d/one");
        unready.duration("a", Trouble::Failure("Missing"), now);
        assert!(unready.serves("a", "http://d/one") && !unready.serves("b", "http://d/one"));
        unready.published("a", "http://d/two");
        assert!(!unready.serves("a", "http://d/one"));
        unready.forget("a");
        assert!(!unready.serves("a", "http://d/two"));
    }

    #[test]
    fn a_secret_without_a_watch_is_read_again_less_and_less_often_until_it_changes() {
        let (unready, now) = (Unready::default(), Instant::now());
        let at = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(unready.read_again("a", now), None);
        unready.note_unwatched("a", Some("1"), now);
        assert_eq!(unready.read_again("a", at(1)), Some(Duration::from_secs(10)));
        unready.note_unwatched("a", Some("1"), at(40));
        assert_eq!(unready.read_again("a", at(40)), Some(Duration::from_secs(40)));
        assert_eq!(unready.read_again("a", at(10_000)), Some(Duration::from_mins(10)));
        unready.note_unwatched("a", Some("2"), at(10_000));
        assert_eq!(unready.read_again("a", at(10_000)), Some(Duration::from_secs(10)));
        unready.note_unwatched("a", None, at(10_001));
        assert_eq!(unready.read_again("a", at(10_001)), None);
    }

    #[test]
    fn a_loss_is_reported_once_and_once_more_by_the_replica_that_begins_to_write() {
        let unready = Unready::default();
        let (lost, missing) = (Failure::lost("it is held", "status.imageUrl"), Failure::missing_secret());
        let news = |lost, leads| unready.is_news("a", lost, leads);
        let steps = [false, true, true, false, true].map(|leads| news(Some(&lost), leads));
        assert_eq!(steps, [true, true, false, false, false]);
        assert_eq!([news(Some(&missing), true), news(Some(&missing), true)], [true, false]);
        assert!(!news(None, true) && news(Some(&missing), true), "it was back meanwhile");
        unready.forget("a");
        assert!(news(Some(&missing), true));
    }
}
