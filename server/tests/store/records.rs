//! Records that are torn, damaged, foreign or of another version: the server starts, and loses nothing else.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use dayone::store::Publication;
use imagelib::ignition::ExtraFile;
use imagelib::recipe::{PartOrder, Recipe};

use super::support::*;

#[test]
fn a_record_cut_anywhere_is_set_aside_and_the_others_stay() {
    let place = Place::new();
    let records = publish_recorded(&place);
    let kept = publish(&place.open(), 100);
    let mut cut = 0;
    for group in damage_in_turn(&records) {
        // Without its last byte, the line's end, it is whole still.
        let group: Vec<_> = group.into_iter().filter(|(length, record)| length + 1 < record.whole.len()).collect();
        for (length, record) in &group {
            fs::write(&record.path, &record.whole[..*length]).unwrap();
        }
        let store = place.open();
        for (length, record) in &group {
            assert_eq!(see(&store, &record.image, "initrd.img"), Seen::NotFound, "{length} bytes");
            assert!(!record.path.exists());
        }
        assert!(see(&store, &kept, "initrd.img").is_file());
        drop(store);
        for (_, record) in &group {
            fs::write(&record.path, &record.whole).unwrap();
        }
        cut += group.len();
    }
    assert!(cut + 1 >= records[0].whole.len(), "{cut}");
    assert_eq!(fs::read_dir(place.data().join("damaged")).unwrap().count(), cut);
    let store = place.open();
    for record in &records {
        assert_eq!(see(&store, &record.image, "initrd.img"), record.before);
    }
}

#[test]
fn a_record_with_any_byte_changed_never_serves_other_bytes() {
    let place = Place::new();
    let records = publish_recorded(&place);
    for group in damage_in_turn(&records) {
        for (position, record) in &group {
            let mut changed = record.whole.clone();
            changed[*position] ^= 1;
            fs::write(&record.path, changed).unwrap();
        }
        let store = place.open();
        for (position, record) in &group {
            match (see(&store, &record.image, "initrd.img"), &record.before) {
                (Seen::File { bytes: now, etag: now_etag, .. }, Seen::File { bytes, etag, .. }) => {
                    assert!(now == *bytes && now_etag == *etag, "byte {position}");
                }
                (Seen::NotFound | Seen::Unavailable(_), _) => {}
                (_, before) => panic!("{before:?}"),
            }
        }
        drop(store);
        for (_, record) in &group {
            fs::write(&record.path, &record.whole).unwrap();
        }
    }
}

#[test]
fn what_is_no_record_is_left_alone_and_what_is_unfinished_is_removed() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    drop(store);
    let images = place.data().join("images");
    let garbage = format!("{}.json", "ab".repeat(32));
    for name in ["README", "x.json", ".unfinished-Xy12", &garbage, "lost+found.json"] {
        fs::write(images.join(name), [0xFF, 0, b'{']).unwrap();
    }
    let directory = format!("{}.json", "cd".repeat(32));
    fs::create_dir(images.join(&directory)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", images.join(format!("{}.json", "ef".repeat(32)))).unwrap();

    let store = place.open();
    assert_eq!(store.images().len(), 1);
    assert!(see(&store, &image, "initrd.img").is_file());
    for (name, stays) in
        [("README", true), ("x.json", true), (".unfinished-Xy12", false), (&garbage, false), (&directory, true)]
    {
        assert_eq!(images.join(name).exists(), stays, "{name}");
    }
    assert_eq!(fs::read(place.data().join("damaged").join(&garbage)).unwrap(), [0xFF, 0, b'{']);
}

#[test]
fn a_record_under_another_image_s_name_is_set_aside() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    let other = recipe(&store, 2).id();
    drop(store);
    let images = place.data().join("images");
    copy(&images.join(format!("{}.json", image.id())), &images.join(format!("{other}.json")));
    let store = place.open();
    assert_eq!(store.images().len(), 1);
    assert!(place.data().join("damaged").join(format!("{other}.json")).exists());
}

