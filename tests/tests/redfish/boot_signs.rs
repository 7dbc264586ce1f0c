//! What counts as a sign that a host has booted, at the BMC that shows none (sushy-tools without machines): whatever was
//! asked for, nothing that was there before the host was switched on is taken for it, and nothing is ejected or restored.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::boots::{Callers, begin, delete, documents, step, until, until_state};
use acceptance::server::{Server, dayone, free_address};
use acceptance::sushy::Emulator;
use reqwest::blocking::Client;
use serde_json::json;

/// Each sign, with what comes of a boot that waits for it at this BMC.
const SIGNS: [(&str, &str); 4] =
    [("reading", "unknown"), ("boot-progress", "unknown"), ("reachable", "failed"), ("call-home", "failed")];

/// The BMC as a boot that cannot tell has left it: on, with the medium, and booting from it.
#[track_caller]
fn assert_left_alone(bmc: &Emulator, about: &str) {
    let system = bmc.system_state();
    assert_eq!(bmc.media()["Inserted"], true, "{about}");
    assert_eq!(system["Boot"]["BootSourceOverrideTarget"], "Cd", "{about}");
    assert_eq!(system["PowerState"], "On", "{about}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn no_sign_is_no_boot_whatever_was_asked_for() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    std::thread::scope(|scope| {
        for (number, (sign, state)) in SIGNS.into_iter().enumerate() {
            let server = &server;
            scope.spawn(move || {
                let bmc = Emulator::start(&server.directory().join(format!("bmc-{number}")));
                let host = documents(&format!("worker-{number}"), &bmc.origin, &bmc.system, "x");
                for eject in ["when-booted", "when-deleted"] {
                    let query = format!("?base=coreos&wait_for={sign}&eject={eject}&booted_within=4");
                    let id = begin(server, &query, &host);
                    let boot = until(server, &id, "over", |boot| {
                        matches!(boot["state"].as_str(), Some("booted" | "failed" | "unknown"))
                    });
                    assert_eq!(boot["state"], state, "{sign}: {boot:#}");
                    assert_eq!((&boot["inserted"], &boot["ended"]), (&json!(true), &json!(false)), "{boot:#}");
                    let booted = step(&boot, "booted");
                    assert_ne!(booted["state"], "done", "{boot:#}");
                    assert_ne!(step(&boot, "reading")["state"], "done", "{boot:#}");
                    if state == "unknown" {
                        assert_eq!(booted["state"], "unknown", "{boot:#}");
                        let said = booted["detail"].as_str().unwrap();
                        assert!(said.contains("cannot tell") && said.contains(&format!("({sign}: ")), "{said}");
                        assert!(said.contains(&format!("DELETE /v1/boots/{id}")), "{said}");
                    }
                    assert_left_alone(&bmc, sign);
                    // It stays so, until somebody who has looked says otherwise.
                    delete(server, &id);
                    let boot = until_state(server, &id, "ejected");
                    assert_eq!(bmc.media()["Inserted"], false, "{boot:#}");
                    assert_ne!(bmc.system_state()["Boot"]["BootSourceOverrideTarget"], "Cd", "{boot:#}");
                }
            });
        }
    });
    let metrics = reqwest::blocking::get(format!("{}/metrics", server.api)).unwrap().text().unwrap();
    assert!(metrics.contains("boots_total{outcome=\"unknown\"} 4"), "{metrics}");
    assert!(metrics.contains("boots_total{outcome=\"booted\"} 0"), "{metrics}");
}

#[test]
fn what_is_unknown_is_so_after_a_restart_and_a_call_that_comes_first_is_no_sign() {
    let mut server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = Emulator::start(&server.directory().join("bmc"));
    let host = documents("worker-0", &bmc.origin, &bmc.system, "x");
    let id = begin(&server, "?base=coreos&wait_for=reading&eject=when-booted", &host);
    until_state(&server, &id, "unknown");
    server.kill_and_start_again();
    let boot = until_state(&server, &id, "unknown");
    assert_eq!(boot["ended"], false, "{boot:#}");
    assert_left_alone(&bmc, "after a restart");
    delete(&server, &id);
    until_state(&server, &id, "ejected");

    // The system from before calls all the time, until its host is switched off; the new one never does.
    let callers = Callers::start(server.directory());
    let id = begin(&server, "?base=coreos&wait_for=call-home&booted_within=4", &host);
    until(&server, &id, "its medium is in", |boot| step(boot, "insert")["state"] == "done");
    drop(callers);
    let boot = until_state(&server, &id, "failed");
    assert!(step(&boot, "reading")["error"].as_str().unwrap().contains("waited for call-home"), "{boot:#}");
    assert_left_alone(&bmc, "call-home");
}

