//! The file of the installation key: who may change it, and what happens if it is damaged, or a command ends in the middle.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use dayone::store::{KeyChange, KeyCommandError, OpenError, end_grace, key_state, rotate_key};
use serde_json::Value;

use super::limits::Clocks;
use super::rotation::{GRACE, open, present, rotate, token};
use super::support::*;

#[test]
fn another_rotation_waits_for_the_end_of_the_grace_period_which_the_operator_can_end() {
    let (place, clocks) = (Place::new(), Clocks::new());
    assert!(matches!(rotate_key(&place.data(), &place.keys, GRACE), Err(KeyCommandError::NoKey(_))));
    let store = open(&place, &clocks);
    let old = publish(&store, 1);
    assert!(matches!(end_grace(&place.data(), &place.keys), Err(KeyCommandError::NoPrevious)));
    rotate(&place, &store);
    let written = fs::read(place.data().join("key")).unwrap();
    assert!(matches!(rotate_key(&place.data(), &place.keys, GRACE), Err(KeyCommandError::Underway)));
    assert_eq!(fs::read(place.data().join("key")).unwrap(), written);
    assert!(look(&store, &token(&old), "initrd.img").is_file());
    end_grace(&place.data(), &place.keys).unwrap();
    assert_eq!(store.follow_key().unwrap(), None);
    assert_eq!(look(&store, &token(&old), "initrd.img"), Seen::NotFound);
    assert_eq!(store.remove_previous_key(false).unwrap(), Some(KeyChange::PreviousRemoved));
    rotate(&place, &store);
    // Without a grace period from the beginning.
    end_grace(&place.data(), &place.keys).unwrap();
    store.follow_key().unwrap();
    store.remove_previous_key(false).unwrap();
    let last = present(&store, &old);
    rotate_key(&place.data(), &place.keys, 0).unwrap();
    assert_eq!(store.follow_key().unwrap(), Some(KeyChange::Rotated { until: None }));
    assert_eq!(look(&store, &token(&last), "initrd.img"), Seen::NotFound);
    assert_eq!(place.data().join("key").metadata().unwrap().permissions().mode() & 0o7777, 0o600);
}

#[test]
fn a_file_that_is_damaged_while_the_server_runs_takes_nothing_away() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let store = open(&place, &clocks);
    let image = publish(&store, 1);
    let key = place.data().join("key");
    let good = fs::read(&key).unwrap();
    for bad in [&good[..31], b"{\"version\":2", b""] {
        fs::write(&key, bad).unwrap();
        store.follow_key().unwrap_err();
        assert!(look(&store, &token(&image), "initrd.img").is_file());
    }
    fs::remove_file(&key).unwrap();
    store.follow_key().unwrap_err();
    rotate_key(&place.data(), &place.keys, GRACE).unwrap_err();
    fs::write(&key, good).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(store.follow_key().unwrap(), None);
}

#[test]
fn the_key_of_a_directory_in_place_of_the_data_directory_is_not_taken_over() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let store = open(&place, &clocks);
    let image = publish(&store, 1);
    fs::rename(place.data(), place.path("unmounted")).unwrap();
    let other = place.open();
    let key = fs::read(place.data().join("key")).unwrap();
    store.follow_key().unwrap_err();
    assert!(look(&store, &token(&image), "initrd.img").is_file());
    assert_eq!(store.image(&image.id()).unwrap().token(), image.token());
    assert_eq!(fs::read(place.data().join("key")).unwrap(), key);
    drop(other);
}

#[test]
fn no_key_takes_the_place_of_one_that_images_or_boots_need() {
    let (place, clocks) = (Place::new(), Clocks::new());
    publish(&open(&place, &clocks), 1);
    let [key, images, boots] = ["key", "images", "boots"].map(|name| place.data().join(name));
    let boot = boots.join("06gq1k2m5v8t3n4p.json");
    fs::write(&boot, "{}").unwrap();
    fs::remove_file(&key).unwrap();
    let missing = || match place.open_at(vec![place.base(NAME)], &clocks.clock()) {
        Err(error @ OpenError::KeyMissing { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(missing().contains(&format!("records in {} and {}:", images.display(), boots.display())), "{}", missing());
    fs::remove_file(&place.records()[0]).unwrap();
    assert!(missing().contains(&format!("records in {}:", boots.display())), "{}", missing());
    assert!(missing().contains("`dayone eject`") && !key.exists());
    fs::remove_file(boot).unwrap();
    drop(open(&place, &clocks));
    assert!(key.exists());
}

#[test]
fn a_command_that_is_killed_at_any_moment_leaves_the_old_key_or_both() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let image = publish(&open(&place, &clocks), 1);
    let key = place.data().join("key");
    let old = fs::read(&key).unwrap();
    let rotation = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dayone"));
        command.args(["key", "rotate", "--data-dir"]).arg(place.data()).stdout(Stdio::null());
        command.spawn().unwrap()
    };
    let (start, mut child) = (std::time::Instant::now(), rotation());
    while fs::read(&key).unwrap() == old {
        assert!(start.elapsed() < Duration::from_mins(1));
        std::thread::sleep(Duration::from_millis(1));
    }
    let whole = start.elapsed();
    child.kill().unwrap();
    child.wait().unwrap();
    fs::write(&key, &old).unwrap();
    let (mut kept, mut rotated) = (0, 0);
    for round in 0..60 {
        let mut child = rotation();
        // From its beginning to well after its end, on a busy machine, too.
        std::thread::sleep(whole * round / 30);
        child.kill().unwrap();
        child.wait().unwrap();
        let found = fs::read(&key).unwrap();
        if found == old {
            kept += 1;
        } else {
            rotated += 1;
            let json: Value = serde_json::from_slice(&found).unwrap();
            assert_eq!(json["previous_key"], data_encoding::HEXLOWER.encode(&old));
        }
        assert_eq!(key.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(key_state(&place.data(), &place.keys).unwrap().previous.is_some(), found != old);
        if round % 20 == 19 {
            assert!(look(&open(&place, &clocks), &token(&image), "initrd.img").is_file());
        }
        fs::write(&key, &old).unwrap();
    }
    assert!(kept > 0 && rotated > 0, "killed before {kept} times and after {rotated} times");
    drop(open(&place, &clocks));
    let left = fs::read_dir(place.data())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0);
}
