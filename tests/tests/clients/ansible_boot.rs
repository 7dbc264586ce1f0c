//! The module `boot` against a server and a real Redfish emulator (sushy-tools).

use std::thread;
use std::time::Duration;

use acceptance::bases::coreos_iso;
use acceptance::boots::{Callers, documents, nothing_shows, step};
use acceptance::fault_proxy::{Fault, FaultProxy};
use acceptance::server::Server;
use acceptance::sushy::{Emulator, Options};
use reqwest::Method;
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
    // The check finds the mistakes that the boot would find.
    boot(&with(&order, &json!({"base": "none"})), &["--check"]).failed("none");
    let wrong = documents("worker-0", &bmc.origin, &bmc.system, PASSWORD).replace("192.0.2.", "300.0.2.");
    boot(&with(&order, &json!({"documents": wrong})), &["--check"]).failed("300.0.2.");
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

/// A BMC whose password has changed stands for any BMC that cannot be restored: the server gives up at once.
#[test]
fn a_medium_that_stays_is_told_with_the_reason_at_each_attempt() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let before = bmc(&server, "bmc");
    let ansible = Ansible::new(&server.api, None);
    let host = json!({"documents": documents("worker-0", &before.origin, &before.system, PASSWORD), "poll_interval": 0.2,
        "wait_timeout": 120});
    {
        let _callers = Callers::start(server.directory());
        ansible.task("boot", &with(&host, &json!({"base": "coreos"})), &[]).changed(true);
    }
    let address = before.origin.trim_start_matches("http://").to_owned();
    drop(before);
    let options =
        Options { credentials: Some(("admin", "another-password")), address: Some(&address), ..Options::default() };
    let directory = server.directory().join("changed");
    let _changed = Emulator::start_with(&directory, &options);
    let absent = with(&host, &json!({"state": "absent"}));
    let attempts = [(); 2].map(|()| {
        let failed = ansible.task("boot", &absent, &[]).failed("ejected: ");
        assert_eq!((&failed["changed"], &failed["boots"][0]["ended"]), (&json!(true), &json!(false)), "{failed:#}");
        failed["boots"][0].clone()
    });
    // The second answer is not that of the first attempt.
    let [first, second] = attempts.each_ref().map(|boot| &step(boot, "ejected")["started"]);
    assert_ne!(first, second);
}

#[test]
fn a_host_that_may_have_booted_is_left_alone() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmcs = ["bmc-0", "bmc-1"].map(|name| bmc(&server, name));
    let ansible = Ansible::new(&server.api, None);
    let [first, second] = [0, 1].map(|number: usize| {
        let bmc = &bmcs[number];
        documents(&format!("worker-{number}"), &bmc.origin, &bmc.system, PASSWORD)
    });
    let settings = json!({"base": "coreos", "poll_interval": 0.2, "wait_timeout": 120});
    // This BMC copies the image, so that nothing shows whether its host reads it.
    let order = with(&settings, &json!({"documents": first, "wait_for": ["reading"]}));
    let unknown = ansible.task("boot", &order, &[]).failed("is unknown");
    assert_eq!((&unknown["boots"][0]["state"], &unknown["changed"]), (&json!("unknown"), &json!(true)), "{unknown:#}");
    let again = ansible.task("boot", &order, &[]).failed("is unknown");
    assert_eq!((&again["boots"], &again["changed"]), (&unknown["boots"], &json!(false)), "{again:#}");
    ansible.task("boot", &with(&order, &json!({"state": "started"})), &[]).changed(false);
    ansible.task("boot", &with(&order, &json!({"force": true})), &["--check"]).changed(true);

    // It does not keep the other host from booting.
    let _callers = Callers::start(server.directory());
    let both = with(&settings, &json!({"documents": format!("{first}{second}"), "wait_for": ["call-home"]}));
    let all = ansible.task("boot", &both, &[]).failed("worker-0: the boot");
    let booted = all["boots"].as_array().unwrap().iter().find(|boot| boot["host"] == "worker-1");
    assert_eq!((&booted.expect("a boot")["state"], &all["changed"]), (&json!("booted"), &json!(true)), "{all:#}");
    ansible.task("boot", &with(&order, &json!({"state": "absent"})), &[]).changed(true);
    ansible.task("boot", &order, &["--check"]).changed(true);
}

