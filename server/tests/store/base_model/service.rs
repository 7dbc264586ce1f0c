//! Every order in which requests about a base, and the arrival of its files, can meet. The steps are those of
//! `server/src/bases/service.rs`, between which other tasks run; what the store does within one step is in `store.rs`.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::store::{Content, ModelPublished, ModelRemoved, ModelStore, Version};

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Request {
    Add(Content),
    Remove,
    Publish(Content),
    Release(Content),
}

/// How far a request is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    /// It waits for `changing`, if it needs that.
    Waiting,
    /// It has seen which versions are unfinished, each with what it asks for; an addition also whether its files are present.
    Seen {
        unfinished: Vec<(Version, Content)>,
        is_present: bool,
    },
    /// It forgets the unfinished versions one by one, and counts those that it has stopped.
    Forgetting {
        unfinished: Vec<Version>,
        stopped: usize,
        of: usize,
        is_present: bool,
    },
    Done,
}

/// The task that fetches a version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Fetch {
    content: Content,
    is_cancelled: bool,
    /// Its files are there, and `finish_base` has found its record: cancelling has no effect any more.
    is_finishing: bool,
}

/// A mistake that the code could make, and that the exploration must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// `forget_base` also forgets a base that has arrived since the caller looked.
    ForgetsWhatHasArrived,
    /// `BaseFetches::remove` does not look again if one has arrived meanwhile.
    RemovesOnce,
    /// `BaseFetches::add` does not look again, either.
    AddsOnce,
    /// `BaseFetches::add` looks at the unfinished versions after the present one.
    LooksAtPresentFirst,
    /// `remove_base` does not exclude publications: it looks for users, and removes later.
    RemovesWhatIsUsed,
}

/// What an answer says about the base from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Promise {
    /// Nothing, or another request runs.
    None,
    /// There is no base.
    Absent,
    /// The base has these files, or they are being fetched.
    Present(Content),
}

/// Everything at a moment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct State {
    store: ModelStore,
    fetches: BTreeMap<Version, Fetch>,
    requests: Vec<(Request, Step)>,
    /// The request that holds `changing`.
    changing: Option<usize>,
    /// What the last answered request about the base was promised.
    promised: Promise,
}

impl State {
    pub(crate) fn new(requests: &[Request]) -> Self {
        Self {
            store: ModelStore::default(),
            fetches: BTreeMap::new(),
            requests: requests.iter().map(|request| (*request, Step::Waiting)).collect(),
            changing: None,
            promised: Promise::None,
        }
    }

    /// What is wrong now.
    fn wrong(&self) -> Option<String> {
        let ready = |content| self.store.records.values().any(|record| *record == Some(content));
        if let Some(image) = self.store.images.iter().find(|image| !ready(**image)) {
            return Some(format!("the image over {image} has lost its base"));
        }
        if self.store.after_restart() != self.store.present {
            return Some(format!("after a restart, {:?} would be present", self.store.after_restart()));
        }
        match self.promised {
            Promise::Absent if !self.store.records.is_empty() => Some("a base is there after its removal".to_owned()),
            Promise::Present(content) => {
                let fetched =
                    |version: &Version| self.fetches.get(version).is_some_and(|fetch| fetch.content == content);
                let is_present = self.store.present.and_then(|present| self.store.content(present)) == Some(content);
                let is_fetched = self.store.unfinished().iter().any(fetched);
                (!is_present && !is_fetched).then(|| format!("{content} is neither there nor fetched"))
            }
            _ => None,
        }
    }

    /// All states that one step of one task leads to, each with its name.
    fn next(&self, mistake: Option<Mistake>) -> Vec<(String, Self)> {
        let mut next = Vec::new();
        for (version, fetch) in &self.fetches {
            let mut after = self.clone();
            if fetch.is_finishing {
                after.fetches.remove(version);
                let finished = after.store.finish(*version, fetch.content);
                next.push((format!("version {version} arrives: {finished:?}"), after));
            } else if fetch.is_cancelled {
                after.fetches.remove(version);
                next.push((format!("the fetch of version {version} ends"), after));
                // It may have been too late.
                let mut late = self.clone();
                late.begin_to_finish(*version);
                next.push((format!("version {version} has its files, too late to be cancelled"), late));
            } else {
                after.begin_to_finish(*version);
                next.push((format!("version {version} has its files"), after));
            }
        }
        for number in 0..self.requests.len() {
            let mut after = self.clone();
            if let Some(what) = after.step(number, mistake) {
                next.push((format!("{:?}: {what}", self.requests[number].0), after));
            }
        }
        next
    }

