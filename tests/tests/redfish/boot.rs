//! The client of BMCs against sushy-tools: an image inserted, booted from once, and taken out again.

use std::fs;
use std::time::Duration;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::server::{Server, free_address};
use acceptance::sushy::{Emulator, Options};
use redfish::bmc::{Bmc, BmcError, BootMode, BootOverride, Found, Limits, Medium, PowerAction, PowerState, Vendor};
use redfish::{BmcAddress, ClientOptions, Credentials, Target, Verification};
use serde_json::{Value, json};

/// Short waits: the emulator is quick, apart from its power, which takes up to 11 s.
fn limits() -> Limits {
    let short = Duration::from_secs(5);
    Limits {
        insert: Duration::from_secs(30),
        settle: short,
        change: short,
        power: Duration::from_secs(30),
        firmware: Duration::from_secs(10),
        pause: Duration::from_millis(100),
        poll_interval: Duration::from_millis(100),
    }
}

fn target(emulator: &Emulator, path: &str) -> Target {
    let address = emulator.origin.replacen("http", "redfish+http", 1) + path;
    let address = address.parse::<BmcAddress>().unwrap();
    Target { address, credentials: None, verification: Verification::System }
}

fn admin() -> Credentials {
    Credentials::new("admin".to_owned(), "secret".to_owned().into()).unwrap()
}

async fn connect(emulator: &Emulator) -> Bmc {
    Bmc::connect(&target(emulator, ""), &ClientOptions::default()).await.unwrap().with_limits(limits())
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(future)
}

/// The URL of an image.
fn image(server: &Server, host: &str) -> String {
    let image: Value = reqwest::blocking::Client::new()
        .post(format!("{}/v1/images?base=coreos&format=iso", server.api))
        .header("Content-Type", "application/yaml")
        .body(fs::read(fixtures("scenarios").join(host)).unwrap())
        .send()
        .unwrap()
        .json()
        .unwrap();
    image["url"].as_str().unwrap().to_owned()
}

#[test]
fn a_host_boots_from_an_image_once_and_everything_is_as_before() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let emulator = Emulator::start(&server.directory().join("bmc"));
    let url = image(&server, "static-ipv4-baremetalhost.yaml");
    let boot_before = emulator.system_state()["Boot"].clone();

    let (slot, set) = run(async {
        let bmc = connect(&emulator).await;
        let survey = bmc.survey().await.unwrap();
        assert_eq!(survey.vendor, Vendor::Other, "{survey:#?}");
        assert_eq!(survey.system.path, emulator.system);
        assert_eq!(survey.notes, Vec::<String>::new());
        let plan = Bmc::plan(&survey, Medium::Cd, None).unwrap();
        let planned = plan.requests(&url);
        let expected = format!("{}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia", emulator.system);
        assert_eq!((planned[0].method, &planned[0].path), ("POST", &expected));
        assert_eq!(planned[0].body, json!({"Image": url}));

        let inserted = bmc.insert(&plan, &url).await.unwrap();
        assert_eq!(inserted.slot, format!("{}/VirtualMedia/Cd", emulator.system));
        assert_eq!((inserted.attempts.len(), inserted.replaced, inserted.notes.len()), (1, false, 0), "{inserted:?}");
        let set = bmc.boot_once(&plan).await.unwrap();
        assert!(
            set.attempts.iter().flat_map(|attempt| &attempt.properties).all(|property| !property.ends_with("Mode"))
        );
        let power = bmc.power(PowerAction::Cycle { graceful: Duration::ZERO }).await.unwrap();
        assert_eq!(power.after, PowerState::On, "{power:?}");

        // What a boot costs a BMC, up to the power: 7 for what it has, 3 for the image, 3 for the boot override, 1 for
        // whether the host is on.
        let requests = bmc.requests();
        let before_power = requests.iter().take_while(|request| !request.path.ends_with("Reset")).count();
        assert_eq!(before_power, 14, "{requests:#?}");

        // The same again changes nothing.
        let again = bmc.insert(&plan, &url).await.unwrap();
        assert_eq!((again.form, again.attempts.len()), (None, 0));
        bmc.close().await;
        (inserted.slot, serde_json::to_string(&set).unwrap())
    });
    assert_eq!(emulator.media()["Image"], json!(url));
    assert_eq!(emulator.system_state()["Boot"]["BootSourceOverrideTarget"], json!("Cd"));
    assert_eq!(emulator.system_state()["Boot"]["BootSourceOverrideMode"], boot_before["BootSourceOverrideMode"]);
    assert_eq!(emulator.fetched().len(), 1);

    // Another process, with nothing but what was kept.
    run(async {
        let bmc = connect(&emulator).await;
        let set: BootOverride = serde_json::from_str(&set).unwrap();
        assert!(
            !set.once && set.notes.iter().any(|note| note.contains("every boot")),
            "sushy-tools knows no Once: {set:?}"
        );
        assert!(bmc.restore(&set).await.unwrap());
        assert!(!bmc.restore(&set).await.unwrap(), "it is as before");
        assert_eq!(bmc.eject(&slot, Some(&url)).await.unwrap().found, Found::Image);
        assert_eq!(bmc.eject(&slot, Some(&url)).await.unwrap().found, Found::Nothing);
        bmc.power(PowerAction::Off { graceful: Duration::ZERO }).await.unwrap();
        assert_eq!(bmc.power_state().await.unwrap(), PowerState::Off);
    });
    assert_eq!(emulator.media()["Inserted"], json!(false));
    assert_eq!(emulator.system_state()["Boot"], boot_before);
    assert_eq!(emulator.fetched().len(), 0);
}