/// Reads the beginning of the image, as its host's firmware would after each restart, until it may stop.
fn restart_for_ever(url: &str, stop: &AtomicBool) {
    let client = Client::builder().no_proxy().timeout(Duration::from_secs(5)).build().unwrap();
    let begin = Instant::now();
    while !stop.load(Ordering::Relaxed) && begin.elapsed() < Duration::from_mins(2) {
        // The image may be gone by now.
        let _ = client.get(url).header("Range", "bytes=0-65535").send().and_then(reqwest::blocking::Response::bytes);
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_host_that_restarts_for_ever_is_too_late_although_it_reads_the_image() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    let bmc = Emulator::start(&server.directory().join("bmc"));
    let host = documents("worker-0", &bmc.origin, &bmc.system, "x");
    let id = begin(&server, "?base=coreos&wait_for=call-home&booted_within=4", &host);
    until(&server, &id, "started", |boot| step(boot, "power")["state"] == "done");
    let (url, stop) = (bmc.media()["Image"].as_str().unwrap().to_owned(), AtomicBool::new(false));
    let boot = std::thread::scope(|scope| {
        scope.spawn(|| restart_for_ever(&url, &stop));
        let boot = until(&server, &id, "over", |boot| boot["state"] != "running");
        stop.store(true, Ordering::Relaxed);
        boot
    });
    assert_eq!(boot["state"], "failed", "{boot:#}");
    assert!(boot["steps"].to_string().contains("it may restart again and again"), "{boot:#}");
    assert_left_alone(&bmc, "a host that restarts for ever");
}

struct Scene {
    directory: tempfile::TempDir,
    bmc: Emulator,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let bmc = Emulator::start(&directory.path().join("bmc"));
        let host = documents("worker-0", &bmc.origin, &bmc.system, "x");
        fs::write(directory.path().join("host.yaml"), host).unwrap();
        Self { directory, bmc }
    }

    fn boot(&self, base: &str, further: &[&str]) -> Command {
        let mut command = dayone();
        command.args(["boot", &self.directory.path().join("host.yaml").display().to_string(), "--base", base]);
        command.args(["--booted-within", "4"]).args(further).env("TMPDIR", self.directory.path());
        command
    }

    fn boot_here(&self, further: &[&str]) -> Command {
        let mut command = self.boot(&coreos_iso(&[]).display().to_string(), further);
        command.args(["--media-listen", &free_address()]);
        command
    }
}

#[track_caller]
fn assert_unknown(output: &Output, scene: &Scene) {
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{said}\n{errors}");
    assert!(said.starts_with("worker-0: unknown: the host was switched on, and dayone cannot tell"), "{said}");
    assert!(!said.contains("booted: ") && !errors.contains("ejected done"), "{said}\n{errors}");
    assert_left_alone(&scene.bmc, &errors);
}

#[test]
fn the_program_has_an_exit_code_for_it_and_leaves_the_medium_in() {
    for (sign, state) in SIGNS {
        let scene = Scene::new();
        let output = scene.boot_here(&["--wait-for", sign, "--eject-when-booted"]).output().unwrap();
        if state == "unknown" {
            assert_unknown(&output, &scene);
            assert!(text(&output.stderr).contains("dayone eject"), "{}", text(&output.stderr));
            continue;
        }
        // What has failed is undone, as the program ends.
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert!(text(&output.stdout).starts_with("worker-0: failed at "), "{}", text(&output.stdout));
        assert_eq!(scene.bmc.media()["Inserted"], false);
    }
    // The host may read on: the program serves until it is told to eject.
    let scene = Scene::new();
    let mut command = scene.boot_here(&["--wait-for", "boot-progress"]);
    let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let errors = BufReader::new(running.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut errors = errors.skip_while(|line| !line.contains("still serving"));
    assert!(errors.next().is_some());
    assert_left_alone(&scene.bmc, "while it serves on");
    rustix::process::kill_process(rustix::process::Pid::from_child(&running), rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = errors.collect();
    assert_eq!(running.wait().unwrap().code(), Some(3), "{rest:?}");
    assert_eq!(scene.bmc.media()["Inserted"], false, "{rest:?}");
}

#[test]
fn a_server_tells_the_program_so() {
    let server = Server::start("coreos", &coreos_iso(&[]));
    for sign in ["reading", "boot-progress"] {
        let scene = Scene::new();
        let output = scene.boot("coreos", &["--wait-for", sign, "--server", &server.api, "--wait"]).output().unwrap();
        assert_unknown(&output, &scene);
        // It ends with the command that undoes it, which does.
        let errors = text(&output.stderr);
        let undo = errors.lines().find_map(|line| line.strip_prefix("  dayone boots rm ")).unwrap();
        assert!(errors.contains(&format!("  dayone boots watch --server {}", server.api)), "{errors}");
        let words: Vec<&str> = undo.split(' ').collect();
        assert!(dayone().args(["boots", "rm"]).args(&words).status().unwrap().success(), "{undo}");
        until_state(&server, words[0], "ejected");
        assert_eq!(scene.bmc.media()["Inserted"], false);
    }
}
