//! What a boot makes of a BMC's refusals.

use std::time::Duration;

use redfish::bmc::{Attempt, Bmc as Boots, BmcError, BootMode, Limits, Medium, Plan, Reception};
use redfish::{ClientOptions, Target};
use serde_json::{Value, json};

use crate::bmc::{Bmc, Canned};

pub(super) const SYSTEM: &str = "/redfish/v1/Systems/1";
pub(super) const SLOT: &str = "/redfish/v1/Systems/1/VirtualMedia/1";
pub(super) const SLOTS: &str = "/redfish/v1/Systems/1/VirtualMedia";
const INSERT: &str = "/redfish/v1/Systems/1/VirtualMedia/1/Actions/VirtualMedia.InsertMedia";
const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
const URL: &str = "http://192.0.2.1:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso";

/// A BMC with one slot, whose host is on.
pub(super) async fn start() -> Bmc {
    let bmc = Bmc::start(true).await;
    bmc.on("GET", SYSTEM, system("None", "UEFI"));
    bmc.on("GET", SLOTS, members(&[SLOT]));
    bmc.on("GET", SLOT, slot(SLOT, &Value::Null));
    let session = Canned::new(201, &json!({"Id": "7"})).header("X-Auth-Token", "secret-token");
    bmc.on("POST", SESSIONS, session.header("Location", format!("{SESSIONS}/7")));
    bmc
}

/// What the override is.
pub(super) fn boot(target: &str, mode: &str) -> Value {
    json!({
        "BootSourceOverrideEnabled": if target == "None" { "Disabled" } else { "Once" },
        "BootSourceOverrideTarget": target,
        "BootSourceOverrideMode": mode,
    })
}

fn system(target: &str, mode: &str) -> Canned {
    let boot = boot(target, mode);
    Canned::new(200, &json!({"Id": "1", "PowerState": "On", "Boot": boot, "VirtualMedia": {"@odata.id": SLOTS}}))
}

pub(super) fn members(paths: &[&str]) -> Canned {
    let members: Vec<Value> = paths.iter().map(|path| json!({"@odata.id": path})).collect();
    Canned::new(200, &json!({"Members": members}))
}

/// A slot with this image.
pub(super) fn slot(path: &str, image: &Value) -> Canned {
    let action = |name: &str| json!({"target": format!("{path}/Actions/VirtualMedia.{name}")});
    let actions = json!({
        "#VirtualMedia.InsertMedia": action("InsertMedia"), "#VirtualMedia.EjectMedia": action("EjectMedia"),
    });
    let inserted = !image.is_null();
    Canned::new(200, &json!({"MediaTypes": ["CD"], "Image": image, "Inserted": inserted, "Actions": actions}))
}

pub(super) async fn planned(bmc: &Bmc, mode: Option<BootMode>) -> (Boots, Plan) {
    let boots = connected(bmc).await;
    let plan = Boots::plan(&boots.survey().await.unwrap(), Medium::Cd, mode).unwrap();
    (boots, plan)
}

pub(super) async fn connected(bmc: &Bmc) -> Boots {
    let address = format!("{}{SYSTEM}", bmc.url.replace("http://", "redfish+http://"));
    let target = Target { address: address.parse().unwrap(), ..bmc.target(true) };
    let options = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    let limits = Limits {
        settle: Duration::from_millis(60),
        pause: Duration::from_millis(1),
        poll_interval: Duration::from_millis(5),
        ..Limits::default()
    };
    Boots::connect(&target, &options).await.unwrap().with_limits(limits)
}

