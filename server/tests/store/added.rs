//! Bases that are added while the store is open: after crashes, and while images are published over them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use dayone::store::{
    BaseRecord, BaseRecordState, BaseSource, BaseVersion, FinishBaseError, Finished, RemoveBaseError, Store, StoreError,
};
use imagelib::base::{BaseIdentity, Role};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::support::*;

/// The record of a base with the kernel and the initramfs of the place.
fn record(place: &Place, name: &str) -> BaseRecord {
    let source = |file: &str| {
        let location = place.path(file).display().to_string().parse().unwrap();
        BaseSource { location, sha256: None, signature: None }
    };
    let sources =
        [(Role::Kernel, source("kernel")), (Role::Initrd, source("initrd")), (Role::Rootfs, source("rootfs"))];
    BaseRecord::new(name.parse().unwrap(), None, BTreeMap::from(sources))
}

/// Begins a base, and puts its files where the store wants them.
fn begin(store: &Store, place: &Place, name: &str) -> BaseVersion {
    let version = store.begin_base(record(place, name)).unwrap();
    for (role, file) in [(Role::Kernel, "kernel"), (Role::Initrd, "initrd"), (Role::Rootfs, "rootfs")] {
        fs::copy(place.path(file), store.base_file(version, role).unwrap()).unwrap();
    }
    version
}

fn finish(store: &Store, version: BaseVersion) -> Finished {
    loop {
        match store.finish_base(version) {
            Err(FinishBaseError::TooFresh) => thread::sleep(Duration::from_millis(100)),
            finished => return finished.unwrap(),
        }
    }
}

fn add(store: &Store, place: &Place, name: &str) -> BaseIdentity {
    let version = begin(store, place, name);
    assert_eq!(finish(store, version), Finished::Added);
    store.base(name).unwrap().available().unwrap().identity
}

fn files(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.data().join("base-files")).unwrap();
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.unwrap().file_name().into()).collect();
    names.sort();
    names
}

