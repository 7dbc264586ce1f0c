//! UEFI HTTP boot through BMCs: what dayone sends, when it refuses, and that everything is as before afterwards. The machines of the
//! emulated BMC fetch the image as EDK2 does; sushy-tools inserts it into the virtual CD. OVMF itself is in
//! `tests/machines/http_boot.rs`.

use std::time::Duration;

use acceptance::bases::coreos_iso;
use acceptance::bmc::{EmulatedBmc, Identity, ImageServer, Options, Record, Vendor};
use acceptance::boots::{self, Callers, step};
use acceptance::server::Server;
use acceptance::sushy::{self, Emulator};
use redfish::bmc::{Bmc, BmcError, BootMode, BootOverride, Medium, Plan, PowerAction, Reception};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(20);
const SYSTEM: &str = "/redfish/v1/Systems/437XR1138R2";

fn generic() -> Vendor {
    Vendor::named("generic-dmtf")
}

/// The generic BMC, with another member of `Boot`.
fn with(name: &str, value: Value) -> Vendor {
    let mut vendor = generic();
    vendor.resources.get_mut(SYSTEM).unwrap()["Boot"][name] = value;
    vendor
}

async fn images() -> ImageServer {
    ImageServer::start(vec![7; 300_000], None::<Identity>).await
}

async fn plan(bmc: &Bmc, mode: Option<BootMode>) -> Result<Plan, BmcError> {
    let survey = bmc.survey().await.unwrap();
    // The URL is no part of a plan with HttpBootUri.
    bmc.plan_http_boot(&survey, Medium::Cd, mode, "http://192.0.2.1/boot.iso", None, None).await
}

fn boot(bmc: &EmulatedBmc) -> Value {
    bmc.member(SYSTEM, "/Boot")
}

fn writes(bmc: &EmulatedBmc) -> Vec<Value> {
    bmc.writes().into_iter().map(|Record { body, .. }| body).collect()
}

#[tokio::test]
async fn the_firmware_fetches_the_image_once_and_the_bmc_is_as_before() {
    let elsewhere = "http://192.0.2.9/other.efi";
    for (vendor, before) in [(generic(), Value::Null), (with("HttpBootUri", json!(elsewhere)), json!(elsewhere))] {
        let (emulated, images) = (EmulatedBmc::start(&vendor, Options::default()).await, images().await);
        let url = images.url("abcdefghijklmnopqrstuvwxyz");
        let boot_before = boot(&emulated);
        let bmc = emulated.connect().await.unwrap();
        let plan = plan(&bmc, None).await.unwrap();
        let set = bmc.boot_http_once(&plan, &url).await.unwrap();
        assert!(set.once && set.notes.is_empty() && set.form.is_http(), "{set:?}");
        assert!(!format!("{set:?}").contains(elsewhere), "a URL may be a secret");
        let sent =
            json!({"BootSourceOverrideTarget": "UefiHttp", "BootSourceOverrideEnabled": "Once", "HttpBootUri": url});
        assert_eq!(writes(&emulated), [json!({"Boot": sent})]);
        bmc.power(PowerAction::Cycle { graceful: Duration::ZERO }).await.unwrap();
        let booted = emulated.booted(0, LIMIT).await;
        assert_eq!((booted.image.as_deref(), booted.end, booted.read), (Some(&*url), Some(Ok(())), 300_000));
        assert_eq!((images.requests(), emulated.inserted().len()), (2, 0));

        // Another process, with nothing but what was kept.
        let set: BootOverride = serde_json::from_str(&serde_json::to_string(&set).unwrap()).unwrap();
        assert!(bmc.restore_http(&set, &url).await.unwrap());
        assert_eq!(boot(&emulated), boot_before);
        assert_eq!(boot(&emulated)["HttpBootUri"], before);
        let requests = emulated.writes().len();
        assert!(!bmc.restore_http(&set, &url).await.unwrap());
        assert_eq!(emulated.writes().len(), requests, "there was nothing to restore");
    }
}

