//! A boot that is given up before the host starts: what the host boots from is as it was, at every vendor's BMC.

use std::time::Duration;

use acceptance::bmc::{EmulatedBmc, Failure, Fault, ImageServer, Options, Vendor};
use redfish::bmc::{Bmc, BootOverride, Limits, Medium, OverrideForm, Plan, PowerAction};
use serde_json::{Value, json};

/// All that says what the host boots from.
fn boot_of(emulated: &EmulatedBmc, plan: &Plan) -> Vec<Value> {
    let settings = plan.system.settings.as_deref();
    let mut boots: Vec<Value> = [Some(plan.system.path.as_str()), settings]
        .into_iter()
        .flatten()
        .map(|path| emulated.member(path, "/Boot"))
        .collect();
    if let Some(OverrideForm::DellAttributes { path, .. }) = plan.boot.first() {
        boots.push(emulated.member(path, "/Attributes"));
    }
    boots
}

#[tokio::test]
async fn what_was_not_used_is_set_back_at_every_vendors_bmc() {
    let mut undone = 0;
    for vendor in Vendor::all() {
        let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
        let bmc = emulated.connect().await.unwrap();
        let Ok(plan) = Bmc::plan(&bmc.survey().await.unwrap(), Medium::Cd, None) else { continue };
        let before = boot_of(&emulated, &plan);
        let set = bmc.boot_once(&plan).await.unwrap();
        assert_ne!(boot_of(&emulated, &plan), before, "{}: nothing was set: {set:?}", vendor.name);
        bmc.close().await;

        // As another process would, with what was kept.
        let set: BootOverride = serde_json::from_value(serde_json::to_value(&set).unwrap()).unwrap();
        let bmc = emulated.connect().await.unwrap();
        assert!(bmc.restore(&set).await.unwrap(), "{}: {set:?}", vendor.name);
        let after = boot_of(&emulated, &plan);
        assert_eq!(after, before, "{}: {set:?}", vendor.name);
        assert!(!bmc.restore(&set).await.unwrap(), "{}: once more", vendor.name);
        undone += 1;
    }
    assert!(undone > 15, "{undone} vendors only");
}

#[tokio::test]
async fn what_somebody_else_has_set_since_stays() {
    let emulated = EmulatedBmc::start(&Vendor::named("hpe-ilo6"), Options::default()).await;
    let bmc = emulated.connect().await.unwrap();
    let plan = Bmc::plan(&bmc.survey().await.unwrap(), Medium::Cd, None).unwrap();
    let set = bmc.boot_once(&plan).await.unwrap();
    emulated.set(&plan.system.path, "/Boot/BootSourceOverrideTarget", json!("Pxe"));
    assert!(!bmc.restore(&set).await.unwrap());
    assert_eq!(emulated.member(&plan.system.path, "/Boot/BootSourceOverrideTarget"), "Pxe");
}

#[tokio::test]
async fn a_bmc_that_knows_no_once_is_told_so_and_set_back() {
    for listed in [true, false] {
        let emulated = EmulatedBmc::start(&Vendor::named("hpe-ilo6"), Options::default()).await;
        let list = || {
            let pointer = "/Boot/BootSourceOverrideEnabled@Redfish.AllowableValues";
            emulated.set("/redfish/v1/Systems/1", pointer, json!(["Disabled", "Continuous"]));
        };
        if listed {
            list();
        }
        let bmc = emulated.connect().await.unwrap();
        let plan = Bmc::plan(&bmc.survey().await.unwrap(), Medium::Cd, None).unwrap();
        // Without the list in time, it is the refusal that tells.
        list();
        let set = bmc.boot_once(&plan).await.unwrap();
        assert_eq!(set.attempts.len(), if listed { 1 } else { 2 }, "{set:?}");
        assert!(!set.once && set.notes.iter().any(|note| note.contains("every boot until it is undone")), "{set:?}");
        assert_eq!(set.shown.enabled.as_deref(), Some("Continuous"));
        assert!(bmc.restore(&set).await.unwrap());
        assert_eq!(emulated.member("/redfish/v1/Systems/1", "/Boot/BootSourceOverrideEnabled"), "Disabled");
    }
}

