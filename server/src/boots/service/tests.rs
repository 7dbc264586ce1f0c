use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tempfile::TempDir;

use super::*;
use crate::boots::credentials::CredentialsSource;
use crate::boots::samples::new_boot;
use crate::boots::time::Timestamp;

/// The boots of a server without images.
struct Scene {
    boots: Boots,
    registry: Registry,
    data: TempDir,
}

impl Scene {
    async fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let media_url: MediaUrl = "http://192.0.2.1:8081".parse().unwrap();
        let store = Arc::new(Store::open(data.path(), Vec::new(), media_url.clone()).unwrap());
        let mut registry = Registry::default();
        let metrics = BootMetrics::new(&mut registry);
        let (settings, stopping) = (BootSettings::default(), CancellationToken::new());
        let boots = Boots::start(store, media_url, CallHomes::default(), settings, metrics, Audit::default(), stopping);
        Self { boots: boots.await.unwrap(), registry, data }
    }

    /// Adds a boot that no task works on.
    fn add(&self, address: &str) -> Arc<Boot> {
        let last = self.boots.0.boots().keys().next_back().copied();
        let (id, new) = (BootId::after(last).unwrap(), new_boot(None, address));
        let boot = Arc::new(Boot::new(BootRecord::new(id, new, CredentialsSource::None), false));
        self.boots.0.boots().insert(id, Arc::clone(&boot));
        boot
    }

    /// The path of a boot's record.
    fn record(&self, boot: &Boot) -> PathBuf {
        self.data.path().join(format!("boots/{}.json", boot.id()))
    }

    /// How many boots have failed, as the metrics have it.
    fn failed(&self) -> String {
        let mut shown = String::new();
        text::encode(&mut shown, &self.registry).unwrap();
        let line = shown.lines().find_map(|line| line.strip_prefix("boots_total{outcome=\"failed\"} "));
        line.unwrap().to_owned()
    }
}

fn fail(record: &mut BootRecord) {
    record.fail(Step::Insert, "no answer");
}

fn eject(record: &mut BootRecord) {
    record.delete();
    record.begin(Step::Ejected);
    record.ejected("");
}

#[tokio::test]
async fn a_boot_that_was_deleted_before_its_turn_never_had_the_image() {
    let scene = Scene::start().await;
    let (boot, since) = (scene.add("192.0.2.1"), Timestamp::now());
    scene.add("192.0.2.2").show(eject);
    assert!(!scene.boots.0.was_shared_since(&boot, since));
    scene.add("192.0.2.3").show(|record| {
        record.begin(Step::Insert);
        eject(record);
    });
    assert!(scene.boots.0.was_shared_since(&boot, since));
}

#[tokio::test]
async fn a_boot_that_ends_while_its_deletion_waits_is_removed_and_counts_once() {
    let scene = Scene::start().await;
    let boot = scene.add("192.0.2.1");
    let ends = scene.boots.0.change(&boot, fail);
    let (ended, deleted) = tokio::join!(ends, scene.boots.delete(boot.id(), None, false));
    ended.unwrap();
    assert!(matches!(deleted, Ok(Deleted::Forgotten)), "{deleted:?}");
    assert!(scene.boots.find(boot.id()).is_none());
    assert_eq!(scene.failed(), "1");
}

#[tokio::test]
async fn a_boot_that_is_deleted_while_it_begins_stays_deleted() {
    let scene = Scene::start().await;
    let boot = scene.add("192.0.2.1");
    let driven = engine::drive(Arc::clone(&scene.boots.0), Arc::clone(&boot), None);
    let both = async { tokio::join!(scene.boots.delete(boot.id(), None, false), driven) };
    let (deleted, ()) = tokio::time::timeout(Duration::from_secs(10), both).await.unwrap();
    assert!(matches!(deleted, Ok(Deleted::Ejecting(_))), "{deleted:?}");
    assert_eq!(boot.record().state, BootState::Ejected);
}

