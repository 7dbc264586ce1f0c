//! What the audit log tells of boots.

use std::path::PathBuf;
use std::time::Duration;

use dayone::audit::AuditSettings;
use dayone::boots::BootSettings;
use dayone::services::Config;
use redfish::ClientOptions;
use redfish::bmc::Limits;
use serde_json::{Value, json};

use crate::audit::until_recorded;
use crate::audited_images::of;
use crate::boots::{delete, host, until};
use crate::boots_calls::call_home;
use crate::emulated_bmc::EmulatedBmc;
use crate::support::{Answer, Dayone, Place};

/// A server with an audit log, whose path is returned, too.
async fn server() -> (Dayone, PathBuf) {
    let place = Place::new();
    let log = place.path("audit.jsonl");
    let client = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    let limits = Limits { settle: Duration::from_millis(600), ..Limits::default() };
    let boots = BootSettings { client, limits, ..BootSettings::default() };
    let audit = Some(AuditSettings { target: log.clone().into(), max_bytes: None });
    let config = Config { boots, audit, ..place.config() };
    (Dayone::start_with(place, config).await, log)
}

async fn begin(dayone: &Dayone, bmc: &EmulatedBmc, query: &str) -> Value {
    let request = dayone.post(&format!("/v1/boots?base=coreos{query}"), host("worker-0", &bmc.url()));
    Answer::of(request).await.ok()["boots"][0].clone()
}

#[tokio::test]
async fn the_end_of_a_boot_that_dayone_undoes_is_recorded_once() {
    let bmc = EmulatedBmc::start().await;
    bmc.machine.lock().unwrap().only_accepts = true;
    let (dayone, log) = server().await;
    let boot = begin(&dayone, &bmc, "&power_off=true").await;
    until(&dayone, &boot, "over", |boot| boot["ended"] == true).await;
    until_recorded(&log, "boot-ended").await;
    assert_eq!(delete(&dayone, &boot, "").await, 204);

    let (begun, ended, deleted) = (of(&log, "boot-begun"), of(&log, "boot-ended"), of(&log, "boot-deleted"));
    assert_eq!((begun.len(), ended.len(), deleted.len()), (1, 1, 1), "{ended:?}");
    assert_eq!((&ended[0]["state"], &ended[0]["who"]), (&json!("failed"), &json!("server")));
    for entry in [&begun[0], &ended[0], &deleted[0]] {
        assert_eq!((&entry["boot"], &entry["image"]), (&boot["id"], &boot["image"]), "{entry}");
        assert_eq!((&entry["host"], &entry["bmc"]), (&json!("worker-0"), &begun[0]["bmc"]), "{entry}");
    }
    assert!(begun[0]["bmc"].is_string(), "{begun:?}");
}

#[tokio::test]
async fn the_end_of_a_boot_that_ejects_by_itself_is_recorded_once() {
    let bmc = EmulatedBmc::start().await;
    let (dayone, log) = server().await;
    let boot = begin(&dayone, &bmc, "&wait_for=call-home&eject=when-booted").await;
    until(&dayone, &boot, "started", |boot| boot["steps"][3]["state"] == "done").await;
    let url = call_home(&dayone.place, &boot["image"]);
    // As the host does, until the server has recorded its call.
    let mut calls = 0;
    while Answer::of(dayone.client.get(&url)).await.status != 204 {
        calls += 1;
        assert!(calls < 200, "the server does not answer the call");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    until(&dayone, &boot, "over", |boot| boot["ended"] == true).await;
    until_recorded(&log, "boot-ended").await;
    // Its answer waits until the log has all entries before it.
    assert_eq!(delete(&dayone, &boot, "").await, 204);
    let ended = of(&log, "boot-ended");
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!((&ended[0]["boot"], &ended[0]["state"]), (&boot["id"], &json!("booted")));
}
