//! A store with nothing on disk: what follows from its key and its bases, and bases that come and go.

use std::fs;
use std::time::{Duration, SystemTime};

use dayone::store::{InMemory, InstallationKey, OpenError, Store, StoreError};
use imagelib::base::Format;
use imagelib::image::FileName;
use imagelib::recipe::Recipe;
use media::UrlForm;
use media::base_file::BaseFile;
use media::served::Published as _;

use super::bases::bytes_read;
use super::support::*;

/// All that can be seen of host 1 from outside: URLs and what is behind them.
fn seen_from_outside(store: &Store) -> Vec<(String, Seen)> {
    let owner = "worker-1.initramfs";
    let image = publish_for(store, owner, 1);
    let files = [FileName::Kernel, FileName::Initrd, FileName::Rootfs];
    files.map(|file| (store.url(owner, &image, file), see(store, &image, file.as_str()))).into()
}

#[test]
fn replicas_with_one_key_are_one_and_another_key_gives_other_urls() {
    let place = Place::new();
    for urls in [UrlForm::Capability, UrlForm::Uuid] {
        let one = seen_from_outside(&place.in_memory(1, urls));
        assert!(one.iter().all(|(_, seen)| seen.is_file()), "{one:?}");
        assert_eq!(seen_from_outside(&place.in_memory(1, urls)), one);
        for ((url, seen), (other_url, other_seen)) in one.iter().zip(seen_from_outside(&place.in_memory(2, urls))) {
            assert_ne!(*url, other_url);
            assert_eq!(*seen, other_seen, "the key is in no image");
        }
    }
    let (made, again) = (InstallationKey::generate().unwrap(), InstallationKey::generate().unwrap());
    assert_ne!(made.as_bytes(), again.as_bytes());
}

#[test]
fn urls_have_the_form_that_is_asked_for() {
    let place = Place::new();
    let owner = "worker-1.initramfs";
    let url = |urls, file| {
        let store = place.in_memory(1, urls);
        let image = publish_for(&store, owner, 1);
        (store.url(owner, &image, file), image.token().as_str().to_owned())
    };
    let (capability, token) = url(UrlForm::Capability, FileName::Initrd);
    assert_eq!(capability, format!("http://192.0.2.1:8081/media/i/{token}/initrd.img"));
    let (uuid, _) = url(UrlForm::Uuid, FileName::Initrd);
    assert_eq!(uuid.len(), "http://192.0.2.1:8081/".len() + 36, "{uuid}");
    assert_ne!(url(UrlForm::Uuid, FileName::Kernel).0, uuid);
    assert_eq!(url(UrlForm::Named, FileName::Initrd).0, "http://192.0.2.1:8081/worker-1.initramfs");
    assert_eq!(url(UrlForm::Named, FileName::Kernel).0, "http://192.0.2.1:8081/worker-1.kernel");
}

#[test]
fn what_a_url_ends_in_is_found_in_its_own_form_only() {
    let place = Place::new();
    for urls in [UrlForm::Capability, UrlForm::Uuid, UrlForm::Named] {
        let store = place.in_memory(1, urls);
        let owner = "worker-1.initramfs";
        let image = publish_for(&store, owner, 1);
        for file in [FileName::Initrd, FileName::Kernel] {
            let url = store.url(owner, &image, file);
            let name = url.rsplit_once('/').unwrap().1;
            let (named, exact) = (seen(store.find_name(name)), see(&store, &image, file.as_str()));
            match (urls, named, exact) {
                (UrlForm::Capability, named, _) => assert_eq!(named, Seen::NotFound),
                (UrlForm::Uuid, named, exact) => assert_eq!(named, exact),
                (UrlForm::Named, Seen::File { bytes, .. }, Seen::File { bytes: exact, .. }) => assert!(bytes == exact),
                other => panic!("{other:?}"),
            }
        }
        store.discard(owner);
        for name in [owner, "worker-1.kernel"] {
            assert_eq!(seen(store.find_name(name)), Seen::NotFound);
        }
        let name = store.url(owner, &image, FileName::Initrd).rsplit_once('/').unwrap().1.to_owned();
        assert_eq!(seen(store.find_name(&name)), Seen::NotFound, "{name}");
    }
}

