//! What a restart must not change, and what only one server may do.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use dayone::store::{NewImage, OpenError, Publication, StoreError};
use imagelib::base::Format;
use imagelib::compression::Compression;
use imagelib::data_image::{DataKind, FileSystem};
use imagelib::digest::Digest;
use imagelib::ignition::Additions;
use imagelib::image::FileName;
use imagelib::recipe::{DataDrive, Recipe};
use media::access::AccessLimits;
use media::served::{Lookup, Published as _};

use super::support::*;

const FILES: [&str; 4] = ["vmlinuz", "initrd.img", "rootfs.img", "boot.ipxe"];

#[test]
fn a_restart_changes_nothing_that_a_client_can_see() {
    let place = Place::new();
    let store = place.open();
    let images: Vec<_> = (0..10).map(|number| publish(&store, number)).collect();
    let before: Vec<Vec<Seen>> = images.iter().map(|image| FILES.map(|file| see(&store, image, file)).into()).collect();
    assert!(before.iter().flatten().all(Seen::is_file));
    drop(store);

    let store = place.open();
    assert_eq!(store.images().len(), 10);
    for (image, before) in images.iter().zip(&before) {
        let again = store.image(&image.id()).unwrap();
        assert_eq!(again.token(), image.token());
        assert_eq!(again.label(), image.label());
        assert_eq!(again.created(), image.created());
        assert_eq!(again.etags().collect::<Vec<_>>(), image.etags().collect::<Vec<_>>());
        let after: Vec<Seen> = FILES.map(|file| see(&store, &again, file)).into();
        assert_eq!(&after, before);
    }
}

#[test]
fn an_iso_is_one_file_that_a_restart_does_not_change_either() {
    let place = Place::new();
    let packed = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/bases/coreos.iso.xz");
    let iso = Compression::Xz.decompress(&fs::read(packed).unwrap(), 64 << 20).unwrap();
    fs::write(place.path("live.iso"), &iso).unwrap();
    let base = || vec![format!("{NAME}={}", place.path("live.iso").display()).parse().unwrap()];
    let store = place.open_with(base()).unwrap();
    let order = Recipe { format: Format::Iso, ..recipe(&store, 1) };
    let (image, _) = store.publish(NAME, order.seal(), None).unwrap();
    let before = see(&store, &image, "boot.iso");
    let Seen::File { bytes, .. } = &before else { panic!("{before:?}") };
    assert!(bytes.len() == iso.len() && *bytes != iso);
    assert_eq!(image.digest(FileName::BootIso).unwrap(), Digest::of(bytes));
    for file in ["boot.ipxe", "initrd.img"] {
        assert_eq!(see(&store, &image, file), Seen::NotFound, "{file}");
    }
    drop(store);
    assert_eq!(see(&place.open_with(base()).unwrap(), &image, "boot.iso"), before);
}

#[test]
fn images_differ_in_bytes_tokens_and_etags() {
    let place = Place::new();
    let store = place.open();
    let (one, two) = (publish(&store, 1), publish(&store, 2));
    assert_ne!(one.token(), two.token());
    let etag_and_bytes = |image, file| match see(&store, image, file) {
        Seen::File { etag, bytes, .. } => (etag, bytes),
        other => panic!("{file}: {other:?}"),
    };
    let (a, b) = (etag_and_bytes(&one, "initrd.img"), etag_and_bytes(&two, "initrd.img"));
    assert!(a.0 != b.0 && a.1 != b.1);
    // What does not differ need not.
    assert_eq!(etag_and_bytes(&one, "vmlinuz"), etag_and_bytes(&two, "vmlinuz"));
}

#[test]
fn only_the_image_s_own_files_are_found_and_only_by_its_token() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    let token = image.token().as_str().to_owned();
    for file in ["", "boot.iso", "initrd", "initrd.img/", "../key", "INITRD.IMG"] {
        assert_eq!(look(&store, &token, file), Seen::NotFound, "{file}");
    }
    let other = token.replace(&token[25..], if token.ends_with('a') { "b" } else { "a" });
    for token in ["", &other, &token[..25], &token.to_uppercase(), &image.id().to_string()] {
        assert_eq!(look(&store, token, "initrd.img"), Seen::NotFound, "{token}");
    }
    let debug = format!("{image:?} {store:?}");
    assert!(!debug.contains(&token) && !debug.contains("method=manual"), "{debug}");
}