/// As was reported of iLO 6: nothing about the override can be changed, whether it says so or not.
#[tokio::test]
async fn an_ilo_that_refuses_or_ignores_every_override_boots_from_its_slot_at_the_next_reset() {
    const SLOT: &str = "/redfish/v1/Managers/1/VirtualMedia/2";
    const NEXT: &str = "/Oem/Hpe/BootOnNextServerReset";
    let refuses = json!({"unsupported": true});
    let ignores = json!({"ignores": ["BootSourceOverrideTarget", "BootSourceOverrideEnabled"]});
    for boot in [refuses, ignores] {
        let vendor = Vendor::named("hpe-ilo6").with(json!({"boot": boot}));
        let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
        let images = ImageServer::start(vec![7; 100_000], None).await;
        let image = images.url("abcdefghijklmnopqrstuvwxyz");
        let bmc = emulated.connect().await.unwrap();
        let plan = Bmc::plan(&bmc.survey().await.unwrap(), Medium::Cd, None).unwrap();
        bmc.insert(&plan, &image).await.unwrap();
        let set = bmc.boot_once(&plan).await.unwrap();
        assert_eq!((set.attempts.len(), set.once, emulated.member(SLOT, NEXT)), (2, true, json!(true)), "{set:?}");
        let set: BootOverride = serde_json::from_value(serde_json::to_value(&set).unwrap()).unwrap();
        assert!(bmc.restore(&set).await.unwrap());
        assert_eq!(emulated.member(SLOT, NEXT), json!(false));

        let set = bmc.boot_once(&plan).await.unwrap();
        bmc.power(PowerAction::Cycle { graceful: Duration::ZERO }).await.unwrap();
        let booted = emulated.booted(0, Duration::from_secs(20)).await;
        assert_eq!(booted.image.as_deref(), Some(&*image));
        assert!(!bmc.restore(&set).await.unwrap(), "the reset has used it up");
    }
}

/// The BMC may have the override, and only not show it. What was set must stay known, so that it is undone.
#[tokio::test]
async fn an_override_that_is_not_shown_counts_if_the_slot_refuses_the_next_reset() {
    let ignores = json!({"boot": {"ignores": ["BootSourceOverrideTarget", "BootSourceOverrideEnabled"]}});
    let emulated = EmulatedBmc::start(&Vendor::named("hpe-ilo6").with(ignores), Options::default()).await;
    let bmc = emulated.connect().await.unwrap();
    let plan = Bmc::plan(&bmc.survey().await.unwrap(), Medium::Cd, None).unwrap();
    emulated.inject(Fault::new("PATCH", "/VirtualMedia/2", usize::MAX, Failure::Status(400)));
    let set = bmc.boot_once(&plan).await.unwrap();
    assert!(matches!(set.form, OverrideForm::System { .. }), "{set:?}");
    assert!(set.attempts.len() > 1 && set.notes.iter().any(|note| note.contains("but shows")), "{set:?}");
}

#[tokio::test]
async fn an_override_that_needs_the_host_off_says_so() {
    let vendor = Vendor::named("hpe-ilo6").with(json!({"boot": {"needs_power_off": true}}));
    let emulated = EmulatedBmc::start(&vendor, Options::default()).await;
    let short = Limits { pause: Duration::from_millis(10), ..Limits::default() };
    let bmc = emulated.connect().await.unwrap().with_limits(short);
    let plan = Bmc::plan(&bmc.survey().await.unwrap(), Medium::Cd, None).unwrap();
    let error = bmc.boot_once(&plan).await.unwrap_err();
    assert!(error.to_string().contains("only while the host is off"), "{error}");
    assert!(error.attempts().len() <= 14, "{error:?}");
    bmc.power(PowerAction::Off { graceful: Duration::ZERO }).await.unwrap();
    assert!(bmc.boot_once(&plan).await.is_ok());
}

#[tokio::test]
async fn an_idracs_first_boot_device_for_every_boot_is_set_back_used_or_not() {
    let emulated = EmulatedBmc::start(&Vendor::named("dell-idrac9-systems"), Options::default()).await;
    let bmc = emulated.connect().await.unwrap();
    let plan = Bmc::plan(&bmc.survey().await.unwrap(), Medium::Cd, None).unwrap();
    let Some(OverrideForm::DellAttributes { path, .. }) = plan.boot.first() else { panic!("{plan:?}") };
    emulated.set(path, "/Attributes/ServerBoot.1.FirstBootDevice", json!("PXE"));
    let before = boot_of(&emulated, &plan);
    for boots in [false, true] {
        let set = bmc.boot_once(&plan).await.unwrap();
        assert!(set.is_lasting());
        assert_ne!(boot_of(&emulated, &plan), before);
        if boots {
            bmc.power(PowerAction::Cycle { graceful: Duration::ZERO }).await.unwrap();
            emulated.booted(0, Duration::from_secs(20)).await;
        }
        let set: BootOverride = serde_json::from_value(serde_json::to_value(&set).unwrap()).unwrap();
        assert!(bmc.restore(&set).await.unwrap(), "{set:?}");
        assert_eq!(boot_of(&emulated, &plan), before);
        assert!(!bmc.restore(&set).await.unwrap(), "once more");
    }
    // What somebody else has set since stays.
    let set = bmc.boot_once(&plan).await.unwrap();
    emulated.set(path, "/Attributes/ServerBoot.1.FirstBootDevice", json!("HDD"));
    assert!(!bmc.restore(&set).await.unwrap());
}
