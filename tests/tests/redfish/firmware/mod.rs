//! HTTP boot by the settings of a host's firmware, with BMCs like those of Dell and HPE: what dayone sends and when, what it refuses
//! before it sends anything, and that the settings are as before afterwards. The BMCs are simulated from reports
//! (`fixtures/redfish/bios/`): none of this was seen with hardware.

mod boots;
mod life;
mod refusals;

use std::time::Duration;

use acceptance::bmc::{EmulatedBmc, Options, PASSWORD, Record, USERNAME, Vendor};
use redfish::bmc::{
    Bmc, BmcError, BootMode, BootOverride, FirmwareError, FirmwareNetwork, FirmwareRestored, FirmwareSettings, Limits,
    Medium, Plan, PowerAction, Staging, StaticAddress,
};
use reqwest::Client;
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(20);
const URL: &str = "http://192.0.2.1:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso";
const DELL: &str = "/redfish/v1/Systems/System.Embedded.1/Bios";
const HPE: &str = "/redfish/v1/systems/1/bios";
const RESET: &str = "Actions/ComputerSystem.Reset";

fn dell() -> Vendor {
    Vendor::named("dell-idrac9-systems").with_bios("dell")
}

fn hpe() -> Vendor {
    Vendor::named("hpe-ilo6").with_bios("hpe")
}

/// The firmware's settings for HTTP boot are on already, and only the URL has to change.
fn enabled_dell() -> Vendor {
    let mut vendor = with(dell(), DELL, &[("HttpDev1EnDis", json!("Enabled")), ("HttpDev1TlsMode", json!("None"))]);
    let registry = vendor.resources.get_mut(&format!("{DELL}/BiosRegistry")).unwrap();
    registry["RegistryEntries"]["Attributes"][1]["ReadOnly"] = json!(false);
    vendor
}

/// The same with other values of settings.
fn with(mut vendor: Vendor, bios: &str, values: &[(&str, Value)]) -> Vendor {
    for (path, resource) in &mut vendor.resources {
        if path.trim_end_matches('/').starts_with(bios) && resource["Attributes"]["BootMode"] != Value::Null {
            for (name, value) in values {
                resource["Attributes"][*name] = value.clone();
            }
        }
    }
    vendor
}

fn network(interface: Option<&str>, macs: &[&str]) -> FirmwareNetwork {
    let address = StaticAddress {
        address: [192, 0, 2, 17].into(),
        prefix: 26,
        gateway: Some([192, 0, 2, 1].into()),
        vlan: None,
        dns: vec![[192, 0, 2, 53].into()],
    };
    let macs = macs.iter().map(|mac| (*mac).to_owned()).collect();
    FirmwareNetwork { interface: interface.map(str::to_owned), address, macs, caution: None }
}

async fn connect(emulated: &EmulatedBmc) -> Bmc {
    let limits = Limits {
        settle: Duration::from_secs(2),
        firmware: Duration::from_secs(5),
        pause: Duration::from_millis(20),
        poll_interval: Duration::from_millis(20),
        ..Limits::default()
    };
    emulated.connect().await.unwrap().with_limits(limits)
}

async fn plan(bmc: &Bmc, network: Option<&FirmwareNetwork>) -> Result<Plan, BmcError> {
    let survey = bmc.survey().await.unwrap();
    bmc.plan_http_boot(&survey, Medium::Cd, None, URL, network, None).await
}

/// Another process, with nothing but what was kept.
fn kept(settings: &FirmwareSettings) -> FirmwareSettings {
    serde_json::from_str(&serde_json::to_string(settings).unwrap()).unwrap()
}

fn attributes(bmc: &EmulatedBmc, bios: &str) -> Value {
    bmc.member(bios, "/Attributes")
}

fn writes(bmc: &EmulatedBmc) -> Vec<(String, Value)> {
    let short = |path: String| path.trim_start_matches("/redfish/v1/").to_owned();
    bmc.writes().into_iter().map(|Record { path, body, .. }| (short(path), body)).collect()
}

const CYCLE: PowerAction = PowerAction::Cycle { graceful: Duration::ZERO };

/// Stages the settings, starts the host for them, and switches it off.
async fn apply(bmc: &Bmc, settings: &FirmwareSettings) {
    assert_eq!(bmc.stage_firmware(settings, URL, None).await.unwrap().staging, Staging::NeedsRestart);
    bmc.power(CYCLE).await.unwrap();
    bmc.wait_for_firmware(settings, URL).await.unwrap();
    bmc.power(PowerAction::Off { graceful: Duration::ZERO }).await.unwrap();
}
