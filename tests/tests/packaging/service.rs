//! The systemd unit and its settings.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use acceptance::container::Program;
use acceptance::packaging::{make_install, repository};
use acceptance::peers::{run, run_text};
use acceptance::server::{dayone, free_address};
use serde_json::Value;

/// Installs the unit so that it names this binary, and returns its path.
fn unit(directory: &Path) -> PathBuf {
    let (prefix, settings) = (directory.join("usr"), directory.join("etc"));
    make_install(Path::new(dayone().get_program()), &[("PREFIX", &prefix), ("SYSCONFDIR", &settings)]);
    prefix.join("lib/systemd/system/dayone.service")
}

#[test]
fn systemd_finds_no_mistake_in_the_unit() {
    let directory = tempfile::tempdir().unwrap();
    let output =
        Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(unit(directory.path())).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let ours: Vec<&str> = errors.lines().filter(|line| line.contains("dayone")).collect();
    assert!(output.status.success() && ours.is_empty(), "{errors}");
}

/// `docs/install.md` has the exposure level, from 0 (none) to 10.
#[test]
fn the_unit_is_as_hardened_as_the_docs_say() {
    let directory = tempfile::tempdir().unwrap();
    let unit = unit(directory.path());
    let analyze = |arguments: &[&str]| {
        let mut command = Command::new("systemd-analyze");
        command.args(["security", "--offline=true", "--no-pager"]).args(arguments).arg(&unit).env("COLUMNS", "200");
        run_text(&mut command)
    };
    // The threshold is in tenths: beyond it, the command fails.
    let shown = analyze(&["--threshold=15"]);
    let level = shown.split_once("Overall exposure level for dayone.service: ").unwrap().1;
    let level = level.split(' ').next().unwrap();
    let page = fs::read_to_string(repository().join("docs/install.md")).unwrap();
    assert!(page.contains(&format!("exposure level is {level}")), "docs/install.md does not say {level}:\n{shown}");
}

/// The sample with the marks of its comments removed where they are settings.
fn sample() -> String {
    let text = fs::read_to_string(repository().join("packaging/dayone.yaml")).unwrap();
    let uncommented = |line: &str| match line.strip_prefix('#') {
        Some("") => String::new(),
        Some(rest) if rest.starts_with(' ') && !rest.starts_with("  ") => String::new(),
        Some(setting) => setting.to_owned(),
        None => line.to_owned(),
    };
    text.lines().map(|line| uncommented(line) + "\n").collect()
}

#[test]
fn the_sample_has_every_setting_and_each_is_valid() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dayone.yaml");
    fs::write(&path, sample()).unwrap();
    // The values are valid, though nothing that they name is there.
    let shown = dayone().args(["config", "check", "--format", "json"]).arg(&path).output().unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let wrong = ["unknown-setting", "wrong-value", "wrong-type", "wrong-base", "set-twice", "not-yaml"];
    let problems = shown["problems"].as_array().unwrap();
    assert!(problems.iter().all(|problem| !wrong.contains(&problem["code"].as_str().unwrap())), "{shown}");
    let bases = shown["settings"].as_array().unwrap().iter().find(|setting| setting["name"] == "bases").unwrap();
    assert_eq!(bases["value"].as_array().unwrap().len(), 2);
    let keys: serde_yaml::Mapping = serde_yaml::from_str(&sample()).unwrap();
    let keys: BTreeSet<String> = keys.keys().map(|key| key.as_str().unwrap().to_owned()).collect();
    let help = run_text(dayone().args(["serve", "--help"]));
    let options = help.lines().filter_map(|line| line.strip_prefix("      --")?.split(' ').next());
    let options =
        options.filter(|option| *option != "config").map(|option| if option == "base" { "bases" } else { option });
    assert_eq!(keys, options.map(str::to_owned).collect());
    // As installed, nothing is set.
    let sample = repository().join("packaging/dayone.yaml");
    let shown = run_text_of_failure(dayone().args(["config", "check"]).arg(&sample));
    assert!(shown.contains("[no-media-url]"), "{shown}");
}

/// What a command prints that ends with 1.
fn run_text_of_failure(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    text
}

#[test]
fn variables_of_the_sample_are_read() {
    let text = fs::read_to_string(repository().join("packaging/dayone.env")).unwrap();
    let variables: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("#DAYONE_")?.split('=').next()).collect();
    assert_eq!(variables, ["API_TOKEN", "BMC_USERNAME", "BMC_PASSWORD"]);
    let help = run_text(dayone().args(["serve", "--help"]));
    for variable in variables {
        assert!(help.contains(&format!("`DAYONE_{variable}`")), "{variable} is not in {help}");
    }
}

#[test]
fn systemd_learns_when_the_server_is_ready_and_when_it_stops() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    let receive = |within: Duration| {
        manager.set_read_timeout(Some(within)).unwrap();
        let mut buffer = [0; 256];
        manager.recv(&mut buffer).map(|length| String::from_utf8_lossy(&buffer[..length]).into_owned())
    };
    let (api, media) = (free_address(), free_address());
    let mut command = dayone();
    command.args(["serve", "--api-listen", &api, "--media-listen", &media, "--data-dir"]);
    command.arg(directory.path().join("data")).env("NOTIFY_SOCKET", &socket).stdin(Stdio::null());
    let server = Program::start(command, &directory.path().join("log"));
    assert_eq!(receive(Duration::from_secs(60)).unwrap(), "READY=1", "{}", server.log());
    // It answers from now on, and not only soon.
    assert!(reqwest::blocking::get(format!("http://{api}/healthz")).unwrap().status().is_success());
    let nothing = receive(Duration::from_millis(50)).unwrap_err();
    assert!(matches!(nothing.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{nothing}");
    // A reload begins and ends, and says how it ended.
    run(Command::new("kill").args(["-HUP", &server.id().to_string()]));
    let begun = receive(Duration::from_secs(60)).unwrap();
    let since = begun.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap_or_else(|| panic!("{begun}"));
    assert!(since.parse::<u64>().is_ok(), "{begun}");
    let ended = receive(Duration::from_secs(60)).unwrap();
    assert_eq!(ended, "READY=1\nSTATUS=The settings were read again.", "{}", server.log());
    run(Command::new("kill").arg(server.id().to_string()));
    assert_eq!(receive(Duration::from_secs(60)).unwrap(), "STOPPING=1", "{}", server.log());
    let (code, log) = server.end();
    assert_eq!(code, Some(0), "{log}");
}

/// What systemd does with a server whose settings are wrong: it does not start it again and again.
#[test]
fn wrong_settings_end_with_the_code_that_the_unit_knows() {
    let unit = fs::read_to_string(repository().join("packaging/dayone.service")).unwrap();
    assert!(unit.contains("\nRestartPreventExitStatus=2\n"));
    let directory = tempfile::tempdir().unwrap();
    let sample = repository().join("packaging/dayone.yaml");
    let output =
        dayone().args(["serve", "--config"]).arg(sample).arg("--data-dir").arg(directory.path()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("--media-url"), "{errors}");
}
