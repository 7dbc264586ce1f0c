//! Rotations of the installation key: previous URLs keep their bytes for the grace period, and then are as if they had never been.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dayone::store::{
    InstallationKey, KeyChange, Keys, NewImage, OtherKey, Publication, Store, StoredImage, Until, key_state, rotate_key,
};
use imagelib::base::Format;
use imagelib::image::FileName;
use imagelib::recipe::{Recipe, RootfsLocation};
use media::UrlForm;
use media::served::Published as _;
use serde_json::{Value, json};

use super::limits::Clocks;
use super::served::Plane;
use super::support::*;

pub(super) const GRACE: u64 = 3600;

/// The name of a base from which hosts can fetch their root file system.
const PACKED: &str = "packed";

/// A store over two bases. From one of them, hosts can fetch their root file system.
pub(super) fn open(place: &Place, clocks: &Clocks) -> Store {
    let path = place.path("packed.iso");
    if !path.exists() && !place.path("away").exists() {
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/bases/coreos-packed.iso.xz");
        fs::write(&path, Command::new("xz").args(["-dc", fixture]).output().unwrap().stdout).unwrap();
    }
    let packed = format!("{PACKED}={}", path.display()).parse().unwrap();
    place.open_at(vec![place.base(NAME), packed], &clocks.clock()).unwrap()
}

/// Publishes an image that holds its own URL.
fn publish_own_url(store: &Store, number: usize) -> Arc<StoredImage> {
    let base = store.base(PACKED).unwrap().available().unwrap().identity;
    let rootfs = Some(RootfsLocation::MediaPlane("http://192.0.2.1:8081".to_owned()));
    let recipe = Recipe { format: Format::MinimalIso, rootfs, ..recipe_over(base, number) };
    store.publish(PACKED, recipe.seal(), None).unwrap().0
}

/// All files of an image at the address with this token.
fn all(store: &Store, token: &str) -> Vec<Seen> {
    ["boot.iso", "initrd.img", "vmlinuz", "rootfs.img", "boot.ipxe"].map(|file| look(store, token, file)).into()
}

/// Rotates the key, and lets the store take it over.
pub(super) fn rotate(place: &Place, store: &Store) {
    rotate_key(&place.data(), &place.keys, GRACE).unwrap();
    assert!(matches!(store.follow_key().unwrap(), Some(KeyChange::Rotated { until: Some(_) })));
}

pub(super) fn present(store: &Store, image: &StoredImage) -> Arc<StoredImage> {
    store.image(&image.id()).unwrap()
}

pub(super) fn token(image: &StoredImage) -> String {
    image.token().as_str().to_owned()
}