#[test]
fn the_ipxe_script_leads_to_the_image_s_own_files() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    let Seen::File { bytes, .. } = see(&store, &image, "boot.ipxe") else { panic!("not served") };
    let script = String::from_utf8(bytes).unwrap();
    let address = format!("http://192.0.2.1:8081/i/{}/", image.token().as_str());
    assert!(script.starts_with("#!ipxe\n"), "{script}");
    for file in ["vmlinuz", "initrd.img", "rootfs.img"] {
        assert!(script.contains(&format!("{address}{file}")), "{file}: {script}");
        assert!(see(&store, &image, file).is_file());
    }
    assert!(script.contains("coreos.live.rootfs_url="), "{script}");
}

#[test]
fn publishing_again_is_the_same_image_and_writes_nothing() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    let record = fs::metadata(&place.records()[0]).unwrap();
    let (again, publication) = store.publish(NAME, recipe(&store, 1).seal(), Some("another".to_owned())).unwrap();
    assert_eq!((publication, again.id(), again.label()), (Publication::Existing, image.id(), Some("worker-1")));
    let after = fs::metadata(&place.records()[0]).unwrap();
    assert_eq!((record.ino(), record.ctime_nsec()), (after.ino(), after.ctime_nsec()));
    drop(store);

    let store = place.open();
    let (again, publication) = store.publish(NAME, recipe(&store, 1).seal(), None).unwrap();
    assert_eq!((publication, again.created()), (Publication::Existing, image.created()));
}

#[test]
fn publishing_again_writes_a_record_that_was_removed_or_changed() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    let path = place.records().remove(0);
    let whole = fs::read(&path).unwrap();
    let relabelled = String::from_utf8(whole.clone()).unwrap().replace("worker-1", "worker-2").into_bytes();
    assert_ne!(relabelled, whole);
    for there in [None, Some(relabelled), Some(whole[..whole.len() / 2].to_vec())] {
        match there {
            None => fs::remove_file(&path).unwrap(),
            Some(there) => fs::write(&path, there).unwrap(),
        }
        let (again, publication) = store.publish(NAME, recipe(&store, 1).seal(), None).unwrap();
        assert_eq!((publication, again.id()), (Publication::Existing, image.id()));
        assert!(fs::read(&path).unwrap() == whole);
    }
}

#[test]
fn a_released_image_is_gone_at_once_and_for_good() {
    let place = Place::new();
    let store = place.open();
    let (gone, kept) = (publish(&store, 1), publish(&store, 2));
    assert!(store.release(&gone.id()).unwrap());
    assert!(!store.release(&gone.id()).unwrap());
    assert_eq!(see(&store, &gone, "initrd.img"), Seen::NotFound);
    assert!(store.image(&gone.id()).is_none());
    drop(store);

    let store = place.open();
    assert_eq!(see(&store, &gone, "initrd.img"), Seen::NotFound);
    assert!(see(&store, &kept, "initrd.img").is_file());
    // The same content has the same address again.
    assert_eq!(publish(&store, 1).token(), gone.token());
}

#[test]
fn the_digest_is_that_of_the_bytes() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    for (name, file) in
        [("vmlinuz", FileName::Kernel), ("initrd.img", FileName::Initrd), ("rootfs.img", FileName::Rootfs)]
    {
        let Seen::File { bytes, .. } = see(&store, &image, name) else { panic!("not served") };
        for _ in 0..2 {
            assert_eq!(image.digest(file).unwrap(), Digest::of(&bytes), "{name}");
        }
    }
    let error = image.digest(FileName::BootIso).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn an_image_takes_one_or_two_blocks_that_only_the_server_may_read() {
    let place = Place::new();
    let store = place.open();
    publish(&store, 1);
    let metadata = fs::metadata(&place.records()[0]).unwrap();
    assert!(metadata.blocks() * 512 <= 8192, "{} blocks", metadata.blocks());
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o600);
    for path in [place.data(), place.data().join("images"), place.data().join("damaged")] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o7777, 0o700);
    }
}

#[test]
fn two_servers_cannot_share_a_data_directory() {
    let place = Place::new();
    let store = place.open();
    let error = place.open_with(vec![place.base(NAME)]).unwrap_err();
    assert!(matches!(error, OpenError::Directory(_)));
    assert!(error.to_string().contains("another dayone uses"), "{error}");
    publish(&store, 1);
    drop(store);
    assert_eq!(place.open().images().len(), 1);
}