#[test]
fn owners_that_are_no_names_are_refused_where_they_stand_in_urls() {
    let place = Place::new();
    let refused =
        |urls, owner| place.in_memory(1, urls).publish_for(owner, NAME, recipe(&place.open(), 1).seal(), None);
    for owner in ["", "../worker-0.iso", "a/b", ".hidden", "namespace/name/uid"] {
        assert!(matches!(refused(UrlForm::Named, owner), Err(StoreError::Name { .. })), "{owner}");
        assert!(refused(UrlForm::Uuid, owner).is_ok(), "{owner}");
    }
}

#[test]
fn the_time_of_publication_is_the_same_everywhere_but_where_content_changes_under_its_url() {
    let place = Place::new();
    let last_modified = |seen| match seen {
        Seen::File { last_modified, .. } => last_modified,
        other => panic!("{other:?}"),
    };
    let store = place.in_memory(1, UrlForm::Uuid);
    let image = publish_for(&store, "a", 1);
    assert_eq!(last_modified(see(&store, &image, "initrd.img")), 946_684_800);
    let store = place.in_memory(1, UrlForm::Named);
    let before = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    publish_for(&store, "a", 1);
    let named = last_modified(seen(store.find_name("a")));
    assert!((before + 1..before + 60).contains(&named), "{named}: the second after");
}

#[test]
fn a_base_that_cannot_be_used_is_no_error_at_start() {
    let place = Place::new();
    fs::rename(place.path("rootfs"), place.path("moved")).unwrap();
    let bases = vec![place.base(NAME), "other=/nowhere.iso".parse().unwrap()];
    let store = Store::in_memory(InMemory { bases: bases.clone(), ..settings(1, UrlForm::Uuid) }).unwrap();
    for base in store.bases() {
        assert!(base.available().is_none(), "{base:?}");
    }
    let mut changes = store.base_changes();
    fs::rename(place.path("moved"), place.path("rootfs")).unwrap();
    place.settle();
    store.recheck();
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    assert!(see(&store, &publish_for(&store, "a", 1), "initrd.img").is_file());
    store.recheck();
    assert!(!changes.has_changed().unwrap(), "nothing happened");

    let twice = vec![place.base(NAME), place.base(NAME)];
    assert!(store.set_bases(twice.clone()).is_err());
    let opened = Store::in_memory(InMemory { bases: twice, ..settings(1, UrlForm::Uuid) });
    assert!(matches!(opened, Err(OpenError::Definition(_))));
    assert_eq!(store.bases().len(), bases.len());
}

#[test]
fn bases_are_added_and_removed_while_it_runs() {
    let place = Place::new();
    place.settle();
    let store = Store::in_memory(settings(1, UrlForm::Capability)).unwrap();
    let mut changes = store.base_changes();
    assert!(matches!(store.publish_for("a", NAME, of_any_base().seal(), None), Err(StoreError::UnknownBase(_))));
    store.set_bases(vec![place.base(NAME)]).unwrap();
    assert!(changes.has_changed().unwrap());
    let image = publish_for(&store, "a", 1);
    let before = see(&store, &image, "initrd.img");
    assert!(before.is_file());

    changes.mark_unchanged();
    store.set_bases(vec![place.base(NAME)]).unwrap();
    assert!(!changes.has_changed().unwrap(), "the same again");
    store.set_bases(vec![]).unwrap();
    assert!(changes.has_changed().unwrap());
    let after = see(&store, &image, "initrd.img");
    assert!(after.reason().contains("base 'coreos'") && after.reason().contains("not configured"), "{after:?}");
    assert!(store.bases().is_empty());

    // Back, under another name and without being read again.
    let read = bytes_read(|| store.set_bases(vec![place.base("renamed")]).unwrap());
    assert!(read < 1 << 20, "{read} bytes");
    assert_eq!(see(&store, &image, "initrd.img"), before);
}

#[test]
fn while_a_base_is_read_the_others_are_served_and_published_over() {
    // Sparse, and so large that reading it takes some time. On a busy machine that may still be over before anything else
    // runs, and then a larger one tells.
    assert!(
        (29..35).any(|power| served_while_a_base_is_read(1 << power)),
        "each base was read before anything else was served"
    );
}