#[tokio::test]
async fn what_the_disk_has_not_accepted_is_written_with_the_next_change() {
    let scene = Scene::start().await;
    let boot = scene.add("192.0.2.1");
    scene.boots.0.show_unwritten(&boot, fail).await;
    assert!(boot.is_unwritten() && boot.record().is_ended());
    scene.boots.0.change(&boot, |_| ()).await.unwrap();
    assert!(!boot.is_unwritten());
    assert_eq!(fs::read(scene.record(&boot)).unwrap(), boot.record().to_json().unwrap());
    assert_eq!(scene.failed(), "1");
}

#[tokio::test]
async fn what_the_disk_has_not_accepted_is_written_although_an_old_record_could_not_be_removed() {
    let scene = Scene::start().await;
    let oldest = scene.add("192.0.2.1");
    scene.boots.0.show_unwritten(&oldest, fail).await;
    for _ in 0..MAX_ENDED {
        scene.add("192.0.2.1").show(fail);
    }
    let record = scene.record(&oldest);
    // A directory is not removed like a file.
    fs::create_dir(&record).unwrap();
    scene.boots.prune().await;
    fs::remove_dir(&record).unwrap();
    scene.boots.0.change(&oldest, |_| ()).await.unwrap();
    assert_eq!(fs::read(&record).unwrap(), oldest.record().to_json().unwrap());
    scene.boots.prune().await;
    assert!(scene.boots.find(oldest.id()).is_none() && !record.exists());
}

#[tokio::test]
async fn a_boot_whose_record_cannot_be_removed_goes_on() {
    let scene = Scene::start().await;
    let boot = scene.add("192.0.2.1");
    let record = scene.record(&boot);
    fs::create_dir(&record).unwrap();
    let deleted = scene.boots.delete(boot.id(), None, true).await;
    assert!(matches!(deleted, Err(DeleteError::Write(_))), "{deleted:?}");
    fs::remove_dir(&record).unwrap();
    scene.boots.0.change(&boot, fail).await.unwrap();
    assert!(record.is_file());
    let deleted = scene.boots.delete(boot.id(), None, false).await;
    assert!(matches!(deleted, Ok(Deleted::Forgotten)), "{deleted:?}");
    scene.boots.0.change(&boot, |record| record.remark("late")).await.unwrap_err();
    assert!(!record.exists());
}

#[tokio::test]
async fn a_request_does_not_wait_until_the_oldest_boots_are_removed() {
    let scene = Scene::start().await;
    for _ in 0..MAX_ENDED + 100 {
        scene.add("192.0.2.1").show(fail);
    }
    let oldest = scene.boots.all().first().unwrap().id();
    let begun = scene.boots.begin(vec![new_boot(None, "192.0.2.2")]).await.unwrap();
    assert!(scene.boots.all().len() > MAX_ENDED + 50, "they are removed already");
    let deadline = Instant::now() + Duration::from_secs(30);
    while scene.boots.all().len() > MAX_ENDED + 1 {
        assert!(Instant::now() < deadline, "{} are left", scene.boots.all().len());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(scene.boots.find(oldest).is_none());
    assert!(scene.boots.find(begun.first().unwrap().id()).is_some());
}

#[tokio::test]
async fn the_bmc_of_an_image_is_the_same_however_its_address_is_written() {
    let scene = Scene::start().await;
    let image = new_boot(None, "192.0.2.1").image;
    for address in ["192.0.2.1", "https://[::ffff:192.0.2.1]/redfish/v1/Systems/1", "192.0.2.1"] {
        scene.add(address);
        assert_eq!(scene.boots.bmc_of_image(&image).as_deref(), Some(address));
    }
    scene.add("192.0.2.2");
    assert_eq!(scene.boots.bmc_of_image(&image), None, "two hosts have the image");
}

#[tokio::test]
async fn boots_beyond_the_maximum_on_the_page_are_refused() {
    let scene = Scene::start().await;
    for number in 0..MAX_ACTIVE {
        scene.add(&format!("10.0.{}.{}", number / 256, number % 256));
    }
    let refused = scene.boots.check(&[new_boot(None, "192.0.2.1")]).unwrap_err().to_string();
    assert!(refused.contains(&format!("has {MAX_ACTIVE}; ")) && refused.contains("delete those"), "{refused}");
    let page = include_str!("../../../../docs/boots.md");
    assert!(page.contains(&format!("at most {},000 boots", MAX_ACTIVE / 1000)));
}
