//! What becomes of the medium of a boot between its insert and its end, and what dayone says about it.

use std::time::Duration;

use dayone::boots::BootSettings;
use redfish::ClientOptions;
use redfish::bmc::Limits;
use serde_json::{Value, json};

use crate::boots::{delete, host, start, until};
use crate::emulated_bmc::{Account, EmulatedBmc, WhileOff};
use crate::support::{Answer, Dayone, Place};

async fn server() -> Dayone {
    let client = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    let limits = Limits { settle: Duration::from_millis(600), ..Limits::default() };
    start(Place::new(), BootSettings { client, limits, ..BootSettings::default() }).await
}

async fn begin(dayone: &Dayone, name: &str, bmc: &str, query: &str) -> Value {
    let request = dayone.post(&format!("/v1/boots?base=coreos{query}"), host(name, bmc));
    Answer::of(request).await.ok()["boots"][0].clone()
}

async fn until_started(dayone: &Dayone, boot: &Value) -> Value {
    until(dayone, boot, "started", |boot| boot["steps"][3]["state"] == "done").await
}

async fn until_state(dayone: &Dayone, boot: &Value, state: &str) -> Value {
    until(dayone, boot, state, |boot| boot["state"] == state).await
}

/// How the BMC shows an image of which it keeps only the name.
fn name(url: &str) -> String {
    url.rsplit('/').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_medium_that_the_bmc_loses_when_the_host_is_switched_off_is_inserted_again() {
    let bmc = EmulatedBmc::start().await;
    bmc.machine.lock().unwrap().loses_medium_at = Some("ForceOff");
    let dayone = server().await;
    let boot = begin(&dayone, "worker-0", &bmc.url(), "").await;
    let boot = until_started(&dayone, &boot).await;
    assert_eq!(bmc.sent(), ["InsertMedia", "ForceOff", "InsertMedia", "On"], "{boot:#}");
    assert!(boot["remarks"].to_string().contains("has lost the image since the insert"), "{boot:#}");
    assert_eq!(bmc.machine.lock().unwrap().source["BootSourceOverrideTarget"], "Cd");
}

#[tokio::test]
async fn a_slot_that_is_not_connected_while_the_host_is_off_keeps_its_medium() {
    let bmc = EmulatedBmc::start().await;
    bmc.machine.lock().unwrap().slot_while_off = WhileOff::NotConnected;
    let dayone = server().await;
    let boot = begin(&dayone, "worker-0", &bmc.url(), "").await;
    let boot = until_started(&dayone, &boot).await;
    assert_eq!(bmc.sent(), ["InsertMedia", "ForceOff", "On"], "{boot:#}");
    assert!(boot["remarks"].to_string().contains("shows the image, but not as connected"), "{boot:#}");
}

#[tokio::test]
async fn a_slot_that_is_missing_after_the_host_was_switched_off_is_read_again() {
    // Once, and for longer than dayone waits.
    for (reads, sent, remark) in [
        (1, &["InsertMedia", "ForceOff", "InsertMedia", "On"][..], "has lost the image since the insert"),
        (u32::MAX, &["InsertMedia", "ForceOff", "On"][..], "dayone could not read whether"),
    ] {
        let bmc = EmulatedBmc::start().await;
        {
            let mut machine = bmc.machine.lock().unwrap();
            machine.loses_medium_at = Some("ForceOff");
            machine.slot_while_off = WhileOff::Missing(reads);
        }
        let dayone = server().await;
        let boot = begin(&dayone, "worker-0", &bmc.url(), "").await;
        let boot = until_started(&dayone, &boot).await;
        assert_eq!(bmc.sent(), sent, "{boot:#}");
        assert!(boot["remarks"].to_string().contains(remark), "{boot:#}");
    }
}

#[tokio::test]
async fn a_boot_that_is_deleted_while_its_medium_is_inserted_again_says_that_the_host_is_off() {
    let bmc = EmulatedBmc::start().await;
    {
        let mut machine = bmc.machine.lock().unwrap();
        machine.loses_medium_at = Some("ForceOff");
        // So the second insert does not end at once.
        machine.slot_while_off = WhileOff::NotConnected;
    }
    let client = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    let limits = Limits { settle: Duration::from_secs(4), ..Limits::default() };
    let dayone = start(Place::new(), BootSettings { client, limits, ..BootSettings::default() }).await;
    let boot = begin(&dayone, "worker-0", &bmc.url(), "").await;
    until(&dayone, &boot, "inserting again", |_| bmc.sent().len() == 3).await;
    assert_eq!(delete(&dayone, &boot, "").await, 202);
    let boot = until_state(&dayone, &boot, "ejected").await;
    assert!(boot["remarks"].to_string().contains("its power state was off"), "{boot:#}");
    assert!(!bmc.sent().iter().any(|sent| sent == "On"), "{:?}", bmc.sent());
}

#[tokio::test]
async fn a_boot_that_is_too_late_says_what_the_slot_shows() {
    for (image, expected) in [
        (None, "is empty: the BMC has lost the medium"),
        (Some("http://192.0.2.9/rescue.iso"), "has another medium"),
        (Some(""), "The medium is still inserted"),
    ] {
        let bmc = EmulatedBmc::start().await;
        let dayone = server().await;
        let boot = begin(&dayone, "worker-0", &bmc.url(), "&wait_for=call-home&booted_within=2").await;
        until_started(&dayone, &boot).await;
        if image != Some("") {
            bmc.machine.lock().unwrap().image = image.map(str::to_owned);
        }
        let boot = until_state(&dayone, &boot, "failed").await;
        let error = boot["steps"][4]["error"].as_str().unwrap();
        assert!(error.contains(expected) && error.contains("nobody has read the image"), "{error}");
        assert!(error.contains("DELETE /v1/boots/"), "{error}");
    }
}

#[tokio::test]
async fn a_boot_that_is_too_late_says_that_its_host_is_off() {
    let bmc = EmulatedBmc::start().await;
    let dayone = server().await;
    let boot = begin(&dayone, "worker-0", &bmc.url(), "&wait_for=call-home&booted_within=2").await;
    until_started(&dayone, &boot).await;
    bmc.machine.lock().unwrap().is_on = false;
    let boot = until_state(&dayone, &boot, "failed").await;
    let error = boot["steps"][4]["error"].as_str().unwrap();
    assert!(error.contains("the host is off") && !error.contains("nobody has read"), "{error}");
}

#[tokio::test]
async fn a_system_that_runs_although_nobody_has_read_the_image_is_not_that_of_the_image() {
    let bmc = EmulatedBmc::start().await;
    bmc.machine.lock().unwrap().reports_system = true;
    let dayone = server().await;
    let query = "&wait_for=boot-progress&eject=when-booted&booted_within=2";
    let boot = begin(&dayone, "worker-0", &bmc.url(), query).await;
    let boot = until_state(&dayone, &boot, "failed").await;
    let error = boot["steps"][4]["error"].as_str().unwrap();
    assert!(error.contains("the host runs a system (the BMC reports that an operating system runs)"), "{error}");
    assert!(error.contains("nobody has read the image") && error.contains("such as its disk"), "{error}");
    assert!(boot["remarks"].to_string().contains("is no sign that the host has booted from it"), "{boot:#}");
    assert_eq!((&boot["inserted"], bmc.sent().len()), (&json!(true), 3), "{boot:#}");
}

/// After a restart, dayone does not know what was read before.
#[tokio::test]
async fn a_restarted_server_takes_a_running_system_for_that_of_the_image() {
    let bmc = EmulatedBmc::start().await;
    bmc.machine.lock().unwrap().reports_system = true;
    let dayone = server().await;
    let boot = begin(&dayone, "worker-0", &bmc.url(), "&wait_for=boot-progress").await;
    until(&dayone, &boot, "seen", |boot| boot["remarks"].to_string().contains("nobody has read the image")).await;
    let dayone = dayone.restart().await;
    until_state(&dayone, &boot, "booted").await;
}

#[tokio::test]
async fn a_bmc_may_still_insert_an_image_that_it_has_accepted() {
    let bmc = EmulatedBmc::start().await;
    bmc.machine.lock().unwrap().only_accepts = true;
    let dayone = server().await;
    let boot = begin(&dayone, "worker-0", &bmc.url(), "&power_off=true").await;
    let boot = until(&dayone, &boot, "over", |boot| boot["ended"] == true).await;
    assert_eq!((&boot["state"], &boot["steps"][1]["state"]), (&json!("failed"), &json!("failed")), "{boot:#}");
    let done = boot["steps"][6]["detail"].as_str().unwrap();
    assert!(done.contains("/VirtualMedia/1 does not show the image") && done.contains("may still insert it"), "{done}");
}

#[tokio::test]
async fn a_restarted_server_does_not_say_that_nobody_has_read_the_image() {
    let bmc = EmulatedBmc::start().await;
    let dayone = server().await;
    let boot = begin(&dayone, "worker-0", &bmc.url(), "&wait_for=call-home&booted_within=2").await;
    until_started(&dayone, &boot).await;
    let dayone = dayone.restart().await;
    let boot = until_state(&dayone, &boot, "failed").await;
    let error = boot["steps"][4]["error"].as_str().unwrap();
    assert!(error.contains("dayone was restarted since then") && !error.contains("nobody has read"), "{error}");
}

#[tokio::test]
async fn refused_credentials_are_sent_once_and_are_the_reason_that_the_boot_gives() {
    for (query, state) in [("", "unknown"), ("&wait_for=call-home", "failed")] {
        let bmc = EmulatedBmc::start().await;
        bmc.machine.lock().unwrap().account = Account::ChangesAfterStart;
        let dayone = server().await;
        let query = format!("&wait_for=boot-progress&booted_within=2{query}");
        let boot = begin(&dayone, "worker-0", &bmc.url(), &query).await;
        let boot = until_state(&dayone, &boot, state).await;
        let steps = boot["steps"].to_string();
        assert!(steps.contains("does not accept the password of"), "{boot:#}");
        assert!(boot["remarks"].to_string().contains("dayone asks it no more"), "{boot:#}");
        assert!(matches!(bmc.machine.lock().unwrap().account, Account::Refused(1)), "{boot:#}");
    }
}

#[tokio::test]
async fn an_override_for_every_boot_is_restored_however_the_bmc_shows_it() {
    let bmc = EmulatedBmc::start().await;
    {
        let mut machine = bmc.machine.lock().unwrap();
        machine.shows = |text| if text == "Cd" { "UsbCd".to_owned() } else { text.to_owned() };
        machine.source["BootSourceOverrideEnabled@Redfish.AllowableValues"] = json!(["Disabled", "Continuous"]);
    }
    let dayone = server().await;
    let boot = begin(&dayone, "worker-0", &bmc.url(), "").await;
    until_started(&dayone, &boot).await;
    assert_eq!(bmc.machine.lock().unwrap().source["BootSourceOverrideTarget"], "UsbCd");
    assert_eq!(delete(&dayone, &boot, "").await, 202);
    let boot = until_state(&dayone, &boot, "ejected").await;
    assert!(boot["steps"].to_string().contains("the boot override is restored"), "{boot:#}");
    let source = bmc.machine.lock().unwrap().source.clone();
    assert_eq!(source["BootSourceOverrideEnabled"], "Disabled", "{source}");
}

#[tokio::test]
async fn an_insert_whose_end_nobody_has_seen_is_undone() {
    type Shows = fn(&str) -> String;
    let other: Shows = |_| "virtual CD".to_owned();
    for (shows, expected) in [(name as Shows, None), (other, Some("virtual CD"))] {
        let bmc = EmulatedBmc::start().await;
        {
            let mut machine = bmc.machine.lock().unwrap();
            machine.shows = shows;
            machine.never_answers = Some("InsertMedia");
        }
        let dayone = server().await;
        let boot = begin(&dayone, "worker-0", &bmc.url(), "").await;
        until(&dayone, &boot, "inserting", |_| !bmc.sent().is_empty()).await;
        assert_eq!(delete(&dayone, &boot, "").await, 202);
        let dayone = dayone.restart().await;
        let boot = until_state(&dayone, &boot, "ejected").await;
        assert_eq!(bmc.machine.lock().unwrap().image.as_deref(), expected, "{boot:#}");
        let done = boot["steps"][6]["detail"].as_str().unwrap();
        let said = if expected.is_some() { "may be this boot's" } else { "ejected from " };
        assert!(done.contains(said), "{done}");
    }
}

#[tokio::test]
async fn a_boot_does_not_take_the_slot_of_the_boot_of_another_system() {
    let bmc = EmulatedBmc::start().await;
    let dayone = server().await;
    let first = begin(&dayone, "worker-0", &bmc.url(), "").await;
    until_started(&dayone, &first).await;
    let image = bmc.machine.lock().unwrap().image.clone();
    let second = begin(&dayone, "worker-1", &bmc.neighbour_url(), "").await;
    let second = until_state(&dayone, &second, "failed").await;
    let error = second["steps"][1]["error"].as_str().unwrap();
    let id = first["id"].as_str().unwrap();
    assert!(error.contains(&format!("DELETE /v1/boots/{id}")) && error.contains("worker-0"), "{error}");
    assert_eq!((&second["ended"], &second["inserted"]), (&json!(true), &json!(false)), "{second:#}");
    assert_eq!(bmc.machine.lock().unwrap().image, image);
    assert_eq!(bmc.sent(), ["InsertMedia", "ForceOff", "On"]);
}