#[test]
fn previous_urls_keep_their_bytes_until_the_grace_period_ends_and_then_are_unknown() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let mut store = open(&place, &clocks);
    let (plain, own) = (publish(&store, 1), publish_own_url(&store, 2));
    let before = [all(&store, &token(&plain)), all(&store, &token(&own))];
    assert!(before.iter().all(|files| files.iter().any(Seen::is_file)));

    clocks.pass(10);
    rotate(&place, &store);
    assert_eq!(store.follow_key().unwrap(), None);
    let mut later = None;
    for restarted in [false, true] {
        assert_eq!([all(&store, &token(&plain)), all(&store, &token(&own))], before, "restarted: {restarted}");
        let (new_plain, new_own) = (present(&store, &plain), present(&store, &own));
        assert_ne!((token(&new_plain), token(&new_own)), (token(&plain), token(&own)));
        // The bytes of an image that does not hold its URL are the same at both, and so is its date.
        let script = |files: &[Seen]| files.len() - 1;
        let (now, was) = (all(&store, &token(&new_plain)), &before[0]);
        assert_eq!(now[..script(&now)], was[..script(was)]);
        assert_ne!(now.last(), was.last(), "the iPXE script has the URLs");
        // An image that holds its URL has the new one at the new one.
        let Seen::File { bytes, .. } = look(&store, &token(&new_own), "boot.iso") else { panic!("not served") };
        let has = |image: &StoredImage| bytes.windows(26).any(|window| window == token(image).as_bytes());
        assert!(has(&new_own) && !has(&own));
        let Seen::File { bytes, .. } = &before[1][0] else { panic!("not served") };
        assert!(bytes.windows(26).any(|window| window == token(&own).as_bytes()));
        let etags: Vec<String> = new_own.etags().map(|(_, etag)| etag.to_string()).collect();
        assert!(
            etags
                .iter()
                .any(|etag| matches!(&all(&store, &token(&new_own))[0], Seen::File { etag: seen, .. } if seen == etag))
        );
        assert_ne!(etags, own.etags().map(|(_, etag)| etag.to_string()).collect::<Vec<_>>());
        // A new image has no URL of the previous key: whoever knows that key cannot read it.
        let image = later.get_or_insert_with(|| publish(&store, 3)).clone();
        let key = fs::read(place.data().join("key")).unwrap();
        let key: Value = serde_json::from_slice(&key).unwrap();
        let bytes = data_encoding::HEXLOWER.decode(key["previous_key"].as_str().unwrap().as_bytes()).unwrap();
        let previous = InstallationKey::from_bytes(bytes.try_into().unwrap());
        assert_eq!(previous.token(&plain.id()), plain.token());
        assert!(look(&store, &token(&image), "initrd.img").is_file());
        assert_eq!(look(&store, previous.token(&image.id()).as_str(), "initrd.img"), Seen::NotFound);
        if !restarted {
            drop(store);
            store = open(&place, &clocks);
        }
    }

    clocks.pass(GRACE - 1);
    assert_eq!([all(&store, &token(&plain)), all(&store, &token(&own))], before);
    assert_eq!(store.remove_previous_key(false).unwrap(), None);
    clocks.pass(1);
    assert!(all(&store, &token(&plain)).iter().chain(&all(&store, &token(&own))).all(|seen| *seen == Seen::NotFound));
    assert_eq!(store.remove_previous_key(true).unwrap(), None, "something needs the key");
    assert_eq!(store.remove_previous_key(false).unwrap(), Some(KeyChange::PreviousRemoved));
    assert_eq!(store.remove_previous_key(false).unwrap(), None);
    assert_eq!(fs::read(place.data().join("key")).unwrap().len(), 32, "earlier versions can read it");
    let now = [&plain, &own].map(|image| all(&store, &token(&present(&store, image))));
    drop(store);
    let store = open(&place, &clocks);
    assert_eq!([&plain, &own].map(|image| all(&store, &token(&present(&store, image)))), now);
    assert!(all(&store, &token(&own)).iter().all(|seen| *seen == Seen::NotFound));
    // The next one.
    rotate(&place, &store);
    assert_eq!([&plain, &own].map(|image| present(&store, image).available().is_some()), [true; 2]);
}

#[test]
fn a_server_that_was_stopped_takes_the_key_over_when_it_starts_and_the_grace_period_begins_then() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let store = open(&place, &clocks);
    let (plain, own) = (publish(&store, 1), publish_own_url(&store, 2));
    let before = [all(&store, &token(&plain)), all(&store, &token(&own))];
    drop(store);
    assert_eq!(rotate_key(&place.data(), &place.keys, GRACE).unwrap().previous.unwrap().until, None);
    clocks.pass(10 * GRACE);
    let store = open(&place, &clocks);
    assert!(key_state(&place.data(), &place.keys).unwrap().previous.unwrap().until.is_some());
    assert!(matches!(store.follow_key().unwrap(), Some(KeyChange::Rotated { until: Some(_) })), "for the audit log");
    assert_eq!(store.follow_key().unwrap(), None);
    assert_eq!([all(&store, &token(&plain)), all(&store, &token(&own))], before);
    assert_ne!(token(&present(&store, &plain)), token(&plain));
    clocks.pass(GRACE);
    assert_eq!(look(&store, &token(&plain), "initrd.img"), Seen::NotFound);
}

#[test]
fn a_clock_that_is_set_back_lengthens_no_grace_period_and_gives_new_images_no_previous_url() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let store = open(&place, &clocks);
    let old = publish(&store, 1);
    rotate(&place, &store);
    clocks.step(-100_000);
    let new = publish(&store, 2);
    assert!(new.created() > old.created());
    drop(store);
    let store = open(&place, &clocks);
    assert!(look(&store, &token(&old), "initrd.img").is_file());
    clocks.pass(GRACE);
    assert_eq!(look(&store, &token(&old), "initrd.img"), Seen::NotFound);
}

