//! From a plan to settings that are as before, also if dayone is interrupted.

use super::*;
use acceptance::bmc::{Failure, Fault};

#[tokio::test]
async fn an_idrac_gets_the_url_and_a_static_address_and_everything_is_undone() {
    let emulated = EmulatedBmc::start(&dell(), Options::default()).await;
    let images = acceptance::bmc::ImageServer::start(vec![7; 300_000], None).await;
    let url = images.url("abcdefghijklmnopqrstuvwxyz");
    let before = attributes(&emulated, DELL);
    let bmc = connect(&emulated).await;
    let survey = bmc.survey().await.unwrap();
    // The ports of a bond, the primary one first. Its current MAC address is that of the other port.
    let network = network(None, &["52-54-00-00-00-03", "52:54:00:00:00:02"]);
    let plan = bmc.plan_http_boot(&survey, Medium::Cd, None, &url, Some(&network), None).await.unwrap();
    assert!(plan.quirks.iter().any(|quirk| quirk.contains("192.0.2.17 on NIC.Slot.5-1")), "{:?}", plan.quirks);
    assert_eq!(emulated.writes().len(), 0, "a plan changes nothing");
    let token = "abcdefghijklmnopqrstuvwxyz";
    assert!(!format!("{plan:?}").contains(token) && !serde_json::to_string(&plan).unwrap().contains(token));

    let settings = kept(plan.firmware.as_ref().unwrap());
    assert_eq!(bmc.stage_firmware(&settings, &url, None).await.unwrap().staging, Staging::NeedsRestart);
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
    // Not a NIC's own option for HTTP boot, which takes a URL from DHCP.
    let device = "UsbClass(0xFFFF,0xFFFF,0xFF,0xFF,0xFE)";
    let boot = json!({
        "BootSourceOverrideTarget": "UefiTarget", "BootSourceOverrideEnabled": "Once", "UefiTargetBootSourceOverride": device,
    });
    assert_eq!(writes(&emulated).last().unwrap().1, json!({"Boot": boot}));
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

/// The BMC has the new boot order, and dayone gets no answer: the order must be set back all the same.
#[tokio::test]
async fn a_boot_order_whose_answer_is_lost_is_set_back() {
    let order = "/redfish/v1/systems/1/bios/oem/hpe/boot/settings";
    let ignores = ["BootSourceOverrideTarget", "BootSourceOverrideEnabled", "UefiTargetBootSourceOverride"];
    for boot in [json!({"unsupported": true}), json!({"ignores": ignores})] {
        let emulated = EmulatedBmc::start(&hpe().with(json!({"boot": boot})), Options::default()).await;
        let before = emulated.member(order, "/PersistentBootConfigOrder");
        let bmc = connect(&emulated).await;
        let plan = plan(&bmc, None).await.unwrap();
        apply(&bmc, plan.firmware.as_ref().unwrap()).await;
        emulated.inject(Fault::new("PATCH", "boot/settings", 1, Failure::DropAnswer));
        let set = bmc.boot_http_once(&plan, URL).await.unwrap();
        assert_eq!(emulated.member(order, "/PersistentBootConfigOrder")[0], "URL.File.1.1");
        assert!(bmc.restore(&set).await.unwrap());
        assert_eq!(emulated.member(order, "/PersistentBootConfigOrder"), before);
        assert!(!bmc.restore(&set).await.unwrap(), "it is as before");
    }
}

/// The override is refused only for the moment, and the boot order would stay.
#[tokio::test]
async fn a_boot_order_stays_as_it_is_while_the_host_is_in_post() {
    let emulated = EmulatedBmc::start(&hpe().with(json!({"boot": {"in_post": true}})), Options::default()).await;
    let bmc = connect(&emulated).await;
    let plan = plan(&bmc, None).await.unwrap();
    let settings = plan.firmware.as_ref().unwrap();
    bmc.stage_firmware(settings, URL, None).await.unwrap();
    bmc.power(CYCLE).await.unwrap();
    bmc.wait_for_firmware(settings, URL).await.unwrap();
    let error = bmc.boot_http_once(&plan, URL).await.unwrap_err();
    let [attempt] = error.attempts() else { panic!("{error:?}") };
    assert!(attempt.may_need_host_off(), "{attempt}");
    bmc.power(PowerAction::Off { graceful: Duration::ZERO }).await.unwrap();
    assert!(bmc.boot_http_once(&plan, URL).await.unwrap().once);
    assert!(!writes(&emulated).iter().any(|(path, _)| path.ends_with("boot/settings")));
}

#[tokio::test]
async fn settings_that_the_firmware_has_not_taken_are_withdrawn() {
    for (vendor, bios) in [(dell(), DELL), (hpe(), HPE)] {
        let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
        let before = attributes(&emulated, bios);
        let bmc = connect(&emulated).await;
        let settings = plan(&bmc, None).await.unwrap().firmware.unwrap();
        bmc.stage_firmware(&settings, URL, None).await.unwrap();
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
    bmc.stage_firmware(&first, earlier, None).await.unwrap();
    // Interrupted after staging.
    let settings = again().await;
    assert_eq!(bmc.stage_firmware(&settings, URL, None).await.unwrap().staging, Staging::NeedsRestart);
    let staged = bmc.stage_firmware(&again().await, URL, None).await.unwrap();
    assert_eq!((staged.staging, staged.attempts.len()), (Staging::NeedsRestart, 0), "it is staged already");
    // Interrupted while the firmware takes them: another restart would be in its way.
    bmc.power(CYCLE).await.unwrap();
    assert_eq!(bmc.stage_firmware(&again().await, URL, None).await.unwrap().staging, Staging::Applying);
    bmc.wait_for_firmware(&settings, URL).await.unwrap();
    // Interrupted after that.
    let settings = again().await;
    assert_eq!(bmc.stage_firmware(&settings, URL, None).await.unwrap().staging, Staging::Applied);
    bmc.restore_firmware(&settings, URL).await.unwrap();
    bmc.power(CYCLE).await.unwrap();
    emulated.booted(1, LIMIT).await;
    assert_eq!(attributes(&emulated, DELL), before);
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
    const SYSTEM: &str = "/redfish/v1/Systems/System.Embedded.1";
    let in_settings = |behaviour: Value, boot: Option<Value>| {
        let path = format!("{SYSTEM}/Settings");
        let mut vendor = dell().with(json!({"boot": {"settings": path}})).with(json!({"boot": behaviour}));
        let system = vendor.resources.get_mut(SYSTEM).unwrap();
        system["@Redfish.Settings"] = json!({"SettingsObject": {"@odata.id": path}});
        let boot = boot.unwrap_or_else(|| system["Boot"].clone());
        let settings = json!({"@odata.id": path, "@odata.type": "#Settings.v1_3_0.Settings", "Boot": boot});
        vendor.resources.insert(path, settings);
        vendor
    };
    let shown = in_settings(json!({}), None);
    // The properties of the System are read-only, and the settings do not show that they take them.
    let taken = json!({"hides": ["BootSourceOverrideTarget", "BootSourceOverrideEnabled"]});
    let hidden = in_settings(taken, Some(json!({"BootOrder": []})));
    let mut by_attributes = dell();
    by_attributes.resources.get_mut(SYSTEM).unwrap()["Boot"]["BootSourceOverrideTarget@Redfish.AllowableValues"] =
        json!(["None", "Pxe"]);
    for vendor in [shown, hidden, by_attributes] {
        let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
        let bmc = connect(&emulated).await;
        let plan = plan(&bmc, None).await.unwrap();
        apply(&bmc, plan.firmware.as_ref().unwrap()).await;
        bmc.boot_http_once(&plan, URL).await.unwrap();
        bmc.power(CYCLE).await.unwrap();
        assert_eq!(emulated.booted(1, LIMIT).await.image.as_deref(), Some(URL));
    }
}

#[tokio::test]
async fn an_ilo_without_such_a_boot_option_boots_by_http_nevertheless() {
    let mut vendor = hpe();
    vendor.resources.retain(|path, _| !path.contains("BootOptions"));
    let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
    let bmc = connect(&emulated).await;
    let plan = plan(&bmc, None).await.unwrap();
    apply(&bmc, plan.firmware.as_ref().unwrap()).await;
    let set = bmc.boot_http_once(&plan, URL).await.unwrap();
    assert_eq!(set.shown.target.as_deref(), Some("UefiHttp"));
    // dayone takes an unused override back, whatever its form.
    let set: BootOverride = serde_json::from_str(&serde_json::to_string(&set).unwrap()).unwrap();
    assert!(bmc.restore(&set).await.unwrap());
    assert_eq!(emulated.member("/redfish/v1/Systems/1", "/Boot/BootSourceOverrideEnabled"), "Disabled");
}

/// Between the PATCH and the restart, an iDRAC makes its job ready; and some make none if the values are staged already.
#[tokio::test]
async fn a_restart_waits_for_a_job_that_is_ready() {
    let emulated = EmulatedBmc::start(&dell().with(json!({"bios": {"prepares_ms": 400}})), Options::default()).await;
    let bmc = connect(&emulated).await;
    let settings = plan(&bmc, None).await.unwrap().firmware.unwrap();
    for (name, value) in [("HttpDev1EnDis", "Enabled"), ("HttpDev1TlsMode", "None"), ("HttpDev1Uri", URL)] {
        emulated.set(&format!("{DELL}/Settings"), &format!("/Attributes/{name}"), json!(value));
    }
    let staged = bmc.stage_firmware(&settings, URL, None).await.unwrap();
    assert_eq!((staged.staging, staged.attempts.len()), (Staging::NeedsRestart, 1), "staged without a job");
    bmc.power(CYCLE).await.unwrap();
    bmc.wait_for_firmware(&settings, URL).await.unwrap();
}
