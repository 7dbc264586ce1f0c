//! The events of one boot, for clients that connect again.

use std::time::Duration;

use dayone::boots::BootSettings;
use redfish::ClientOptions;

use crate::boots::{delete, host, start, until};
use crate::emulated_bmc::EmulatedBmc;
use crate::support::{Answer, Place};

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