#[test]
fn another_key_is_never_made_up_for_images_that_are_there() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    drop(store);
    let (key, moved) = (place.data().join("key"), place.data().join("key.moved"));
    fs::rename(&key, &moved).unwrap();
    let error = place.open_with(vec![place.base(NAME)]).unwrap_err().to_string();
    assert!(error.contains("restore the key from a backup"), "{error}");
    assert!(!key.exists());

    fs::write(&key, [7; 31]).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let error = place.open_with(vec![place.base(NAME)]).unwrap_err().to_string();
    assert!(error.contains("31 bytes") && error.contains(&key.display().to_string()), "{error}");

    fs::rename(&moved, &key).unwrap();
    assert!(see(&place.open(), &image, "initrd.img").is_file());
}

#[test]
fn what_cannot_be_published_says_why() {
    let place = Place::new();
    let store = place.open();
    let error = store.publish("other", recipe(&store, 1).seal(), None).unwrap_err();
    assert!(matches!(&error, StoreError::UnknownBase(name) if name == "other"));
    let mut iso = recipe(&store, 1);
    iso.format = Format::Iso;
    assert!(matches!(store.publish(NAME, iso.seal(), None), Err(StoreError::Image(_))));
    assert!(store.images().is_empty() && place.records().is_empty());
}

#[test]
fn a_record_that_cannot_be_written_is_not_acknowledged() {
    let place = Place::new();
    let store = place.open();
    let kept = publish(&store, 1);
    // A directory in its place: what the rename cannot replace. (Permissions do not bind root.)
    let refused = recipe(&store, 2);
    let in_the_way = place.data().join("images").join(format!("{}.json", refused.id()));
    fs::create_dir(&in_the_way).unwrap();
    let error = store.publish(NAME, refused.clone().seal(), None).unwrap_err();
    assert!(matches!(error, StoreError::Write(_)));
    assert!(!error.to_string().contains(&place.data().display().to_string()), "{error}");
    assert!(store.image(&refused.id()).is_none());
    assert_eq!(place.records().len(), 2, "nothing unfinished is left");
    fs::remove_dir(&in_the_way).unwrap();
    store.publish(NAME, refused.seal(), None).unwrap();
    assert!(see(&store, &kept, "initrd.img").is_file());
}

#[test]
fn lookups_do_not_touch_the_disk() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    let (token, mut found) = (image.token().as_str().to_owned(), 0);
    let before = syscalls();
    for _ in 0..3000 {
        found += usize::from(matches!(store.find(&token, "initrd.img"), Lookup::Found(_)));
    }
    assert_eq!(found, 3000);
    let calls = syscalls() - before;
    assert!(calls < 10, "{calls} calls, of which reading the counter is a few");
}

/// Read and write calls of this thread so far.
fn syscalls() -> u64 {
    let io = fs::read_to_string("/proc/thread-self/io").unwrap();
    let count = |name| io.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().parse::<u64>().unwrap();
    count("syscr:") + count("syscw:")
}

#[test]
fn a_data_image_needs_no_base_to_come_back() {
    let place = Place::new();
    let store = place.open_with(vec![]).unwrap();
    let drive =
        DataDrive { user_data: Some("#!/bin/sh\n".into()), ..DataDrive::new(DataKind::NoCloud, FileSystem::Iso) };
    let nothing = Recipe::new(store.empty_base().identity, Format::Data, Additions::default());
    let publish = |recipe: Recipe| {
        store.publish_image(NewImage {
            base: None,
            recipe: recipe.seal(),
            label: None,
            limits: AccessLimits::default(),
        })
    };
    let (image, publication) = publish(Recipe { data: Some(drive), ..nothing.clone() }).unwrap();
    assert_eq!((publication, image.base_name()), (Publication::Created, None));
    let before = see(&store, &image, "data.iso");
    let Seen::File { bytes, .. } = &before else { panic!("{before:?}") };
    assert_eq!(image.digest(FileName::DataIso).unwrap(), Digest::of(bytes));
    // Neither a drive without a purpose nor another image gets by without a base.
    for recipe in [nothing.clone(), Recipe { format: Format::Initrd, ..nothing }] {
        assert!(matches!(publish(recipe), Err(StoreError::Image(_))));
    }
    store.recheck();
    assert_eq!(see(&store, &image, "data.iso"), before);
    drop(store);
    for bases in [vec![], vec![place.base(NAME)]] {
        assert_eq!(see(&place.open_with(bases).unwrap(), &image, "data.iso"), before);
    }
}
