//! Who has which image: an image is there for as long as an owner has it.
//!
//! An owner has one image. The one that it had before lingers: a BMC that reads it while another one takes its place
//! comes to its end. Two owners may have the same image; it goes when the last of them lets it go.

use std::collections::{HashMap, VecDeque};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant, SystemTime};

use imagelib::recipe::RecipeId;

/// How long an image lingers, if nothing is said: longer than any BMC takes to read one.
pub(super) const LINGERING: Duration = Duration::from_hours(1);

/// How many images of one owner linger at once. Of more, the oldest go.
const MOST_LINGERING: usize = 4;

/// Owners and their images. The clock is handed in.
#[derive(Debug)]
pub(super) struct Holders {
    lingering: Duration,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    owners: HashMap<String, Held>,
    /// How many times an image is had, be it that it lingers. Those that nobody has are not here.
    counts: HashMap<RecipeId, usize>,
}

/// What an owner has.
#[derive(Debug)]
struct Held {
    image: RecipeId,
    since: SystemTime,
    /// The oldest first.
    lingering: VecDeque<(RecipeId, Instant)>,
}

impl Holders {
    /// Nobody has anything. What is replaced will linger for so long.
    pub(super) fn new(lingering: Duration) -> Self {
        Self { lingering, state: RwLock::default() }
    }

    /// From now on `owner` has `image`, and what it had lingers. The images that nobody has any more are returned.
    pub(super) fn hold(&self, owner: &str, image: RecipeId, now: Instant, date: SystemTime) -> Vec<RecipeId> {
        let mut state = self.write();
        let State { owners, counts } = &mut *state;
        let mut dropped = Vec::new();
        let Some(held) = owners.get_mut(owner) else {
            owners.insert(owner.to_owned(), Held { image, since: date, lingering: VecDeque::new() });
            take(counts, image);
            return dropped;
        };
        if held.image == image {
            return dropped;
        }
        take(counts, image);
        // One that it had before and has again does not linger.
        held.lingering.retain(|(former, _)| {
            let other = *former != image;
            if !other {
                dropped.extend(give_back(counts, *former));
            }
            other
        });
        let former = std::mem::replace(&mut held.image, image);
        // Should the clock have been set back, the next image is the later one all the same.
        held.since = if date > held.since { date } else { held.since + Duration::from_secs(1) };
        held.lingering.push_back((former, now + self.lingering));
        while held.lingering.len() > MOST_LINGERING {
            let oldest = held.lingering.pop_front();
            dropped.extend(oldest.and_then(|(oldest, _)| give_back(counts, oldest)));
        }
        dropped
    }

    /// `owner` is gone, and nothing of it lingers. The images that nobody has any more are returned.
    pub(super) fn discard(&self, owner: &str) -> Vec<RecipeId> {
        let mut state = self.write();
        let State { owners, counts } = &mut *state;
        let gone = owners.remove(owner).into_iter().flat_map(Held::into_images);
        gone.filter_map(|image| give_back(counts, image)).collect()
    }

    /// All owners but those that `keep` names are gone. The images that nobody has any more are returned.
    pub(super) fn retain(&self, keep: impl Fn(&str) -> bool) -> Vec<RecipeId> {
        let mut state = self.write();
        let State { owners, counts } = &mut *state;
        let gone = owners.extract_if(|owner, _| !keep(owner)).flat_map(|(_, held)| held.into_images());
        gone.filter_map(|image| give_back(counts, image)).collect()
    }

    /// What has lingered long enough goes. The images that nobody has any more are returned.
    pub(super) fn expire(&self, now: Instant) -> Vec<RecipeId> {
        let mut state = self.write();
        let State { owners, counts } = &mut *state;
        let mut dropped = Vec::new();
        for held in owners.values_mut() {
            while let Some((image, _)) = held.lingering.pop_front_if(|(_, until)| *until <= now) {
                dropped.extend(give_back(counts, image));
            }
        }
        dropped
    }

    /// Whether any owner has the image, be it that it lingers.
    pub(super) fn is_held(&self, image: &RecipeId) -> bool {
        self.read().counts.contains_key(image)
    }

