//! HTTP boot by the settings of a host's firmware, with BMCs like those of Dell and HPE: what dayone sends and when, what it refuses
//! before it sends anything, and that the settings are as before afterwards. The BMCs are simulated from reports
//! (`fixtures/redfish/bios/`): none of this was seen with hardware.

use std::time::Duration;

use acceptance::bmc::{EmulatedBmc, Options, Record, Vendor};
use redfish::bmc::{
    Bmc, BmcError, BootMode, FirmwareError, FirmwareNetwork, FirmwareRestored, FirmwareSettings, Limits, Medium, Plan,
    PowerAction, Staging, StaticAddress,
};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(20);
const URL: &str = "http://192.0.2.1:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso";
const DELL: &str = "/redfish/v1/Systems/System.Embedded.1/Bios";
const HPE: &str = "/redfish/v1/systems/1/bios";
const RESET: &str = "Actions/ComputerSystem.Reset";

fn dell() -> Vendor {
    Vendor::named("dell-idrac9-systems").with_bios("dell")
}

/// An iLO, with the property that it does not let anybody change.
fn hpe() -> Vendor {
    let mut vendor = Vendor::named("hpe-ilo6").with_bios("hpe");
    vendor.resources.get_mut("/redfish/v1/Systems/1").unwrap()["Boot"]["HttpBootUri"] = Value::Null;
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
    assert_eq!(bmc.stage_firmware(settings, URL).await.unwrap().staging, Staging::NeedsRestart);
    bmc.power(CYCLE).await.unwrap();
    bmc.wait_for_firmware(settings, URL).await.unwrap();
    bmc.power(PowerAction::Off { graceful: Duration::ZERO }).await.unwrap();
}

#[tokio::test]
async fn an_idrac_gets_the_url_and_a_static_address_and_everything_is_undone() {
    let emulated = EmulatedBmc::start(&dell(), Options::default()).await;
    let images = acceptance::bmc::ImageServer::start(vec![7; 300_000], None).await;
    let url = images.url("abcdefghijklmnopqrstuvwxyz");
    let before = attributes(&emulated, DELL);
    let bmc = connect(&emulated).await;
    let survey = bmc.survey().await.unwrap();
    // The MAC address of the bond is the current one of another NIC; the permanent one decides as well.
    let network = network(None, &["52-54-00-00-00-03"]);
    let plan = bmc.plan_http_boot(&survey, Medium::Cd, None, &url, Some(&network), None).await.unwrap();
    assert!(plan.quirks.iter().any(|quirk| quirk.contains("192.0.2.17 on NIC.Slot.5-1")), "{:?}", plan.quirks);
    assert_eq!(emulated.writes().len(), 0, "a plan changes nothing");
    let token = "abcdefghijklmnopqrstuvwxyz";
    assert!(!format!("{plan:?}").contains(token) && !serde_json::to_string(&plan).unwrap().contains(token));

    let settings = kept(plan.firmware.as_ref().unwrap());
    assert_eq!(bmc.stage_firmware(&settings, &url).await.unwrap().staging, Staging::NeedsRestart);
    bmc.power(CYCLE).await.unwrap();
    // The BMC shows the new values before the job has ended; the boot must wait for its end.
    bmc.wait_for_firmware(&settings, &url).await.unwrap();
    bmc.power(PowerAction::Off { graceful: Duration::ZERO }).await.unwrap();
    let set = bmc.boot_http_once(&plan, &url).await.unwrap();
    assert!(set.once && set.notes.is_empty(), "{set:?}");
    bmc.power(CYCLE).await.unwrap();
    let booted = emulated.booted(1, LIMIT).await;
    assert_eq!((booted.image.as_deref(), booted.end, booted.read), (Some(&*url), Some(Ok(())), 300_000));
    assert_eq!(emulated.boots()[0].image, None, "the first start is only for the settings");

    let changed = json!({
        "HttpDev1EnDis": "Enabled", "HttpDev1Uri": url, "HttpDev1TlsMode": "None", "HttpDev1Interface": "NIC.Slot.5-1",
        "HttpDev1DhcpEnDis": "Disabled", "HttpDev1Ip": "192.0.2.17", "HttpDev1Mask": "255.255.255.192",
        "HttpDev1Gateway": "192.0.2.1", "HttpDev1DnsDhcpEnDis": "Disabled", "HttpDev1Dns1": "192.0.2.53",
    });
    let staged = json!({"@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"}, "Attributes": changed});
    let (system, boot) = (
        "Systems/System.Embedded.1",
        json!({"BootSourceOverrideTarget": "UefiHttp", "BootSourceOverrideEnabled": "Once"}),
    );
    let reset = |kind: &str| (format!("{system}/{RESET}"), json!({"ResetType": kind}));
    let expected = [
        (format!("{system}/Bios/Settings"), staged),
        reset("ForceOff"),
        reset("On"),
        reset("ForceOff"),
        (system.to_owned(), json!({"Boot": boot})),
        reset("On"),
    ];
    assert_eq!(writes(&emulated), expected);
    // What dayone announces is what it does, but for switching off a host that is off.
    let announced = plan.requests(&url).into_iter().map(|request| request.body).collect::<Vec<_>>();
    assert_eq!(announced[0], expected[0].1);
    assert_eq!(announced.last(), Some(&expected[4].1));

    assert!(!bmc.restore(&set).await.unwrap(), "the override is used up");
    let restored = bmc.restore_firmware(&settings, &url).await.unwrap();
    assert_eq!(restored, FirmwareRestored::Staged { kept: Vec::new() });
    assert_eq!(attributes(&emulated, DELL)["HttpDev1Uri"], url, "until the next start");
    bmc.power(CYCLE).await.unwrap();
    emulated.booted(2, LIMIT).await;
    assert_eq!(attributes(&emulated, DELL), before);
    let requests = emulated.writes().len();
    assert_eq!(bmc.restore_firmware(&settings, &url).await.unwrap(), FirmwareRestored::Nothing);
    assert_eq!(emulated.writes().len(), requests);
}

