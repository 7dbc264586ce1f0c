//! Boots at a BMC that is busy, and what they record of it.

use std::time::Duration;

use dayone::boots::BootSettings;
use redfish::ClientOptions;
use redfish::bmc::Limits;
use serde_json::Value;

use crate::boots::{host, shows_a_password, start, until};
use crate::emulated_bmc::EmulatedBmc;
use crate::support::{Answer, Dayone, Place};

async fn server() -> Dayone {
    let client = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    let limits = Limits { pause: Duration::from_millis(10), ..Limits::default() };
    start(Place::new(), BootSettings { client, limits, ..BootSettings::default() }).await
}

async fn begin(dayone: &Dayone, bmc: &EmulatedBmc) -> Value {
    let request = dayone.post("/v1/boots?base=coreos", host("worker-0", &bmc.url()));
    Answer::of(request).await.ok()["boots"][0].clone()
}

#[tokio::test]
async fn a_step_that_meets_a_busy_bmc_is_repeated() {
    let bmc = EmulatedBmc::start().await;
    // One more than dayone tries without a longer pause.
    bmc.machine.lock().unwrap().busy = ["InsertMedia", "/Systems/1", "Reset"].repeat(4);
    let dayone = server().await;
    let boot = begin(&dayone, &bmc).await;
    let boot = until(&dayone, &boot, "started", |boot| boot["steps"][3]["state"] == "done").await;
    assert_eq!(bmc.sent(), ["InsertMedia", "ForceOff", "On"], "{boot:#}");
    let repeated = boot["remarks"].to_string().matches("dayone tries again").count();
    assert_eq!(repeated, 3, "{boot:#}");
    assert_eq!(bmc.machine.lock().unwrap().source["BootSourceOverrideEnabled"], "Once");
}

#[tokio::test]
async fn records_hold_no_credentials_of_an_image_of_somebody_else() {
    let bmc = EmulatedBmc::start().await;
    let other = "http://admin:hunter2@192.0.2.9/other.iso?sig=hunter2";
    bmc.machine.lock().unwrap().image = Some(other.to_owned());
    let dayone = server().await;
    let boot = begin(&dayone, &bmc).await;
    until(&dayone, &boot, "started", |_| bmc.sent().iter().any(|sent| sent == "On")).await;
    assert_eq!(bmc.sent().first().map(String::as_str), Some("EjectMedia"));
    assert!(!shows_a_password(&dayone.place.path("data/boots")));
}
