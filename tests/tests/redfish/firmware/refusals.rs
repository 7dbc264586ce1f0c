//! What dayone refuses, what BMCs refuse, and what is left alone.

use super::*;

#[tokio::test]
async fn a_job_of_somebody_else_is_never_deleted() {
    let earlier = "http://192.0.2.1:8081/i/zzzzzzzzzzzzzzzzzzzzzzzzzz/boot.iso";
    let emulated = EmulatedBmc::start(&enabled_dell(), Options::default()).await;
    let bmc = connect(&emulated).await;
    let settings = plan(&bmc, None).await.unwrap().firmware.unwrap();
    assert_eq!(settings.attributes().collect::<Vec<_>>(), ["HttpDev1Uri"]);
    // Nothing but the URL of the earlier attempt tells whose job it is.
    bmc.stage_firmware(&settings, earlier, None).await.unwrap();
    let refused = bmc.stage_firmware(&settings, URL, None).await.unwrap_err();
    assert!(matches!(refused, BmcError::Firmware(FirmwareError::Waiting(_))), "{refused}");
    assert_eq!(bmc.stage_firmware(&settings, URL, Some(earlier)).await.unwrap().staging, Staging::NeedsRestart);
    bmc.power(CYCLE).await.unwrap();
    bmc.wait_for_firmware(&settings, URL).await.unwrap();

    // Somebody else makes a job. dayone can restore nothing before the host has taken those settings.
    let theirs =
        json!({"@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"}, "Attributes": {"PxeDev1EnDis": "Disabled"}});
    let sent =
        Client::new().patch(format!("{}{DELL}/Settings", emulated.origin())).basic_auth(USERNAME, Some(PASSWORD));
    assert_eq!(sent.json(&theirs).send().await.unwrap().status(), 202);
    let refused = bmc.restore_firmware(&settings, URL).await.unwrap_err();
    assert!(refused.to_string().contains("restart the host"), "{refused}");
    bmc.power(CYCLE).await.unwrap();
    emulated.booted(1, LIMIT).await;
    assert_eq!(bmc.restore_firmware(&settings, URL).await.unwrap(), FirmwareRestored::Staged { kept: Vec::new() });
    // Restored again by a process that does not know: it stays so.
    assert_eq!(bmc.restore_firmware(&settings, URL).await.unwrap(), FirmwareRestored::Staged { kept: Vec::new() });
    bmc.power(CYCLE).await.unwrap();
    emulated.booted(2, LIMIT).await;
    let now = attributes(&emulated, DELL);
    assert_eq!((&now["HttpDev1Uri"], &now["PxeDev1EnDis"]), (&json!(""), &json!("Disabled")));
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
    let unknown = network(None, &["52:54:00:00:00:99"]);
    let unnamed = network(None, &[]);
    let configured = [("HttpDev1Ip", json!("198.51.100.7")), ("HttpDev1DhcpEnDis", json!("Disabled"))];
    let cases = [
        (dell(), &unknown, "no NIC with the MAC address 52:54:00:00:00:99"),
        (dell(), &unnamed, "gives no MAC address"),
        (with(dell(), DELL, &configured), &unknown, "no NIC with the MAC address"),
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
        let error = match bmc.stage_firmware(&settings, URL, None).await {
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
