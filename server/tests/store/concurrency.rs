//! Many at once: the same recipe is one image, different ones do not get in each other's way.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use dayone::store::Publication;

use super::support::*;

#[test]
fn the_same_recipes_published_by_many_threads_are_created_once_each() {
    const THREADS: usize = 16;
    const RECIPES: usize = 12;
    let place = Place::new();
    let store = place.open();
    let (created, start) = (AtomicUsize::new(0), Barrier::new(THREADS));
    let tokens: Vec<Vec<String>> = thread::scope(|scope| {
        let publish_all = |thread: usize| {
            let (store, created, start) = (&store, &created, &start);
            move || {
                start.wait();
                let publish = |step: usize| {
                    // Half of them in step, half of them each in an order of its own.
                    let number = if thread.is_multiple_of(2) { step } else { (step * 5 + thread) % RECIPES };
                    let (image, publication) = store.publish(NAME, recipe(store, number).seal(), None).unwrap();
                    created.fetch_add(usize::from(publication == Publication::Created), Ordering::Relaxed);
                    // Acknowledged is served.
                    assert!(see(store, &image, "initrd.img").is_file());
                    (number, image.token().as_str().to_owned())
                };
                let mut tokens: Vec<_> = (0..RECIPES).map(publish).collect();
                tokens.sort();
                tokens.into_iter().map(|(_, token)| token).collect()
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(publish_all(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(created.into_inner(), RECIPES);
    assert!(tokens.iter().all(|others| *others == tokens[0]));
    assert_eq!(tokens[0].iter().collect::<BTreeSet<_>>().len(), RECIPES);
    assert_eq!(place.records().len(), RECIPES);
}

#[test]
fn publishing_releasing_and_looking_at_bases_at_once_leaves_memory_and_disk_of_one_mind() {
    const RECIPES: usize = 4;
    let place = Place::new();
    let store = place.open();
    thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for step in 0..60 {
                    let recipe = recipe(store, (step + thread) % RECIPES);
                    if (step / 3 + thread) % 2 == 0 {
                        store.publish(NAME, recipe.seal(), None).unwrap();
                    } else {
                        store.release(&recipe.id()).unwrap();
                    }
                }
            });
        }
        scope.spawn(|| (0..20).for_each(|_| store.recheck()));
    });
    let on_disk: Vec<String> =
        place.records().iter().map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let in_memory: Vec<String> = store.images().iter().map(|image| image.id().to_string()).collect();
    assert_eq!(on_disk, in_memory);
    for number in 0..RECIPES {
        let id = recipe(&store, number).id();
        assert_eq!(store.image(&id).is_some(), on_disk.contains(&id.to_string()));
    }
    assert!(store.images().iter().all(|image| see(&store, image, "initrd.img").is_file()));
}

#[test]
fn a_failed_request_withdraws_only_its_own_images() {
    let place = Place::new();
    let store = place.open();
    let [own, ordered_again, deleted] = [1, 2, 3].map(|number| publish(&store, number));
    store.publish(NAME, recipe(&store, 2).seal(), None).unwrap();
    assert!(store.release(&deleted.id()).unwrap());
    let of_another = publish(&store, 3);
    let images = vec![Arc::clone(&own), Arc::clone(&ordered_again), deleted];

    let withdrawn: Vec<_> = store.withdraw(images.clone()).iter().map(|image| image.id()).collect();
    assert_eq!(withdrawn, [own.id()]);
    assert!(store.image(&own.id()).is_none());
    assert!(see(&store, &ordered_again, "initrd.img").is_file() && see(&store, &of_another, "initrd.img").is_file());
    assert!(store.withdraw(images).is_empty());
}

#[test]
fn an_image_whose_record_cannot_be_removed_is_not_withdrawn() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    let records = place.data().join("images");
    fs::set_permissions(&records, Permissions::from_mode(0o500)).unwrap();
    assert!(unprivileged(|| store.withdraw(vec![Arc::clone(&image)])).is_empty());
    assert!(see(&store, &image, "initrd.img").is_file());
    fs::set_permissions(&records, Permissions::from_mode(0o700)).unwrap();
    assert_eq!(store.withdraw(vec![image]).len(), 1);
    assert!(place.records().is_empty());
}
