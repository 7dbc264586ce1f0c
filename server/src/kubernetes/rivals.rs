//! Another controller that writes other URLs into the same objects, such as a second dayone with a key of its own: each
//! would replace what the other wrote, without an end.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often somebody may replace a URL before this controller stands back. A few times it may be chance.
const PATIENCE: u32 = 3;
/// For how long it then leaves the object alone.
const STAND_BACK: Duration = Duration::from_mins(10);

/// What this controller wrote into objects and others replaced, by owner.
#[derive(Debug, Default)]
pub(super) struct Rivals(Mutex<HashMap<String, Written>>);

#[derive(Debug)]
struct Written {
    url: String,
    replaced: u32,
    until: Option<Instant>,
}

/// What to do about an object whose status has another URL than it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Write,
    /// Somebody replaces what this controller writes. `first`: that is news.
    StandBack {
        first: bool,
        again: Duration,
    },
}

impl Rivals {
    /// This controller wrote the URL into the object.
    pub(super) fn wrote(&self, owner: &str, url: &str) {
        let mut all = self.lock();
        match all.get_mut(owner) {
            Some(written) if written.url == url => {}
            _ => {
                all.insert(owner.to_owned(), Written { url: url.to_owned(), replaced: 0, until: None });
            }
        }
    }

    /// The object, made of the same things, has another URL than `url`.
    pub(super) fn replaced(&self, owner: &str, url: &str, now: Instant) -> Verdict {
        let mut all = self.lock();
        let Some(written) = all.get_mut(owner).filter(|written| written.url == url) else { return Verdict::Write };
        if let Some(until) = written.until.filter(|until| *until > now) {
            return Verdict::StandBack { first: false, again: until.saturating_duration_since(now) };
        }
        written.replaced = written.replaced.saturating_add(1);
        if written.replaced < PATIENCE {
            return Verdict::Write;
        }
        // Once more after the wait, and then at once back again.
        written.replaced = PATIENCE.saturating_sub(2);
        written.until = Some(now + STAND_BACK);
        Verdict::StandBack { first: true, again: STAND_BACK }
    }

    /// How many objects others write to as well.
    pub(super) fn contested(&self, now: Instant) -> usize {
        self.lock().values().filter(|written| written.until.is_some_and(|until| until > now)).count()
    }

    /// The object is gone.
    pub(super) fn forget(&self, owner: &str) {
        self.lock().remove(owner);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Written>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_stands_back_from_what_is_replaced_again_and_again_and_tells_it_once() {
        let (rivals, start) = (Rivals::default(), Instant::now());
        assert_eq!(rivals.replaced("a", "ours", start), Verdict::Write, "nothing was written yet");
        rivals.wrote("a", "ours");
        assert_eq!([rivals.replaced("a", "ours", start), rivals.replaced("a", "ours", start)], [Verdict::Write; 2]);
        rivals.wrote("a", "ours");
        assert_eq!(rivals.replaced("a", "ours", start), Verdict::StandBack { first: true, again: STAND_BACK });
        let later = start + Duration::from_secs(100);
        let again = STAND_BACK.saturating_sub(Duration::from_secs(100));
        assert_eq!(rivals.replaced("a", "ours", later), Verdict::StandBack { first: false, again });
        assert_eq!((rivals.contested(later), rivals.contested(start + STAND_BACK)), (1, 0));
        assert_eq!(rivals.replaced("a", "ours", start + STAND_BACK), Verdict::Write);
        let back = Verdict::StandBack { first: true, again: STAND_BACK };
        assert_eq!(rivals.replaced("a", "ours", start + STAND_BACK), back);
        rivals.forget("a");
        assert_eq!(rivals.contested(start + STAND_BACK), 0);
    }

    #[test]
    fn a_new_image_begins_anew() {
        let (rivals, now) = (Rivals::default(), Instant::now());
        for url in ["one", "two", "three", "four"] {
            rivals.wrote("a", url);
            assert_eq!(rivals.replaced("a", url, now), Verdict::Write);
        }
    }
}
