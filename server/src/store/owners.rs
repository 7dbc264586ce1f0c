//! The owners of images. An image exists as long as it has an owner.
//!
//! Each owner has one image. Its previous images linger, so that a BMC can finish reading one that was replaced. Several owners
//! may share an image.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant, SystemTime};

use imagelib::recipe::RecipeId;
use parking_lot::RwLock;

/// By default, how long an image lingers: longer than any BMC takes to read one.
pub(super) const LINGERING: Duration = Duration::from_hours(1);

/// How many images of one owner linger at once. The oldest go first.
const MAX_LINGERING: usize = 4;

/// The owners and their images. The caller passes the time.
#[derive(Debug)]
pub(super) struct Owners {
    lingering: Duration,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    owners: HashMap<String, Owned>,
    /// How many references each image has. Lingering images count. Images without a reference are not in the map.
    counts: HashMap<RecipeId, usize>,
}

/// The images of an owner.
#[derive(Debug)]
struct Owned {
    image: RecipeId,
    since: SystemTime,
    /// The oldest first.
    lingering: VecDeque<(RecipeId, Instant)>,
}

impl Owners {
    /// Without owners. A replaced image will linger for this time.
    pub(super) fn new(lingering: Duration) -> Self {
        Self { lingering, state: RwLock::default() }
    }

    /// Makes `image` the image of `owner`. The previous image lingers. Returns the images that have no owner any more.
    pub(super) fn assign(&self, owner: &str, image: RecipeId, now: Instant, date: SystemTime) -> Vec<RecipeId> {
        let mut state = self.state.write();
        let State { owners, counts } = &mut *state;
        let mut dropped = Vec::new();
        let Some(entry) = owners.get_mut(owner) else {
            owners.insert(owner.to_owned(), Owned { image, since: date, lingering: VecDeque::new() });
            add_reference(counts, image);
            return dropped;
        };
        if entry.image == image {
            return dropped;
        }
        add_reference(counts, image);
        // If the owner had this image before, it no longer lingers.
        entry.lingering.retain(|(former, _)| {
            let other = *former != image;
            if !other {
                dropped.extend(drop_reference(counts, *former));
            }
            other
        });
        let former = std::mem::replace(&mut entry.image, image);
        // Even if the clock was set back, the next image has a later date.
        entry.since = if date > entry.since { date } else { entry.since + Duration::from_secs(1) };
        entry.lingering.push_back((former, now + self.lingering));
        while entry.lingering.len() > MAX_LINGERING {
            let oldest = entry.lingering.pop_front();
            dropped.extend(oldest.and_then(|(oldest, _)| drop_reference(counts, oldest)));
        }
        dropped
    }

    /// Removes an owner; its images do not linger. Returns the images that have no owner any more.
    pub(super) fn discard(&self, owner: &str) -> Vec<RecipeId> {
        let mut state = self.state.write();
        let State { owners, counts } = &mut *state;
        let gone = owners.remove(owner).into_iter().flat_map(Owned::into_images);
        gone.filter_map(|image| drop_reference(counts, image)).collect()
    }

    /// Removes all owners for which `keep` is false. Returns the images that have no owner any more.
    pub(super) fn retain(&self, keep: impl Fn(&str) -> bool) -> Vec<RecipeId> {
        let mut state = self.state.write();
        let State { owners, counts } = &mut *state;
        let gone = owners.extract_if(|owner, _| !keep(owner)).flat_map(|(_, entry)| entry.into_images());
        gone.filter_map(|image| drop_reference(counts, image)).collect()
    }

    /// Removes images that have lingered long enough. Returns the images that have no owner any more.
    pub(super) fn expire(&self, now: Instant) -> Vec<RecipeId> {
        let mut state = self.state.write();
        let State { owners, counts } = &mut *state;
        let mut dropped = Vec::new();
        for entry in owners.values_mut() {
            while let Some((image, _)) = entry.lingering.pop_front_if(|(_, until)| *until <= now) {
                dropped.extend(drop_reference(counts, image));
            }
        }
        dropped
    }

    /// Whether the image has an owner, or lingers for one.
    pub(super) fn is_owned(&self, image: &RecipeId) -> bool {
        self.state.read().counts.contains_key(image)
    }

