//! What a deleted boot leaves behind at its BMC.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dayone::boots::BootSettings;
use redfish::ClientOptions;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::boots::{delete, host, start, until};
use crate::emulated_bmc::EmulatedBmc;
use crate::support::{Answer, Dayone, Place, without_settings};

/// The option of env(1) with which the program handles the signals.
const DEFAULT_SIGNALS: &str = "--default-signal=INT,TERM,HUP";

async fn server() -> Dayone {
    let client = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
    start(Place::new(), BootSettings { client, ..BootSettings::default() }).await
}

async fn begin(dayone: &Dayone, bmc: &EmulatedBmc, query: &str) -> Value {
    let request = dayone.post(&format!("/v1/boots?base=coreos{query}"), host("worker-0", &bmc.url()));
    Answer::of(request).await.ok()["boots"][0].clone()
}

async fn until_ejected(dayone: &Dayone, boot: &Value) -> Value {
    assert_eq!(delete(dayone, boot, "").await, 202);
    until(dayone, boot, "ejected", |boot| boot["state"] == "ejected").await
}

#[tokio::test]
async fn a_boot_that_is_deleted_while_its_host_shuts_down_does_not_restart_it() {
    let bmc = EmulatedBmc::start().await;
    bmc.machine.lock().unwrap().is_deaf = true;
    let dayone = server().await;
    let boot = begin(&dayone, &bmc, "&shutdown_within=600").await;
    until(&dayone, &boot, "asked to shut down", |_| bmc.sent().iter().any(|sent| sent == "GracefulShutdown")).await;
    let ejected = until_ejected(&dayone, &boot).await;
    assert_eq!(bmc.sent(), ["InsertMedia", "GracefulShutdown", "EjectMedia"]);
    assert!(ejected["remarks"].to_string().contains("its power state was on"), "{ejected:#}");
}

#[tokio::test]
async fn a_boot_that_fails_after_its_host_was_switched_off_says_so() {
    let bmc = EmulatedBmc::start().await;
    bmc.machine.lock().unwrap().refused_while_off = 1;
    let dayone = server().await;
    let boot = begin(&dayone, &bmc, "").await;
    let failed = until(&dayone, &boot, "over", |boot| boot["ended"] == true).await;
    assert_eq!(failed["steps"][3]["state"], "failed", "{failed:#}");
    let remarks = failed["remarks"].to_string();
    assert!(remarks.contains("the boot failed while dayone restarted the host"), "{failed:#}");
    assert!(remarks.contains("its power state was off"), "{failed:#}");
    assert_eq!(bmc.sent(), ["InsertMedia", "ForceOff", "EjectMedia"]);
}

#[tokio::test]
async fn an_image_that_the_bmc_shows_by_its_name_is_ejected() {
    let bmc = EmulatedBmc::start().await;
    bmc.machine.lock().unwrap().shows = |url| url.rsplit('/').next().unwrap().to_owned();
    let dayone = server().await;
    let boot = begin(&dayone, &bmc, "").await;
    until(&dayone, &boot, "started", |_| bmc.sent().iter().any(|sent| sent == "On")).await;
    // The record says how the BMC shows the image.
    let dayone = dayone.restart().await;
    until_ejected(&dayone, &boot).await;
    assert_eq!(bmc.machine.lock().unwrap().image, None);

    // An image of somebody else stays.
    let boot = begin(&dayone, &bmc, "").await;
    until(&dayone, &boot, "started", |_| bmc.sent().iter().filter(|sent| *sent == "On").count() == 2).await;
    bmc.machine.lock().unwrap().image = Some("rescue.iso".to_owned());
    let ejected = until_ejected(&dayone, &boot).await;
    assert!(ejected["steps"].to_string().contains("has another medium by now"), "{ejected:#}");
    assert_eq!(bmc.machine.lock().unwrap().image.as_deref(), Some("rescue.iso"));
}

