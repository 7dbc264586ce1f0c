//! What a boot makes of a BMC's refusals.

use std::time::Duration;

use redfish::bmc::{Bmc as Boots, BmcError, BootMode, Limits, Medium, Plan};
use redfish::{ClientOptions, Target};
use serde_json::{Value, json};

use crate::bmc::{Bmc, Canned};

const SYSTEM: &str = "/redfish/v1/Systems/1";
const SLOT: &str = "/redfish/v1/Systems/1/VirtualMedia/1";
const INSERT: &str = "/redfish/v1/Systems/1/VirtualMedia/1/Actions/VirtualMedia.InsertMedia";
const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
const URL: &str = "http://192.0.2.1:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso";

/// A BMC with one slot, whose host is on.
async fn start() -> Bmc {
    let bmc = Bmc::start(true).await;
    let boot = json!({
        "BootSourceOverrideEnabled": "Disabled",
        "BootSourceOverrideTarget": "None",
        "BootSourceOverrideMode": "UEFI",
    });
    let slots = format!("{SYSTEM}/VirtualMedia");
    let system = json!({"Id": "1", "PowerState": "On", "Boot": boot, "VirtualMedia": {"@odata.id": slots}});
    bmc.on("GET", SYSTEM, Canned::new(200, &system));
    bmc.on("GET", &slots, Canned::new(200, &json!({"Members": [{"@odata.id": SLOT}]})));
    let actions = json!({"#VirtualMedia.InsertMedia": {"target": INSERT}});
    let slot = json!({"Id": "1", "MediaTypes": ["CD"], "Image": null, "Inserted": false, "Actions": actions});
    bmc.on("GET", SLOT, Canned::new(200, &slot));
    let session = Canned::new(201, &json!({"Id": "7"})).header("X-Auth-Token", "secret-token");
    bmc.on("POST", SESSIONS, session.header("Location", format!("{SESSIONS}/7")));
    bmc
}

async fn planned(bmc: &Bmc, mode: Option<BootMode>) -> (Boots, Plan) {
    let address = format!("{}{SYSTEM}", bmc.url.replace("http://", "redfish+http://"));
    let target = Target { address: address.parse().unwrap(), ..bmc.target(true) };
    let options = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    let limits = Limits {
        settle: Duration::from_millis(60),
        pause: Duration::from_millis(1),
        poll_interval: Duration::from_millis(5),
        ..Limits::default()
    };
    let boots = Boots::connect(&target, &options).await.unwrap().with_limits(limits);
    let plan = Boots::plan(&boots.survey().await.unwrap(), Medium::Cd, mode).unwrap();
    (boots, plan)
}

fn refusal(status: u16, id: &str, arguments: &[&str]) -> Canned {
    let message = json!({"MessageId": id, "Message": "It is refused.", "MessageArgs": arguments});
    Canned::new(status, &json!({"error": {"@Message.ExtendedInfo": [message]}}))
}

fn busy() -> Canned {
    refusal(503, "Base.1.13.ServiceTemporarilyUnavailable", &["10"]).header("Retry-After", "10")
}

/// What was sent as `Boot`.
fn overrides(bmc: &Bmc) -> Vec<Value> {
    bmc.seen("PATCH", SYSTEM).into_iter().map(|seen| seen.body["Boot"].clone()).collect()
}

#[tokio::test]
async fn a_busy_bmc_gets_no_override_for_every_boot() {
    let bmc = start().await;
    for _ in 0..3 {
        bmc.on("PATCH", SYSTEM, busy());
    }
    bmc.on("PATCH", SYSTEM, Canned::new(204, &Value::Null));
    let (boots, plan) = planned(&bmc, None).await;
    let error = boots.boot_once(&plan).await.unwrap_err();
    assert!(matches!(error, BmcError::BootRefused { .. }) && error.is_unavailable(), "{error}");
    let set = boots.boot_once(&plan).await.unwrap();
    assert!(set.once && set.attempts.len() == 1, "{set:?}");
    let all = overrides(&bmc);
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|boot| boot["BootSourceOverrideEnabled"] == "Once"), "{all:?}");
}

#[tokio::test]
async fn a_state_that_may_pass_is_no_refusal_of_once() {
    let bmc = start().await;
    for _ in 0..6 {
        bmc.on("PATCH", SYSTEM, refusal(409, "Base.1.13.ResourceInUse", &[]));
    }
    bmc.on("PATCH", SYSTEM, Canned::new(204, &Value::Null));
    let (boots, plan) = planned(&bmc, None).await;
    let error = boots.boot_once(&plan).await.unwrap_err();
    assert!(matches!(error, BmcError::BootRefused { .. }) && !error.is_unavailable(), "{error}");
    assert!(error.attempts().iter().all(|attempt| attempt.status == Some(409)), "{error:?}");
    let all = overrides(&bmc);
    assert!(all.iter().all(|boot| boot["BootSourceOverrideEnabled"] == "Once"), "{all:?}");
}

#[tokio::test]
async fn a_mode_that_cannot_be_written_is_left_out_whatever_the_status() {
    for status in [400, 403, 405] {
        let bmc = start().await;
        bmc.on("PATCH", SYSTEM, refusal(status, "Base.1.13.PropertyNotWritable", &["BootSourceOverrideMode"]));
        bmc.on("PATCH", SYSTEM, Canned::new(204, &Value::Null));
        let (boots, plan) = planned(&bmc, Some(BootMode::Uefi)).await;
        let set = boots.boot_once(&plan).await.unwrap();
        assert!(set.once, "{status}: {set:?}");
        let modes: Vec<_> = overrides(&bmc).iter().map(|boot| boot["BootSourceOverrideMode"].clone()).collect();
        assert_eq!(modes, [json!("UEFI"), Value::Null], "{status}");
    }
}

#[tokio::test]
async fn an_insert_that_meets_a_busy_bmc_may_succeed_later() {
    let bmc = start().await;
    bmc.on("POST", INSERT, busy());
    let (boots, plan) = planned(&bmc, None).await;
    let error = boots.insert(&plan, URL).await.unwrap_err();
    assert!(matches!(error, BmcError::InsertRefused { .. }), "{error}");
    assert!(error.is_unavailable() && error.is_transient(), "{error}");
}

#[tokio::test]
async fn what_the_images_server_refuses_is_not_the_bmcs_password() {
    let bmc = start().await;
    bmc.on("POST", INSERT, refusal(401, "Base.1.13.ResourceAtUriUnauthorized", &[URL, "401"]));
    let (boots, plan) = planned(&bmc, None).await;
    let error = boots.insert(&plan, URL).await.unwrap_err();
    assert!(matches!(error, BmcError::ImageUnreachable { .. }), "{error}");
    assert_eq!((bmc.seen("POST", INSERT).len(), bmc.seen("POST", SESSIONS).len()), (1, 1));

    // About a URI of its own, the same message means the login.
    let bmc = start().await;
    bmc.on("POST", INSERT, refusal(401, "Base.1.13.ResourceAtUriUnauthorized", &[INSERT, "Invalid session"]));
    let (boots, plan) = planned(&bmc, None).await;
    let error = boots.insert(&plan, URL).await.unwrap_err();
    assert!(matches!(error, BmcError::Redfish(_)), "{error}");
    assert_eq!((bmc.seen("POST", INSERT).len(), bmc.seen("POST", SESSIONS).len()), (2, 2));
}
