//! What a deleted boot leaves behind at its BMC.

use std::time::Duration;

use dayone::boots::BootSettings;
use redfish::ClientOptions;
use serde_json::Value;

use crate::boots::{delete, host, start, until};
use crate::emulated_bmc::EmulatedBmc;
use crate::support::{Answer, Dayone, Place};

async fn server() -> Dayone {
    let client = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    start(Place::new(), BootSettings { client, ..BootSettings::default() }).await
}

async fn begin(dayone: &Dayone, bmc: &EmulatedBmc, query: &str) -> Value {
    let request = dayone.post(&format!("/v1/boots?base=coreos{query}"), host("worker-0", &bmc.url()));
    Answer::of(request).await.ok()["boots"][0].clone()
}

async fn until_ejected(dayone: &Dayone, boot: &Value) -> Value {
    assert_eq!(delete(dayone, boot, "").await, 202);
    until(dayone, boot, "ejected", |boot| boot["state"] == "ejected").await
}

#[tokio::test]
async fn a_boot_that_is_deleted_while_its_host_shuts_down_does_not_restart_it() {
    let bmc = EmulatedBmc::start().await;
    bmc.machine.lock().unwrap().is_deaf = true;
    let dayone = server().await;
    let boot = begin(&dayone, &bmc, "&shutdown_within=600").await;
    until(&dayone, &boot, "asked to shut down", |_| bmc.sent().iter().any(|sent| sent == "GracefulShutdown")).await;
    let ejected = until_ejected(&dayone, &boot).await;
    assert_eq!(bmc.sent(), ["InsertMedia", "GracefulShutdown", "EjectMedia"]);
    assert!(ejected["remarks"].to_string().contains("its power state was on"), "{ejected:#}");
}

#[tokio::test]
async fn an_image_that_the_bmc_shows_by_its_name_is_ejected() {
    let bmc = EmulatedBmc::start().await;
    bmc.machine.lock().unwrap().shows = |url| url.rsplit('/').next().unwrap().to_owned();
    let dayone = server().await;
    let boot = begin(&dayone, &bmc, "").await;
    until(&dayone, &boot, "started", |_| bmc.sent().iter().any(|sent| sent == "On")).await;
    // The record says how the BMC shows the image.
    let dayone = dayone.restart().await;
    until_ejected(&dayone, &boot).await;
    assert_eq!(bmc.machine.lock().unwrap().image, None);

    // An image of somebody else stays.
    let boot = begin(&dayone, &bmc, "").await;
    until(&dayone, &boot, "started", |_| bmc.sent().iter().filter(|sent| *sent == "On").count() == 2).await;
    bmc.machine.lock().unwrap().image = Some("rescue.iso".to_owned());
    let ejected = until_ejected(&dayone, &boot).await;
    assert!(ejected["steps"].to_string().contains("has another medium by now"), "{ejected:#}");
    assert_eq!(bmc.machine.lock().unwrap().image.as_deref(), Some("rescue.iso"));
}