#[tokio::test]
async fn an_ilo_gets_the_url_and_everything_is_undone() {
    let emulated = EmulatedBmc::start(&hpe(), Options::default()).await;
    let before = attributes(&emulated, HPE);
    let bmc = connect(&emulated).await;
    // Without the port's name, the firmware's network stays, and the plan says so.
    let automatic = plan(&bmc, Some(&network(None, &["52:54:00:00:00:01"]))).await.unwrap();
    assert!(automatic.quirks.iter().any(|quirk| quirk.contains("firmware_interface")), "{:?}", automatic.quirks);
    assert_eq!(automatic.firmware.unwrap().attributes().collect::<Vec<_>>(), ["UrlBootFile"]);

    let plan = plan(&bmc, Some(&network(Some("Slot1NicPort1"), &[]))).await.unwrap();
    let settings = kept(plan.firmware.as_ref().unwrap());
    apply(&bmc, &settings).await;
    let changed = json!({
        "UrlBootFile": URL, "PreBootNetwork": "Slot1NicPort1", "Dhcpv4": "Disabled", "Ipv4Address": "192.0.2.17",
        "Ipv4SubnetMask": "255.255.255.192", "Ipv4Gateway": "192.0.2.1", "Ipv4PrimaryDNS": "192.0.2.53",
    });
    assert_eq!(writes(&emulated)[0], ("systems/1/bios/settings".to_owned(), json!({"Attributes": changed})));
    let set = bmc.boot_http_once(&plan, URL).await.unwrap();
    bmc.power(CYCLE).await.unwrap();
    assert_eq!(emulated.booted(1, LIMIT).await.image.as_deref(), Some(URL));

    // Somebody has set another gateway since. It stays.
    for path in [HPE.to_owned(), format!("{HPE}/settings")] {
        emulated.set(&path, "/Attributes/Ipv4Gateway", json!("192.0.2.2"));
    }
    bmc.restore(&set).await.unwrap();
    assert_eq!(bmc.restore_firmware(&settings, URL).await.unwrap(), FirmwareRestored::Staged { kept: Vec::new() });
    bmc.power(CYCLE).await.unwrap();
    emulated.booted(2, LIMIT).await;
    let mut expected = before;
    expected["Ipv4Gateway"] = json!("192.0.2.2");
    assert_eq!(attributes(&emulated, HPE), expected);
}

