//! Images that are published as a group: each as if it were published alone.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Barrier;
use std::{fs, thread};

use dayone::store::{NewImage, Publication, StoreError};

use super::support::*;

#[test]
fn a_group_is_served_and_survives_a_restart_like_single_images() {
    let place = Place::new();
    let store = place.open();
    let single = publish(&store, 1);
    let images = store.publish_group((0..4).map(|number| new_image(&store, number)).collect());
    let images: Vec<_> = images.into_iter().map(Result::unwrap).collect();
    let publications: Vec<Publication> = images.iter().map(|(_, publication)| *publication).collect();
    let (created, existing) = (Publication::Created, Publication::Existing);
    assert_eq!(publications, [created, existing, created, created]);
    assert_eq!(images[1].0.id(), single.id());
    assert_eq!(images[2].0.label(), Some("worker-2"));
    let before: Vec<Seen> = images.iter().map(|(image, _)| see(&store, image, "initrd.img")).collect();
    assert!(before.iter().all(Seen::is_file));
    assert_eq!(place.records().len(), 4);
    let tokens: Vec<String> = images.iter().map(|(image, _)| image.token().as_str().to_owned()).collect();
    drop((images, single, store));
    let store = place.open();
    let after: Vec<Seen> = tokens.iter().map(|token| look(&store, token, "initrd.img")).collect();
    assert_eq!(after, before);
    for path in place.records() {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn one_recipe_twice_in_a_group_is_one_image() {
    let place = Place::new();
    let store = place.open();
    let images = store.publish_group([7, 8, 7, 7].map(|number| new_image(&store, number)).into());
    let images: Vec<_> = images.into_iter().map(Result::unwrap).collect();
    let new = images.iter().filter(|(_, publication)| *publication == Publication::Created).count();
    assert_eq!((new, images[0].1), (2, Publication::Created));
    assert_eq!((images[0].0.id(), images[2].0.id()), (images[2].0.id(), images[3].0.id()));
    assert_eq!(place.records().len(), 2);
}

#[test]
fn the_error_of_one_image_is_its_own() {
    let place = Place::new();
    let store = place.open();
    let other = NewImage { base: Some("other".parse().unwrap()), ..new_image(&store, 2) };
    let results = store.publish_group(vec![new_image(&store, 1), other, new_image(&store, 3)]);
    assert!(matches!(results.as_slice(), [Ok(_), Err(StoreError::UnknownBase(_)), Ok(_)]), "{results:?}");
    assert_eq!(place.records().len(), 2);
    assert!(store.publish_group(Vec::new()).is_empty());
}

#[test]
fn a_directory_that_is_gone_refuses_the_whole_group_and_nothing_is_served() {
    let place = Place::new();
    let store = place.open();
    let images = place.data().join("images");
    fs::rename(&images, place.path("away")).unwrap();
    let results = store.publish_group((0..3).map(|number| new_image(&store, number)).collect());
    assert!(results.iter().all(|result| matches!(result, Err(StoreError::Write(_)))), "{results:?}");
    assert!(store.images().is_empty());
    fs::rename(place.path("away"), &images).unwrap();
    assert!(fs::read_dir(&images).unwrap().next().is_none(), "nothing is left of them");
    publish_group(&store, &[0, 1, 2]);
}

/// Groups that share images in different orders, beside single images: none waits for another for ever.
#[test]
fn groups_that_overlap_do_not_block_each_other() {
    const THREADS: usize = 8;
    const IMAGES: usize = 24;
    let place = Place::new();
    let store = place.open();
    let start = Barrier::new(THREADS);
    let created: usize = thread::scope(|scope| {
        let work = |thread: usize| {
            let (store, start) = (&store, &start);
            move || {
                start.wait();
                let mut numbers: Vec<usize> = (0..IMAGES).map(|number| (number * 5 + thread) % IMAGES).collect();
                if thread.is_multiple_of(2) {
                    numbers.reverse();
                }
                let groups = numbers.chunks(thread + 1).flat_map(|group| {
                    store.publish_group(group.iter().map(|number| new_image(store, *number)).collect())
                });
                groups.filter(|result| result.as_ref().unwrap().1 == Publication::Created).count()
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(created, IMAGES);
    let ids: BTreeSet<_> = store.images().iter().map(|image| image.id()).collect();
    assert_eq!((ids.len(), place.records().len()), (IMAGES, IMAGES));
}
