//! Limits on the access to images: they end it in time, and survive restarts, crashes and steps of the clock.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use dayone::store::{NewImage, Publication, Store, StoredImage};
use media::access::{Clock, Moment, Refusal};
use media::served::{Lookup, Published as _};
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::served::Plane;
use super::support::*;

/// Clocks that a test sets.
#[derive(Clone)]
pub(crate) struct Clocks(Arc<Mutex<Moment>>);

impl Clocks {
    pub(crate) fn new() -> Self {
        let wall = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
        Self(Arc::new(Mutex::new(Moment { wall, steady: Instant::now() })))
    }

    pub(crate) fn clock(&self) -> Clock {
        let clocks = self.clone();
        Clock::new(move || *clocks.0.lock())
    }

    /// Time passes.
    pub(crate) fn pass(&self, seconds: u64) {
        let mut now = self.0.lock();
        now.wall += Duration::from_secs(seconds);
        now.steady += Duration::from_secs(seconds);
    }

    /// Somebody sets the time of day.
    pub(crate) fn step(&self, seconds: i64) {
        let mut now = self.0.lock();
        let by = Duration::from_secs(seconds.unsigned_abs());
        now.wall = if seconds < 0 { now.wall - by } else { now.wall + by };
    }
}

fn open(place: &Place, clocks: &Clocks) -> Store {
    place.open_at(vec![place.base(NAME)], &clocks.clock()).unwrap()
}

fn order(store: &Store, number: usize, limits: Value) -> NewImage {
    NewImage { limits: serde_json::from_value(limits).unwrap(), ..new_image(store, number) }
}

fn publish_limited(store: &Store, number: usize, limits: Value) -> (Arc<StoredImage>, Publication) {
    store.publish_image(order(store, number, limits)).unwrap()
}

fn record(place: &Place) -> Value {
    serde_json::from_slice(&fs::read(place.records().remove(0)).unwrap()).unwrap()
}

#[test]
fn limits_change_neither_the_image_nor_the_record_of_one_without() {
    let place = Place::new();
    let store = place.open();
    let plain = publish(&store, 1);
    let (before, written) = (see(&store, &plain, "initrd.img"), fs::read(place.records().remove(0)).unwrap());
    assert_eq!(record(&place)["version"], 1);

    let limits = json!({"ttl": 3600, "max_reads": 2, "only_from": ["192.0.2.0/24"]});
    let (limited, publication) = publish_limited(&store, 1, limits.clone());
    assert_eq!((publication, limited.id(), limited.token()), (Publication::Existing, plain.id(), plain.token()));
    assert_eq!(see(&store, &limited, "initrd.img"), before);
    // An earlier dayone does not read this version, and answers 503.
    assert_eq!((&record(&place)["version"], &record(&place)["access"]["limits"]), (&json!(2), &limits));

    let (again, _) = store.publish(NAME, recipe(&store, 1).seal(), None).unwrap();
    assert!(again.access().is_none());
    assert_eq!(fs::read(place.records().remove(0)).unwrap(), written, "byte for byte");
}

#[test]
fn an_image_ends_and_is_removed_with_its_record() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let store = open(&place, &clocks);
    let (image, _) = publish_limited(&store, 1, json!({"ttl": 100}));
    let kept = publish(&store, 2);
    clocks.pass(99);
    store.recheck();
    assert!(see(&store, &image, "initrd.img").is_file());
    clocks.pass(1);
    // At once, and not only when the server looks.
    for file in ["initrd.img", "vmlinuz", "rootfs.img", "boot.ipxe"] {
        assert_eq!(see(&store, &image, file), Seen::NotFound, "{file}");
    }
    assert!(store.image(&image.id()).is_none() && store.images().len() == 1);
    assert_eq!(place.records().len(), 2);
    store.recheck();
    assert_eq!(place.records().len(), 1);
    assert!(see(&store, &kept, "initrd.img").is_file());
    clocks.step(-1000);
    assert_eq!(see(&store, &image, "initrd.img"), Seen::NotFound, "it does not come back");
}

