//! The events of boots, for clients that connect again, and for those that take the places of others.

use std::time::Duration;

use dayone::boots::BootSettings;
use redfish::ClientOptions;

use crate::boots::{Silent, delete, host, start, until};
use crate::emulated_bmc::EmulatedBmc;
use crate::support::{Answer, Dayone, Place};

/// A revision as from before the clock was set back.
const ABOVE: &str = "9999999999999";

#[tokio::test]
async fn a_client_whose_revision_is_above_the_present_one_gets_the_boot() {
    let bmc = EmulatedBmc::start().await;
    let client = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    let dayone = start(Place::new(), BootSettings { client, ..BootSettings::default() }).await;
    let order = dayone.post("/v1/boots?base=coreos", host("worker-0", &bmc.url()));
    let boot = Answer::of(order).await.ok()["boots"][0].clone();
    let path = format!("/v1/boots/{}/events", boot["id"].as_str().unwrap());
    let follow = |seen: &str| dayone.get(&path).header("last-event-id", seen);
    until(&dayone, &boot, "started", |_| bmc.sent().iter().any(|sent| sent == "On")).await;
    let mut stream = follow(ABOVE).send().await.unwrap();
    // Before the first comment.
    let first = tokio::time::timeout(Duration::from_secs(10), stream.chunk()).await.unwrap().unwrap().unwrap();
    assert!(first.starts_with(b"event: boot\n"), "{}", String::from_utf8_lossy(&first));

    assert_eq!(delete(&dayone, &boot, "").await, 202);
    let ended = until(&dayone, &boot, "ended", |boot| boot["ended"] == true).await;
    let again = Answer::of(follow(ABOVE)).await;
    assert_eq!(again.status, 200);
    assert!(String::from_utf8(again.body).unwrap().contains(&format!("id: {}\n", ended["revision"])));
    assert_eq!(Answer::of(follow(&ended["revision"].to_string())).await.status, 204);
}

/// All clients behind a proxy have one address.
#[tokio::test]
async fn followers_with_one_address_leave_connections_for_others() {
    let dayone = Dayone::start().await;
    let bmc = Silent::new();
    let order = dayone.post("/v1/boots?base=coreos", host("worker-0", &bmc.url()));
    let boot = Answer::of(order).await.ok()["boots"][0].clone();
    let single = format!("/v1/boots/{}/events", boot["id"].as_str().unwrap());
    let mut streams = Vec::new();
    for path in [single.as_str(), "/v1/boots/events", "/live?"] {
        for _ in 0..64 {
            let stream = dayone.get(path).send().await.unwrap();
            assert_eq!(stream.status(), 200, "{path}");
            streams.push(stream);
        }
    }
    for path in ["/readyz", "/v1/bases"] {
        assert_eq!(dayone.get(path).send().await.unwrap().status(), 200, "{path}");
    }
}

#[tokio::test]
async fn the_places_of_clients_that_have_gone_are_free_soon() {
    let dayone = Dayone::start().await;
    let bmc = Silent::new();
    let order = dayone.post("/v1/boots?base=coreos", host("worker-0", &bmc.url()));
    let boot = Answer::of(order).await.ok()["boots"][0].clone();
    // Nothing changes while the BMC does not answer.
    until(&dayone, &boot, "asked", |boot| boot["steps"][1]["state"] == "running").await;
    for path in [format!("/v1/boots/{}/events", boot["id"].as_str().unwrap()), "/v1/boots/events".to_owned()] {
        let mut streams = Vec::new();
        for _ in 0..64 {
            let mut stream = dayone.get(&path).send().await.unwrap();
            assert_eq!(stream.headers()["x-accel-buffering"], "no", "{path}");
            assert!(stream.chunk().await.unwrap().is_some());
            streams.push(stream);
        }
        Answer::of(dayone.get(&path)).await.problem("too-many-followers");
        drop(streams);
        let is_free = async {
            while dayone.get(&path).send().await.unwrap().status() != 200 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(6), is_free).await.unwrap();
    }
}
