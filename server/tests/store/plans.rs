//! Plans of images, which stay in memory only for the images that were planned last, and those that are being read.

use std::sync::Arc;

use dayone::store::{PlannedImage, Store, StoredImage};
use media::UrlForm;
use media::served::{Lookup, Published as _, ServedFile};

use super::support::*;

/// More than the plans that stay in memory if nobody reads the images.
const MANY: usize = 300;

/// More checks of the bases than an image counts as being read after a request.
const CHECKS: usize = 13;

fn plan_is_in_memory(plan: &std::sync::Weak<PlannedImage>) -> bool {
    plan.upgrade().is_some()
}

/// Reads a file of each image, so that each of them is planned.
fn look_at_all(store: &Store, images: &[Arc<StoredImage>]) {
    for image in images {
        assert!(matches!(store.find(image.token().as_str(), "initrd.img"), Lookup::Found(_)));
    }
}

fn found(store: &Store, image: &StoredImage) -> ServedFile {
    match store.find(image.token().as_str(), "initrd.img") {
        Lookup::Found(file) => file,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_image_whose_plan_was_forgotten_is_the_same_image() {
    let place = Place::new();
    let store = place.in_memory(1, UrlForm::Capability);
    let image = publish(&store, 0);
    let (before, sizes) = (see(&store, &image, "initrd.img"), image.sizes().unwrap());
    assert!(before.is_file());
    let plan = Arc::downgrade(&image.available().unwrap());
    assert!(plan_is_in_memory(&plan));
    (0..CHECKS).for_each(|_| store.recheck());
    publish_group(&store, &(1..MANY).collect::<Vec<_>>());
    assert!(!plan_is_in_memory(&plan));
    // What lists show needs no plan.
    assert!(image.is_available());
    assert_eq!(image.sizes().unwrap(), sizes);
    assert_eq!(image.reading().files.len(), sizes.len());
    assert_eq!(see(&store, &image, "initrd.img"), before);
    let again = image.available().unwrap();
    assert!(Arc::ptr_eq(&again, &image.available().unwrap()), "it is planned once");
}

#[test]
fn an_answer_that_is_under_way_keeps_the_plan_and_is_counted() {
    let place = Place::new();
    let store = place.in_memory(1, UrlForm::Capability);
    let identity = store.base(NAME).unwrap().available().unwrap().identity;
    let image = publish(&store, 0);
    let answer = found(&store, &image);
    let others = publish_group(&store, &(1..MANY).collect::<Vec<_>>());
    assert_eq!(store.base_use(&identity).transfers, 1);
    let other = found(&store, &image);
    assert!(Arc::ptr_eq(&answer.overlay, &other.overlay), "both are of one plan");
    assert_eq!(store.base_use(&identity).transfers, 2);
    let plan = Arc::downgrade(&image.available().unwrap());
    drop((answer, other));
    assert_eq!(store.base_use(&identity).transfers, 0);
    look_at_all(&store, &others);
    assert!(plan_is_in_memory(&plan), "it was requested a moment ago");
    (0..CHECKS).for_each(|_| store.recheck());
    publish_group(&store, &(MANY..2 * MANY).collect::<Vec<_>>());
    assert!(!plan_is_in_memory(&plan));
}

#[test]
fn images_that_are_read_keep_their_plans_however_many_there_are() {
    let place = Place::new();
    // A base that is read again gives all its images other plans.
    place.settle();
    let store = place.in_memory(1, UrlForm::Capability);
    let images = publish_group(&store, &(0..3 * MANY).collect::<Vec<_>>());
    look_at_all(&store, &images);
    let plans: Vec<_> = images.iter().map(|image| Arc::downgrade(&image.available().unwrap())).collect();
    for _ in 0..CHECKS {
        look_at_all(&store, &images);
        store.recheck();
        assert!(plans.iter().all(plan_is_in_memory), "an image was planned again for the next range");
    }
    (0..CHECKS).for_each(|_| store.recheck());
    assert!(plans.iter().filter(|plan| plan_is_in_memory(plan)).count() < MANY);
}

#[test]
fn a_start_leaves_plans_to_whoever_asks_and_the_first_check_keeps_none() {
    let place = Place::new();
    place.settle();
    let store = place.open();
    let images = publish_group(&store, &[0, 1]);
    let seen: Vec<Seen> = images.iter().map(|image| see(&store, image, "initrd.img")).collect();
    let tokens: Vec<String> = images.iter().map(|image| image.token().as_str().to_owned()).collect();
    drop((images, store));
    for checks in [false, true] {
        let store = place.open();
        let base = store.base(NAME).unwrap().available().unwrap();
        let holders = Arc::strong_count(&base);
        // Readiness probes ask this at once, for all images.
        assert!(store.replaced_bases().is_empty() && store.images().iter().all(|image| !image.was_requested()));
        assert_eq!(Arc::strong_count(&base), holders, "a plan was made");
        if checks {
            store.recheck();
            assert_eq!(Arc::strong_count(&base), holders, "a plan is there, which holds the base");
        }
        let again: Vec<Seen> = tokens.iter().map(|token| look(&store, token, "initrd.img")).collect();
        assert_eq!(again, seen);
        assert_eq!(Arc::strong_count(&base), holders + 2, "each image is planned once");
    }
    let store = place.open();
    assert!(store.images().iter().all(|image| image.is_available() && image.sizes().is_ok()));
}

#[test]
fn images_without_a_base_do_not_get_a_plan_that_is_left() {
    let place = Place::new();
    place.settle();
    let store = place.open();
    let image = publish(&store, 0);
    let answer = found(&store, &image);
    std::fs::remove_file(place.path("kernel")).unwrap();
    store.recheck();
    assert!(!image.is_available());
    assert!(image.state().is_err() && image.sizes().is_err());
    assert!(matches!(store.find(image.token().as_str(), "initrd.img"), Lookup::Unavailable(_)));
    drop(answer);
}

#[test]
fn many_threads_plan_an_image_once_and_forget_the_plans_of_each_other() {
    let place = Place::new();
    let store = place.in_memory(1, UrlForm::Capability);
    let images = publish_group(&store, &(0..2 * MANY).collect::<Vec<_>>());
    let etags: Vec<String> = images.iter().map(|image| image.etags().next().unwrap().1.to_string()).collect();
    std::thread::scope(|scope| {
        // Checks pass meanwhile, so that plans are given up.
        scope.spawn(|| (0..10 * CHECKS).for_each(|_| store.recheck()));
        for thread in 0..4 {
            let (store, images, etags) = (&store, &images, &etags);
            scope.spawn(move || {
                // Each begins elsewhere, so that plans are made and given up at once.
                for step in 0..2 * images.len() {
                    let index = (step + thread * images.len() / 4) % images.len();
                    assert_eq!(found(store, &images[index]).etag.to_string(), etags[index]);
                }
            });
        }
    });
}