#[tokio::test]
async fn settings_that_the_firmware_has_not_taken_are_withdrawn() {
    for (vendor, bios) in [(dell(), DELL), (hpe(), HPE)] {
        let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
        let before = attributes(&emulated, bios);
        let bmc = connect(&emulated).await;
        let settings = plan(&bmc, None).await.unwrap().firmware.unwrap();
        bmc.stage_firmware(&settings, URL).await.unwrap();
        assert_eq!(bmc.restore_firmware(&settings, URL).await.unwrap(), FirmwareRestored::Cancelled);
        bmc.power(CYCLE).await.unwrap();
        emulated.booted(0, LIMIT).await;
        assert_eq!(attributes(&emulated, bios), before);
        // The next boot is not in the way of this one.
        apply(&bmc, &plan(&bmc, None).await.unwrap().firmware.unwrap()).await;
    }
}

#[tokio::test]
async fn an_interrupted_attempt_is_continued_wherever_it_was() {
    let emulated = EmulatedBmc::start(&dell(), Options::default()).await;
    let before = attributes(&emulated, DELL);
    let bmc = connect(&emulated).await;
    let survey = bmc.survey().await.unwrap();
    let first = plan(&bmc, None).await.unwrap().firmware.unwrap();
    let again = async || {
        let plan = bmc.plan_http_boot(&survey, Medium::Cd, None, URL, None, Some(&first)).await.unwrap();
        plan.firmware.unwrap()
    };
    // With another URL, as after a rotation of the key: the job of the first attempt is in the way.
    let earlier = "http://192.0.2.1:8081/i/zzzzzzzzzzzzzzzzzzzzzzzzzz/boot.iso";
    bmc.stage_firmware(&first, earlier).await.unwrap();
    // Interrupted after staging.
    let settings = again().await;
    assert_eq!(bmc.stage_firmware(&settings, URL).await.unwrap().staging, Staging::NeedsRestart);
    let staged = bmc.stage_firmware(&again().await, URL).await.unwrap();
    assert_eq!((staged.staging, staged.attempts.len()), (Staging::NeedsRestart, 0), "it is staged already");
    // Interrupted while the firmware takes them: another restart would be in its way.
    bmc.power(CYCLE).await.unwrap();
    assert_eq!(bmc.stage_firmware(&again().await, URL).await.unwrap().staging, Staging::Applying);
    bmc.wait_for_firmware(&settings, URL).await.unwrap();
    // Interrupted after that.
    let settings = again().await;
    assert_eq!(bmc.stage_firmware(&settings, URL).await.unwrap().staging, Staging::Applied);
    bmc.restore_firmware(&settings, URL).await.unwrap();
    bmc.power(CYCLE).await.unwrap();
    emulated.booted(1, LIMIT).await;
    assert_eq!(attributes(&emulated, DELL), before);
}

