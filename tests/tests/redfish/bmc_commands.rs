//! `dayone bmc probe` and `dayone eject`, against the BMCs of `fixtures/redfish/`.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use acceptance::bmc::{EmulatedBmc, Failure, Fault, Identity, ImageServer, Options, PASSWORD, USERNAME, Vendor};
use acceptance::server::{dayone, free_address};
use acceptance::sushy::{self, Emulator};
use redfish::bmc::{Bmc, Medium};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// The command, with the credentials of every emulated BMC.
fn command(arguments: &[&str]) -> Command {
    let mut command = dayone();
    command.args(arguments).env("DAYONE_BMC_USERNAME", USERNAME).env("DAYONE_BMC_PASSWORD", PASSWORD);
    command
}

/// Runs it beside the BMC, which is on the runtime of the test.
async fn run(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

async fn emulated(name: &str) -> EmulatedBmc {
    EmulatedBmc::start(&Vendor::named(name), Options::default()).await
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn a_probe_says_what_a_boot_would_do_and_changes_nothing() {
    for vendor in Vendor::all() {
        let name = &vendor.name;
        let bmc = EmulatedBmc::start(&vendor, Options::default()).await;
        let output = run(command(&["bmc", "probe", &bmc.origin(), "--format", "json"])).await;
        let found = text(&output.stdout);
        assert!(!found.contains(PASSWORD), "{name}");
        let found: Value = serde_json::from_str(&found).unwrap_or_else(|error| panic!("{name}: {error}: {output:?}"));
        assert_eq!(bmc.writes().len(), 0, "{name}");
        assert_eq!(bmc.sessions(), 0, "{name}: a session was left behind");
        if let Some(error) = vendor.expected["error"].as_str() {
            assert_eq!((found["problem"].as_str(), output.status.code()), (Some(error), Some(1)), "{name}");
            assert!(text(&output.stderr).contains(error), "{name}");
            continue;
        }
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        assert_eq!(found["survey"]["vendor"], vendor.expected["vendor"], "{name}");
        let requests = found["plan"]["requests"].as_array().unwrap();
        assert!(requests.len() >= 3, "{name}: {requests:?}");
        // What a boot really asks begins so, whatever the BMC makes of it.
        let request = |method: &Value, path: &Value, body: &Value| json!({"method": method, "path": path.as_str().unwrap().trim_end_matches('/'), "body": body});
        let writes = vendor.expected["writes"].as_array().unwrap();
        let asked: Vec<Value> = writes.iter().map(|write| request(&write[0], &write[1], &write[2])).collect();
        for planned in requests.iter().filter(|request| request["body"]["ResetType"].is_null()) {
            let planned = planned.to_string().replace("http://media.example/i/TOKEN/boot.iso", "IMAGE");
            let planned: Value = serde_json::from_str(&planned).unwrap();
            let planned = request(&planned["method"], &planned["path"], &planned["body"]);
            // Where the image's server speaks HTTPS, the protocol's name is another.
            let https = planned["body"]["TransferProtocolType"] == "HTTPS";
            assert!(https || asked.contains(&planned), "{name}: {planned} is not in {asked:#?}");
        }
    }
}

#[tokio::test]
async fn a_probe_for_people_names_slot_and_requests() {
    let bmc = emulated("hpe-ilo6").await;
    let output = run(command(&["bmc", "probe", &bmc.origin()])).await;
    let shown = text(&output.stdout);
    for line in [
        "BMC                HPE, ",
        "would insert into  /redfish/v1/Managers/1/VirtualMedia/2",
        r#"would ask          POST /redfish/v1/Managers/1/VirtualMedia/2/Actions/VirtualMedia.InsertMedia/ {"Image":"#,
        r#"                   PATCH /redfish/v1/Systems/1/ {"Boot":{"BootSourceOverrideTarget":"Cd","#,
    ] {
        assert!(shown.lines().any(|each| each.starts_with(line)), "{line}\n{shown}");
    }
}

/// The requests of a boot would change the BMC itself.
#[tokio::test]
async fn the_path_of_a_manager_is_not_that_of_a_system() {
    let manager = "/redfish/v1/Managers/BMC";
    let mut without_types = Vendor::named("generic-dmtf");
    without_types.resources.get_mut(manager).unwrap().as_object_mut().unwrap().remove("@odata.type");
    for vendor in [Vendor::named("generic-dmtf"), without_types] {
        let bmc = EmulatedBmc::start(&vendor, Options::default()).await;
        for path in [manager, "/redfish/v1/Systems/none"] {
            let output = run(command(&["bmc", "probe", &format!("{}{path}", bmc.origin())])).await;
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{path}: {said}");
            let expected = format!("has no System {path}; it has: /redfish/v1/Systems/437XR1138R2");
            assert!(said.contains(&expected), "{path}: {said}");
        }
    }
}

#[tokio::test]
async fn what_is_inserted_is_shown_without_its_token_and_ejected() {
    let directory = tempfile::tempdir().unwrap();
    let token = "abcdefghijklmnopqrstuvwxyz";
    let images = ImageServer::start(vec![7; 300_000], None).await;
    let image = images.url(token);
    for (name, slot) in [
        ("hpe-ilo6", "/redfish/v1/Managers/1/VirtualMedia/2"),
        ("supermicro-x11", "/redfish/v1/Managers/1/VirtualMedia/CD1"),
    ] {
        let bmc = emulated(name).await;
        let connection = bmc.connect().await.unwrap();
        let plan = Bmc::plan(&connection.survey().await.unwrap(), Medium::Cd, None).unwrap();
        connection.insert(&plan, &image).await.unwrap();
        connection.close().await;
        let host = documents(directory.path(), &bmc.origin(), Some(PASSWORD));
        let probe = run(command(&["bmc", "probe", &host, "--format", "json"])).await;
        let eject = run(command(&["eject", &host])).await;
        for output in [&probe, &eject] {
            let shown = text(&output.stdout);
            assert!(output.status.success() && shown.contains("/i/abcdef…/boot.iso"), "{name}: {output:?}");
            assert!(!format!("{output:?}").contains(token), "{name}");
        }
        assert_eq!(bmc.member(slot, "/Inserted"), json!(false), "{name}");
        let written = bmc.writes().len();
        let again = run(command(&["eject", &host, "--format", "json"])).await;
        let slots: Value = serde_json::from_slice(&again.stdout).unwrap();
        assert!(slots.as_array().unwrap().iter().all(|slot| slot["outcome"] == "empty"), "{name}: {slots}");
        assert!(bmc.writes().len() <= written + 1, "{name}: only what is left of an image may be ejected again");
        assert_eq!(bmc.sessions(), 0, "{name}: a session was left behind");
    }
}

/// A host whose BMC is at an address, and a Secret if there is a password.
fn documents(directory: &Path, address: &str, password: Option<&str>) -> String {
    let mut text = format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: worker-0}}\nspec:\n  bmc:\n    address: \
         redfish-virtualmedia+{address}\n    credentialsName: bmc-0\n    disableCertificateVerification: true\n"
    );
    if let Some(password) = password {
        text += &format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: bmc-0}}\nstringData: {{username: {USERNAME}, password: \
             {password}}}\n"
        );
    }
    let path = directory.join("host.yaml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn credentials_and_certificates_come_from_where_they_are_said() {
    let directory = tempfile::tempdir().unwrap();
    let identity = Identity::of("bmc-of-another-name.example");
    let (ca, password, wrong) =
        (directory.path().join("ca.pem"), directory.path().join("pw"), directory.path().join("no"));
    std::fs::write(&ca, identity.pem()).unwrap();
    std::fs::write(&password, format!("{PASSWORD}\n")).unwrap();
    std::fs::write(&wrong, "something-else").unwrap();
    let options = Options { identity: Some(identity), ..Options::default() };
    let bmc = EmulatedBmc::start(&Vendor::named("hpe-ilo6"), options).await;
    let address = bmc.origin();
    let with = |password: &Path, arguments: &[&str]| {
        let mut command = dayone();
        command.args(["bmc", "probe", &address, "--bmc-username", USERNAME, "--bmc-password-file"]).arg(password);
        command.args(arguments);
        command
    };
    let ca = ca.to_str().unwrap();
    for (command, code, says) in [
        (with(&password, &["--bmc-ca", ca]), 0, ""),
        (with(&password, &["--insecure"]), 0, ""),
        (with(&password, &[]), 1, "disable certificate verification"),
        (with(&wrong, &["--insecure"]), 1, "does not accept the password"),
        (with(&directory.path().join("none"), &["--insecure"]), 2, "No such file"),
        (with(&password, &["--insecure", "--bmc-network", "192.0.2.0/24"]), 1, "in none of the networks"),
    ] {
        let output = run(command).await;
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(says) && !said.contains(PASSWORD) && !said.contains("something-else"), "{said}");
    }
    let mut command = dayone();
    command.args(["bmc", "probe", &documents(directory.path(), &address, None)]);
    let output = run(command).await;
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("bmc-0") && said.contains("--bmc-username"), "{said}");
    let output = run(command_of_documents(directory.path(), &address)).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(bmc.sessions(), 0);
}

