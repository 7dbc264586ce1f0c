//! Bases that are missing, change, vanish, come back, and get other names.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dayone::store::{OpenError, Store, StoreError};
use imagelib::digest::Digest;
use imagelib::image::FileName;
use rustix::time::{ClockId, clock_gettime};

use super::support::*;

fn reason(store: &Store) -> String {
    store.base(NAME).unwrap().state().unwrap_err()
}

#[test]
fn the_first_start_refuses_bases_that_do_not_work() {
    let place = Place::new();
    let refusal = |definition: String| match place.open_with(vec![place.base(NAME), definition.parse().unwrap()]) {
        Ok(_) => panic!("started with {definition}"),
        Err(error) => error.to_string(),
    };
    let missing = place.path("missing.iso");
    let error = refusal(format!("other={}", missing.display()));
    assert!(error.contains("base 'other'") && error.contains(&missing.display().to_string()), "{error}");
    let error = refusal(format!("other={}", place.path("").display()));
    assert!(error.contains("neither a file nor"), "{error}");
    let error = refusal(format!("other={}", place.path("kernel").display()));
    assert!(error.contains(&place.path("kernel").display().to_string()), "{error}");
    let swapped = format!("other=kernel:{0}/initrd,initrd:{0}/kernel", place.path("").display());
    assert!(refusal(swapped).contains("did you swap kernel and initrd?"));
    let twice = place.open_with(vec![place.base("a"), place.base("b"), place.base("a")]).unwrap_err();
    assert!(matches!(&twice, OpenError::Definition(_)) && twice.to_string().contains("'a'"), "{twice}");
    // And it started nothing: a good configuration works.
    place.open();
}

#[test]
fn a_base_that_is_missing_at_a_later_start_takes_only_its_own_images_out_of_service() {
    let place = Place::new();
    let other = place.path("other-initrd");
    let kernel_initrd = || {
        fs::write(&other, fs::read(place.path("initrd")).unwrap()).unwrap();
        format!("other=kernel:{},initrd:{}", place.path("kernel").display(), other.display()).parse().unwrap()
    };
    let bases = vec![place.base(NAME), kernel_initrd()];
    let store = place.open_with(bases.clone()).unwrap();
    let image = publish(&store, 1);
    let identity = store.base("other").unwrap().available().unwrap().identity;
    let (kept, _) = store.publish("other", recipe_over(identity, 1).seal(), None).unwrap();
    let before = see(&store, &image, "initrd.img");
    drop(store);
    fs::rename(place.path("rootfs"), place.path("moved")).unwrap();

    let store = place.open_with(bases).unwrap();
    assert!(reason(&store).contains(&place.path("rootfs").display().to_string()));
    let seen = see(&store, &image, "initrd.img");
    assert!(seen.reason().contains("base 'coreos'"), "{seen:?}");
    assert_eq!(see(&store, &image, "boot.iso"), Seen::NotFound);
    assert!(see(&store, &kept, "initrd.img").is_file());
    let error = store.publish(NAME, image.recipe().unwrap(), None).unwrap_err();
    assert!(matches!(error, StoreError::BaseUnavailable { .. }));
    assert!(!error.to_string().contains("rootfs"), "{error}");
    assert!(store.image(&image.id()).unwrap().digest(imagelib::image::FileName::Initrd).is_err());

    fs::rename(place.path("moved"), place.path("rootfs")).unwrap();
    store.recheck();
    assert!(reason(&store).contains("written a moment ago"), "a rename cannot be told from a write");
    place.settle();
    store.recheck();
    assert_eq!(see(&store, &image, "initrd.img"), before);
}

#[test]
fn a_base_that_changes_under_a_running_server_and_comes_back() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    let before = see(&store, &image, "initrd.img");
    let changes = |store: &Store| store.base(NAME).unwrap().changes();
    place.write_base(b"another kernel", 1 << 20);
    assert!(
        matches!(store.publish(NAME, recipe(&store, 2).seal(), None), Err(StoreError::BaseUnavailable { .. })),
        "seen before any recheck"
    );
    store.recheck();
    assert!(see(&store, &image, "initrd.img").reason().contains("not available"));
    assert_eq!(changes(&store), 0);

    // Other bytes under the same name: new images over them, and the old ones wait.
    place.settle();
    store.recheck();
    assert!(see(&store, &image, "initrd.img").reason().contains("another image now"));
    assert_eq!(changes(&store), 1);
    let stale = store.publish(NAME, image.recipe().unwrap(), None).unwrap_err();
    assert!(matches!(stale, StoreError::BaseReplaced(_)), "{stale}");
    let new = publish(&store, 1);
    assert_ne!(new.token(), image.token());
    assert!(see(&store, &new, "vmlinuz").is_file());

    // The old bytes are back.
    place.write_base(b"the kernel", 1 << 20);
    store.recheck();
    place.settle();
    store.recheck();
    assert_eq!(see(&store, &image, "initrd.img"), before);
    assert!(see(&store, &new, "vmlinuz").reason().contains("another image now"));
    assert_eq!(changes(&store), 2);
    drop(store);

    let store = place.open();
    assert_eq!(see(&store, &image, "initrd.img"), before);
    assert!(see(&store, &new, "vmlinuz").reason().contains("another image now"));
}