    /// The image that an owner has, and since when.
    pub(super) fn image_of(&self, owner: &str) -> Option<(RecipeId, SystemTime)> {
        self.read().owners.get(owner).map(|held| (held.image, held.since))
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn into_images(self) -> impl Iterator<Item = RecipeId> {
        std::iter::once(self.image).chain(self.lingering.into_iter().map(|(image, _)| image))
    }
}

fn take(counts: &mut HashMap<RecipeId, usize>, image: RecipeId) {
    *counts.entry(image).or_default() += 1;
}

/// The image, if nobody has it any more.
fn give_back(counts: &mut HashMap<RecipeId, usize>, image: RecipeId) -> Option<RecipeId> {
    let count = counts.get_mut(&image)?;
    *count -= 1;
    (*count == 0).then(|| {
        counts.remove(&image);
        image
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    const DATE: SystemTime = SystemTime::UNIX_EPOCH;

    fn image(number: usize) -> RecipeId {
        format!("{number:064x}").parse().unwrap()
    }

    fn images<const N: usize>(numbers: [usize; N]) -> Vec<RecipeId> {
        numbers.into_iter().map(image).collect()
    }

    #[test]
    fn an_image_goes_when_the_last_of_its_owners_lets_it_go() {
        let (holders, now) = (Holders::new(HOUR), Instant::now());
        assert_eq!(holders.hold("a", image(1), now, DATE), []);
        assert_eq!(holders.hold("b", image(1), now, DATE), []);
        assert_eq!(holders.discard("a"), []);
        assert!(holders.is_held(&image(1)));
        assert_eq!(holders.discard("b"), images([1]));
        assert!(!holders.is_held(&image(1)));
        assert_eq!(holders.discard("b"), []);
        assert_eq!(holders.image_of("b"), None);
    }

    #[test]
    fn what_is_replaced_lingers_for_its_time() {
        let (holders, now) = (Holders::new(HOUR), Instant::now());
        holders.hold("a", image(1), now, DATE);
        let later = DATE + HOUR;
        assert_eq!(holders.hold("a", image(2), now, later), []);
        assert_eq!(holders.hold("a", image(2), now + HOUR, later + HOUR), [], "the same again changes nothing");
        assert_eq!(holders.image_of("a"), Some((image(2), later)));
        assert_eq!(holders.expire(now + HOUR.checked_sub(Duration::from_secs(1)).unwrap()), []);
        assert!(holders.is_held(&image(1)));
        assert_eq!(holders.expire(now + HOUR), images([1]));
        assert!(holders.is_held(&image(2)) && !holders.is_held(&image(1)));
        assert_eq!(holders.expire(now + 100 * HOUR), [], "what an owner has does not linger");
    }

    #[test]
    fn what_lingers_for_one_owner_and_is_had_by_another_stays() {
        let (holders, now) = (Holders::new(HOUR), Instant::now());
        holders.hold("a", image(1), now, DATE);
        holders.hold("a", image(2), now, DATE);
        holders.hold("b", image(1), now, DATE);
        assert_eq!(holders.expire(now + HOUR), []);
        assert!(holders.is_held(&image(1)));
        assert_eq!(holders.discard("b"), images([1]));
    }

    #[test]
    fn what_an_owner_has_again_does_not_linger() {
        let (holders, now) = (Holders::new(HOUR), Instant::now());
        holders.hold("a", image(1), now, DATE);
        holders.hold("a", image(2), now, DATE);
        assert_eq!(holders.hold("a", image(1), now, DATE), []);
        assert_eq!(holders.expire(now + HOUR), images([2]));
        assert!(holders.is_held(&image(1)));
        assert_eq!(holders.discard("a"), images([1]));
    }

    #[test]
    fn an_owner_that_changes_its_mind_all_the_time_has_a_bounded_number() {
        let (holders, now) = (Holders::new(HOUR), Instant::now());
        let dropped: Vec<_> = (0..10).flat_map(|number| holders.hold("a", image(number), now, DATE)).collect();
        assert_eq!(dropped, images([0, 1, 2, 3, 4]), "the oldest");
        let mut rest = holders.discard("a");
        rest.sort();
        assert_eq!(rest, images([5, 6, 7, 8, 9]), "and nothing lingers when the owner is gone");
    }

    #[test]
    fn only_the_owners_that_are_there_still_are_retained() {
        let (holders, now) = (Holders::new(HOUR), Instant::now());
        holders.hold("a", image(1), now, DATE);
        holders.hold("b", image(2), now, DATE);
        holders.hold("b", image(3), now, DATE);
        holders.hold("c", image(3), now, DATE);
        let mut dropped = holders.retain(|owner| owner != "b");
        dropped.sort();
        assert_eq!(dropped, images([2]));
        assert!(holders.is_held(&image(1)) && holders.is_held(&image(3)));
        assert_eq!(holders.image_of("b"), None);
    }
}
