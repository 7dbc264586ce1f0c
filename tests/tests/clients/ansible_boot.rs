//! The module `boot` against a server and a real Redfish emulator (sushy-tools).

use acceptance::bases::coreos_iso;
use acceptance::boots::{Callers, documents, nothing_shows};
use acceptance::server::Server;
use acceptance::sushy::{Emulator, Options};
use serde_json::{Value, json};

use crate::playbook::Ansible;

const PASSWORD: &str = "hunter2-hunter2";

fn bmc(server: &Server, name: &str) -> Emulator {
    let options = Options { credentials: Some(("admin", PASSWORD)), ..Options::default() };
    Emulator::start_with(&server.directory().join(name), &options)
}

fn with(arguments: &Value, more: &Value) -> Value {
    let mut all = arguments.clone();
    all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    all
}

#[test]
fn a_host_is_booted_once_and_its_medium_ejected_once() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = bmc(&server, "bmc");
    let ansible = Ansible::new(&server.api, None);
    let boot = |arguments: &Value, more: &[&str]| ansible.task("boot", arguments, more);
    let host = json!({"documents": documents("worker-0", &bmc.origin, &bmc.system, PASSWORD), "poll_interval": 0.2,
        "wait_timeout": 120});
    let order = with(&host, &json!({"base": "coreos"}));

    boot(&order, &["--check"]).changed(true);
    assert_eq!(bmc.media()["Inserted"], false);

    // The emulator starts no machine: the test calls home in its place.
    let _callers = Callers::start(server.directory());
    let task = boot(&order, &[]);
    assert!(!task.printed.contains(PASSWORD), "{}", task.printed);
    let booted = task.changed(true);
    assert_eq!((&booted["boots"][0]["host"], &booted["boots"][0]["state"]), (&json!("worker-0"), &json!("booted")));
    assert_eq!(bmc.media()["Inserted"], true);

    let id = &booted["boots"][0]["id"];
    for more in [&[][..], &["--check"]] {
        assert_eq!(boot(&order, more).changed(false)["boots"][0]["id"], *id);
    }
    // From the beginning, if somebody insists.
    let again = boot(&with(&order, &json!({"force": true, "state": "started"})), &["--check"]).changed(true);
    assert_eq!(again["boots"], json!([]));

    let absent = with(&host, &json!({"state": "absent"}));
    boot(&absent, &["--check"]).changed(true);
    assert_eq!(bmc.media()["Inserted"], true);
    let ended = boot(&absent, &[]).changed(true);
    assert_eq!(ended["boots"][0]["state"], "ejected");
    assert_eq!(bmc.media()["Inserted"], false);
    boot(&absent, &[]).changed(false);
    boot(&json!({"state": "absent", "id": id}), &[]).changed(false);
    boot(&json!({"state": "absent", "id": "0000000000000000"}), &[]).changed(false);
    nothing_shows(&server, PASSWORD);

    // Its medium is out: it is booted again.
    boot(&order, &["--check"]).changed(true);
}

#[test]
fn a_boot_that_fails_is_told_with_the_reason() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = bmc(&server, "bmc");
    let ansible = Ansible::new(&server.api, None);
    let order = json!({"base": "coreos", "poll_interval": 0.2, "wait_timeout": 120,
        "documents": documents("worker-0", &bmc.origin, &bmc.system, "wrong-horse")});
    let failed = ansible.task("boot", &order, &[]).failed("worker-0: the boot");
    assert_eq!((&failed["boots"][0]["state"], &failed["changed"]), (&json!("failed"), &json!(true)), "{failed:#}");
    assert!(failed["msg"].as_str().unwrap().contains("insert"), "{failed:#}");
    // It is tried again: a boot that has failed settles nothing.
    ansible.task("boot", &order, &["--check"]).changed(true);
}

#[test]
fn of_several_hosts_those_are_booted_that_have_not_booted() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmcs = ["bmc-0", "bmc-1"].map(|name| bmc(&server, name));
    let ansible = Ansible::new(&server.api, None);
    let both: String = ["worker-0", "worker-1"]
        .iter()
        .zip(&bmcs)
        .map(|(name, bmc)| documents(name, &bmc.origin, &bmc.system, PASSWORD))
        .collect();
    let order = json!({"base": "coreos", "documents": both, "poll_interval": 0.2, "wait_timeout": 120});
    let _callers = Callers::start(server.directory());
    let first = ansible.task("boot", &with(&order, &json!({"host": "worker-0"})), &[]).changed(true);
    assert_eq!(bmcs[1].media()["Inserted"], false);
    let all = ansible.task("boot", &order, &[]).changed(true);
    let boots = all["boots"].as_array().unwrap();
    assert_eq!(boots.len(), 2, "{all:#}");
    assert!(boots.contains(&first["boots"][0]), "worker-0 is booted again: {all:#}");
    assert!(boots.iter().all(|boot| boot["state"] == "booted"), "{all:#}");
    ansible.task("boot", &order, &[]).changed(false);
    ansible.task("boot", &with(&order, &json!({"state": "absent"})), &[]).changed(true);
    for bmc in &bmcs {
        assert_eq!(bmc.media()["Inserted"], false);
    }
}