#[test]
fn the_limits_of_an_image_hold_at_both_urls_together() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let store = open(&place, &clocks);
    let limits = serde_json::from_value(json!({"ttl": 60, "max_reads": 1})).unwrap();
    let (image, _) = store.publish_image(NewImage { limits, ..new_image(&store, 1) }).unwrap();
    rotate(&place, &store);
    let new = present(&store, &image);
    assert!(Arc::ptr_eq(&image.access().unwrap(), &new.access().unwrap()));
    assert!(look(&store, &token(&image), "initrd.img").is_file() && look(&store, &token(&new), "initrd.img").is_file());
    clocks.pass(60);
    for token in [token(&image), token(&new)] {
        assert_eq!(look(&store, &token, "initrd.img"), Seen::NotFound);
    }
    store.recheck();
    assert_eq!(place.records().len(), 0);
}

#[test]
fn the_same_order_gives_the_same_image_with_its_new_url_and_a_deleted_one_goes_at_both() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let store = open(&place, &clocks);
    let old = publish(&store, 1);
    rotate(&place, &store);
    let (again, publication) = store.publish(NAME, recipe(&store, 1).seal(), None).unwrap();
    assert_eq!((publication, again.id()), (Publication::Existing, old.id()));
    assert_ne!(again.token(), old.token());
    assert!(store.release(&old.id()).unwrap());
    for token in [token(&old), token(&again)] {
        assert_eq!(look(&store, &token, "initrd.img"), Seen::NotFound);
    }
}

#[test]
fn the_previous_key_stays_while_the_base_of_an_image_that_holds_its_url_is_away() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let store = open(&place, &clocks);
    let own = publish_own_url(&store, 1);
    drop(store);
    fs::rename(place.path("packed.iso"), place.path("away")).unwrap();
    let store = open(&place, &clocks);
    rotate(&place, &store);
    clocks.pass(GRACE);
    assert_eq!(look(&store, &token(&own), "boot.iso"), Seen::NotFound);
    assert_eq!(store.remove_previous_key(false).unwrap(), None);
    drop(store);
    fs::rename(place.path("away"), place.path("packed.iso")).unwrap();
    let store = open(&place, &clocks);
    assert!(look(&store, &token(&present(&store, &own)), "boot.iso").is_file());
    assert_eq!(store.remove_previous_key(false).unwrap(), Some(KeyChange::PreviousRemoved));
    drop(store);
    let store = open(&place, &clocks);
    assert!(look(&store, &token(&present(&store, &own)), "boot.iso").is_file());
}