#[test]
fn when_a_base_is_announced_again_its_images_are_served() {
    let place = Place::new();
    let store = place.open();
    let images: Vec<_> = (1..=200).map(|number| publish(&store, number)).collect();
    place.write_base(b"another kernel", 1 << 20);
    store.recheck();
    place.write_base(b"the kernel", 1 << 20);
    place.settle();

    let mut changes = store.base_changes();
    changes.mark_unchanged();
    thread::scope(|scope| {
        scope.spawn(|| store.recheck());
        let deadline = Instant::now() + Duration::from_secs(30);
        while !changes.has_changed().unwrap() {
            assert!(Instant::now() < deadline, "{}", reason(&store));
        }
        // Planning all of them takes longer than looking for the last one.
        for image in images.iter().rev() {
            let seen = see(&store, image, "initrd.img");
            assert!(seen.is_file(), "{}", seen.reason());
        }
    });
}

#[test]
fn a_base_is_known_by_its_bytes_and_not_by_its_name() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    let before = see(&store, &image, "initrd.img");
    drop(store);
    let store = place.open_with(vec![place.base("renamed")]).unwrap();
    assert_eq!(see(&store, &image, "initrd.img"), before);
    drop(store);
    let store = place.open_with(vec![]).unwrap();
    assert!(see(&store, &image, "initrd.img").reason().contains("not configured"));
}

#[test]
fn a_restart_reads_only_bases_that_it_does_not_know() {
    let place = Place::new();
    place.write_base(b"the kernel", 64 << 20);
    let digests = place.data().join("base-digests.json");
    // Just written: another write could go unseen, so the digest is not kept.
    drop(place.open());
    assert!(!digests.exists());
    place.settle();
    assert!(bytes_read(|| drop(place.open())) >= 64 << 20);
    let restart = bytes_read(|| drop(place.open()));
    assert!(restart < 1 << 20, "{restart} bytes");

    place.write_base(b"the kernel", 63 << 20);
    place.settle();
    assert!(bytes_read(|| drop(place.open())) >= 63 << 20);
    assert!(bytes_read(|| drop(place.open())) < 1 << 20);
    fs::write(&digests, "garbage").unwrap();
    assert!(bytes_read(|| drop(place.open())) >= 63 << 20);
    assert!(bytes_read(|| drop(place.open())) < 1 << 20);
}

#[test]
fn a_base_that_was_just_written_is_read_again_when_it_has_settled() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    store.recheck();
    place.settle();
    // The watch does it on its own; and ends with the store.
    let store = Arc::new(store);
    let watch = store.watch(Duration::from_millis(50)).unwrap();
    let start = Instant::now();
    while !place.data().join("base-digests.json").exists() {
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(20));
    }
    assert!(see(&store, &image, "initrd.img").is_file());
    drop(watch);
    let start = Instant::now();
    let mut store = Some(store);
    while let Some(shared) = store.take() {
        assert!(start.elapsed() < Duration::from_secs(20), "the watch keeps the store");
        store = Arc::try_unwrap(shared).err();
    }
    assert!(bytes_read(|| drop(place.open())) < 1 << 20);
}

#[test]
fn a_watch_of_many_images_rests_between_its_checks() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let images = store.publish_group((0..400).map(|number| new_image(&store, number)).collect());
    assert!(images.iter().all(Result::is_ok));
    let _watch = store.watch(Duration::from_millis(500)).unwrap();
    let processor_time = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
    };
    let before = processor_time();
    thread::sleep(Duration::from_secs(3));
    // Five checks take a few milliseconds each.
    let used = processor_time().saturating_sub(before);
    assert!(used < Duration::from_millis(900), "{used:?}");
}

#[test]
fn after_a_restart_the_digests_of_images_need_little_of_the_base() {
    let place = Place::new();
    place.write_initrd(vec![7; 8 << 20]);
    place.settle();
    let store = place.open();
    let image = publish(&store, 1);
    let Seen::File { bytes, .. } = see(&store, &image, "initrd.img") else { panic!("not served") };
    drop((store, image));
    let kept = || {
        let names = fs::read_dir(place.data()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut kept: Vec<String> = names.filter(|name| name.starts_with("base-states-")).collect();
        kept.sort();
        kept
    };
    let of_kernel = format!("base-states-{}", Digest::of(b"the kernel"));
    assert_eq!((kept().len(), kept().contains(&of_kernel)), (3, true));

    let digest_again = || {
        let store = place.open();
        let image = store.images().remove(0);
        bytes_read(|| assert_eq!(image.digest(FileName::Initrd).unwrap(), Digest::of(&bytes)))
    };
    let read = digest_again();
    assert!(read < 64 << 10, "{read} bytes");
    for name in kept() {
        fs::write(place.data().join(name), "garbage").unwrap();
    }
    assert!(digest_again() >= 8 << 20);

    // Another kernel in its place: the states of the former one are of no use.
    fs::write(place.path("kernel"), "another kernel").unwrap();
    place.settle();
    drop(place.open());
    assert_eq!((kept().len(), kept().contains(&of_kernel)), (3, false));
}

/// How many bytes this thread reads from files while it does something.
pub(crate) fn bytes_read(what: impl FnOnce()) -> u64 {
    let count = || {
        let io = fs::read_to_string("/proc/thread-self/io").unwrap();
        io.lines().find_map(|line| line.strip_prefix("rchar:")).unwrap().trim().parse::<u64>().unwrap()
    };
    let before = count();
    what();
    count() - before
}