#[tokio::test]
async fn an_override_that_nobody_has_used_is_restored_and_one_of_somebody_else_is_left() {
    let emulated = EmulatedBmc::start(&generic(), Options::default()).await;
    let boot_before = boot(&emulated);
    let bmc = emulated.connect().await.unwrap();
    let plan = plan(&bmc, None).await.unwrap();
    let (url, other) = ("http://192.0.2.1/i/abc/boot.iso", "http://192.0.2.1/i/xyz/boot.iso");
    let set = bmc.boot_http_once(&plan, url).await.unwrap();
    assert!(bmc.restore_http(&set, url).await.unwrap());
    assert_eq!(boot(&emulated), boot_before);

    let set = bmc.boot_http_once(&plan, url).await.unwrap();
    for (name, value) in [("HttpBootUri", other), ("BootSourceOverrideTarget", "Pxe")] {
        emulated.set(SYSTEM, &format!("/Boot/{name}"), json!(value));
    }
    let theirs = boot(&emulated);
    assert!(!bmc.restore_http(&set, url).await.unwrap());
    assert_eq!(boot(&emulated), theirs);
}

#[tokio::test]
async fn a_bmc_that_refuses_null_gets_an_empty_url() {
    let vendor = generic().with(json!({"boot": {"refuses_null": true}}));
    let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
    let bmc = emulated.connect().await.unwrap();
    let plan = plan(&bmc, None).await.unwrap();
    let url = "http://192.0.2.1/i/abc/boot.iso";
    let set = bmc.boot_http_once(&plan, url).await.unwrap();
    assert!(bmc.restore_http(&set, url).await.unwrap());
    let boot = boot(&emulated);
    assert_eq!(
        (&boot["HttpBootUri"], &boot["BootSourceOverrideEnabled"]),
        (&json!(""), &json!("Disabled")),
        "{boot:#}"
    );
}

#[tokio::test]
async fn what_cannot_boot_by_http_is_refused_before_anything_changes() {
    let legacy = with("BootSourceOverrideMode", json!("Legacy"));
    let cases = [
        (
            with("BootSourceOverrideTarget@Redfish.AllowableValues", json!(["Pxe", "Cd"])),
            None,
            "it can boot from Pxe, Cd",
        ),
        (legacy.clone(), None, "only UEFI boots by HTTP"),
        (generic(), Some(BootMode::Legacy), "only UEFI boots by HTTP"),
        (Vendor::named("dell-idrac9-systems"), None, "Dell's BMC has no HttpBootUri"),
    ];
    for (vendor, mode, expected) in cases {
        let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
        let error = plan(&emulated.connect().await.unwrap(), mode).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(emulated.writes().len(), 0);
    }
    // Asked for UEFI, dayone changes the mode.
    let emulated = EmulatedBmc::start(&legacy, Options::default()).await;
    let bmc = emulated.connect().await.unwrap();
    let plan = plan(&bmc, Some(BootMode::Uefi)).await.unwrap();
    bmc.boot_http_once(&plan, "http://192.0.2.1/i/abc/boot.iso").await.unwrap();
    assert_eq!(boot(&emulated)["BootSourceOverrideMode"], "UEFI");
}

/// The firmware would ask DHCP for a URL, and boot whatever that says.
#[tokio::test]
async fn a_url_that_the_bmc_does_not_keep_is_a_failure() {
    let vendor = generic().with(json!({"boot": {"ignores": ["HttpBootUri"]}}));
    let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
    let bmc = emulated.connect().await.unwrap();
    let plan = plan(&bmc, None).await.unwrap();
    let error = bmc.boot_http_once(&plan, "http://192.0.2.1/i/abc/boot.iso").await.unwrap_err();
    assert!(matches!(&error, BmcError::HttpUriNotKept { attempts } if attempts.len() == 1), "{error}");
}

fn emulator(server: &Server, http_boot: bool) -> Emulator {
    let options = sushy::Options { credentials: Some(("admin", "secret")), http_boot, ..Default::default() };
    Emulator::start_with(&server.directory().join("bmc"), &options)
}

