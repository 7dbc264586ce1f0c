//! Notices another controller that writes other URLs into the same objects, such as a second dayone with another key.
//! Without this, each would replace forever what the other wrote.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How often somebody may replace a URL before dayone stands back. A few times may be chance.
const PATIENCE: u32 = 3;
/// For how long dayone then leaves the object alone.
const STAND_BACK: Duration = Duration::from_mins(10);

/// The URLs that dayone wrote, and how often somebody replaced them, by owner.
#[derive(Debug, Default)]
pub(super) struct Contention(Mutex<HashMap<String, WrittenUrl>>);

#[derive(Debug)]
struct WrittenUrl {
    url: String,
    replaced: u32,
    until: Option<Instant>,
}

/// What to do about an object whose status has another URL than it should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Write,
    /// Leave the object to the other controller. `first`: an Event should report it.
    StandBack {
        first: bool,
        again: Duration,
    },
}

impl Contention {
    /// Notes that dayone wrote this URL.
    pub(super) fn wrote(&self, owner: &str, url: &str) {
        let mut all = self.0.lock();
        if all.get(owner).is_none_or(|written| written.url != url) {
            all.insert(owner.to_owned(), WrittenUrl { url: url.to_owned(), replaced: 0, until: None });
        }
    }

    /// Decides what to do about an object that has another URL than `url`, although its inputs are the same.
    pub(super) fn replaced(&self, owner: &str, url: &str, now: Instant) -> Decision {
        let mut all = self.0.lock();
        let Some(written) = all.get_mut(owner).filter(|written| written.url == url) else { return Decision::Write };
        if let Some(until) = written.until.filter(|until| *until > now) {
            return Decision::StandBack { first: false, again: until.saturating_duration_since(now) };
        }
        written.replaced = written.replaced.saturating_add(1);
        if written.replaced < PATIENCE {
            return Decision::Write;
        }
        // After the wait, dayone writes once. If somebody replaces that URL, dayone stands back again at once.
        written.replaced = PATIENCE.saturating_sub(2);
        written.until = Some(now + STAND_BACK);
        Decision::StandBack { first: true, again: STAND_BACK }
    }

    /// How many objects dayone leaves alone at the moment.
    pub(super) fn contested(&self, now: Instant) -> usize {
        self.0.lock().values().filter(|written| written.until.is_some_and(|until| until > now)).count()
    }

    pub(super) fn forget(&self, owner: &str) {
        self.0.lock().remove(owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dayone_stands_back_after_several_replacements_and_reports_it_once() {
        let (contention, start) = (Contention::default(), Instant::now());
        assert_eq!(contention.replaced("a", "ours", start), Decision::Write, "nothing was written yet");
        contention.wrote("a", "ours");
        assert_eq!(
            [contention.replaced("a", "ours", start), contention.replaced("a", "ours", start)],
            [Decision::Write; 2]
        );
        contention.wrote("a", "ours");
        assert_eq!(contention.replaced("a", "ours", start), Decision::StandBack { first: true, again: STAND_BACK });
        let later = start + Duration::from_secs(100);
        let again = STAND_BACK.saturating_sub(Duration::from_secs(100));
        assert_eq!(contention.replaced("a", "ours", later), Decision::StandBack { first: false, again });
        assert_eq!((contention.contested(later), contention.contested(start + STAND_BACK)), (1, 0));
        assert_eq!(contention.replaced("a", "ours", start + STAND_BACK), Decision::Write);
        let back = Decision::StandBack { first: true, again: STAND_BACK };
        assert_eq!(contention.replaced("a", "ours", start + STAND_BACK), back);
        contention.forget("a");
        assert_eq!(contention.contested(start + STAND_BACK), 0);
    }

    #[test]
    fn a_new_url_resets_the_count() {
        let (contention, now) = (Contention::default(), Instant::now());
        for url in ["one", "two", "three", "four"] {
            contention.wrote("a", url);
            assert_eq!(contention.replaced("a", url, now), Decision::Write);
        }
    }
}
