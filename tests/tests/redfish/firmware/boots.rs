//! `/v1/boots` by the settings of a host's firmware, with BMCs like those of Dell and HPE: from the request to a BMC that is as before,
//! with dayone killed in between, and with boots that are given up. The BMCs are simulated from reports (`fixtures/redfish/bios/`).

use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::bmc::{EmulatedBmc, Options, PASSWORD, USERNAME, Vendor};
use acceptance::boots::{begin, delete, nothing_shows, step, until, until_state};
use acceptance::server::Server;
use reqwest::blocking::Client;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const DELL: &str = "/redfish/v1/Systems/System.Embedded.1/Bios";
const HPE: &str = "/redfish/v1/systems/1/bios";
const ORDER: &str = "/redfish/v1/systems/1/bios/oem/hpe/boot";
const JOBS: &str = "/redfish/v1/Managers/iDRAC.Embedded.1/Oem/Dell/Jobs";
const QUERY: &str = "?base=coreos&method=http&wait_for=reading";

fn dell(bios: Value) -> Vendor {
    Vendor::named("dell-idrac9-systems").with_bios("dell").with(json!({"bios": bios}))
}

/// A BMC, and what answers for it while the test does not wait.
struct Bmc {
    runtime: Runtime,
    emulated: EmulatedBmc,
    bios: &'static str,
}

impl Bmc {
    fn start(vendor: &Vendor, bios: &'static str) -> Self {
        let runtime = Runtime::new().unwrap();
        let emulated = runtime.block_on(EmulatedBmc::start(vendor, Options::default()));
        Self { runtime, emulated, bios }
    }

    fn attributes(&self) -> Value {
        self.emulated.member(self.bios, "/Attributes")
    }

    /// Waits until the firmware takes settings.
    fn until_job(&self, state: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let jobs = self.emulated.member(JOBS, "/Members");
            let newest = jobs.as_array().and_then(|jobs| jobs.last()?["@odata.id"].as_str().map(str::to_owned));
            if newest.is_some_and(|job| self.emulated.member(&job, "/JobState") == state) {
                return;
            }
            assert!(Instant::now() < deadline, "no job is {state}: {jobs}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The host's next start, which somebody makes.
    fn restart(&self) {
        let boots = self.emulated.boots().len();
        self.runtime.block_on(async {
            let bmc = self.emulated.connect().await.unwrap();
            let cycle = redfish::bmc::PowerAction::Cycle { graceful: Duration::ZERO };
            bmc.power(cycle).await.unwrap();
            bmc.close().await;
            self.emulated.booted(boots, Duration::from_secs(20)).await
        });
    }

    /// A host with a static address, its default router, and a NIC that the BMC knows by its MAC address.
    fn documents(&self) -> String {
        let nmstate = json!({
            "interfaces": [{
                "name": "eth0", "type": "ethernet", "state": "up", "identifier": "mac-address", "mac-address": "52:54:00:00:00:03",
                "ipv4": {"enabled": true, "address": [{"ip": "192.0.2.20", "prefix-length": 24}]},
            }],
            "routes": {"config": [{"destination": "0.0.0.0/0", "next-hop-address": "192.0.2.1", "next-hop-interface": "eth0"}]},
        });
        let address = format!("redfish-virtualmedia+{}", self.emulated.origin());
        let documents = [
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "network"},
                "stringData": {"nmstate": nmstate.to_string()}}),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc"},
                "stringData": {"username": USERNAME, "password": PASSWORD}}),
            json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": "worker-0"},
                "spec": {"preprovisioningNetworkDataName": "network", "bmc": {"address": address, "credentialsName": "bmc"}}}),
        ];
        documents.map(|document| document.to_string()).join("\n---\n")
    }
}

fn remarks(boot: &Value) -> String {
    boot["remarks"].to_string()
}

#[test]
fn a_dell_boots_with_the_documents_address_and_is_as_before_after_its_next_restart() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = Bmc::start(&dell(json!({})), DELL);
    let before = bmc.attributes();
    let id = begin(&server, QUERY, &bmc.documents());
    let booted = until_state(&server, &id, "booted");
    let insert = step(&booted, "insert");
    assert_eq!(insert["state"], "done", "{booted:#}");
    assert!(
        insert["detail"].as_str().unwrap().contains("taken its settings: HttpDev1EnDis, HttpDev1Uri"),
        "{booted:#}"
    );
    assert!(remarks(&booted).contains("static address 192.0.2.20 on NIC.Slot.5-1"), "{booted:#}");
    let during = bmc.attributes();
    let url = during["HttpDev1Uri"].as_str().unwrap();
    assert!(url.ends_with("/boot.iso"));
    let address = ["HttpDev1Ip", "HttpDev1Mask", "HttpDev1Gateway", "HttpDev1Interface"]
        .map(|name| during[name].as_str().unwrap());
    assert_eq!(address, ["192.0.2.20", "255.255.255.0", "192.0.2.1", "NIC.Slot.5-1"]);
    let boots = bmc.emulated.boots();
    assert_eq!((boots.len(), boots[0].image.as_deref(), boots[1].image.as_deref()), (2, None, Some(url)));
    let token = url.split('/').rev().nth(1).unwrap().to_owned();

    delete(&server, &id);
    let ejected = until_state(&server, &id, "ejected");
    assert!(
        step(&ejected, "ejected")["detail"].as_str().unwrap().contains("staged for the host's next restart"),
        "{ejected:#}"
    );
    assert!(remarks(&ejected).contains("only after the host's next restart"), "{ejected:#}");
    assert_ne!(bmc.attributes(), before);
    bmc.restart();
    assert_eq!(bmc.attributes(), before);
    assert_eq!(bmc.emulated.sessions(), 0);
    nothing_shows(&server, &token);
}