    fn begin_to_finish(&mut self, version: Version) {
        if let Some(fetch) = self.fetches.get_mut(&version) {
            fetch.is_finishing = self.store.records.contains_key(&version);
            if !fetch.is_finishing {
                self.fetches.remove(&version);
            }
        }
    }

    /// One step of a request, or nothing if it is done or has to wait.
    fn step(&mut self, number: usize, mistake: Option<Mistake>) -> Option<String> {
        let (request, step) = self.requests[number].clone();
        if step == Step::Done {
            return None;
        }
        match request {
            Request::Publish(content) => {
                let published = self.store.publish(content);
                self.requests[number].1 = Step::Done;
                // One that is not published changes nothing.
                (published == ModelPublished::Published).then(|| format!("{published:?}"))
            }
            Request::Release(content) => {
                let released = self.store.release(content);
                self.store.release_replaced();
                self.requests[number].1 = Step::Done;
                released.then(|| "released".to_owned())
            }
            Request::Add(content) => self.add(number, content, step, mistake),
            Request::Remove => self.remove(number, step, mistake),
        }
    }

    /// Takes `changing`, or returns that somebody else has it.
    fn take(&mut self, number: usize) -> Option<()> {
        match self.changing {
            Some(holder) if holder != number => None,
            _ => {
                self.changing = Some(number);
                self.promised = Promise::None;
                Some(())
            }
        }
    }

    fn answer(&mut self, number: usize, promised: Promise) {
        self.requests[number].1 = Step::Done;
        self.changing = None;
        self.promised = promised;
    }

    fn look(&self) -> Vec<(Version, Content)> {
        let asked = |version: Version| Some((version, self.fetches.get(&version)?.content));
        self.store.unfinished().into_iter().filter_map(asked).collect()
    }

    fn has(&self, content: Content) -> bool {
        self.store.present.and_then(|present| self.store.content(present)) == Some(content)
    }

    /// `BaseFetches::add_checked`
    fn add(&mut self, number: usize, content: Content, step: Step, mistake: Option<Mistake>) -> Option<String> {
        let wrong_order = mistake == Some(Mistake::LooksAtPresentFirst);
        match step {
            Step::Waiting => {
                self.take(number)?;
                let (unfinished, is_present) =
                    if wrong_order { (Vec::new(), self.has(content)) } else { (self.look(), false) };
                self.requests[number].1 = Step::Seen { unfinished, is_present };
                Some("first look".to_owned())
            }
            Step::Seen { unfinished, is_present } => {
                let (unfinished, is_present) =
                    if wrong_order { (self.look(), is_present) } else { (unfinished, self.has(content)) };
                let same = unfinished.iter().find(|(_, other)| *other == content && !is_present);
                if same.is_some_and(|(version, _)| self.fetches.contains_key(version)) {
                    self.answer(number, Promise::Present(content));
                    return Some("is being fetched".to_owned());
                }
                let unfinished: Vec<Version> = unfinished.into_iter().map(|(version, _)| version).collect();
                let of = unfinished.len();
                self.requests[number].1 = Step::Forgetting { unfinished, stopped: 0, of, is_present };
                Some("second look".to_owned())
            }
            Step::Forgetting { unfinished, stopped, of, .. }
                if unfinished.is_empty() && stopped < of && mistake != Some(Mistake::AddsOnce) =>
            {
                let unfinished = self.look();
                self.requests[number].1 = Step::Seen { unfinished, is_present: false };
                Some("one has arrived meanwhile".to_owned())
            }
            Step::Forgetting { unfinished, is_present, .. } if unfinished.is_empty() => {
                if !is_present {
                    let version = self.store.begin();
                    let fetch = Fetch { content, is_cancelled: false, is_finishing: false };
                    self.fetches.insert(version, fetch);
                }
                self.answer(number, Promise::Present(content));
                Some(if is_present { "is present" } else { "fetches" }.to_owned())
            }
            Step::Forgetting { .. } => self.forget_next(number, step, mistake),
            Step::Done => None,
        }
    }

