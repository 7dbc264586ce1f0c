//! Notices another controller that writes something else into the same objects, such as a second dayone with another key or
//! other bases. Without this, each would replace forever what the other wrote.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use imagelib::digest::Digest;
use parking_lot::Mutex;

/// How often somebody may replace what dayone wrote before dayone stands back. A few times may be chance.
const PATIENCE: u32 = 3;
/// For how long dayone then leaves the object alone.
const STAND_BACK: Duration = Duration::from_mins(10);
/// Replacements that are further apart than this do not belong together.
const WINDOW: Duration = Duration::from_hours(1);

/// The key of a Secret. Each kind of objects writes something else into the Secret, and so has a count of its own.
pub(super) fn key_of_secret(kind: &str, namespace: &str, name: &str) -> String {
    format!("Secret/{namespace}/{name}/{kind}")
}

/// What dayone wrote, and how often somebody replaced it, by owner.
#[derive(Debug, Default)]
pub(super) struct Contention(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    written: HashMap<String, Written>,
    /// Until when dayone leaves an object alone.
    left_alone: HashMap<String, Instant>,
}

#[derive(Debug)]
struct Written {
    /// The digest of what dayone wants.
    goal: Digest,
    /// The digest of what dayone wrote last. There may be several writes on the way to a goal.
    content: Digest,
    replaced: u32,
    last: Option<Instant>,
}

/// What to do about an object that has something else than it should have.
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
    /// Notes that dayone wrote this content on the way to this goal.
    pub(super) fn wrote(&self, owner: &str, goal: Digest, content: Digest) {
        let mut state = self.0.lock();
        if let Some(written) = state.written.get_mut(owner).filter(|written| written.goal == goal) {
            written.content = content;
        } else {
            state.left_alone.remove(owner);
            state.written.insert(owner.to_owned(), Written { goal, content, replaced: 0, last: None });
        }
    }

    /// Notes the present content of an object that dayone is about to write again. If the write fails, [`decide`](Self::decide) does not
    /// count the same replacement once more.
    pub(super) fn saw(&self, owner: &str, present: Digest) {
        if let Some(written) = self.0.lock().written.get_mut(owner) {
            written.content = present;
        }
    }

    /// Decides whether to write an object that has the content `present`, on the way to this goal.
    pub(super) fn decide(&self, owner: &str, goal: Digest, present: Digest, now: Instant) -> Decision {
        let state = &mut *self.0.lock();
        let Some(written) = state.written.get_mut(owner).filter(|written| written.goal == goal) else {
            return Decision::Write;
        };
        if let Some(until) = state.left_alone.get(owner).filter(|until| **until > now) {
            return Decision::StandBack { first: false, again: until.saturating_duration_since(now) };
        }
        state.left_alone.remove(owner);
        if written.content == present {
            return Decision::Write;
        }
        if written.last.is_some_and(|last| now.saturating_duration_since(last) > WINDOW) {
            written.replaced = 0;
        }
        written.last = Some(now);
        written.replaced = written.replaced.saturating_add(1);
        if written.replaced < PATIENCE {
            return Decision::Write;
        }
        // After the wait, dayone writes once. If somebody replaces that, dayone stands back again at once.
        written.replaced = PATIENCE.saturating_sub(2);
        state.left_alone.insert(owner.to_owned(), now + STAND_BACK);
        Decision::StandBack { first: true, again: STAND_BACK }
    }

    /// How many objects dayone leaves alone at the moment.
    pub(super) fn contested(&self, now: Instant) -> usize {
        self.0.lock().left_alone.values().filter(|until| **until > now).count()
    }

    pub(super) fn forget(&self, owner: &str) {
        let mut state = self.0.lock();
        state.written.remove(owner);
        state.left_alone.remove(owner);
    }

    /// Forgets all objects: while this replica did not lead, another one wrote them.
    pub(super) fn clear(&self) {
        *self.0.lock() = State::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    #[test]
    fn dayone_stands_back_after_several_replacements_and_reports_it_once() {
        let (contention, start) = (Contention::default(), Instant::now());
        let (ours, theirs) = (digest("ours"), digest("theirs"));
        assert_eq!(contention.decide("a", ours, theirs, start), Decision::Write, "nothing was written yet");
        contention.wrote("a", ours, ours);
        let replaced = |now| contention.decide("a", ours, theirs, now);
        assert_eq!([replaced(start), replaced(start)], [Decision::Write; 2]);
        contention.wrote("a", ours, ours);
        assert_eq!(replaced(start), Decision::StandBack { first: true, again: STAND_BACK });
        let later = start + Duration::from_secs(100);
        let again = STAND_BACK.saturating_sub(Duration::from_secs(100));
        assert_eq!(replaced(later), Decision::StandBack { first: false, again });
        assert_eq!((contention.contested(later), contention.contested(start + STAND_BACK)), (1, 0));
        assert_eq!(replaced(start + STAND_BACK), Decision::Write);
        assert_eq!(replaced(start + STAND_BACK), Decision::StandBack { first: true, again: STAND_BACK });
        contention.forget("a");
        assert_eq!(contention.contested(start + STAND_BACK), 0);
    }

    #[test]
    fn a_new_goal_resets_the_count() {
        let (contention, now) = (Contention::default(), Instant::now());
        for goal in ["one", "two", "three", "four"].map(digest) {
            contention.wrote("a", goal, goal);
            assert_eq!(contention.decide("a", goal, digest("theirs"), now), Decision::Write);
        }
    }

    #[test]
    fn dayones_own_steps_towards_a_goal_are_no_replacements() {
        let (contention, now) = (Contention::default(), Instant::now());
        for step in ["not ready", "no URL", "the URL", "another generation", "and another"].map(digest) {
            contention.wrote("a", digest("goal"), step);
            assert_eq!(contention.decide("a", digest("goal"), step, now), Decision::Write);
        }
        // Another controller replaces each step.
        let decisions = ["not ready", "no URL", "not ready"].map(digest).map(|step| {
            contention.wrote("a", digest("goal"), step);
            contention.decide("a", digest("goal"), digest("theirs"), now)
        });
        assert_eq!(
            decisions,
            [Decision::Write, Decision::Write, Decision::StandBack { first: true, again: STAND_BACK }]
        );
        contention.clear();
        assert_eq!(contention.contested(now), 0);
        assert_eq!(contention.decide("a", digest("goal"), digest("theirs"), now), Decision::Write);
    }

    #[test]
    fn a_replacement_counts_once_however_often_the_next_write_fails() {
        let (contention, now) = (Contention::default(), Instant::now());
        contention.wrote("a", digest("ours"), digest("ours"));
        for _ in 0..10 {
            assert_eq!(contention.decide("a", digest("ours"), digest("theirs"), now), Decision::Write);
            contention.saw("a", digest("theirs"));
        }
        contention.saw("unknown", digest("theirs"));
        assert_eq!(contention.decide("unknown", digest("ours"), digest("other"), now), Decision::Write);
    }

    #[test]
    fn rare_replacements_are_chance() {
        let (contention, start) = (Contention::default(), Instant::now());
        contention.wrote("a", digest("ours"), digest("ours"));
        for hours in 0..10 {
            let now = start + Duration::from_hours(2 * hours);
            assert_eq!(contention.decide("a", digest("ours"), digest("theirs"), now), Decision::Write);
        }
    }
}