/// Boots a host whose BMC's address has this scheme.
fn sushy_tools_takes_the_url_and_gives_everything_back(query: &str, scheme: &str) {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = emulator(&server, true);
    let target = bmc.system_state()["Boot"]["BootSourceOverrideTarget"].clone();
    let _callers = Callers::start(server.directory());
    let documents = boots::documents("worker-0", &bmc.origin, &bmc.system, "secret");
    let documents = documents.replace("redfish-virtualmedia", scheme);
    assert!(documents.contains(scheme), "{documents}");
    let id = boots::begin(&server, query, &documents);
    let booted = boots::until_state(&server, &id, "booted");
    assert_eq!((&booted["method"], &booted["medium"]), (&json!("http"), &json!("cd")), "{booted:#}");
    assert_eq!(step(&booted, "insert")["state"], "skipped", "{booted:#}");
    let state = bmc.system_state();
    assert!(state["Boot"]["HttpBootUri"].as_str().unwrap().ends_with("/boot.iso"), "{state:#}");
    assert_eq!(bmc.fetched().len(), 1);
    boots::delete(&server, &id);
    boots::until_state(&server, &id, "ejected");
    assert_eq!(bmc.system_state()["Boot"]["BootSourceOverrideTarget"], target);
    assert_eq!((&bmc.media()["Inserted"], bmc.fetched().len()), (&json!(false), 0));
}

#[test]
fn a_host_boots_by_http_if_the_request_says_so() {
    sushy_tools_takes_the_url_and_gives_everything_back("?base=coreos&method=http", "redfish-virtualmedia");
}

/// As Metal3 has it.
#[test]
fn a_host_boots_by_http_if_the_scheme_of_its_bmc_says_so() {
    sushy_tools_takes_the_url_and_gives_everything_back("?base=coreos", "redfish-uefihttp");
}

#[test]
fn an_image_that_sushy_tools_has_inserted_before_it_refuses_is_taken_out() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = emulator(&server, false);
    let documents = boots::documents("worker-0", &bmc.origin, &bmc.system, "secret");
    let id = boots::begin(&server, "?base=coreos&method=http", &documents);
    let failed = boots::until(&server, &id, "over", |boot| boot["ended"] == true);
    assert_eq!(
        (&failed["state"], &step(&failed, "boot-override")["state"]),
        (&json!("failed"), &json!("failed")),
        "{failed:#}"
    );
    // It keeps a copy for each request that it has refused, which no request removes.
    assert_eq!(bmc.media()["Inserted"], false);
    assert!(step(&failed, "ejected")["detail"].as_str().unwrap().starts_with("ejected from "), "{failed:#}");
}

/// Without an override, nothing makes the firmware boot from the URL.
#[tokio::test]
async fn a_bmc_that_shows_the_url_and_no_override_has_only_accepted_it() {
    let vendor =
        generic().with(json!({"boot": {"ignores": ["BootSourceOverrideTarget", "BootSourceOverrideEnabled"]}}));
    let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
    let bmc = emulated.connect().await.unwrap();
    let plan = plan(&bmc, None).await.unwrap();
    let set = bmc.boot_http_once(&plan, "http://192.0.2.1/i/abc/boot.iso").await.unwrap();
    assert_eq!(set.reception, Reception::Accepted, "{set:?}");
    assert_eq!(set.notes, ["the BMC accepted the boot target UefiHttp, but shows None"]);
}

#[tokio::test]
async fn an_override_that_is_shown_a_moment_later_is_waited_for_and_one_that_is_not_shown_is_undone() {
    let members = ["BootSourceOverrideTarget", "BootSourceOverrideEnabled", "HttpBootUri"];
    let vendor = generic().with(json!({"boot": {"ignores": members}}));
    let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
    let limits = redfish::bmc::Limits { settle: Duration::from_mins(1), ..acceptance::bmc::target::limits() };
    let bmc = emulated.connect().await.unwrap().with_limits(limits);
    let plan = plan(&bmc, None).await.unwrap();
    let url = "http://192.0.2.1/i/abc/boot.iso";
    let late = async {
        while emulated.writes().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let sent = writes(&emulated)[0]["Boot"].clone();
        members.iter().for_each(|name| emulated.set(SYSTEM, &format!("/Boot/{name}"), sent[name].clone()));
    };
    let (set, ()) = tokio::join!(bmc.boot_http_once(&plan, url), late);
    let set = set.unwrap();
    assert_eq!((set.reception, writes(&emulated).len()), (Reception::Shown, 1), "{set:?}");

    // As if it had not been shown in time, and is not yet.
    let before =
        json!({"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled", "HttpBootUri": null});
    members.iter().for_each(|name| emulated.set(SYSTEM, &format!("/Boot/{name}"), before[name].clone()));
    let set = BootOverride { reception: Reception::Accepted, ..set };
    bmc.restore_http(&set, url).await.unwrap();
    assert_eq!(writes(&emulated)[1..], [json!({"Boot": before})]);
}