    /// The image of an owner, and since when it has been that.
    pub(super) fn image_of(&self, owner: &str) -> Option<(RecipeId, SystemTime)> {
        self.state.read().owners.get(owner).map(|entry| (entry.image, entry.since))
    }
}

impl Owned {
    fn into_images(self) -> impl Iterator<Item = RecipeId> {
        std::iter::once(self.image).chain(self.lingering.into_iter().map(|(image, _)| image))
    }
}

fn add_reference(counts: &mut HashMap<RecipeId, usize>, image: RecipeId) {
    *counts.entry(image).or_default() += 1;
}

/// Returns the image if that was its last reference.
fn drop_reference(counts: &mut HashMap<RecipeId, usize>, image: RecipeId) -> Option<RecipeId> {
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
    fn an_image_is_dropped_with_its_last_owner() {
        let (owners, now) = (Owners::new(HOUR), Instant::now());
        assert_eq!(owners.assign("a", image(1), now, DATE), []);
        assert_eq!(owners.assign("b", image(1), now, DATE), []);
        assert_eq!(owners.discard("a"), []);
        assert!(owners.is_owned(&image(1)));
        assert_eq!(owners.discard("b"), images([1]));
        assert!(!owners.is_owned(&image(1)));
        assert_eq!(owners.discard("b"), []);
        assert_eq!(owners.image_of("b"), None);
    }

    #[test]
    fn a_replaced_image_lingers_for_the_set_time() {
        let (owners, now) = (Owners::new(HOUR), Instant::now());
        owners.assign("a", image(1), now, DATE);
        let later = DATE + HOUR;
        assert_eq!(owners.assign("a", image(2), now, later), []);
        assert_eq!(owners.assign("a", image(2), now + HOUR, later + HOUR), [], "the same again changes nothing");
        assert_eq!(owners.image_of("a"), Some((image(2), later)));
        assert_eq!(owners.expire(now + HOUR.checked_sub(Duration::from_secs(1)).unwrap()), []);
        assert!(owners.is_owned(&image(1)));
        assert_eq!(owners.expire(now + HOUR), images([1]));
        assert!(owners.is_owned(&image(2)) && !owners.is_owned(&image(1)));
        assert_eq!(owners.expire(now + 100 * HOUR), [], "the present image never expires");
    }

    #[test]
    fn an_image_that_lingers_for_one_owner_stays_for_another() {
        let (owners, now) = (Owners::new(HOUR), Instant::now());
        owners.assign("a", image(1), now, DATE);
        owners.assign("a", image(2), now, DATE);
        owners.assign("b", image(1), now, DATE);
        assert_eq!(owners.expire(now + HOUR), []);
        assert!(owners.is_owned(&image(1)));
        assert_eq!(owners.discard("b"), images([1]));
    }

    #[test]
    fn an_image_that_an_owner_gets_again_does_not_linger() {
        let (owners, now) = (Owners::new(HOUR), Instant::now());
        owners.assign("a", image(1), now, DATE);
        owners.assign("a", image(2), now, DATE);
        assert_eq!(owners.assign("a", image(1), now, DATE), []);
        assert_eq!(owners.expire(now + HOUR), images([2]));
        assert!(owners.is_owned(&image(1)));
        assert_eq!(owners.discard("a"), images([1]));
    }

    #[test]
    fn the_number_of_lingering_images_is_bounded() {
        let (owners, now) = (Owners::new(HOUR), Instant::now());
        let dropped: Vec<_> = (0..10).flat_map(|number| owners.assign("a", image(number), now, DATE)).collect();
        assert_eq!(dropped, images([0, 1, 2, 3, 4]), "the oldest");
        let mut rest = owners.discard("a");
        rest.sort();
        assert_eq!(rest, images([5, 6, 7, 8, 9]), "nothing lingers without its owner");
    }

    #[test]
    fn only_the_kept_owners_are_retained() {
        let (owners, now) = (Owners::new(HOUR), Instant::now());
        owners.assign("a", image(1), now, DATE);
        owners.assign("b", image(2), now, DATE);
        owners.assign("b", image(3), now, DATE);
        owners.assign("c", image(3), now, DATE);
        let mut dropped = owners.retain(|owner| owner != "b");
        dropped.sort();
        assert_eq!(dropped, images([2]));
        assert!(owners.is_owned(&image(1)) && owners.is_owned(&image(3)));
        assert_eq!(owners.image_of("b"), None);
    }
}