#[test]
fn a_restart_neither_lengthens_nor_forgets_the_time_to_live() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let store = open(&place, &clocks);
    let (image, _) = publish_limited(&store, 1, json!({"ttl": 100}));
    drop(store);
    clocks.pass(60);
    let store = open(&place, &clocks);
    assert!(see(&store, &image, "initrd.img").is_file());
    clocks.step(-1_000_000);
    clocks.pass(39);
    assert!(see(&store, &image, "initrd.img").is_file());
    clocks.pass(1);
    assert_eq!(see(&store, &image, "initrd.img"), Seen::NotFound);
    drop(store);
    // A crash before the record was removed, with the clock still wrong: at most the whole time again.
    let store = open(&place, &clocks);
    clocks.pass(100);
    assert_eq!(see(&store, &image, "initrd.img"), Seen::NotFound);
    drop(store);
    clocks.step(1_000_000);
    open(&place, &clocks);
    assert!(place.records().is_empty(), "the start removes what has ended meanwhile");
}

#[test]
fn an_image_that_has_ended_can_be_ordered_again() {
    let (place, clocks) = (Place::new(), Clocks::new());
    let store = open(&place, &clocks);
    for publish in [(|store, image| store.publish_image(image)) as fn(&Store, NewImage) -> _, |store, image| {
        store.publish_group(vec![image]).remove(0)
    }] {
        let ended = publish(&store, order(&store, 1, json!({"ttl": 10}))).unwrap();
        assert_eq!(ended.1, Publication::Created);
        clocks.pass(5);
        // Somebody who orders it again begins the time again.
        let again = publish(&store, order(&store, 1, json!({"ttl": 10}))).unwrap();
        assert_eq!(again.1, Publication::Existing);
        clocks.pass(9);
        assert!(see(&store, &again.0, "initrd.img").is_file());
        clocks.pass(1);
        let (new, publication) = publish(&store, order(&store, 1, json!({}))).unwrap();
        assert_eq!((publication, new.id(), new.token()), (Publication::Created, ended.0.id(), ended.0.token()));
        clocks.pass(1_000_000);
        assert!(see(&store, &new, "initrd.img").is_file());
        assert!(store.release(&new.id()).unwrap());
    }
}

#[test]
fn networks_survive_a_restart_and_are_those_of_every_file() {
    let place = Place::new();
    let store = place.open();
    let (image, _) = publish_limited(&store, 1, json!({"only_from": ["192.0.2.0/24"]}));
    drop(store);
    let store = place.open();
    for file in ["initrd.img", "vmlinuz", "rootfs.img", "boot.ipxe"] {
        let Lookup::Found(served) = store.find(image.token().as_str(), file) else { panic!("{file}") };
        let access = served.access.unwrap();
        assert_eq!(access.admit(Some([192, 0, 2, 1].into())), Ok(()));
        assert_eq!(access.admit(Some([192, 0, 3, 1].into())), Err(Refusal::Address), "{file}");
    }
}

