//! A data directory that is encrypted: with one key, with another, and not any more.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use dayone::store::{BaseRecord, BaseSource, DecryptError, OpenError, end_grace, key_state, rotate_key};
use imagelib::base::Role;
use proptest::prelude::*;
use tracing::field::Field;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::support::*;

const ONE: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222222222222222222222222222";
const BEGIN: &[u8] = br#"{"version":3,"encrypted":""#;

/// All files of the data directory, but those that only save work.
fn files(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for directory in ["", "images", "boots", "bases", "damaged"] {
        for entry in fs::read_dir(place.data().join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_file() && !name.starts_with("base-") && name != "lock" {
                files.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    files
}

fn write(files: &BTreeMap<PathBuf, Vec<u8>>) {
    for (path, bytes) in files {
        fs::write(path, bytes).unwrap();
    }
}

/// How many of the files are encrypted.
fn encrypted(place: &Place) -> usize {
    files(place).values().filter(|bytes| bytes.starts_with(BEGIN)).count()
}

/// Three published images, and what clients see of them.
fn published(place: &Place) -> Vec<(String, Seen)> {
    let store = place.open();
    let images: Vec<_> = (1..=3).map(|number| publish(&store, number)).collect();
    let seen = |token: &str| look(&store, token, "initrd.img");
    images.iter().map(|image| (image.token().as_str().to_owned(), seen(image.token().as_str()))).collect()
}

fn assert_served(place: &Place, images: &[(String, Seen)], when: &str) {
    let store = place.open();
    for (token, before) in images {
        assert!(before.is_file());
        assert_eq!(look(&store, token, "initrd.img"), *before, "{when}");
    }
    assert_eq!(fs::read_dir(place.data().join("damaged")).unwrap().count(), 0, "{when}");
}

fn refused(place: &Place) -> (PathBuf, DecryptError, usize) {
    match place.open_with(vec![place.base(NAME)]) {
        Err(OpenError::Encrypted { path, reason, others }) => (path, reason, others),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_directory_goes_from_one_key_to_the_next_and_back_to_none() {
    let place = Place::new();
    let images = published(&place);
    assert_eq!(encrypted(&place), 0);
    let before = files(&place);
    let mut place = place;
    for (keys, all) in [
        (&[ONE][..], 4),
        (&[TWO, ONE], 4),
        (&[TWO], 4),
        (&["none", TWO], 0),
        // Again, and away from a key in one step.
        (&[ONE], 4),
        (&["none", TWO, ONE], 0),
        (&["none"], 0),
    ] {
        place = place.with_keys(keys);
        assert_served(&place, &images, &format!("{keys:?}"));
        assert_eq!(encrypted(&place), all, "{keys:?}");
        let settled = files(&place);
        assert_served(&place, &images, &format!("again with {keys:?}"));
        assert_eq!(files(&place), settled, "what is in its form already is not written again");
    }
    assert_eq!(files(&place), before);
}

#[test]
fn new_images_are_encrypted_and_orders_of_them_again_find_their_records() {
    let place = Place::new().with_keys(&[ONE]);
    let images = published(&place);
    assert_eq!(encrypted(&place), 4, "three records, and the key");
    let store = place.open();
    let before = files(&place);
    let (image, publication) = store.publish(NAME, recipe(&store, 1).seal(), Some("worker-1".to_owned())).unwrap();
    assert_eq!(publication, dayone::store::Publication::Existing);
    assert_eq!(files(&place), before, "its record is right");
    // Somebody has changed it meanwhile.
    let path = place.data().join("images").join(format!("{}.json", image.id()));
    let mut changed = before[&path].clone();
    changed[100] ^= 1;
    fs::write(&path, &changed).unwrap();
    store.publish(NAME, recipe(&store, 1).seal(), Some("worker-1".to_owned())).unwrap();
    drop(store);
    assert_served(&place, &images, "after the record was written again");
}

#[test]
fn without_the_right_key_the_server_does_not_start_and_touches_nothing() {
    let place = Place::new().with_keys(&[ONE]);
    published(&place);
    let before = files(&place);
    let place = place.with_keys(&["none"]);
    let (path, reason, others) = refused(&place);
    assert_eq!((reason, others), (DecryptError::NoKey, 3));
    assert!(path.starts_with(place.data()) && reason.to_string().contains("data-key-file"), "{reason}");
    let place = place.with_keys(&[TWO]);
    let (_, reason, others) = refused(&place);
    assert!(matches!(reason, DecryptError::OtherKey(_)) && others == 3, "{reason}");
    assert!(reason.to_string().contains("data-key-file") && !reason.to_string().contains("damaged"), "{reason}");
    assert_eq!(files(&place), before);
    // One file of another key is enough, and nothing else is brought into another form before that is known.
    let path = place.records().remove(1);
    write(&before);
    let place = place.with_keys(&[TWO, ONE]);
    drop(place.open());
    fs::write(&path, &before[&path]).unwrap();
    let mixed = files(&place);
    let place = place.with_keys(&[TWO]);
    let (found, reason, others) = refused(&place);
    assert!(found == path && others == 0 && matches!(reason, DecryptError::OtherKey(_)), "{reason}");
    assert_eq!(files(&place), mixed);
}

/// A crash leaves some files in their old form, and others in their new one.
#[test]
fn a_change_of_keys_goes_on_after_a_crash_at_any_file() {
    let mut place = Place::new();
    let images = published(&place);
    let mut forms = vec![(vec!["none"], files(&place))];
    for keys in [vec![ONE], vec![TWO, ONE], vec!["none", TWO]] {
        place = place.with_keys(&keys);
        assert_served(&place, &images, "in between");
        forms.push((keys, files(&place)));
    }
    for pair in forms.windows(2) {
        let [(_, old), (keys, new)] = pair else { panic!() };
        place = place.with_keys(keys);
        for done in 0_u32..1 << old.len() {
            let is_done = |number: usize| done & (1 << number) != 0;
            let mixed = old.iter().zip(new).enumerate().map(|(number, ((path, old), (_, new)))| {
                (path.clone(), if is_done(number) { new.clone() } else { old.clone() })
            });
            write(&mixed.collect());
            assert_served(&place, &images, &format!("{done:b} of {keys:?}"));
            let forms = |files: &BTreeMap<PathBuf, Vec<u8>>| -> Vec<bool> {
                files.values().map(|bytes| bytes.starts_with(BEGIN)).collect()
            };
            assert_eq!(forms(&files(&place)), forms(new), "{done:b} of {keys:?}");
        }
    }
}

#[test]
fn a_record_in_the_place_of_another_is_not_read() {
    let place = Place::new().with_keys(&[ONE]);
    let images = published(&place);
    let records = place.records();
    let (first, second) = (fs::read(&records[0]).unwrap(), fs::read(&records[1]).unwrap());
    fs::write(&records[0], &second).unwrap();
    fs::write(&records[1], &first).unwrap();
    let store = place.open();
    assert_eq!(store.images().len(), 1);
    let served = images.iter().filter(|(token, _)| look(&store, token, "initrd.img").is_file()).count();
    assert_eq!(served, 1);
    drop(store);
    let damaged: Vec<PathBuf> =
        fs::read_dir(place.data().join("damaged")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(damaged.len(), 2, "they are damaged, and no key is missing");
    // Nor is a record the key.
    fs::copy(&records[2], place.data().join("key")).unwrap();
    let error = place.open_with(vec![place.base(NAME)]).unwrap_err();
    assert!(matches!(error, OpenError::Key { .. }), "{error}");
}

#[test]
fn an_encrypted_record_with_any_byte_changed_is_never_served() {
    let place = Place::new().with_keys(&[ONE]);
    let records = publish_recorded(&place);
    let kept = publish(&place.open(), 100);
    let (mut refused, mut left_out) = (0, 0);
    for mut group in damage_in_turn(&records) {
        for (position, record) in &group {
            let mut changed = record.whole.clone();
            changed[*position] ^= 1;
            fs::write(&record.path, changed).unwrap();
        }
        let store = loop {
            match place.open_with(vec![place.base(NAME)]) {
                // It looks like a record of another key, which may be the truth: nothing is changed.
                Err(OpenError::Encrypted { path, reason: DecryptError::OtherKey(_), .. }) => {
                    let at = group.iter().position(|(_, record)| record.path == path).unwrap();
                    assert!(group.iter().all(|(_, record)| record.path.exists()));
                    let (_, record) = group.remove(at);
                    fs::write(&record.path, &record.whole).unwrap();
                    refused += 1;
                }
                other => break other.unwrap(),
            }
        };
        for (position, record) in &group {
            let seen = see(&store, &record.image, "initrd.img");
            assert!(matches!(seen, Seen::NotFound | Seen::Unavailable(_)), "byte {position}: {seen:?}");
        }
        assert!(see(&store, &kept, "initrd.img").is_file());
        drop(store);
        for (_, record) in &group {
            fs::write(&record.path, &record.whole).unwrap();
        }
        left_out += group.len();
    }
    let length = records[0].whole.len();
    assert!((1..=11).contains(&refused) && left_out + refused >= length, "{refused} and {left_out} of {length}");
}

#[test]
fn what_was_damaged_before_there_was_a_key_is_encrypted_with_the_rest() {
    let place = Place::new();
    let images = published(&place);
    let damaged = place.data().join("damaged");
    let secret = |path: &Path| fs::read(path).unwrap().windows(7).any(|window| window == b"hunter2");
    // One that was set aside earlier, and one that this start will find.
    fs::write(damaged.join("old.json.1"), "{\"psk\":\"hunter2\"").unwrap();
    let name = format!("{}.json", "ab".repeat(32));
    fs::write(place.data().join("images").join(&name), "{\"psk\":\"hunter2\"").unwrap();
    let place = place.with_keys(&[ONE]);
    let store = place.open();
    assert!(look(&store, &images[0].0, "initrd.img").is_file());
    drop(store);
    for file in ["old.json.1", &name] {
        assert!(!secret(&damaged.join(file)), "{file}");
    }
    let place = place.with_keys(&["none", ONE]);
    drop(place.open());
    for file in ["old.json.1", &name] {
        assert_eq!(fs::read_to_string(damaged.join(file)).unwrap(), "{\"psk\":\"hunter2\"", "{file}");
    }
}

/// The messages that are logged meanwhile, with their paths.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Logged {
    fn on_event(&self, event: &tracing::Event<'_>, _context: Context<'_, S>) {
        let mut text = String::new();
        event.record(&mut |field: &Field, value: &dyn std::fmt::Debug| {
            write!(text, "{}={value:?} ", field.name()).unwrap();
        });
        self.0.lock().unwrap().push(text);
    }
}

/// Opens the store, and returns what it logs.
fn log_of_start(place: &Place) -> Vec<String> {
    let logged = Logged::default();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(logged.clone()), || drop(place.open()));
    let lines = logged.0.lock().unwrap();
    lines.clone()
}

const MAY_GO: &str = "no file in the data directory needs the keys in data-key-file that only decrypt";

/// Changes a byte behind the header.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.len() - 20;
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_record_does_not_keep_the_old_key() {
    let place = Place::new().with_keys(&[ONE]);
    let images = published(&place);
    let path = &place.records()[0];
    damage(path);
    let aside = place.data().join("damaged").join(path.file_name().unwrap());
    let place = place.with_keys(&[TWO, ONE]);
    // The first start sets the record aside. To the second, it is one in `damaged/`.
    for damaged in [path, &aside] {
        let log = log_of_start(&place);
        let named = |line: &&String| line.contains("no key decrypts") && line.contains(damaged.to_str().unwrap());
        assert_eq!(log.iter().filter(named).count(), 1, "{log:?}");
        assert_eq!(log.iter().filter(|line| line.contains(MAY_GO)).count(), 1, "{log:?}");
    }
    let place = place.with_keys(&[TWO]);
    let store = place.open();
    let served = images.iter().filter(|(token, before)| look(&store, token, "initrd.img") == *before).count();
    assert_eq!(served, 2);
}

#[test]
fn a_damaged_record_of_a_base_keeps_the_old_key_and_is_named() {
    let place = Place::new().with_keys(&[ONE]);
    published(&place);
    let store = place.open();
    let source = BaseSource { location: "/srv/a.iso".parse().unwrap(), sha256: None, signature: None };
    let record = BaseRecord::new("added".parse().unwrap(), None, BTreeMap::from([(Role::Iso, source)]));
    store.begin_base(record).unwrap();
    drop(store);
    let path = place.data().join("bases/00000001.json");
    damage(&path);
    let place = place.with_keys(&[TWO, ONE]);
    let log = log_of_start(&place);
    assert!(
        log.iter().any(|line| line.contains("no key decrypts") && line.contains(path.to_str().unwrap())),
        "{log:?}"
    );
    assert!(!log.iter().any(|line| line.contains(MAY_GO)), "{log:?}");
    // Because the server would not start without it.
    let place = place.with_keys(&[TWO]);
    assert_eq!(refused(&place).0, path);
    fs::remove_file(path).unwrap();
    let place = place.with_keys(&[TWO, ONE]);
    assert!(log_of_start(&place).iter().any(|line| line.contains(MAY_GO)));
}

#[test]
fn a_file_that_cannot_be_read_keeps_all_keys() {
    let mut place = Place::new().with_keys(&[ONE]);
    published(&place);
    let path = place.records().remove(0);
    for keys in [&[TWO, ONE][..], &["none", TWO, ONE]] {
        place = place.with_keys(keys);
        fs::set_permissions(&path, Permissions::from_mode(0o0)).unwrap();
        let log = unprivileged(|| log_of_start(&place));
        let is_named = |line: &String| line.contains("keep all keys") && line.contains(path.to_str().unwrap());
        assert!(log.iter().any(is_named) && !log.iter().any(|line| line.contains(MAY_GO)), "{log:?}");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert!(log_of_start(&place).iter().any(|line| line.contains(MAY_GO)));
    }
}

#[test]
fn the_installation_key_is_rotated_in_an_encrypted_directory() {
    let place = Place::new().with_keys(&[ONE]);
    let images = published(&place);
    let is_encrypted = || fs::read(place.data().join("key")).unwrap().starts_with(BEGIN);
    assert!(is_encrypted());
    let without = dayone::store::DataKeys::default();
    for error in [rotate_key(&place.data(), &without, 60), key_state(&place.data(), &without)] {
        assert!(error.unwrap_err().to_string().contains("data-key-file"));
    }
    rotate_key(&place.data(), &place.keys, 60).unwrap();
    assert!(is_encrypted());
    assert_served(&place, &images, "at the previous address");
    let store = place.open();
    end_grace(&place.data(), &place.keys).unwrap();
    store.follow_key().unwrap();
    assert!(store.remove_previous_key(false).unwrap().is_some());
    assert!(is_encrypted());
    assert_eq!(look(&store, &images[0].0, "initrd.img"), Seen::NotFound);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 10))]

    /// Whatever keys an operator goes through, in whichever order: with all of them in the file, the images are there.
    #[test]
    fn any_sequence_of_keys_keeps_all_images(sequence in proptest::collection::vec(0..3_usize, 1..6)) {
        let place = Place::new();
        let images = published(&place);
        let mut place = place;
        for first in sequence {
            let keys: &[&str] = match first {
                0 => &["none", ONE, TWO],
                1 => &[ONE, TWO],
                _ => &[TWO, ONE],
            };
            place = place.with_keys(keys);
            assert_served(&place, &images, &format!("{keys:?}"));
            prop_assert_eq!(encrypted(&place), if first == 0 { 0 } else { 4 });
        }
    }
}