pub(super) fn refusal(status: u16, id: &str, arguments: &[&str]) -> Canned {
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
async fn the_warning_of_the_task_says_why_nothing_is_inserted() {
    const MONITOR: &str = "/redfish/v1/TaskService/TaskMonitors/7";
    let messages =
        json!([{"MessageId": "X.1.0.MountFailed", "Message": "Remote share could not be mounted: HTTP 404"}]);
    let completed = json!({"TaskState": "Completed", "TaskStatus": "Warning", "Messages": messages});
    let bmc = start().await;
    bmc.on("POST", INSERT, Canned::new(202, &Value::Null).header("Location", MONITOR));
    bmc.on("GET", MONITOR, Canned::new(200, &completed));
    let (boots, plan) = planned(&bmc, None).await;
    let error = boots.insert(&plan, URL).await.unwrap_err();
    assert!(matches!(error, BmcError::NotInserted { .. }), "{error}");
    let said = "accepted the image (its task completed with Warning: Remote share could not be mounted: HTTP 404";
    assert!(error.to_string().contains(said), "{error}");

    // The same warning of a BMC that has inserted the image.
    bmc.on("GET", SLOT, slot(SLOT, &Value::Null));
    bmc.on("GET", SLOT, slot(SLOT, &json!(URL)));
    let inserted = boots.insert(&plan, URL).await.unwrap();
    assert!(inserted.attempts.iter().any(|attempt| attempt.warning.is_some()), "{inserted:?}");
}

#[tokio::test]
async fn an_accepted_eject_is_not_why_the_insert_was_refused() {
    let bmc = start().await;
    bmc.only("GET", SLOT, slot(SLOT, &json!("http://192.0.2.9/other.iso")));
    bmc.on("GET", SLOT, slot(SLOT, &json!("http://192.0.2.9/other.iso")));
    bmc.on("GET", SLOT, slot(SLOT, &Value::Null));
    bmc.on("POST", &format!("{SLOT}/Actions/VirtualMedia.EjectMedia"), Canned::new(204, &Value::Null));
    bmc.on("POST", INSERT, busy());
    let (boots, plan) = planned(&bmc, None).await;
    let error = boots.insert(&plan, URL).await.unwrap_err();
    assert!(matches!(error, BmcError::InsertRefused { .. }), "{error}");
    assert!(error.attempts().iter().any(|attempt| attempt.path.ends_with("EjectMedia")), "{error:?}");
    assert!(!error.to_string().contains("EjectMedia"), "{error}");
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

#[tokio::test]
async fn a_refused_url_is_no_failed_fetch() {
    let text = "http://download.example.com/boot.iso for the parameter Image is of a different format.";
    let value =
        json!({"MessageId": "Base.1.13.ActionParameterValueFormatError", "Message": text, "MessageArgs": ["Image"]});
    // OpenBMC's answer to every scheme but https:// and smb://.
    let scheme = json!({"MessageId": "Base.1.13.ResourceAtUriInUnknownFormat", "MessageArgs": [URL]});
    for message in [value, scheme] {
        let bmc = start().await;
        bmc.on("POST", INSERT, Canned::new(400, &json!({"error": {"@Message.ExtendedInfo": [message]}})));
        let (boots, plan) = planned(&bmc, None).await;
        let error = boots.insert(&plan, URL).await.unwrap_err();
        assert!(matches!(error, BmcError::Url { .. }) && error.attempts().len() == 1, "{error}");
    }
}

#[tokio::test]
async fn a_mode_that_the_bmc_changes_is_set_again_and_read_back() {
    const REFUSED: &str = "Base.1.13.PropertyMissing";
    let accepted = || Canned::new(204, &Value::Null);
    for (answers, mode, said) in [
        // It takes the mode together with the target.
        (vec![accepted(), accepted()], "UEFI", "UEFI was set again"),
        // It refuses that, and takes the mode alone.
        (vec![accepted(), refusal(400, REFUSED, &["x"]), accepted()], "UEFI", "UEFI was set again"),
        // It takes both, and neither helps.
        (vec![accepted(), accepted(), accepted()], "Legacy", "so the host boots in the mode Legacy"),
        (vec![accepted(), accepted(), refusal(400, REFUSED, &["x"])], "Legacy", "so the host boots in the mode Legacy"),
    ] {
        let bmc = start().await;
        bmc.on("GET", SYSTEM, system("None", "UEFI"));
        bmc.on("GET", SYSTEM, system("Cd", "Legacy"));
        bmc.on("GET", SYSTEM, system("Cd", mode));
        let sent = answers.len();
        for answer in answers {
            bmc.on("PATCH", SYSTEM, answer);
        }
        let (redfish, plan) = planned(&bmc, None).await;
        let done = redfish.boot_once(&plan).await.unwrap();
        assert!(done.notes.iter().any(|note| note.contains(said)), "{done:?}");
        assert_eq!(done.shown.mode.as_deref(), Some(mode), "{done:?}");
        let all = overrides(&bmc);
        assert_eq!((all.len(), &all[1]), (sent, &boot("Cd", "UEFI")), "{all:?}");
        assert!(sent == 2 || all[2] == json!({"BootSourceOverrideMode": "UEFI"}), "{all:?}");
    }
}

#[tokio::test]
async fn a_mode_that_was_asked_for_and_is_not_there_is_reported() {
    let bmc = start().await;
    bmc.only("GET", SYSTEM, system("None", "Legacy"));
    bmc.on("GET", SYSTEM, system("None", "Legacy"));
    bmc.on("GET", SYSTEM, system("Cd", "Legacy"));
    bmc.on("PATCH", SYSTEM, Canned::new(204, &Value::Null));
    let (boots, plan) = planned(&bmc, Some(BootMode::Uefi)).await;
    let set = boots.boot_once(&plan).await.unwrap();
    assert_eq!(set.notes, ["the BMC accepted the boot mode UEFI, but shows Legacy"]);
}

#[tokio::test]
async fn a_task_that_waits_for_the_reset_is_not_waited_for() {
    const SETTINGS: &str = "/redfish/v1/Systems/1/Settings";
    const MONITOR: &str = "/redfish/v1/TaskService/TaskMonitors/7";
    let pending = || Canned::new(202, &json!({"TaskState": "Pending"})).header("Location", MONITOR);
    let bmc = start().await;
    let settings = json!({"SettingsObject": {"@odata.id": SETTINGS}});
    let system =
        json!({"Boot": boot("None", "UEFI"), "VirtualMedia": {"@odata.id": SLOTS}, "@Redfish.Settings": settings});
    bmc.only("GET", SYSTEM, Canned::new(200, &system));
    bmc.on("GET", SETTINGS, Canned::new(200, &json!({"Boot": boot("None", "UEFI")})));
    bmc.on("GET", SETTINGS, Canned::new(200, &json!({"Boot": boot("Cd", "UEFI")})));
    bmc.on("PATCH", SETTINGS, pending());
    bmc.on("GET", MONITOR, pending());
    let (boots, plan) = planned(&bmc, None).await;
    let set = boots.boot_once(&plan).await.unwrap();
    assert!(set.attempts.len() == 1 && set.attempts[0].succeeded() && set.notes.is_empty(), "{set:?}");
    assert_eq!((bmc.seen("PATCH", SETTINGS).len(), bmc.seen("GET", MONITOR).len()), (1, 0));
}

#[tokio::test]
async fn an_override_that_is_there_although_its_task_has_not_ended_is_not_sent_again() {
    const MONITOR: &str = "/redfish/v1/TaskService/TaskMonitors/7";
    let bmc = start().await;
    bmc.on("GET", SYSTEM, system("None", "UEFI"));
    bmc.on("GET", SYSTEM, system("Cd", "UEFI"));
    bmc.on("PATCH", SYSTEM, Canned::new(202, &json!({"TaskState": "Running"})).header("Location", MONITOR));
    let (boots, plan) = planned(&bmc, None).await;
    // Shorter than the pause before a task is read.
    let boots = boots.with_limits(Limits { change: Duration::from_millis(300), ..Limits::default() });
    boots.boot_once(&plan).await.unwrap();
    assert_eq!(overrides(&bmc).len(), 1);
}

#[tokio::test]
async fn a_service_that_starts_while_a_slot_is_polled_is_waited_for() {
    let bmc = start().await;
    bmc.on("GET", SLOT, slot(SLOT, &Value::Null));
    bmc.on("GET", SLOT, Canned::raw(200, b"<html>Please wait</html>"));
    bmc.on("GET", SLOT, Canned::raw(404, b"<html>"));
    bmc.on("GET", SLOT, slot(SLOT, &json!(URL)));
    bmc.on("POST", INSERT, Canned::new(204, &Value::Null));
    let (boots, plan) = planned(&bmc, None).await;
    let boots = boots.with_limits(Limits { poll_interval: Duration::from_millis(5), ..Limits::default() });
    assert_eq!(boots.insert(&plan, URL).await.unwrap().slot, SLOT);
}

#[tokio::test]
async fn a_slot_that_cannot_be_emptied_is_left_for_another_one() {
    const SECOND: &str = "/redfish/v1/Systems/1/VirtualMedia/2";
    let in_use = || refusal(409, "Base.1.8.ResourceInUse", &[]);
    let bmc = start().await;
    bmc.only("GET", SLOT, slot(SLOT, &json!("http://192.0.2.9/other.iso")));
    bmc.on("POST", &format!("{SLOT}/Actions/VirtualMedia.EjectMedia"), in_use());
    bmc.on("PATCH", SLOT, in_use());
    let (boots, plan) = planned(&bmc, None).await;
    let error = boots.insert(&plan, URL).await.unwrap_err();
    assert!(matches!(error, BmcError::NotEjected { .. }), "the only slot: {error}");

    bmc.only("GET", SLOTS, members(&[SLOT, SECOND]));
    bmc.on("GET", SECOND, slot(SECOND, &Value::Null));
    bmc.on("GET", SECOND, slot(SECOND, &Value::Null));
    bmc.on("GET", SECOND, slot(SECOND, &json!(URL)));
    bmc.on("POST", &format!("{SECOND}/Actions/VirtualMedia.InsertMedia"), Canned::new(204, &Value::Null));
    let (boots, plan) = planned(&bmc, None).await;
    let inserted = boots.insert(&plan, URL).await.unwrap();
    assert_eq!((inserted.slot.as_str(), bmc.seen("POST", INSERT).len()), (SECOND, 0));
    assert!(inserted.notes.iter().any(|note| note.contains(SLOT)), "{inserted:?}");
    assert!(inserted.attempts.iter().any(|attempt| attempt.status == Some(409)), "{inserted:?}");
}

#[tokio::test]
async fn a_target_that_is_shown_in_other_letters_is_the_one_that_was_sent() {
    let bmc = start().await;
    bmc.on("GET", SYSTEM, system("None", "UEFI"));
    bmc.on("GET", SYSTEM, system("CD", "UEFI"));
    bmc.on("PATCH", SYSTEM, Canned::new(204, &Value::Null));
    let (boots, plan) = planned(&bmc, None).await;
    let set = boots.boot_once(&plan).await.unwrap();
    assert!(set.reception == Reception::Shown && set.notes.is_empty(), "{set:?}");
}

#[tokio::test]
async fn after_a_form_of_the_eject_that_does_nothing_the_next_one_is_tried() {
    let eject = format!("{SLOT}/Actions/VirtualMedia.EjectMedia");
    let bmc = start().await;
    bmc.only("GET", SLOT, slot(SLOT, &json!(URL)));
    bmc.on("POST", &eject, Canned::new(204, &Value::Null));
    bmc.on("PATCH", SLOT, Canned::new(204, &Value::Null));
    let boots = connected(&bmc).await;
    let error = boots.eject(SLOT, Some(URL)).await.unwrap_err();
    assert!(matches!(error, BmcError::NotEjected { .. }), "{error}");
    assert_eq!((bmc.seen("POST", &eject).len(), bmc.seen("PATCH", SLOT).len()), (3, 2));

    // The user may eject a medium, but may not change the slot in any other way.
    bmc.only("PATCH", SLOT, refusal(403, "Base.1.8.InsufficientPrivilege", &[]));
    let error = boots.eject(SLOT, Some(URL)).await.unwrap_err();
    assert!(matches!(error, BmcError::NotEjected { .. }), "{error}");
    bmc.only("PATCH", SLOT, Canned::new(204, &Value::Null));
    let before = [bmc.seen("POST", &eject).len(), bmc.seen("PATCH", SLOT).len()];

    let gone = async {
        while bmc.seen("PATCH", SLOT).len() == before[1] {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        bmc.only("GET", SLOT, slot(SLOT, &Value::Null));
    };
    let (ejected, ()) = tokio::join!(boots.eject(SLOT, Some(URL)), gone);
    ejected.unwrap();
    assert_eq!(bmc.seen("POST", &eject).len(), before[0] + 3);
}

#[tokio::test]
async fn a_host_boots_by_http_although_the_bmc_refuses_virtual_media() {
    for path in [SLOTS, SLOT] {
        let bmc = start().await;
        bmc.only("GET", path, refusal(403, "SMC.1.0.OemLicenseNotPassed", &[]));
        let boots = connected(&bmc).await;
        let survey = boots.survey().await.unwrap();
        let error = Boots::plan(&survey, Medium::Cd, None).unwrap_err();
        assert!(matches!(error, BmcError::SlotsRefused { .. }), "{error}");
        assert!(error.to_string().contains("OemLicenseNotPassed"), "{error}");
        let plan = boots.plan_http_boot(&survey, Medium::Cd, None, URL, None, None).await.unwrap();
        assert!(plan.boot[0].is_http() && plan.slots.is_empty(), "{plan:?}");
    }
}

#[tokio::test]
async fn an_ilo_whose_host_is_in_post_gets_no_override_for_every_boot() {
    let bmc = start().await;
    for _ in 0..2 {
        bmc.on("PATCH", SYSTEM, refusal(400, "iLO.2.37.UnableToModifyDuringSystemPOST", &["BootSourceOverrideTarget"]));
    }
    bmc.on("PATCH", SYSTEM, Canned::new(204, &Value::Null));
    let (boots, plan) = planned(&bmc, None).await;
    let error = boots.boot_once(&plan).await.unwrap_err();
    assert!(error.attempts().iter().all(Attempt::may_need_host_off), "{error:?}");
    assert!(error.to_string().contains("only while the host is off"), "{error}");
    assert_eq!(overrides(&bmc).len(), 1);
}