#[test]
fn a_server_that_is_killed_while_the_firmware_takes_its_settings_continues() {
    let mut server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = Bmc::start(&dell(json!({"takes_ms": 3_000})), DELL);
    let before = bmc.attributes();
    let id = begin(&server, QUERY, &bmc.documents());
    bmc.until_job("Running");
    server.kill_and_start_again();
    let booted = until_state(&server, &id, "booted");
    assert!(remarks(&booted).contains("dayone was restarted"), "{booted:#}");
    // The restart that the firmware was making is not disturbed by another one.
    assert_eq!(bmc.emulated.boots().len(), 2, "{booted:#}");

    // A new server knows what was before.
    server.kill_and_start_again();
    delete(&server, &id);
    until_state(&server, &id, "ejected");
    bmc.restart();
    assert_eq!(bmc.attributes(), before);
}

#[test]
fn a_boot_that_is_given_up_leaves_the_settings_as_before() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = Bmc::start(&dell(json!({"takes_ms": 3_000})), DELL);
    let before = bmc.attributes();
    // Deleted while the firmware takes its settings.
    let id = begin(&server, QUERY, &bmc.documents());
    bmc.until_job("Running");
    delete(&server, &id);
    let ejected = until_state(&server, &id, "ejected");
    assert!(remarks(&ejected).contains("only after the host's next restart"), "{ejected:#}");
    bmc.restart();
    assert_eq!(bmc.attributes(), before);

    // The firmware fails over its settings.
    let bmc = Bmc::start(&dell(json!({"fails": "Unable to apply the settings."})), DELL);
    let id = begin(&server, QUERY, &bmc.documents());
    let failed = until(&server, &id, "over", |boot| boot["ended"] == true);
    assert!(step(&failed, "insert")["error"].as_str().unwrap().contains("Unable to apply the settings"), "{failed:#}");
    assert_eq!(bmc.attributes(), before);

    // The boot override is refused, and there is no boot order. The boot ends with the settings as they were.
    let mut vendor = Vendor::named("hpe-ilo6").with_bios("hpe").with(json!({"boot": {"unsupported": true}}));
    vendor.resources.get_mut(&format!("{HPE}/")).unwrap()["Oem"] = json!({});
    let bmc = Bmc::start(&vendor, HPE);
    let before = bmc.attributes();
    let id = begin(&server, QUERY, &bmc.documents());
    let failed = until(&server, &id, "over", |boot| boot["ended"] == true);
    assert_eq!(step(&failed, "boot-override")["state"], "failed", "{failed:#}");
    assert!(remarks(&failed).contains("UrlBootFile"), "{failed:#}");
    bmc.restart();
    assert_eq!(bmc.attributes(), before);
}

/// Such an iLO takes no boot override (libredfish #76), or takes it and ignores it.
#[test]
fn an_ilo_without_boot_overrides_boots_by_its_boot_order_which_is_as_before_afterwards() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let ignores = ["BootSourceOverrideTarget", "BootSourceOverrideEnabled", "UefiTargetBootSourceOverride"];
    for boot in [json!({"unsupported": true}), json!({"ignores": ignores})] {
        let vendor = Vendor::named("hpe-ilo6").with_bios("hpe").with(json!({"boot": boot}));
        let bmc = Bmc::start(&vendor, HPE);
        let order = || bmc.emulated.member(ORDER, "/PersistentBootConfigOrder");
        let (before, attributes) = (order(), bmc.attributes());
        let id = begin(&server, QUERY, &bmc.documents());
        let booted = until_state(&server, &id, "booted");
        assert!(remarks(&booted).contains("boot order begins with the URL instead"), "{booted:#}");
        assert!(remarks(&booted).contains("the boot order from before is staged"), "{booted:#}");
        let boots = bmc.emulated.boots();
        let url = bmc.attributes()["UrlBootFile"].as_str().unwrap().to_owned();
        assert_eq!((boots.len(), boots[0].image.as_deref(), boots[1].image.as_deref()), (2, None, Some(&*url)));
        assert_eq!(order(), json!(["URL.File.1.1", "HD.Emb.1.1", "NIC.Slot.1.1.Httpv4"]));
        // Whatever starts the host now, it does not start from the URL again.
        bmc.restart();
        assert_eq!((order(), bmc.emulated.boots()[2].image.as_deref()), (before, None));
        delete(&server, &id);
        until_state(&server, &id, "ejected");
        bmc.restart();
        assert_eq!(bmc.attributes(), attributes);
    }
}