#[test]
fn the_previous_key_stays_while_the_record_of_an_image_cannot_be_read() {
    for is_of_later_version in [false, true] {
        let (place, clocks) = (Place::new(), Clocks::new());
        let own = publish_own_url(&open(&place, &clocks), 1);
        let path = place.records().remove(0);
        let whole = fs::read_to_string(&path).unwrap();
        if is_of_later_version {
            fs::write(&path, whole.replacen(r#"{"version":1"#, r#"{"version":9"#, 1)).unwrap();
        } else {
            // More than dayone reads.
            fs::File::options().write(true).open(&path).unwrap().set_len(1 << 30).unwrap();
        }
        let store = open(&place, &clocks);
        rotate(&place, &store);
        clocks.pass(GRACE);
        assert_eq!(store.remove_previous_key(false).unwrap(), None);
        assert_eq!((store.has_ended_key(), store.images_of_previous_key()), (true, vec![own.id()]));
        drop(store);
        fs::write(&path, &whole).unwrap();
        let store = open(&place, &clocks);
        assert!(look(&store, &token(&present(&store, &own)), "boot.iso").is_file());
        assert_eq!(store.remove_previous_key(false).unwrap(), Some(KeyChange::PreviousRemoved));
        assert!(store.images_of_previous_key().is_empty());
    }
}

#[test]
fn an_image_that_holds_its_url_names_another_key_as_a_possible_reason() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let own = publish_own_url(&open(&place, &clocks), 1);
    fs::write(place.data().join("key"), [7; 32]).unwrap();
    let store = open(&place, &clocks);
    let seen = look(&store, &token(&present(&store, &own)), "boot.iso");
    assert!(
        seen.reason().contains("or this installation key") && seen.reason().contains("restore the key"),
        "{seen:?}"
    );
}

#[test]
fn every_publication_has_a_url_that_works_while_the_key_is_rotated() {
    let place = Place::new();
    let store = place.open();
    std::thread::scope(|scope| {
        let publishers: Vec<_> = (0..3_usize)
            .map(|thread| {
                let store = &store;
                scope.spawn(move || {
                    let publish = |number| {
                        let image = publish(store, 100 * thread + number);
                        (image.id(), token(&image))
                    };
                    (0..20).map(publish).collect::<Vec<_>>()
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(20));
        rotate(&place, &store);
        for (id, given) in publishers.into_iter().flat_map(|publisher| publisher.join().unwrap()) {
            assert!(look(&store, &given, "initrd.img").is_file(), "the URL that was given out");
            assert!(look(&store, &token(&store.image(&id).unwrap()), "initrd.img").is_file());
        }
    });
}

#[test]
fn a_failed_request_withdraws_its_image_even_after_a_rotation() {
    let place = Place::new();
    let store = place.open();
    let image = publish(&store, 1);
    rotate(&place, &store);
    assert_eq!(store.withdraw(vec![Arc::clone(&image)]).len(), 1);
    assert!(store.image(&image.id()).is_none());
}

/// A BMC that reads ranges under its URL notices nothing of a rotation and a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_was_begun_is_resumed_with_if_range_under_the_previous_url() {
    let place = Place::new();
    let mut store = Arc::new(open(&place, &Clocks::new()));
    let own = publish_own_url(&store, 1);
    let (path, mut dates) = (format!("/i/{}/boot.iso", token(&own)), Vec::new());
    let Seen::File { bytes, etag, .. } = look(&store, &token(&own), "boot.iso") else { panic!("not served") };
    let (first, rest) = bytes.split_at(bytes.len() / 3);
    let mut got = Vec::new();
    let cuts =
        [(0, first.len()), (first.len(), first.len() + rest.len() / 2), (first.len() + rest.len() / 2, bytes.len())];
    for (step, (from, to)) in cuts.into_iter().enumerate() {
        let served = Plane::start(&store).await;
        let request = served.client.get(format!("{}{path}", served.address)).header("If-Range", &etag);
        let answer = request.header("Range", format!("bytes={from}-{}", to - 1)).send().await.unwrap();
        assert_eq!(
            (answer.status(), answer.headers()["etag"].to_str().unwrap()),
            (reqwest::StatusCode::PARTIAL_CONTENT, etag.as_str())
        );
        dates.push(answer.headers()["last-modified"].clone());
        got.extend_from_slice(&answer.bytes().await.unwrap());
        // What a BMC reads at the previous URL counts for the image.
        assert!(present(&store, &own).read_since("boot.iso", None) != media::reading::Since::Nothing, "step {step}");
        if step == 0 {
            rotate(&place, &store);
        } else if step == 1 {
            drop(served);
            while Arc::strong_count(&store) > 1 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            drop(store);
            store = Arc::new(open(&place, &Clocks::new()));
        }
    }
    assert!(got == bytes);
    assert_eq!((&dates[0], &dates[0]), (&dates[1], &dates[2]));
}

#[test]
fn replicas_without_a_disk_serve_all_images_at_both_urls() {
    let place = Place::new();
    for urls in [UrlForm::Capability, UrlForm::Uuid] {
        let key = |byte| InstallationKey::from_bytes([byte; 32]);
        let store = place.in_memory(1, urls);
        let image = publish_for(&store, "a", 1);
        let path = |store: &Store, image: &StoredImage| store.url("a", image, FileName::Initrd);
        let other_url = |store: &Store| store.other_url("a", &present(store, &image), FileName::Initrd);
        let see = |url: &str| {
            let mut parts = url.rsplit('/');
            let (last, token) = (parts.next().unwrap(), parts.next().unwrap());
            seen(if urls == UrlForm::Uuid { store.find_name(last) } else { store.find(token, last) })
        };
        let old = path(&store, &image);
        let before = see(&old);
        assert_eq!(other_url(&store), None);
        let until = Until::after(SystemTime::now(), 600, store.now());
        let other = Some(OtherKey { key: key(1), until, images_until: None });
        store.use_keys(&Keys { current: key(2), other });
        let new = path(&store, &present(&store, &image));
        assert_ne!(new, old);
        assert_eq!(other_url(&store).as_ref(), Some(&old));
        assert!(before.is_file());
        assert_eq!((&see(&old), &see(&new)), (&before, &before));
        let next = publish_for(&store, "a", 2);
        assert!(see(&path(&store, &next)).is_file() && see(&new).is_file(), "the replaced image lingers");
        store.use_keys(&Keys::only(key(2)));
        assert_eq!((see(&old), see(&new), other_url(&store)), (Seen::NotFound, before, None));
        store.discard("a");
        assert_eq!(see(&new), Seen::NotFound);
    }
}