#[test]
fn a_task_waits_while_the_server_is_away_or_busy() {
    let mut server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = bmc(&server, "bmc");
    let proxy = FaultProxy::start(&server.api);
    let ansible = Ansible::new(&proxy.origin(), None);
    let order = json!({"base": "coreos", "poll_interval": 0.2, "wait_timeout": 120,
        "documents": documents("worker-0", &bmc.origin, &bmc.system, PASSWORD)});

    // The server does not come back: the result has what has begun.
    let failed = thread::scope(|scope| {
        let task = scope.spawn(|| ansible.task("boot", &with(&order, &json!({"wait_timeout": 10})), &[]));
        proxy.wait_for(&Method::GET, "/v1/boots/");
        server.stop();
        task.join().expect("a result")
    });
    let failed = failed.failed("");
    assert_eq!((&failed["boots"][0]["host"], &failed["changed"]), (&json!("worker-0"), &json!(true)), "{failed:#}");

    // It restarts, and then has no time.
    server.kill_and_start_again();
    proxy.forget();
    let booted = thread::scope(|scope| {
        let task = scope.spawn(|| ansible.task("boot", &order, &[]));
        proxy.wait_for(&Method::GET, "/v1/boots/");
        server.stop();
        thread::sleep(Duration::from_secs(2));
        server.kill_and_start_again();
        for status in [429, 503] {
            let answer = Fault::Answer(status, vec![("Retry-After", "1".to_owned())], json!({"title": "busy"}));
            proxy.next(Method::GET, "/v1/boots/", 1, answer);
        }
        proxy.next(Method::GET, "/v1/boots/", 1, Fault::Lost);
        let _callers = Callers::start(server.directory());
        task.join().expect("a result")
    });
    // The order itself was the first task's.
    let booted = booted.changed(false);
    assert_eq!(
        (&booted["boots"][0]["state"], &booted["boots"][0]["id"]),
        (&json!("booted"), &failed["boots"][0]["id"])
    );

    // An answer that stays is the end, with what has been done.
    let absent = with(&order, &json!({"state": "absent"}));
    proxy.next(Method::GET, "/v1/boots/", 1, Fault::Answer(403, Vec::new(), json!({"detail": "no longer allowed"})));
    let refused = ansible.task("boot", &absent, &[]).failed("no longer allowed");
    assert_eq!((&refused["problem"]["detail"], &refused["changed"]), (&json!("no longer allowed"), &json!(true)));
    assert_eq!(refused["boots"][0]["id"], failed["boots"][0]["id"], "{refused:#}");

    // Somebody else deletes a boot while the task waits for it.
    let ended = ansible.task("boot", &absent, &[]).result;
    assert!(!ended["failed"].as_bool().unwrap_or(false), "{ended:#}");
    let gone = json!({"type": "/v1/problems/not-found"});
    proxy.next(Method::GET, "/v1/boots/", 1, Fault::Answer(404, Vec::new(), gone));
    let forgotten = ansible.task("boot", &with(&order, &json!({"poll_interval": -1})), &[]).failed("deleted meanwhile");
    assert_eq!((&forgotten["boots"], &forgotten["changed"]), (&json!([]), &json!(true)), "{forgotten:#}");
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
    // The documents of a host that needs no boot have a mistake.
    let wrong = json!({"documents": both.replacen("192.0.2.20", "300.0.2.20", 1)});
    ansible.task("boot", &with(&order, &wrong), &["--check"]).changed(true);
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