/// The Secret's password is right, and that of the environment is not.
fn command_of_documents(directory: &Path, address: &str) -> Command {
    let mut command = dayone();
    command.args(["bmc", "probe", &documents(directory, address, Some(PASSWORD))]);
    command.env("DAYONE_BMC_USERNAME", "nobody").env("DAYONE_BMC_PASSWORD", "wrong");
    command
}

#[tokio::test]
async fn a_bmc_that_is_not_there_is_given_up_soon() {
    let begin = Instant::now();
    let output = run(command(&["eject", &format!("redfish+http://{}", free_address())])).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("check the BMC's address, network and power"), "{}", text(&output.stderr));
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn whoever_interrupts_leaves_no_session_behind() {
    let bmc = emulated("hpe-ilo6").await;
    bmc.inject(Fault::new("GET", "/redfish/v1/Systems", 9, Failure::Delay(Duration::from_secs(60))));
    let mut process = command(&["bmc", "probe", &bmc.origin()]).stdout(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    while bmc.sessions() == 0 {
        assert!(begin.elapsed() < Duration::from_secs(20), "no session");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let id = rustix::process::Pid::from_child(&process);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let status = tokio::task::spawn_blocking(move || process.wait().unwrap()).await.unwrap();
    assert_eq!((status.code(), bmc.sessions()), (Some(130), 0));
    assert!(begin.elapsed() < Duration::from_secs(25));
}

#[tokio::test]
async fn one_slot_is_emptied_by_its_name_and_a_wrong_name_says_what_there_is() {
    let bmc = emulated("hpe-ilo6").await;
    let eject = |slot: &'static str| run(command(&["eject", &bmc.origin(), "--slot", slot, "--format", "json"]));
    let slots: Value = serde_json::from_slice(&eject("2").await.stdout).unwrap();
    assert_eq!(
        slots,
        json!([{"slot": "/redfish/v1/Managers/1/VirtualMedia/2/", "image": null, "outcome": "empty", "problem": null}])
    );
    let output = eject("cd").await;
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("/redfish/v1/Managers/1/VirtualMedia/1/, "), "{said}");
}

/// A slot that dayone cannot see may have a medium.
#[tokio::test]
async fn an_eject_fails_if_the_bmc_does_not_show_all_slots() {
    for (path, status, reason) in [
        ("/VirtualMedia", 403, "refuses to show its slots"),
        ("/VirtualMedia", 500, "shows no slots"),
        ("/VirtualMedia/2", 403, "may have a medium"),
        ("/VirtualMedia/2", 500, "may have a medium"),
    ] {
        let bmc = emulated("hpe-ilo6").await;
        bmc.inject(Fault::new("GET", path, 1000, Failure::Status(status)));
        let output = run(command(&["eject", &bmc.origin()])).await;
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{path} {status}: {output:?}");
        assert!(said.contains(reason) && said.contains(&status.to_string()), "{path} {status}: {said}");
        assert_eq!(bmc.sessions(), 0, "{path} {status}");
    }
    let bmc = emulated("hpe-ilo6").await;
    bmc.inject(Fault::new("GET", "/VirtualMedia/2", 1000, Failure::Status(403)));
    for (slot, code) in [("1", 0), ("2", 1)] {
        let output = run(command(&["eject", &bmc.origin(), "--slot", slot])).await;
        assert_eq!(output.status.code(), Some(code), "{slot}: {output:?}");
    }
    // Another failure does not replace the reason. The first request is that of the survey.
    bmc.inject(Fault { after: 1, ..Fault::new("GET", "/VirtualMedia/1", 1000, Failure::Drop) });
    let output = run(command(&["eject", &bmc.origin()])).await;
    let said = text(&output.stderr);
    assert!(text(&output.stdout).contains("/VirtualMedia/1/ not ejected"), "{output:?}");
    assert!(said.contains("may have a medium") && said.contains("/VirtualMedia/2"), "{said}");
}

#[tokio::test]
async fn an_eject_gives_the_reason_of_each_slot_that_fails() {
    let bmc = emulated("hpe-ilo6").await;
    let slots = ["/VirtualMedia/1", "/VirtualMedia/2"];
    for slot in slots {
        // The first request is that of the survey.
        bmc.inject(Fault { after: 1, ..Fault::new("GET", slot, 1000, Failure::Status(403)) });
    }
    let output = run(command(&["eject", &bmc.origin()])).await;
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    for slot in slots {
        assert!(shown.contains(&format!("{slot}/ not ejected")) && said.contains(slot), "{slot}: {output:?}");
    }
}

#[tokio::test]
async fn what_was_ejected_is_shown_although_the_bmc_is_gone_before_the_last_slot() {
    let bmc = emulated("hpe-ilo6").await;
    let images = ImageServer::start(vec![7; 300_000], None).await;
    let connection = bmc.connect().await.unwrap();
    let plan = Bmc::plan(&connection.survey().await.unwrap(), Medium::Usb, None).unwrap();
    connection.insert(&plan, &images.url("abcdefghijklmnopqrstuvwxyz")).await.unwrap();
    connection.close().await;
    // The first request is that of the survey.
    bmc.inject(Fault { after: 1, ..Fault::new("GET", "/VirtualMedia/2", 1000, Failure::Drop) });
    let output = run(command(&["eject", &bmc.origin()])).await;
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        shown.contains("/VirtualMedia/1/ ejected http") && shown.contains("/VirtualMedia/2/ not ejected"),
        "{output:?}"
    );
    assert_eq!(bmc.member("/redfish/v1/Managers/1/VirtualMedia/1", "/Inserted"), json!(false));
}

