//! `/v1/boots` by what the host does: the machine behind an emulated BMC reads the image by ranges, and its system calls
//! home; or it does not, or too late. Every vendor's BMC is in `fleet.rs`.

mod own_boots;

use std::time::Duration;

use acceptance::bmc::{EmulatedBmc, Failure, Fault, Machine, Options, Record, Vendor};
use serde_json::{Value, json};

use self::own_boots::{Dayone, call_home, documents};

/// The whole story of one boot, from the request to a BMC that is as it was.
async fn whole_boot(dayone: &Dayone, vendor: &Vendor) -> Result<(), String> {
    let machine = Machine { starts_in: Duration::from_millis(700), ..Machine::default() };
    let bmc = EmulatedBmc::start(vendor, Options { machine, ..Options::default() }).await;
    let boot = dayone.begin(&bmc, &vendor.name.replace('.', "-")).await;
    let boot = dayone.until(&boot, "booted", |boot| boot["state"] == "booted").await?;
    let states: Vec<_> = boot["steps"].as_array().unwrap().iter().map(|step| step["state"].clone()).collect();
    if states[..4] != ["done", "done", "done", "done"] || states[5..] != ["done", "waiting"] {
        return Err(format!("{boot:#}"));
    }
    let detail = boot["steps"][5]["detail"].as_str().unwrap();
    if detail != "the host called home from 127.0.0.1" && !detail.contains("none of its static addresses") {
        return Err(detail.to_owned());
    }
    dayone.delete(&boot).await;
    let ejected = dayone.until(&boot, "ejected", |boot| boot["state"] == "ejected").await?;
    if (ejected["inserted"].as_bool(), ejected["ended"].as_bool()) != (Some(false), Some(true)) {
        return Err(format!("{ejected:#}"));
    }
    if bmc.sessions() != 0 {
        return Err("a session was left behind".to_owned());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_calls_home_and_its_bmc_is_as_it_was() {
    let dayone = Dayone::start().await;
    whole_boot(&dayone, &Vendor::named("dell-idrac9-systems")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_that_the_bmc_does_not_confirm_is_not_said_to_be_done() {
    let bmc = EmulatedBmc::start(&Vendor::named("generic-dmtf"), Options::default()).await;
    let types = "/Actions/#ComputerSystem.Reset/ResetType@Redfish.AllowableValues";
    bmc.set("/redfish/v1/Systems/437XR1138R2", types, json!(["PowerCycle"]));
    bmc.inject(Fault::new("POST", "ComputerSystem.Reset", 1, Failure::DropAnswer));
    let dayone = Dayone::start().await;
    let boot = dayone.begin(&bmc, "worker-0").await;
    let boot = dayone.until(&boot, "started", |boot| boot["steps"][3]["state"] == "done").await.unwrap();
    assert!(boot["steps"][3]["detail"].as_str().unwrap().starts_with("dayone sent PowerCycle, and"), "{boot:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_and_what_stalls_is_shown() {
    let dayone = Dayone::start().await;
    let machine = Machine { reads: 400_000, chunk: 4096, starts_in: Duration::from_secs(3), ..Machine::default() };
    let bmc = EmulatedBmc::start(&Vendor::named("generic-dmtf"), Options { machine, ..Options::default() }).await;
    let boot = dayone.begin(&bmc, "worker-0").await;
    let reading = dayone.until(&boot, "read", |boot| boot["steps"][4]["state"] == "done").await.unwrap();
    assert_eq!(reading["state"], "running", "{reading:#}");
    let waiting = dayone.until(&boot, "waiting", |boot| {
        boot["progress"].as_str().is_some_and(|text| text.contains("waiting for call-home"))
    });
    waiting.await.unwrap();
    let boot = dayone.until(&boot, "booted", |boot| boot["state"] == "booted").await.unwrap();
    assert!(boot["progress"].is_null(), "{boot:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_a_host_that_has_booted_from_the_same_image_is_no_sign_of_another() {
    let dayone = Dayone::start().await;
    let (first, second) = (Vendor::named("generic-dmtf"), Vendor::named("generic-dmtf"));
    let machine = Machine { starts_in: Duration::from_millis(700), ..Machine::default() };
    let first = EmulatedBmc::start(&first, Options { machine, ..Options::default() }).await;
    let machine = Machine { reads: 0, starts_in: Duration::from_mins(10), ..Machine::default() };
    let second = EmulatedBmc::start(&second, Options { machine, ..Options::default() }).await;
    let booted = dayone.begin(&first, "worker-0").await;
    let booted = dayone.until(&booted, "booted", |boot| boot["state"] == "booted").await.unwrap();

    let request = json!({"image": booted["image"], "documents": documents(&second, "worker-1")});
    let answer = dayone.client.post(dayone.url("")).json(&request).send().await.unwrap();
    let waiting = answer.json::<Value>().await.unwrap()["boots"][0].clone();
    dayone.until(&waiting, "started", |boot| boot["steps"][3]["state"] == "done").await.unwrap();
    // The first host starts again from its medium.
    let url = call_home(dayone.directory.path(), booted["image"].as_str().unwrap());
    for _ in 0..2 {
        assert_eq!(dayone.client.get(&url).send().await.unwrap().status(), 204);
    }
    let is_noticed = |boot: &Value| boot["state"] == "booted" || boot["remarks"].to_string().contains("called home");
    let noticed = dayone.until(&waiting, "noticed", is_noticed).await.unwrap();
    assert_eq!(noticed["state"], "running", "{noticed:#}");
    assert_eq!(noticed["remarks"].to_string().matches("called home").count(), 1, "{noticed:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_closes_the_sessions_of_its_boots() {
    let dayone = Dayone::start().await;
    let bmc = EmulatedBmc::start(&Vendor::named("generic-dmtf"), Options::default()).await;
    // The boot is in the middle of a request, and the end of its session takes a while.
    bmc.inject(Fault::new("GET", "/redfish/v1/Systems", usize::MAX, Failure::Delay(Duration::from_mins(1))));
    bmc.inject(Fault::new("DELETE", "/Sessions/", usize::MAX, Failure::Delay(Duration::from_millis(1500))));
    dayone.begin(&bmc, "worker-0").await;
    let begin = std::time::Instant::now();
    while bmc.sessions() == 0 {
        assert!(begin.elapsed() < Duration::from_secs(20), "no session");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The answer to the login arrives, and the next request begins.
    tokio::time::sleep(Duration::from_millis(500)).await;
    dayone.stop().await;
    assert_eq!(bmc.sessions(), 0, "a session was left behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bmc_that_goes_away_for_a_while_is_waited_for() {
    let dayone = Dayone::start().await;
    let machine = Machine { starts_in: Duration::from_millis(700), ..Machine::default() };
    let bmc = EmulatedBmc::start(&Vendor::named("generic-dmtf"), Options { machine, ..Options::default() }).await;
    bmc.inject(Fault::new("", "/redfish/v1/", usize::MAX, Failure::Drop));
    let boot = dayone.begin(&bmc, "worker-0").await;
    let tried = |boot: &Value| boot["remarks"].to_string().contains("dayone tries again");
    let waiting = dayone.until(&boot, "waiting", tried).await.unwrap();
    assert_eq!(waiting["state"], "running", "{waiting:#}");
    bmc.heal();
    dayone.until(&boot, "booted", |boot| boot["state"] == "booted").await.unwrap();

    // The same where the medium is to come out; and at last it is said.
    bmc.inject(Fault::new("", "/redfish/v1/", usize::MAX, Failure::Drop));
    dayone.delete(&boot).await;
    let failed = dayone.until(&boot, "failed", |boot| boot["state"] == "failed").await.unwrap();
    assert_eq!((failed["inserted"].as_bool(), failed["ended"].as_bool()), (Some(true), Some(false)), "{failed:#}");
    assert!(failed["steps"][6]["error"].is_string(), "{failed:#}");
    bmc.heal();
    dayone.delete(&boot).await;
    dayone.until(&boot, "ejected", |boot| boot["state"] == "ejected").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_does_not_come_is_said_to_be_late_and_keeps_its_medium() {
    let dayone = Dayone::start().await;
    let machine = Machine { reads: 0, starts_in: Duration::from_mins(10), ..Machine::default() };
    let bmc = EmulatedBmc::start(&Vendor::named("generic-dmtf"), Options { machine, ..Options::default() }).await;
    let boot = dayone.begin_with(&bmc, "worker-0", "&booted_within=2&power_off=true").await;
    let late = dayone.until(&boot, "failed", |boot| boot["state"] == "failed").await.unwrap();
    let error = late["steps"][4]["error"].as_str().unwrap();
    assert!(error.contains("has not booted within") && error.contains("waited for call-home"), "{error}");
    assert!(error.contains(&format!("DELETE /v1/boots/{}", boot["id"].as_str().unwrap())), "{error}");
    assert_eq!((late["inserted"].as_bool(), late["ended"].as_bool()), (Some(true), Some(false)), "{late:#}");
    dayone.delete(&boot).await;
    dayone.until(&boot, "ejected", |boot| boot["state"] == "ejected").await.unwrap();
    assert_eq!(bmc.member("/redfish/v1/Systems/437XR1138R2", "/PowerState"), "Off");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_whose_firmware_ignores_the_url_has_not_booted() {
    let dayone = Dayone::start().await;
    let ignores = json!({"boot": {"ignores": ["BootSourceOverrideTarget", "BootSourceOverrideEnabled"]}});
    let bmc = EmulatedBmc::start(&Vendor::named("generic-dmtf").with(ignores), Options::default()).await;
    // Longer than between two queries to the BMC.
    let boot = dayone.begin_with(&bmc, "worker-0", "&method=http&wait_for=boot-progress&booted_within=17").await;
    let boot = dayone.until(&boot, "failed", |boot| boot["state"] == "failed").await.unwrap();
    let error = boot["steps"][4]["error"].as_str().unwrap();
    assert!(error.contains("the host runs a system") && error.contains("nobody has read the image"), "{error}");
}

/// The firmware may have read all before the BMC shows that the host is on.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_restarted_host_has_read_at_once_is_not_forgotten() {
    let dayone = Dayone::start().await;
    let bmc = EmulatedBmc::start(&Vendor::named("generic-dmtf"), Options::default()).await;
    let types = "/Actions/#ComputerSystem.Reset/ResetType@Redfish.AllowableValues";
    bmc.set("/redfish/v1/Systems/437XR1138R2", types, json!(["PowerCycle"]));
    let boot = dayone.begin_with(&bmc, "worker-0", "&method=http&wait_for=call-home").await;
    // Otherwise: "not requested yet".
    let is_known = |boot: &Value| {
        let progress = boot["progress"].as_str().unwrap_or_default();
        progress.starts_with("kernel read, initrd read")
            || progress.starts_with("not requested since the host was switched on")
    };
    dayone.until(&boot, "known to have read", is_known).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_boot_can_be_deleted_while_its_host_reads() {
    let dayone = Dayone::start().await;
    let machine = Machine { starts_in: Duration::from_mins(10), ..Machine::default() };
    let bmc = EmulatedBmc::start(&Vendor::named("generic-dmtf"), Options { machine, ..Options::default() }).await;
    let boot = dayone.begin(&bmc, "worker-0").await;
    dayone.until(&boot, "read", |boot| boot["steps"][4]["state"] == "done").await.unwrap();
    dayone.delete(&boot).await;
    let ejected = dayone.until(&boot, "ejected", |boot| boot["state"] == "ejected").await.unwrap();
    assert_eq!((&ejected["steps"][5]["state"], ejected["ended"].as_bool()), (&json!("skipped"), Some(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn any_of_several_signs_is_enough_and_the_medium_is_ejected() {
    let dayone = Dayone::start().await;
    let bmc = EmulatedBmc::start(&Vendor::named("generic-dmtf"), Options::default()).await;
    let boot = dayone.begin_with(&bmc, "worker-0", "&wait_for=reachable&wait_for=reading&eject=when-booted").await;
    let ended = dayone.until(&boot, "ended", |boot| boot["ended"] == true).await.unwrap();
    assert_eq!((ended["state"].as_str(), ended["inserted"].as_bool()), (Some("booted"), Some(false)), "{ended:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_switched_off_first_where_its_bmc_wants_that() {
    let dayone = Dayone::start().await;
    for boot in [json!({"needs_power_off": true}), json!({"in_post": true})] {
        whole_boot(&dayone, &Vendor::named("generic-dmtf").with(json!({"boot": boot}))).await.unwrap();
    }
    // One that ejects only while the host is off says so, and does it then.
    let vendor = Vendor::named("hpe-ilo6").with(json!({"eject": {"needs_power_off": true}}));
    let bmc = EmulatedBmc::start(&vendor, Options::default()).await;
    let boot = dayone.begin_with(&bmc, "worker-0", "&wait_for=reading&power_off=true").await;
    dayone.until(&boot, "booted", |boot| boot["state"] == "booted").await.unwrap();
    dayone.delete(&boot).await;
    dayone.until(&boot, "ejected", |boot| boot["state"] == "ejected").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_bmc_refused_is_kept_when_a_step_fails_over_it() {
    let dayone = Dayone::start().await;
    let nothing_will_do = json!({"insert": {"required": ["Image", "Ticket"]}});
    let vendor = Vendor::named("generic-dmtf").with(nothing_will_do);
    let bmc = EmulatedBmc::start(&vendor, Options::default()).await;
    let boot = dayone.begin_with(&bmc, "worker-0", "&wait_for=reading").await;
    let is_over = |boot: &Value| boot["state"] == "failed" && boot["ended"] == true;
    let failed = dayone.until(&boot, "failed", is_over).await.unwrap();
    let remarks = failed["remarks"].as_array().unwrap().iter().map(|remark| remark["text"].as_str().unwrap());
    let refused = remarks.filter(|remark| remark.starts_with("refused by the BMC: ")).count();
    let sent = bmc.writes().iter().filter(|write| write.path.contains("VirtualMedia")).count();
    assert!(refused > 2 && refused <= sent, "{refused} of {sent}: {failed:#}");
    assert!(failed["steps"][1]["error"].as_str().unwrap().contains("the first: "), "{failed:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_firmware_of_a_host_fetches_the_image_itself() {
    const SYSTEM: &str = "/redfish/v1/Systems/437XR1138R2";
    let dayone = Dayone::start().await;
    for behaviour in [json!({}), json!({"boot": {"needs_power_off": true, "refuses_null": true}})] {
        let machine = Machine { starts_in: Duration::from_millis(700), ..Machine::default() };
        let vendor = Vendor::named("generic-dmtf").with(behaviour);
        let bmc = EmulatedBmc::start(&vendor, Options { machine, ..Options::default() }).await;
        let before = bmc.member(SYSTEM, "/Boot");
        let boot = dayone.begin_with(&bmc, "worker-0", "&method=http&power_off=true").await;
        bmc.call_home(&call_home(dayone.directory.path(), boot["image"].as_str().unwrap()));
        let booted = dayone.until(&boot, "booted", |boot| boot["state"] == "booted").await.unwrap();
        let states: Vec<_> = booted["steps"].as_array().unwrap().iter().map(|step| step["state"].clone()).collect();
        assert_eq!(states, ["done", "skipped", "done", "done", "done", "done", "waiting"], "{booted:#}");
        // The initramfs of this base is a line of text.
        assert!(booted["remarks"].to_string().contains("HTTP boot may fail: dayone cannot read"), "{booted:#}");
        // The host calls home before its firmware is done.
        for _ in 0..500 {
            if bmc.boots()[0].end.is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let read = bmc.boots()[0].clone();
        assert!(bmc.inserted().is_empty() && read.read > 500_000 && read.end == Some(Ok(())), "{read:?}");
        dayone.delete(&boot).await;
        let ended = dayone.until(&boot, "ejected", |boot| boot["state"] == "ejected").await.unwrap();
        let mut after = bmc.member(SYSTEM, "/Boot");
        if after["HttpBootUri"] == "" {
            after["HttpBootUri"] = Value::Null;
        }
        assert_eq!(after, before, "{ended:#}");
        assert_eq!(bmc.sessions(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_firmware_has_read_in_an_earlier_boot_does_not_count() {
    let dayone = Dayone::start().await;
    let bmc = EmulatedBmc::start(&Vendor::named("generic-dmtf"), Options::default()).await;
    for _ in 0..2 {
        let boot = dayone.begin_with(&bmc, "worker-0", "&method=http&wait_for=reading&eject=when-booted").await;
        let ended = dayone.until(&boot, "ended", |boot| boot["ended"] == true).await.unwrap();
        assert_eq!((ended["state"].as_str(), ended["inserted"].as_bool()), (Some("booted"), Some(false)), "{ended:#}");
    }
}

/// An iDRAC does not show in `Boot` what its attributes set, so `Boot` looks used up from the beginning.
#[tokio::test(flavor = "multi_thread")]
async fn a_hiccup_before_the_start_of_a_host_leaves_no_start_out() {
    let dayone = Dayone::start().await;
    let vendor = Vendor::named("dell-idrac9-systems");
    let calm = EmulatedBmc::start(&vendor, Options::default()).await;
    let query = "&wait_for=reading&eject=when-booted";
    let boot = dayone.begin_with(&calm, "worker-0", query).await;
    dayone.until(&boot, "ended", |boot| boot["ended"] == true).await.unwrap();
    let (requests, system) = (calm.requests(), calm.system());
    let reset = requests.iter().position(|request| request.path.contains("ComputerSystem.Reset")).unwrap();
    let is_read = |request: &&Record| request.method == "GET" && request.path.contains(&system);
    let reads = requests[..reset].iter().filter(is_read).count();

    let bmc = EmulatedBmc::start(&vendor, Options::default()).await;
    // The last read before the start, with its repetitions.
    bmc.inject(Fault { after: reads - 1, ..Fault::new("GET", &system, 3, Failure::Status(503)) });
    let boot = dayone.begin_with(&bmc, "worker-0", query).await;
    let ended = dayone.until(&boot, "ended", |boot| boot["ended"] == true).await.unwrap();
    assert!(bmc.has_gone_wrong() && ended["remarks"].to_string().contains("dayone tries again"), "{ended:#}");
    assert!(!ended["steps"][3]["detail"].as_str().unwrap().contains("already started"), "{ended:#}");
    assert_eq!(bmc.boots().iter().filter(|boot| boot.image.is_some()).count(), 1, "{ended:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_medium_of_the_remote_console_stays_when_an_insert_fails() {
    let dayone = Dayone::start().await;
    let bmc = EmulatedBmc::start(&Vendor::named("dell-idrac9-systems"), Options::default()).await;
    let other = format!("{}/VirtualMedia/2", bmc.system());
    for (name, value) in [("Inserted", json!(true)), ("ConnectedVia", json!("Applet")), ("Image", Value::Null)] {
        bmc.set(&other, &format!("/{name}"), value);
    }
    bmc.inject(Fault::new("POST", "InsertMedia", usize::MAX, Failure::Status(500)));
    let boot = dayone.begin_with(&bmc, "worker-0", "&wait_for=reading").await;
    let failed = dayone.until(&boot, "ended", |boot| boot["ended"] == true).await.unwrap();
    assert_eq!((&failed["state"], &failed["steps"][1]["state"]), (&json!("failed"), &json!("failed")), "{failed:#}");
    let client = bmc.connect().await.unwrap();
    let ejected = client.eject(&other, Some("http://192.0.2.1/i/abc/boot.iso")).await.unwrap();
    assert_eq!(ejected.found, redfish::bmc::Found::Other);
    assert!(!bmc.writes().iter().any(|write| write.path.contains("EjectMedia")), "{:#?}", bmc.writes());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_override_for_every_boot_that_is_not_restored_is_not_forgotten() {
    let dayone = Dayone::start().await;
    let bmc = EmulatedBmc::start(&Vendor::named("hpe-ilo6"), Options::default()).await;
    let system = bmc.system();
    let list = "/Boot/BootSourceOverrideEnabled@Redfish.AllowableValues";
    bmc.set(&system, list, json!(["Disabled", "Continuous"]));
    // The override is set, and nothing changes it back.
    bmc.inject(Fault { after: 1, ..Fault::new("PATCH", &system, usize::MAX, Failure::Status(409)) });
    let boot = dayone.begin_with(&bmc, "worker-0", "&wait_for=reading").await;
    dayone.until(&boot, "booted", |boot| boot["state"] == "booted").await.unwrap();
    dayone.delete(&boot).await;
    let failed = dayone.until(&boot, "failed", |boot| boot["steps"][6]["state"] == "failed").await.unwrap();
    let error = failed["steps"][6]["error"].as_str().unwrap();
    assert!(error.contains("every boot until it is restored") && error.contains("409"), "{error}");
    assert!(
        error.contains("Done: ejected from ") && error.ends_with("Delete the boot once more to try again"),
        "{error}"
    );
    assert_eq!((failed["ended"].as_bool(), bmc.inserted().len()), (Some(false), 0), "{failed:#}");

    bmc.heal();
    dayone.delete(&boot).await;
    dayone.until(&boot, "ejected", |boot| boot["state"] == "ejected").await.unwrap();
    assert_eq!(bmc.member(&system, "/Boot/BootSourceOverrideEnabled"), "Disabled");
}