#[tokio::test]
async fn what_certainly_fails_is_refused_before_anything_changes() {
    let long = network(Some("NIC.Elsewhere.1"), &[]);
    let mut tagged = network(Some("Slot1NicPort1"), &[]);
    tagged.address.vlan = Some(7);
    let without = |mut vendor: Vendor, name: &str| {
        vendor.resources.get_mut(DELL).unwrap()["Attributes"].as_object_mut().unwrap().remove(name);
        vendor
    };
    let mut legacy = dell();
    legacy.resources.get_mut("/redfish/v1/Systems/System.Embedded.1").unwrap()["Boot"]["BootSourceOverrideMode"] =
        json!("Legacy");
    let mut short = dell();
    let registry = short.resources.get_mut(&format!("{DELL}/BiosRegistry")).unwrap();
    registry["RegistryEntries"]["Attributes"][1]["MaxLength"] = json!(50);
    let mut waiting = dell();
    waiting.resources.get_mut(&format!("{DELL}/Settings")).unwrap()["Attributes"]["PxeDev1EnDis"] = json!("Disabled");
    // Enabled, and still read-only: the lock that libredfish #75 reports.
    let locked = with(dell(), DELL, &[("HttpDev1EnDis", json!("Enabled"))]);
    let cases = [
        (without(dell(), "HttpDev1Uri"), None, "no setting HttpDev1Uri"),
        (locked, None, "HttpDev1Uri is read-only"),
        (legacy, None, "legacy mode"),
        (short, None, "takes 50"),
        (waiting, None, "wait for the host's next start (PxeDev1EnDis)"),
        (dell(), Some(&long), "does not take \"NIC.Elsewhere.1\"; it takes NIC.Embedded.1-1-1"),
        (without(dell(), "HttpDev1Ip"), Some(&long), "it has no setting HttpDev1Ip"),
        (hpe(), Some(&tagged), "does not set on HPE"),
    ];
    for (vendor, network, expected) in cases {
        let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
        let error = plan(&connect(&emulated).await, network).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert!(!error.to_string().contains("abcdefghij") && !format!("{error:?}").contains("abcdefghij"));
        assert_eq!(emulated.writes().len(), 0, "{expected}");
    }
    // A mode that was asked for cannot be set here either.
    let emulated = EmulatedBmc::start(&hpe(), Options::default()).await;
    let bmc = connect(&emulated).await;
    let survey = bmc.survey().await.unwrap();
    let refused = bmc.plan_http_boot(&survey, Medium::Cd, Some(BootMode::Legacy), URL, None, None).await;
    assert!(matches!(refused, Err(BmcError::Firmware(FirmwareError::LegacyMode))));
}

#[tokio::test]
async fn a_static_address_that_the_firmware_cannot_have_is_a_remark() {
    let nobody = network(None, &["52:54:00:00:00:99"]);
    let unnamed = network(None, &[]);
    let configured = [("HttpDev1Ip", json!("198.51.100.7")), ("HttpDev1DhcpEnDis", json!("Disabled"))];
    let cases = [
        (dell(), &nobody, "no NIC with the MAC address 52:54:00:00:00:99"),
        (dell(), &unnamed, "gives no MAC address"),
        (with(dell(), DELL, &configured), &nobody, "no NIC with the MAC address"),
    ];
    for (vendor, network, expected) in cases {
        let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
        let plan = plan(&connect(&emulated).await, Some(network)).await.unwrap();
        assert!(plan.quirks.iter().any(|quirk| quirk.contains(expected)), "{:?}", plan.quirks);
        // A static address that the site has set stays.
        let settings = plan.firmware.unwrap();
        assert_eq!(settings.attributes().collect::<Vec<_>>(), ["HttpDev1EnDis", "HttpDev1Uri", "HttpDev1TlsMode"]);
    }
}

