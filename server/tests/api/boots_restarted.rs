//! Boots across a restart of the server.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use dayone::boots::BootSettings;
use redfish::ClientOptions;
use redfish::bmc::Limits;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::boots::{Silent, delete, host, start, until};
use crate::emulated_bmc::EmulatedBmc;
use crate::support::{Answer, Dayone, Place};

fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

fn settings(at_once: usize, pause: Duration) -> BootSettings {
    let client = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    let limits = Limits { pause, ..Limits::default() };
    BootSettings { at_once, client, limits, ..BootSettings::default() }
}

#[tokio::test]
async fn a_boot_that_failed_because_of_the_disk_stays_failed() {
    // The server writes the record while it runs, and when it stops.
    for pause in [Duration::from_millis(10), Duration::from_hours(1)] {
        let (silent, bmc) = (Silent::new(), EmulatedBmc::start().await);
        let dayone = start(Place::new(), settings(1, pause)).await;
        let documents = host("worker-0", &silent.url()) + &host("worker-1", &bmc.url());
        let boots = Answer::of(dayone.post("/v1/boots?base=coreos", documents)).await.ok()["boots"].clone();
        until(&dayone, &boots[0], "running", |boot| boot["state"] == "running").await;
        let record = dayone.place.path(&format!("data/boots/{}.json", boots[1]["id"].as_str().unwrap()));
        let queued = fs::read(&record).unwrap();
        // A file cannot take the place of a directory.
        fs::remove_file(&record).unwrap();
        fs::create_dir(&record).unwrap();
        assert_eq!(delete(&dayone, &boots[0], "?forget=true").await, 204);
        let failed = until(&dayone, &boots[1], "failed", |boot| boot["state"] == "failed").await;
        assert_eq!(failed["ended"], true, "{failed:#}");
        let metrics = String::from_utf8(Answer::of(dayone.get("/metrics")).await.body).unwrap();
        assert!(metrics.contains("dayone_boots_total{outcome=\"failed\"} 1\n"), "{metrics}");

        // A full disk leaves the older record. In one step, so that this does not replace a record that the server has just written.
        let older = dayone.place.path("older.json");
        fs::write(&older, &queued).unwrap();
        exchange(&older, &record);
        fs::remove_dir(&older).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while pause < Duration::from_secs(1) && fs::read(&record).unwrap() == queued {
            assert!(Instant::now() < deadline, "the record is not written");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let dayone = dayone.restart_with(|config| config.boots = settings(1, pause)).await;
        let written: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
        assert_eq!((&written["state"], &written["bmc"]["credentials"]), (&json!("failed"), &json!("forgotten")));
        until(&dayone, &boots[1], "failed", |boot| boot["state"] == "failed").await;
        assert!(bmc.sent().is_empty(), "{:?}", bmc.sent());
    }
}

/// How many boots are in this state.
async fn count(dayone: &Dayone, state: &str) -> usize {
    let listed = Answer::of(dayone.get(&format!("/v1/boots?state={state}"))).await.ok();
    listed["boots"].as_array().unwrap().len()
}

async fn until_continued(dayone: &Dayone, boot: &Value) {
    let continues = |boot: &Value| boot["remarks"].to_string().contains("was restarted, and continues");
    until(dayone, boot, "continued", continues).await;
}

#[tokio::test]
async fn boots_that_are_under_way_do_not_wait_for_their_turn_again() {
    let bmcs = [EmulatedBmc::start().await, EmulatedBmc::start().await];
    let dayone = start(Place::new(), settings(2, Duration::from_millis(10))).await;
    // Many, because not each of them would begin when the server stops.
    let waiting: Vec<Silent> = (0..20).map(|_| Silent::new()).collect();
    let urls = bmcs.iter().map(EmulatedBmc::url).chain(waiting.iter().map(Silent::url)).enumerate();
    let documents: String = urls.map(|(number, url)| host(&format!("worker-{number:02}"), &url)).collect();
    let boots = Answer::of(dayone.post("/v1/boots?base=coreos", documents)).await.ok()["boots"].clone();
    for number in 0..2 {
        until(&dayone, &boots[number], "started", |boot| boot["steps"][3]["state"] == "done").await;
    }
    let dayone = dayone.restart_with(|config| config.boots = settings(1, Duration::from_millis(10))).await;
    assert_eq!(count(&dayone, "queued").await, waiting.len());
    until_continued(&dayone, &boots[0]).await;
    until_continued(&dayone, &boots[1]).await;
    // One may run, and two do.
    assert_eq!(delete(&dayone, &boots[0], "?forget=true").await, 204);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(count(&dayone, "queued").await, waiting.len());
    assert_eq!(delete(&dayone, &boots[1], "?forget=true").await, 204);
    for _ in 0..400 {
        if count(&dayone, "running").await == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{} boots run, and one may", count(&dayone, "running").await);
}

#[tokio::test]
async fn boots_that_run_go_on_although_they_have_not_changed_their_bmcs_yet() {
    let bmcs = [Silent::new(), Silent::new()];
    let dayone = start(Place::new(), settings(2, Duration::from_millis(10))).await;
    let documents = host("worker-0", &bmcs[0].url()) + &host("worker-1", &bmcs[1].url());
    let boots = Answer::of(dayone.post("/v1/boots?base=coreos", documents)).await.ok()["boots"].clone();
    for number in 0..2 {
        until(&dayone, &boots[number], "asked", |boot| boot["steps"][1]["state"] == "running").await;
    }
    let dayone = dayone.restart_with(|config| config.boots = settings(1, Duration::from_millis(10))).await;
    until_continued(&dayone, &boots[0]).await;
    until_continued(&dayone, &boots[1]).await;
}