#[test]
fn another_image_is_replaced_and_somebody_elses_is_left() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let emulator = Emulator::start(&server.directory().join("bmc"));
    let (ours, other) = (image(&server, "static-ipv4-baremetalhost.yaml"), image(&server, "bond-vlans-nmstate.yaml"));
    emulator.insert(&other);
    run(async {
        let bmc = connect(&emulator).await;
        let plan = Bmc::plan(&bmc.survey().await.unwrap(), Medium::Cd, None).unwrap();
        let slot = &plan.slots[0].path;
        assert_eq!(bmc.eject(slot, Some(&ours)).await.unwrap().found, Found::Other);
        assert!(bmc.media_state(slot).await.unwrap().names(&other));
        let inserted = bmc.insert(&plan, &ours).await.unwrap();
        assert!(inserted.replaced);
        assert_eq!(bmc.eject(slot, None).await.unwrap().found, Found::Image);
    });
    assert_eq!(emulator.fetched().len(), 0, "an image of the one or the other stayed on the BMC");
}

#[test]
fn an_image_that_the_bmc_cannot_fetch_is_told_from_a_request_that_it_does_not_understand() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let emulator = Emulator::start(&server.directory().join("bmc"));
    let url = image(&server, "static-ipv4-baremetalhost.yaml");
    let missing = url.replacen("/i/", "/i/aaaaaaaaaa", 1);
    let nobody = format!("http://{}/i/abcdefghijklmnopqrstuvwxyz/boot.iso", free_address());
    run(async {
        let bmc = connect(&emulator).await;
        let plan = Bmc::plan(&bmc.survey().await.unwrap(), Medium::Cd, None).unwrap();
        for url in [&missing, &nobody] {
            let error = bmc.insert(&plan, url).await.unwrap_err();
            let BmcError::ImageUnreachable { attempts, .. } = &error else { panic!("{error}") };
            assert_eq!(attempts.len(), 1, "{attempts:?}");
            let text = format!("{error} {error:?}");
            assert!(text.contains("404") || text.contains("refused"), "{text}");
            assert!(!text.contains("abcdefghij") && !text.contains("aaaaaaaaaa"), "a token is shown: {text}");
        }
    });
}

#[test]
fn the_system_is_that_of_the_address_and_the_mode_is_sent_when_asked_for() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let credentials = Some(("admin", "secret"));
    let emulator =
        Emulator::start_with(&server.directory().join("bmc"), &Options { credentials, ..Options::default() });
    run(async {
        let unknown = Target { credentials: Some(admin()), ..target(&emulator, "/redfish/v1/Systems/nobody") };
        let bmc = Bmc::connect(&unknown, &ClientOptions::default()).await.unwrap();
        let error = bmc.survey().await.unwrap_err().to_string();
        assert!(
            error.contains("no System /redfish/v1/Systems/nobody; it has: ") && error.contains(&emulator.system),
            "{error}"
        );

        let known = Target { credentials: Some(admin()), ..target(&emulator, &emulator.system) };
        let bmc = Bmc::connect(&known, &ClientOptions::default()).await.unwrap().with_limits(limits());
        let survey = bmc.survey().await.unwrap();
        let wanted = match survey.system.boot.source.mode.as_deref() {
            Some("UEFI") => BootMode::Legacy,
            _ => BootMode::Uefi,
        };
        let plan = Bmc::plan(&survey, Medium::Cd, Some(wanted)).unwrap();
        let set = bmc.boot_once(&plan).await.unwrap();
        assert_eq!(set.shown.mode.as_deref(), Some(wanted.as_str()), "{set:?}");
        assert!(bmc.restore(&set).await.unwrap());
    });
    let boot = &emulator.system_state()["Boot"];
    assert_ne!(boot["BootSourceOverrideTarget"], json!("Cd"), "{boot}");
}