/// `dayone boot` without a server. `signals` is an option of env(1): a job in the background would ignore SIGINT.
fn command(place: &Place, bmc: &EmulatedBmc, signals: &str) -> Command {
    fs::write(place.path("host.yaml"), host("worker-0", &bmc.url())).unwrap();
    let mut command = Command::new("env");
    command.args([signals, env!("CARGO_BIN_EXE_dayone")]);
    without_settings(&mut command);
    let media = ["--media-listen", "127.0.0.1:0", "--media-url", "http://127.0.0.1:1"];
    command.args(["boot", "host.yaml", "--base", "coreos.iso"]).args(media).current_dir(place.path(""));
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_without_a_server_does_not_ask_for_requests_to_one() {
    for (sign, code, said) in [("call-home", 1, "has not booted within"), ("boot-progress", 3, "cannot tell whether")] {
        let bmc = EmulatedBmc::start().await;
        let place = Place::new();
        let mut command = command(&place, &bmc, DEFAULT_SIGNALS);
        command.args(["--wait-for", sign, "--booted-within", "2", "--eject-when-booted"]);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(said) && !text.contains("DELETE"), "{text}");
    }
}

/// Starts the command, and waits until it has switched the host on.
async fn restarting(place: &Place, bmc: &EmulatedBmc, signals: &str) -> Child {
    until_on(command(place, bmc, signals), bmc).await
}

async fn until_on(mut command: Command, bmc: &EmulatedBmc) -> Child {
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !bmc.sent().iter().any(|sent| sent == "On") {
        assert!(begun.elapsed() < Duration::from_mins(1), "not started: {:?}", bmc.sent());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    child
}

fn ejects(bmc: &EmulatedBmc) -> bool {
    bmc.sent().iter().any(|sent| sent == "EjectMedia")
}

/// A terminal that goes away sends SIGHUP twice, and timeout(1) signals the program and its group.
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_is_sent_twice_restores_the_bmc() {
    for signal in [Signal::HUP, Signal::TERM, Signal::INT] {
        let (bmc, place) = (EmulatedBmc::start().await, Place::new());
        let child = restarting(&place, &bmc, DEFAULT_SIGNALS).await;
        for _ in 0..2 {
            kill_process(Pid::from_child(&child), signal).unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let output = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{signal:?}: {stderr}");
        assert!(stderr.ends_with("interrupted; the BMCs are restored\n"), "{signal:?}: {stderr}");
        assert!(ejects(&bmc), "{signal:?}: {:?}", bmc.sent());
    }
}

/// Somebody who logs out has the program go on (nohup(1)).
#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_sighup_ejects_nothing() {
    let (bmc, place) = (EmulatedBmc::start().await, Place::new());
    let mut child = restarting(&place, &bmc, "--ignore-signal=HUP").await;
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(child.try_wait().unwrap().is_none() && !ejects(&bmc), "{:?}", bmc.sent());
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let output = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(ejects(&bmc), "{:?}", bmc.sent());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_undo_fails_says_why_and_ends() {
    let bmc = EmulatedBmc::start().await;
    bmc.machine.lock().unwrap().keeps_medium = true;
    let place = Place::new();
    let child = restarting(&place, &bmc, DEFAULT_SIGNALS).await;
    let interrupted = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(interrupted.elapsed() < Duration::from_mins(1), "{stderr}");
    let last = stderr.lines().last().unwrap();
    assert!(last.contains("worker-0: the BMC does not eject the medium"), "{stderr}");
    assert!(!stderr.contains("hunter2"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_command_continues_the_boots_in_its_data_directory() {
    let (bmc, place) = (EmulatedBmc::start().await, Place::new());
    let again = || {
        let mut command = command(&place, &bmc, DEFAULT_SIGNALS);
        command.args(["--data-dir", "records"]);
        command
    };
    let mut killed = until_on(again(), &bmc).await;
    killed.kill().unwrap();
    killed.wait().unwrap();
    let mut child = again().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let continued = move || {
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        while !text.contains("continuing the boots") && stderr.read_line(&mut text).unwrap() > 0 {}
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        stderr.read_to_string(&mut text).unwrap();
        (child.wait().unwrap().code(), text)
    };
    let (code, stderr) = tokio::task::spawn_blocking(continued).await.unwrap();
    assert!(stderr.contains("continuing the boots in --data-dir that have not ended: worker-0\n"), "{stderr}");
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.ends_with("interrupted; the BMCs are restored\n"), "{stderr}");
    assert_eq!(bmc.machine.lock().unwrap().image, None);
}
