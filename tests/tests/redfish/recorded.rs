//! dayone's Redfish client against recorded resources: those of the DMTF's public mock-up of a rack server and of an
//! iDRAC 9, as sushy's package has them among its samples. What they do when they are changed is emulated.

use std::fs;
use std::time::Duration;

use acceptance::bmc::{EmulatedBmc, ImageServer, Options, Vendor};
use acceptance::peers::cache;
use redfish::bmc::{self, Bmc, Medium, OverrideForm, PowerAction};
use serde_json::Value;

fn samples(directory: &str, names: &[&str]) -> Vec<Value> {
    let python = fs::read_dir(cache().join("ironic-39.0.0/lib")).expect("run scripts/setup-peers.sh");
    let python = python.map(|entry| entry.unwrap().path()).find(|path| path.join("site-packages/sushy").exists());
    let samples = python.expect("sushy").join("site-packages/sushy/tests").join(directory).join("json_samples");
    let read = |name: &&str| {
        let path = samples.join(format!("{name}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap()
    };
    names.iter().map(read).collect()
}

#[tokio::test]
async fn the_dmtfs_rack_server_boots_from_a_usb_disk() {
    let names = [
        "root",
        "system_collection",
        "system",
        "manager_collection",
        "manager",
        "virtual_media_collection",
        "virtual_media",
        "session_service",
        "session_collection",
    ];
    let vendor = Vendor::recorded("dmtf", samples("unit", &names));
    let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
    let images = ImageServer::start(vec![7; 100_000], None).await;
    let image = images.url("abcdefghijklmnopqrstuvwxyz").replace(".iso", ".img");

    let bmc = emulated.connect().await.unwrap();
    let survey = bmc.survey().await.unwrap();
    assert!(Bmc::plan(&survey, Medium::Cd, None).is_err(), "it has a floppy that can be a USB disk");
    let plan = Bmc::plan(&survey, Medium::Usb, None).unwrap();
    let inserted = bmc.insert(&plan, &image).await.unwrap();
    assert!(inserted.replaced, "its sardines are in");
    let set = bmc.boot_once(&plan).await.unwrap();
    assert_eq!(set.previous.target.as_deref(), Some("Pxe"));
    bmc.power(PowerAction::Cycle { graceful: Duration::ZERO }).await.unwrap();
    let boot = emulated.booted(0, Duration::from_secs(20)).await;
    assert_eq!((boot.image.as_deref(), boot.end), (Some(&*image), Some(Ok(()))));
    bmc.eject(&inserted.slot, Some(&image)).await.unwrap();
    bmc.close().await;
    assert_eq!(emulated.sessions(), 0);
}

#[tokio::test]
async fn an_idrac_9_is_read() {
    let recorded = samples("oem/dell/unit", &["root", "system", "manager", "manager_collection"]);
    // The slots are not among the samples.
    let hand_made = Vendor::named("dell-idrac9-managers").resources.into_values();
    let vendor = Vendor::recorded("idrac", hand_made.chain(recorded));
    let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
    let bmc = emulated.connect().await.unwrap();
    let survey = bmc.survey().await.unwrap();
    assert_eq!(survey.vendor, bmc::Vendor::Dell);
    assert_eq!(survey.notes, [""; 0]);
    assert_eq!(survey.system.path, "/redfish/v1/Systems/System.Embedded.1");
    assert_eq!(survey.managers[0].model.as_deref(), Some("14G Monolithic"));
    let plan = Bmc::plan(&survey, Medium::Cd, None).unwrap();
    assert_eq!(plan.slots[0].path, "/redfish/v1/Managers/iDRAC.Embedded.1/VirtualMedia/CD");
    let attributes = "/redfish/v1/Managers/iDRAC.Embedded.1/Attributes";
    assert!(
        matches!(&plan.boot[0], OverrideForm::DellAttributes { path, device } if path == attributes && device == "VCD-DVD"),
        "{:#?}",
        plan.boot
    );
}