/// Whether a base of `size` bytes was still being read after another base had been published over.
fn served_while_a_base_is_read(size: u64) -> bool {
    let place = Place::new();
    fs::File::create(place.path("large")).unwrap().set_len(size).unwrap();
    let large = format!("large=initrd:{},rootfs:{}", place.path("initrd").display(), place.path("large").display());
    place.settle();
    std::thread::sleep(BaseFile::open(&place.path("large")).unwrap().settling().unwrap_or_default());
    let store = place.in_memory(1, UrlForm::Uuid);
    let before = publish_for(&store, "a", 1);
    let read = |store: &Store| store.base("large").is_some_and(|base| base.available().is_some());
    let still_reading = std::thread::scope(|scope| {
        scope.spawn(|| store.set_bases(vec![place.base(NAME), large.parse().unwrap()]).unwrap());
        while store.base("large").is_none() {
            std::thread::yield_now();
        }
        let during = publish_for(&store, "b", 2);
        assert!(see(&store, &before, "initrd.img").is_file() && see(&store, &during, "initrd.img").is_file());
        store.discard("b");
        !read(&store)
    });
    // A reading that takes long goes on after the bases are set, and a check takes its result.
    let start = std::time::Instant::now();
    while !read(&store) {
        assert!(start.elapsed() < Duration::from_mins(10));
        std::thread::sleep(Duration::from_millis(20));
        store.recheck();
    }
    still_reading
}

#[test]
fn a_base_that_is_being_written_is_taken_up_when_it_has_settled() {
    let place = Place::new();
    let store = std::sync::Arc::new(Store::in_memory(settings(1, UrlForm::Capability)).unwrap());
    store.set_bases(vec![place.base(NAME)]).unwrap();
    assert!(store.base(NAME).unwrap().available().is_none());
    let _watch = store.watch(Duration::from_millis(50)).unwrap();
    let start = std::time::Instant::now();
    while store.base(NAME).unwrap().available().is_none() {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(see(&store, &publish_for(&store, "a", 1), "initrd.img").is_file());
}

#[test]
fn digests_are_kept_in_a_directory_where_there_is_one() {
    let place = Place::new();
    place.write_base(b"the kernel", 64 << 20);
    place.settle();
    fs::create_dir(place.path("cache")).unwrap();
    let open = |digests| {
        let bases = vec![place.base(NAME)];
        let settings = InMemory { bases, digests, ..settings(1, UrlForm::Uuid) };
        bytes_read(|| drop(Store::in_memory(settings).unwrap()))
    };
    assert!(open(None) >= 64 << 20 && open(None) >= 64 << 20);
    assert!(open(Some(place.path("cache"))) >= 64 << 20);
    let again = open(Some(place.path("cache")));
    assert!(again < 1 << 20, "{again} bytes");
    assert!(open(Some(place.path("missing"))) >= 64 << 20, "it only costs time");
}

#[test]
fn an_initramfs_alone_is_a_base_without_an_ipxe_script() {
    let place = Place::new();
    let alone = format!("alone=initrd:{}", place.path("initrd").display()).parse().unwrap();
    let bases = vec![place.base(NAME), alone];
    let store = Store::in_memory(InMemory { bases, ..settings(1, UrlForm::Capability) }).unwrap();
    let identity = store.base("alone").unwrap().available().unwrap().identity;
    let (image, _) = store.publish_for("a", "alone", recipe_over(identity, 1).seal(), None).unwrap();
    assert!(see(&store, &image, "initrd.img").is_file());
    for file in ["vmlinuz", "boot.ipxe", "boot.iso"] {
        assert_eq!(see(&store, &image, file), Seen::NotFound, "{file}");
    }
    assert!(see(&store, &publish_for(&store, "b", 1), "boot.ipxe").is_file());
    let iso = Recipe { format: Format::Iso, ..recipe_over(identity, 1) };
    let refused = store.publish_for("a", "alone", iso.seal(), None).unwrap_err().to_string();
    assert!(refused.contains("no kernel"), "{refused}");
    assert!(see(&store, &image, "initrd.img").is_file(), "a refusal takes nothing away");
}

fn of_any_base() -> Recipe {
    let nothing = imagelib::base::BaseIdentity::of(&std::collections::BTreeMap::new());
    recipe_over(nothing, 1)
}