/// A server that goes on sets the order once more, and must not take the changed one for that from before.
#[test]
fn a_server_that_is_killed_before_the_start_keeps_the_boot_order_from_before() {
    let mut server = Server::start("coreos", &coreos_iso(&[]));
    let slow = json!({"boot": {"unsupported": true}, "power": {"takes_ms": 1_500}});
    let bmc = Bmc::start(&Vendor::named("hpe-ilo6").with_bios("hpe").with(slow), HPE);
    let order = || bmc.emulated.member(ORDER, "/PersistentBootConfigOrder");
    let before = order();
    let id = begin(&server, QUERY, &bmc.documents());
    until(&server, &id, "set", |boot| step(boot, "boot-override")["state"] == "done");
    server.kill_and_start_again();
    let booted = until_state(&server, &id, "booted");
    assert!(remarks(&booted).contains("dayone was restarted"), "{booted:#}");
    delete(&server, &id);
    until_state(&server, &id, "ejected");
    bmc.restart();
    assert_eq!(order(), before);
}

#[test]
fn what_is_refused_changes_nothing_and_the_nic_can_be_named() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let mut locked = dell(json!({}));
    locked.resources.get_mut(DELL).unwrap()["Attributes"]["HttpDev1EnDis"] = json!("Enabled");
    let bmc = Bmc::start(&locked, DELL);
    let id = begin(&server, QUERY, &bmc.documents());
    let failed = until(&server, &id, "over", |boot| boot["ended"] == true);
    assert!(step(&failed, "insert")["error"].as_str().unwrap().contains("HttpDev1Uri is read-only"), "{failed:#}");
    assert!(bmc.emulated.writes().is_empty());

    let bmc = Bmc::start(&Vendor::named("hpe-ilo6").with_bios("hpe"), HPE);
    let id = begin(&server, &format!("{QUERY}&firmware_interface=Slot1NicPort1&eject=when-booted"), &bmc.documents());
    let booted = until(&server, &id, "over", |boot| boot["ended"] == true);
    assert_eq!(booted["state"], "booted", "{booted:#}");
    let sent = bmc.emulated.writes().into_iter().find(|write| write.path.ends_with("settings")).unwrap().body;
    assert_eq!(
        (&sent["Attributes"]["Ipv4Address"], &sent["Attributes"]["PreBootNetwork"]),
        (&json!("192.0.2.20"), &json!("Slot1NicPort1"))
    );

    let refused = |query: &str, documents: String| {
        let request = Client::new().post(format!("{}/v1/boots{query}", server.api)).body(documents);
        let answer = request.header("content-type", "application/yaml").send().unwrap();
        (answer.status().as_u16(), answer.json::<Value>().unwrap()["detail"].as_str().unwrap().to_owned())
    };
    let cases = [
        ("?base=coreos&firmware_interface=NIC.1", bmc.documents(), "only for the method http"),
        ("?base=coreos&method=http&firmware_interface=a%20b", bmc.documents(), "the firmware's name of a NIC"),
    ];
    for (query, documents, expected) in cases {
        let (status, detail) = refused(query, documents);
        assert!(status == 422 || status == 400, "{status}: {detail}");
        assert!(detail.contains(expected), "{detail}");
    }
}

#[test]
fn a_boot_says_why_the_firmware_has_no_address_of_the_documents() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let dell = Bmc::start(&dell(json!({})), DELL);
    // Nothing in this document leads to the media URL.
    let unrouted = dell.documents().replace("0.0.0.0/0", "198.51.100.0/24");
    let id = begin(&server, QUERY, &unrouted);
    let booted = until_state(&server, &id, "booted");
    assert!(remarks(&booted).contains("the documents give it no static IPv4 address"), "{booted:#}");
    assert_eq!(dell.attributes()["HttpDev1Ip"], "");

    let generic = Bmc::start(&Vendor::named("generic-dmtf"), HPE);
    let id = begin(&server, &format!("{QUERY}&firmware_interface=Slot1NicPort1"), &generic.documents());
    let booted = until_state(&server, &id, "booted");
    assert!(remarks(&booted).contains("firmware_interface has no effect"), "{booted:#}");
}
