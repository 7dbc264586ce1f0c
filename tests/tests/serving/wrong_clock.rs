//! The clock of the machine is set while the server runs, as NTP does to one that came up with a wrong clock.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::boots::{begin, documents, show, step, until, until_state};
use acceptance::hosts::bond_and_vlans;
use acceptance::server::{Server, free_address};
use acceptance::sushy::Emulator;
use acceptance::test_clock::TestClock;
use reqwest::blocking::{Client, get};

const FIVE_YEARS: i64 = 5 * 365 * 24 * 3600;

#[test]
fn a_base_that_was_new_stays_in_service_when_the_clock_is_set_back() {
    // A server that takes long to start finds a base that is no longer new.
    let is_done = (0..5).any(|_| is_served_until_it_is_read_again());
    assert!(is_done, "the server took two seconds to start, five times");
}

/// Returns whether the base was new when the clock was set back. If it was, it is served until the server has read it again.
fn is_served_until_it_is_read_again() -> bool {
    let directory = tempfile::tempdir().unwrap();
    let (base, document) = (directory.path().join("coreos.iso"), directory.path().join("host.yaml"));
    fs::write(&document, bond_and_vlans(0)).unwrap();
    let clock = TestClock::new(directory.path());
    // Written in this moment. A further write might go unnoticed, so the server reads it once more when that is over.
    fs::copy(coreos_iso(&[]), &base).unwrap();
    let server = Server::start_under(&clock.launcher(), &free_address(), &free_address(), "coreos", &base, &[]);
    clock.set(-FIVE_YEARS);
    // The digest of a base that is no longer new is kept in the data directory.
    let is_read_again = || server.directory().join("data/base-digests.json").exists();
    if is_read_again() {
        return false;
    }
    let (client, image) = (Client::new(), server.image("coreos", &document));
    let begin = Instant::now();
    while !is_read_again() {
        assert!(begin.elapsed() < Duration::from_secs(30), "the base is not read again:\n{}", server.log());
        let part = client.get(image["url"].as_str().unwrap()).header("range", "bytes=0-99").send().unwrap();
        assert_eq!(part.status(), 206, "{}", server.log());
        thread::sleep(Duration::from_millis(20));
    }
    let ready = get(format!("{}/readyz", server.api)).unwrap();
    assert_eq!(ready.status(), 200, "{}", ready.text().unwrap());
    true
}

#[test]
fn a_boot_gives_its_host_the_same_time_when_the_clock_is_set() {
    let directory = tempfile::tempdir().unwrap();
    let clock = TestClock::new(directory.path());
    let (api, media) = (free_address(), free_address());
    let server = Server::start_under(&clock.launcher(), &api, &media, "coreos", &coreos_iso(&[]), &[]);
    // The emulator starts no machine, so no host calls home.
    let start = |number: usize, limit: usize| {
        let bmc = Emulator::start(&directory.path().join(format!("bmc-{number}")));
        let host = documents(&format!("worker-{number}"), &bmc.origin, &bmc.system, "x");
        let id = begin(&server, &format!("?base=coreos&wait_for=call-home&booted_within={limit}"), &host);
        until(&server, &id, "switched on", |boot| step(boot, "power")["state"] == "done");
        (bmc, id)
    };
    let (_patient_bmc, patient) = start(0, 1800);
    clock.set(FIVE_YEARS);
    thread::sleep(Duration::from_secs(3));
    let boot = show(&server, &patient);
    assert_eq!(boot["state"], "running", "{boot:#}");
    let (_hasty_bmc, hasty) = start(1, 15);
    clock.set(-FIVE_YEARS);
    let boot = show(&server, &hasty);
    assert_eq!(boot["state"], "running", "it failed before the clock was set: {boot:#}");
    until_state(&server, &hasty, "failed");
}