#[tokio::test]
async fn what_the_bmc_refuses_or_does_not_do_is_told() {
    let error_of = async |behaviour: Value| {
        let emulated = EmulatedBmc::start(&dell().with(json!({"bios": behaviour})), Options::default()).await;
        let bmc = connect(&emulated).await;
        let settings = plan(&bmc, None).await.unwrap().firmware.unwrap();
        let error = match bmc.stage_firmware(&settings, URL).await {
            Err(error) => error,
            Ok(_) => {
                bmc.power(CYCLE).await.unwrap();
                bmc.wait_for_firmware(&settings, URL).await.unwrap_err()
            }
        };
        assert!(!error.to_string().contains("abcdefghij"), "{error}");
        (error, bmc.restore_firmware(&settings, URL).await.unwrap())
    };
    let (error, restored) = error_of(json!({"read_only": ["HttpDev1Uri"]})).await;
    assert!(error.to_string().contains("SYS410") && !error.attempts().is_empty(), "{error}");
    assert_eq!(restored, FirmwareRestored::Nothing);
    let (error, restored) = error_of(json!({"ignores": ["HttpDev1Uri"]})).await;
    assert!(error.to_string().contains("next start: HttpDev1Uri"), "{error}");
    assert_eq!(restored, FirmwareRestored::Cancelled);
    let (error, restored) = error_of(json!({"fails": "Unable to apply the settings."})).await;
    assert!(matches!(error, BmcError::Firmware(FirmwareError::JobFailed { .. })), "{error}");
    assert_eq!(restored, FirmwareRestored::Nothing);
    let (error, restored) = error_of(json!({"takes_ms": 6_000})).await;
    assert!(
        matches!(error, BmcError::Firmware(FirmwareError::NotApplied { .. })) && error.to_string().contains("JID_"),
        "{error}"
    );
    assert_eq!(restored, FirmwareRestored::Staged { kept: Vec::new() }, "it waits for the end of the job");
}

#[tokio::test]
async fn the_url_goes_even_if_the_device_stays_enabled() {
    let emulated = EmulatedBmc::start(&dell(), Options::default()).await;
    let bmc = connect(&emulated).await;
    let settings = plan(&bmc, None).await.unwrap().firmware.unwrap();
    apply(&bmc, &settings).await;
    let emulated_later =
        EmulatedBmc::start(&dell().with(json!({"bios": {"parents_alone": true}})), Options::default()).await;
    for (name, value) in attributes(&emulated, DELL).as_object().unwrap() {
        emulated_later.set(DELL, &format!("/Attributes/{name}"), value.clone());
    }
    let bmc = connect(&emulated_later).await;
    let restored = bmc.restore_firmware(&settings, URL).await.unwrap();
    assert_eq!(restored, FirmwareRestored::Staged { kept: vec!["HttpDev1EnDis".to_owned()] });
    let staged = attributes(&emulated_later, &format!("{DELL}/Settings"));
    assert_eq!((&staged["HttpDev1Uri"], staged.get("HttpDev1EnDis")), (&json!(""), None));
}

#[tokio::test]
async fn an_idrac_10_takes_the_override_in_its_settings_and_another_by_attributes() {
    let mut vendor = dell().with(json!({"boot": {"settings": "/redfish/v1/Systems/System.Embedded.1/Settings"}}));
    let system = vendor.resources.get_mut("/redfish/v1/Systems/System.Embedded.1").unwrap();
    system["@Redfish.Settings"] =
        json!({"SettingsObject": {"@odata.id": "/redfish/v1/Systems/System.Embedded.1/Settings"}});
    let boot = system["Boot"].clone();
    let settings = json!({"@odata.id": "/redfish/v1/Systems/System.Embedded.1/Settings", "@odata.type": "#Settings.v1_3_0.Settings", "Boot": boot});
    vendor.resources.insert("/redfish/v1/Systems/System.Embedded.1/Settings".to_owned(), settings);
    let mut by_attributes = dell();
    by_attributes.resources.get_mut("/redfish/v1/Systems/System.Embedded.1").unwrap()["Boot"]["BootSourceOverrideTarget@Redfish.AllowableValues"] =
        json!(["None", "Pxe"]);
    for vendor in [vendor, by_attributes] {
        let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
        let bmc = connect(&emulated).await;
        let plan = plan(&bmc, None).await.unwrap();
        apply(&bmc, plan.firmware.as_ref().unwrap()).await;
        bmc.boot_http_once(&plan, URL).await.unwrap();
        bmc.power(CYCLE).await.unwrap();
        assert_eq!(emulated.booted(1, LIMIT).await.image.as_deref(), Some(URL));
    }
}