    /// `BaseFetches::remove`
    fn remove(&mut self, number: usize, step: Step, mistake: Option<Mistake>) -> Option<String> {
        match step {
            Step::Waiting => {
                self.take(number)?;
                let unfinished = self.look();
                self.requests[number].1 = Step::Seen { unfinished, is_present: false };
                Some("first look".to_owned())
            }
            Step::Seen { unfinished, .. } => {
                let removed = if mistake == Some(Mistake::RemovesWhatIsUsed) && self.store.present.is_some() {
                    let images = std::mem::take(&mut self.store.images);
                    let removed = self.store.remove();
                    self.store.images = images;
                    removed
                } else {
                    self.store.remove()
                };
                if removed == ModelRemoved::InUse || (removed == ModelRemoved::Unknown && unfinished.is_empty()) {
                    self.answer(number, Promise::None);
                    return Some(format!("{removed:?}"));
                }
                let unfinished: Vec<Version> = unfinished.into_iter().map(|(version, _)| version).collect();
                let of = unfinished.len();
                self.requests[number].1 = Step::Forgetting { unfinished, stopped: 0, of, is_present: false };
                Some(format!("{removed:?}"))
            }
            Step::Forgetting { unfinished, stopped, of, .. } if unfinished.is_empty() => {
                if stopped == of || self.store.present.is_none() || mistake == Some(Mistake::RemovesOnce) {
                    self.answer(number, Promise::Absent);
                    return Some("done".to_owned());
                }
                let unfinished = self.look();
                self.requests[number].1 = Step::Seen { unfinished, is_present: false };
                Some("one has arrived meanwhile".to_owned())
            }
            Step::Forgetting { .. } => self.forget_next(number, step, mistake),
            Step::Done => None,
        }
    }

    /// `BaseFetches::forget`: cancels the task, waits for its end, and forgets the version.
    fn forget_next(&mut self, number: usize, step: Step, mistake: Option<Mistake>) -> Option<String> {
        let Step::Forgetting { mut unfinished, mut stopped, of, is_present } = step else { return None };
        let version = *unfinished.first()?;
        if let Some(fetch) = self.fetches.get_mut(&version) {
            if fetch.is_cancelled {
                return None;
            }
            fetch.is_cancelled = true;
            return Some(format!("cancels version {version}"));
        }
        unfinished.remove(0);
        let mut forgotten = self.store.forget(version);
        if mistake == Some(Mistake::ForgetsWhatHasArrived) && !forgotten {
            forgotten = self.store.records.remove(&version).is_some();
        }
        stopped += usize::from(forgotten);
        self.requests[number].1 = Step::Forgetting { unfinished, stopped, of, is_present };
        Some(format!("forgets version {version}: {forgotten}"))
    }
}

/// Every state that can be reached. Returns how many there are, or the shortest way to a state in which something is wrong.
pub(crate) fn explore(requests: &[Request], mistake: Option<Mistake>) -> Result<usize, Vec<String>> {
    let start = State::new(requests);
    let mut seen: HashMap<State, Option<(State, String)>> = HashMap::from([(start.clone(), None)]);
    let mut left = VecDeque::from([start]);
    while let Some(state) = left.pop_front() {
        for (name, next) in state.next(mistake) {
            if seen.contains_key(&next) {
                continue;
            }
            let wrong = next.wrong();
            seen.insert(next.clone(), Some((state.clone(), name)));
            if let Some(wrong) = wrong {
                let (mut way, mut at) = (vec![wrong], next);
                while let Some(Some((before, name))) = seen.get(&at) {
                    way.insert(0, name.clone());
                    at = before.clone();
                }
                return Err(way);
            }
            left.push_back(next);
        }
    }
    Ok(seen.len())
}
