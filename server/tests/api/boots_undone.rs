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