#[test]
fn what_a_crash_leaves_of_a_base_is_removed_and_nothing_else() {
    let place = Place::new();
    let store = place.open_with(vec![]).unwrap();
    add(&store, &place, "added");
    let unfinished = begin(&store, &place, "unfinished");
    let directory = place.data().join("base-files");
    drop(store);
    // A record that a later version of dayone wrote, files without a record, and files of somebody else.
    fs::write(place.data().join("bases/00000007.json"), r#"{"version":2}"#).unwrap();
    for name in ["00000007.iso", "00000009.iso", "00000009.kernel.partial", "00000009.kernel.partial.json", "notes"] {
        fs::write(directory.join(name), "x").unwrap();
    }
    let store = place.open_with(vec![]).unwrap();
    let kept = [
        "00000001.initrd",
        "00000001.kernel",
        "00000001.rootfs",
        "00000002.initrd",
        "00000002.kernel",
        "00000002.rootfs",
    ];
    let expected: Vec<PathBuf> = kept.into_iter().chain(["00000007.iso", "notes"]).map(Into::into).collect();
    assert_eq!(files(&place), expected);
    assert!(store.base("added").unwrap().available().is_some() && store.base("unfinished").is_none());
    // The number of the unreadable record is not used again.
    assert_eq!(finish(&store, unfinished), Finished::Added);
    assert_eq!(begin(&store, &place, "next").number(), 8);
}

#[test]
fn an_image_never_appears_over_a_base_that_is_going() {
    let place = Place::new();
    let store = place.open_with(vec![]).unwrap();
    for number in 0..3 {
        let identity = add(&store, &place, "added");
        let (published, removed) = thread::scope(|scope| {
            let publishing = scope.spawn(|| store.publish("added", recipe_over(identity, number).seal(), None));
            let removing = scope.spawn(|| store.remove_base("added"));
            (publishing.join().unwrap(), removing.join().unwrap())
        });
        // Either the image was first, and keeps the base, or the base is gone, and there is no image.
        match (&published, &removed) {
            (Ok((image, _)), Err(RemoveBaseError::InUse { images: 1, some })) => {
                assert_eq!(*some, [image.id()]);
                assert!(store.release(&image.id()).unwrap());
                store.remove_base("added").unwrap();
            }
            (Err(StoreError::UnknownBase(_)), Ok(())) => {}
            other => panic!("{other:?}"),
        }
        assert!(store.images().is_empty() && store.base("added").is_none());
    }
    drop(store);
    let store = place.open_with(vec![]).unwrap();
    assert!(store.added_bases().is_empty() && files(&place).is_empty());
}

#[test]
fn a_base_that_comes_back_is_there_once_and_keeps_its_images() {
    let place = Place::new();
    let store = place.open_with(vec![]).unwrap();
    let first = add(&store, &place, "added");
    let (image, _) = store.publish("added", recipe_over(first, 1).seal(), None).unwrap();
    let before = see(&store, &image, "initrd.img");
    assert!(before.is_file());
    place.write_base(b"another kernel", 1 << 20);
    let second = add(&store, &place, "added");
    store.publish("added", recipe_over(second, 2).seal(), None).unwrap();
    // Back to the first one.
    place.write_base(b"the kernel", 1 << 20);
    assert_eq!(add(&store, &place, "added"), first);
    let replaced = |store: &Store| -> Vec<BaseIdentity> {
        store.replaced_by("added").iter().map(|base| base.available().unwrap().identity).collect()
    };
    assert_eq!(replaced(&store), [second], "the first one is the present one again");
    assert_eq!(see(&store, &image, "initrd.img"), before);
    let id = image.id();
    drop((image, store));
    let store = place.open_with(vec![]).unwrap();
    assert_eq!(replaced(&store), [second]);
    assert_eq!(files(&place).len(), 6, "the first copy of the first one is gone");
    assert_eq!(see(&store, &store.image(&id).unwrap(), "initrd.img"), before);
}

/// Looks at the store whenever something is logged.
struct LooksAtEachEvent {
    store: Arc<Store>,
    looks: Arc<AtomicUsize>,
}

impl<S: tracing::Subscriber> Layer<S> for LooksAtEachEvent {
    fn on_event(&self, _event: &tracing::Event<'_>, _context: Context<'_, S>) {
        let is_unfinished = self.store.added_bases().iter().any(|(_, record)| !record.is_ready());
        assert!(is_unfinished || self.store.base("added").is_some(), "the base is missing");
        self.looks.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_base_that_arrives_is_at_no_moment_missing() {
    let place = Place::new();
    let store = Arc::new(place.open_with(vec![]).unwrap());
    let version = begin(&store, &place, "added");
    let looks = Arc::new(AtomicUsize::new(0));
    let layer = LooksAtEachEvent { store: Arc::clone(&store), looks: Arc::clone(&looks) };
    let finished =
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || finish(&store, version));
    assert_eq!(finished, Finished::Added);
    assert!(looks.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_base_that_has_arrived_is_neither_forgotten_nor_fetched() {
    let place = Place::new();
    let store = place.open_with(vec![]).unwrap();
    let version = begin(&store, &place, "added");
    assert_eq!(finish(&store, version), Finished::Added);
    assert!(!store.forget_base(version).unwrap());
    assert!(!store.set_base_state(version, BaseRecordState::Fetching).unwrap());
    assert!(store.added_bases()[0].1.is_ready());
    assert_eq!(files(&place).len(), 3);
    store.remove_base("added").unwrap();
    assert!(files(&place).is_empty());
}

#[test]
fn a_base_does_not_arrive_under_the_name_of_a_configured_one() {
    let place = Place::new();
    let store = place.open_with(vec![]).unwrap();
    let version = begin(&store, &place, NAME);
    drop(store);
    let store = place.open();
    let refused = store.finish_base(version);
    assert!(matches!(&refused, Err(FinishBaseError::Configured(name)) if name.as_str() == NAME), "{refused:?}");
    assert!(store.is_configured(NAME) && store.base(NAME).unwrap().available().is_some());
    drop(store);
    drop(place.open());
}

#[test]
fn a_base_that_may_be_used_by_an_unreadable_image_stays() {
    let place = Place::new();
    let store = place.open_with(vec![]).unwrap();
    let identity = add(&store, &place, "added");
    let (image, _) = store.publish("added", recipe_over(identity, 1).seal(), None).unwrap();
    let id = image.id();
    drop((image, store));
    // Another version of dayone has written the record.
    let path = &place.records()[0];
    fs::write(path, fs::read_to_string(path).unwrap().replacen("\"version\":1", "\"version\":99", 1)).unwrap();
    let store = place.open_with(vec![]).unwrap();
    assert!(matches!(store.remove_base("added"), Err(RemoveBaseError::Unreadable(1))));
    place.write_base(b"another kernel", 1 << 20);
    add(&store, &place, "added");
    store.recheck();
    assert_eq!(files(&place).len(), 6, "the replaced base stays, too");
    store.release(&id).unwrap();
    store.recheck();
    assert_eq!(files(&place).len(), 3);
    store.remove_base("added").unwrap();
    assert!(matches!(store.remove_base("added"), Err(RemoveBaseError::Unknown)));
}