#[test]
fn records_of_another_version_stay_and_answer_unavailable_until_released() {
    for (what, from, to) in [
        ("record", r#"{"version":1,"created""#, r#"{"version":9,"new":{},"created""#),
        ("recipe", r#""recipe":{"version":1"#, r#""recipe":{"version":9"#),
    ] {
        let place = Place::new();
        let store = place.open();
        let image = publish(&store, 1);
        drop(store);
        let path = place.records().remove(0);
        let record = fs::read_to_string(&path).unwrap();
        assert!(record.contains(from), "{record}");
        fs::write(&path, record.replace(from, to)).unwrap();

        let store = place.open();
        let seen = see(&store, &image, "initrd.img");
        assert!(seen.reason().contains("version 9"), "{what}: {seen:?}");
        assert!(path.exists(), "{what}");
        let error = store.publish(NAME, recipe(&store, 1).seal(), None).unwrap_err();
        assert!(error.to_string().contains("release it"), "{what}: {error}");
        assert!(store.release(&image.id()).unwrap());
        assert_eq!(see(&store, &image, "initrd.img"), Seen::NotFound);
        assert!(!path.exists());
        publish(&store, 1);
    }
}

#[test]
fn an_image_that_would_have_other_bytes_now_is_unavailable() {
    let place = Place::new();
    let store = place.open();
    let (image, kept) = (publish(&store, 1), publish(&store, 2));
    drop(store);
    // As if it had been published by a version that makes other bytes of the same recipe.
    let path = place.data().join("images").join(format!("{}.json", image.id()));
    let record = fs::read_to_string(&path).unwrap();
    let start = record.find(r#""initrd.img":""#).unwrap() + 14;
    let identity = &record[start..start + 64];
    fs::write(&path, record.replace(identity, &"0".repeat(64))).unwrap();

    let store = place.open();
    let seen = see(&store, &image, "initrd.img");
    assert!(seen.reason().contains("other bytes"), "{seen:?}");
    assert_eq!(see(&store, &image, "boot.iso"), Seen::NotFound);
    assert!(see(&store, &kept, "initrd.img").is_file());
    store.recheck();
    assert!(see(&store, &image, "initrd.img").reason().contains("other bytes"));
    let error = store.publish(NAME, recipe(&store, 1).seal(), None).unwrap_err();
    assert!(error.to_string().contains("another version"), "{error}");
}

/// Earlier versions took the parts of a recipe in the order in which they were given.
#[test]
fn an_image_that_was_published_in_another_order_stays_and_is_the_image_of_its_content() {
    let place = Place::new();
    let store = place.open();
    let file = |path: &str| ExtraFile {
        path: path.parse().unwrap(),
        mode: "0644".parse().unwrap(),
        user: 0,
        group: 0,
        contents: path.to_owned().into(),
    };
    let mut given = recipe(&store, 1);
    given.additions.files = vec![file("/etc/b"), file("/etc/a")];
    let earlier = Recipe { order: PartOrder::AsGiven, ..given.clone() };
    let (image, _) = store.publish(NAME, earlier.seal(), None).unwrap();
    assert_ne!(image.id(), given.id());
    let before = see(&store, &image, "initrd.img");
    drop(store);

    let store = place.open();
    let again = store.image(&image.id()).unwrap();
    assert_eq!(see(&store, &again, "initrd.img"), before);
    assert_eq!(again.etags().collect::<Vec<_>>(), image.etags().collect::<Vec<_>>());
    // Whoever orders that again, in whichever order, gets that image, and its record stays as it is.
    let written = fs::metadata(&place.records()[0]).unwrap();
    given.additions.files.reverse();
    assert_eq!(store.identity_of(&given.clone().seal()), image.id());
    let (same, publication) = store.publish(NAME, given.clone().seal(), None).unwrap();
    assert_eq!((publication, same.id(), same.token()), (Publication::Existing, image.id(), image.token()));
    assert_eq!(fs::metadata(&place.records()[0]).unwrap().ino(), written.ino());

    assert!(store.release(&image.id()).unwrap());
    let (new, publication) = store.publish(NAME, given.clone().seal(), None).unwrap();
    assert_eq!((publication, new.id()), (Publication::Created, given.id()));
}
