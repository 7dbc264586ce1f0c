//! Boots across a rotation of the installation key (sushy-tools): dayone recognizes the image that it inserted, and has its
//! credentials, also after a restart and when the previous key is gone.

use std::fs;

use acceptance::bases::coreos_iso;
use acceptance::boots::{begin, delete, documents, nothing_shows, step, until, until_state};
use acceptance::peers::run_text;
use acceptance::server::{Server, dayone};
use acceptance::sushy::{Emulator, Options};
use serde_json::{Value, json};

const PASSWORD: &str = "correct-horse";

fn rotate(server: &Server, grace: &str) {
    let mut command = dayone();
    command.args(["key", "rotate", "--grace-seconds", grace, "--data-dir"]).arg(server.directory().join("data"));
    let said = run_text(&mut command);
    assert!(said.contains("gives out URLs of the new key"), "{said}");
}

#[test]
fn the_medium_of_a_boot_is_ejected_after_a_rotation_a_restart_and_the_end_of_the_previous_key() {
    let mut server = Server::start("coreos", &coreos_iso(&[]));
    let options = Options { credentials: Some(("admin", PASSWORD)), ..Options::default() };
    let bmc = Emulator::start_with(&server.directory().join("bmc"), &options);
    bmc.boot_cd("UEFI");
    for grace in ["3600", "0"] {
        let documents = documents("worker-0", &bmc.origin, &bmc.system, PASSWORD);
        let id = begin(&server, "?base=coreos&wait_for=reading", &documents);
        until_state(&server, &id, "unknown");
        let inserted = bmc.media()["Image"].clone();
        rotate(&server, grace);
        // Within seconds, the record says what the BMC has.
        let record = server.directory().join(format!("data/boots/{id}.json"));
        let url = || serde_json::from_slice::<Value>(&fs::read(&record).unwrap()).unwrap()["at_bmc"]["url"].clone();
        until(&server, &id, "recorded", |_| url() == inserted);
        if grace == "0" {
            let key = server.directory().join("data/key");
            until(&server, &id, "without the previous key", |_| fs::read(&key).unwrap().len() == 32);
        }
        server.kill_and_start_again();
        assert_eq!(bmc.media()["Image"], inserted);
        delete(&server, &id);
        let boot = until(&server, &id, "ended", |boot| boot["ended"] == true);
        let detail = step(&boot, "ejected")["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("ejected from"), "{detail}");
        assert_eq!(bmc.media()["Inserted"], json!(false));
        // The next one gets the new URL.
        let id = begin(&server, "?base=coreos&wait_for=reading", &documents);
        until_state(&server, &id, "unknown");
        assert_ne!(bmc.media()["Image"], inserted);
        delete(&server, &id);
        until(&server, &id, "ended", |boot| boot["ended"] == true);
        assert_eq!(bmc.media()["Inserted"], json!(false));
        if grace != "0" {
            let mut command = dayone();
            command.args(["key", "end-grace", "--data-dir"]).arg(server.directory().join("data"));
            run_text(&mut command);
        }
    }
    nothing_shows(&server, PASSWORD);
}