#[test]
fn sushy_tools_is_probed_and_emptied() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let images = runtime.block_on(ImageServer::start(vec![7; 300_000], None));
    let options = sushy::Options { credentials: Some((USERNAME, PASSWORD)), ..sushy::Options::default() };
    let emulator = Emulator::start_with(&directory.path().join("sushy"), &options);
    let token = "abcdefghijklmnopqrstuvwxyz";
    emulator.insert(&images.url(token));
    let address = format!("{}{}", emulator.origin, emulator.system);
    let probe = command(&["bmc", "probe", &address]).output().unwrap();
    let shown = text(&probe.stdout);
    assert!(probe.status.success() && shown.contains("CD, DVD; http") && !shown.contains(token), "{probe:?}");
    assert_eq!(emulator.media()["Inserted"], json!(true), "a probe changes nothing");
    let eject = command(&["eject", &address]).output().unwrap();
    assert!(eject.status.success() && text(&eject.stdout).contains("ejected http"), "{eject:?}");
    assert_eq!((&emulator.media()["Inserted"], emulator.fetched().len()), (&json!(false), 0));
}

/// A fleet's rows name their BMCs and no Secret, as for a BMC that asks for no login.
#[test]
fn a_fleet_without_credentials_is_probed_and_emptied_as_it_is_booted() {
    let directory = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(&directory.path().join("sushy"));
    let fleet = format!(
        "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {{name: rack}}\nspec:\n  template:\n    \
         bmc: {{address: \"redfish-virtualmedia+{}${{system}}\"}}\n    network: {{interfaces: []}}\n  hosts:\n    \
         values:\n    - {{name: worker-0, system: {system}}}\n    - {{name: worker-1, system: {system}}}\n",
        emulator.origin,
        system = emulator.system,
    );
    let file = directory.path().join("rack.yaml");
    std::fs::write(&file, fleet).unwrap();
    let file = file.to_str().unwrap();
    let without_credentials = |arguments: &[&str]| {
        let mut command = dayone();
        command.args(arguments).args([file, "--host", "worker-1"]);
        command.env_remove("DAYONE_BMC_USERNAME").env_remove("DAYONE_BMC_PASSWORD");
        command.output().unwrap()
    };
    for (arguments, shows) in [(["bmc", "probe"].as_slice(), "CD, DVD"), (&["eject"], "was empty")] {
        let output = without_credentials(arguments);
        assert!(output.status.success() && text(&output.stdout).contains(shows), "{output:?}");
    }
}
