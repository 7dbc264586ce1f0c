//! For how long images have not been ready, and why. Also which images this process has published.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::decide::Failure;
use super::kind::Memory;

/// How long reading a base may take on a slow disk, or a base may be away. Until then, dayone assumes that the image will be
/// ready.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

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