#[tokio::test]
async fn readings_are_counted_across_restarts_and_begin_again_with_new_limits() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let server = Plane::start(&store).await;
    let (image, _) = publish_limited(&store, 1, json!({"max_reads": 2}));
    let path = format!("/i/{}/vmlinuz", image.token().as_str());
    let get = async |server: &Plane| {
        let answer = server.client.get(format!("{}{path}", server.address)).send().await.unwrap();
        (answer.status().as_u16(), answer.bytes().await.unwrap().len())
    };
    let kernel = b"the kernel".len();
    assert_eq!(get(&server).await, (200, kernel));
    store.recheck();
    assert_eq!(record(&place)["access"]["delivered"]["vmlinuz"], kernel);
    let written = fs::read(place.records().remove(0)).unwrap();
    store.recheck();
    assert_eq!(fs::read(place.records().remove(0)).unwrap(), written);
    drop(server);
    // The plane's tasks have the store until they end.
    while Arc::strong_count(&store) > 1 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(store);

    let store = Arc::new(place.open());
    let server = Plane::start(&store).await;
    assert_eq!(store.image(&image.id()).unwrap().access().unwrap().reads("vmlinuz", kernel as u64), Some(1));
    assert_eq!(get(&server).await, (200, kernel));
    assert_eq!(get(&server).await.0, 403);
    store.record_reads();
    assert_eq!(record(&place)["access"]["delivered"]["vmlinuz"], 2 * kernel);

    let (_, publication) = publish_limited(&store, 1, json!({"max_reads": 1}));
    assert_eq!(publication, Publication::Existing);
    assert!(record(&place)["access"].get("delivered").is_none());
    assert_eq!((get(&server).await.0, get(&server).await.0), (200, 403));
    store.publish_image(order(&store, 1, json!({}))).unwrap();
    assert_eq!(get(&server).await.0, 200);
}

#[derive(Debug, Clone)]
enum Action {
    Order(usize, Option<u64>),
    Pass(u64),
    Step(i64),
    Check,
    Restart,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => (0_usize..2, prop::option::of(1_u64..50)).prop_map(|(number, ttl)| Action::Order(number, ttl)),
        4 => (0_u64..30).prop_map(Action::Pass),
        1 => (-100_i64..20).prop_map(Action::Step),
        2 => Just(Action::Check),
        2 => Just(Action::Restart),
    ]
}

/// What a test knows of an image: when it was ordered, by the clock that never steps, and its time to live.
#[derive(Clone, Copy)]
struct Ordered {
    at: u64,
    ttl: Option<u64>,
    /// When the server was restarted since.
    restarted_at: Option<u64>,
    /// By how many seconds the time of day was set forward since.
    forward: u64,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 10))]

    /// Whatever happens, an image is served until its time to live is over, and not after it: a step forward ends it early,
    /// and only a restart with a wrong clock begins the time again.
    #[test]
    fn an_image_is_served_for_its_time_to_live(actions in prop::collection::vec(action(), 1..40)) {
        let (place, clocks) = (Place::new(), Clocks::new());
        let mut store = open(&place, &clocks);
        let mut ordered: [Option<Ordered>; 2] = [None; 2];
        let mut elapsed = 0;
        for action in actions {
            match action {
                Action::Order(number, ttl) => {
                    publish_limited(&store, number, json!({"ttl": ttl}));
                    ordered[number] = Some(Ordered { at: elapsed, ttl, restarted_at: None, forward: 0 });
                }
                Action::Pass(seconds) => {
                    clocks.pass(seconds);
                    elapsed += seconds;
                }
                Action::Step(seconds) => {
                    clocks.step(seconds);
                    for ordered in ordered.iter_mut().flatten() {
                        ordered.forward += u64::try_from(seconds).unwrap_or_default();
                    }
                }
                Action::Check => store.recheck(),
                Action::Restart => {
                    drop(store);
                    store = open(&place, &clocks);
                    for ordered in ordered.iter_mut().flatten() {
                        ordered.restarted_at = Some(elapsed);
                    }
                }
            }
            for (number, ordered) in ordered.iter().enumerate() {
                let Some(Ordered { at, ttl, restarted_at, forward }) = *ordered else { continue };
                let id = recipe(&store, number).id();
                let served = store.image(&id).is_some();
                match ttl {
                    None => prop_assert!(served),
                    Some(ttl) => {
                        let longest = restarted_at.unwrap_or(at) + ttl;
                        prop_assert!(!served || elapsed < longest, "served {} s after its end", elapsed - longest);
                        let shortest = (at + ttl).saturating_sub(forward);
                        prop_assert!(served || elapsed >= shortest, "ended {} s too early", shortest - elapsed);
                    }
                }
            }
        }
    }
}
