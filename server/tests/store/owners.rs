//! Images that belong to owners.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use dayone::store::{InMemory, Store};
use media::UrlForm;

use super::support::*;

#[test]
fn owners_of_one_recipe_share_its_image() {
    let place = Place::new();
    let store = place.in_memory(1, UrlForm::Capability);
    let (one, two) = (publish_for(&store, "a", 1), publish_for(&store, "b", 1));
    assert_eq!(one.token(), two.token());
    assert_eq!(store.images().len(), 1);
    store.discard("a");
    assert!(see(&store, &one, "initrd.img").is_file());
    store.discard("b");
    assert_eq!(see(&store, &one, "initrd.img"), Seen::NotFound);
    assert!(store.images().is_empty());
}

#[test]
fn what_an_owner_had_before_lingers_and_goes_with_its_owner() {
    let place = Place::new();
    let store = place.in_memory(1, UrlForm::Capability);
    let (old, new) = (publish_for(&store, "a", 1), publish_for(&store, "a", 2));
    store.recheck();
    assert!(see(&store, &old, "initrd.img").is_file() && see(&store, &new, "initrd.img").is_file());
    store.discard("a");
    assert_eq!([&old, &new].map(|image| see(&store, image, "initrd.img")), [Seen::NotFound, Seen::NotFound]);

    let lingering = Duration::ZERO;
    let bases = vec![place.base(NAME)];
    let store = Store::in_memory(InMemory { bases, lingering, ..settings(1, UrlForm::Capability) }).unwrap();
    let (old, new) = (publish_for(&store, "a", 1), publish_for(&store, "a", 2));
    store.recheck();
    assert_eq!(see(&store, &old, "initrd.img"), Seen::NotFound, "its time is over");
    assert!(see(&store, &new, "initrd.img").is_file());
}

#[test]
fn only_the_images_of_owners_that_are_there_still_are_retained() {
    let place = Place::new();
    let store = place.in_memory(1, UrlForm::Capability);
    let images = ["a", "b", "c"].map(|owner| publish_for(&store, owner, usize::from(owner.as_bytes()[0])));
    store.retain(|owner| owner == "b");
    let there = images.map(|image| see(&store, &image, "initrd.img").is_file());
    assert_eq!(there, [false, true, false]);
}

#[test]
fn publishing_and_discarding_at_once_leaves_what_owners_have_and_no_more() {
    const OWNERS: usize = 6;
    let place = Place::new();
    let bases = vec![place.base(NAME)];
    let lingering = Duration::ZERO;
    let store = Store::in_memory(InMemory { bases, lingering, ..settings(1, UrlForm::Uuid) }).unwrap();
    thread::scope(|scope| {
        for thread in 0..OWNERS {
            let store = &store;
            scope.spawn(move || {
                let owner = format!("owner-{thread}");
                for step in 0..80 {
                    if step % 5 == 4 {
                        store.discard(&owner);
                    }
                    // Few recipes, so that owners share and give up the same ones all the time.
                    let image = publish_for(store, &owner, (step + thread) % 3);
                    assert!(see(store, &image, "initrd.img").is_file(), "what an owner has is served");
                }
                publish_for(store, &owner, thread % 3);
            });
        }
        scope.spawn(|| (0..40).for_each(|_| store.recheck()));
    });
    store.recheck();
    let there: BTreeSet<_> = store.images().iter().map(|image| image.id()).collect();
    let held: BTreeSet<_> = (0..3).map(|number| recipe(&store, number).id()).collect();
    assert_eq!(there, held);
    (0..OWNERS).for_each(|owner| store.discard(&format!("owner-{owner}")));
    assert!(store.images().is_empty());
}
