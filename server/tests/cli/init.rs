//! `dayone init`: what it writes is usable as it is.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{dayone, ended, run};
use crate::images::unpack;

#[test]
fn what_init_writes_passes_both_checks_and_a_server_starts_with_it() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("rack 1");
    let iso = parent.path().join("live.iso");
    unpack("coreos.iso", &iso);
    let base = format!("coreos={}", iso.display());
    let shown = directory.to_str().unwrap();
    let written = run(&["init", shown, "--media-url", "http://127.0.0.1:8081", "--base", &base]);
    assert_eq!((written.code, written.err.as_str()), (0, ""));
    let files = ["dayone.yaml", "api-token", "hosts/fleet.yaml", "hosts/hosts.csv", "README.md", ".gitignore"];
    let paths = files.iter().chain(&["bmc-credentials/"]);
    let expected: String = paths.map(|path| format!("{shown}/{path}\n")).collect();
    assert_eq!(written.out, expected);

    let token = fs::read_to_string(directory.join("api-token")).unwrap();
    assert!(token.trim().len() == 64 && token.trim().bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
    let mode = fs::metadata(directory.join("api-token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The server reads the credentials that the fleet names from here.
    let credentials = directory.join("bmc-credentials");
    assert_eq!(fs::metadata(&credentials).unwrap().permissions().mode() & 0o777, 0o700);
    let settings = fs::read_to_string(directory.join("dayone.yaml")).unwrap();
    assert!(settings.contains(&format!("bmc-credentials: {}", credentials.display())), "{settings}");

    let settings = directory.join("dayone.yaml");
    let config = run(&["config", "check", settings.to_str().unwrap()]);
    // The only warning is that the URL is this machine alone.
    assert!(
        config.code == 0 && config.out.contains("loopback") && config.out.ends_with("no errors, 1 warning\n"),
        "{}",
        config.out
    );
    let check = run(&["check", directory.join("hosts").to_str().unwrap()]);
    assert_eq!((check.code, check.out.as_str()), (0, "3 hosts: no errors, no warnings\n"), "{}", check.err);

    let mut command = dayone();
    command.args(["serve", "--config"]).arg(&settings).args([
        "--api-listen",
        "127.0.0.1:0",
        "--media-listen",
        "127.0.0.1:0",
    ]);
    let mut server = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut seen = Vec::new();
    let started = log.by_ref().inspect(|line| seen.push(line.clone())).any(|line| line.contains("dayone serves"));
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(started, "{seen:?}");
    assert!(directory.join("data/key").exists());
}

#[test]
fn init_replaces_nothing() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("hosts")).unwrap();
    fs::write(directory.path().join("hosts/hosts.csv"), "mine").unwrap();
    let refused = ended(dayone().arg("init").current_dir(directory.path()).output().unwrap());
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    assert!(
        refused.err.contains("hosts/hosts.csv exists") && refused.err.contains("written nothing"),
        "{}",
        refused.err
    );
    assert_eq!(fs::read_to_string(directory.path().join("hosts/hosts.csv")).unwrap(), "mine");
    assert!(!directory.path().join("dayone.yaml").exists());
    fs::remove_file(directory.path().join("hosts/hosts.csv")).unwrap();

    let mut tokens = Vec::new();
    for _ in 0..2 {
        assert_eq!(ended(dayone().arg("init").current_dir(directory.path()).output().unwrap()).code, 0);
        tokens.push(fs::read_to_string(directory.path().join("api-token")).unwrap());
        for file in ["dayone.yaml", "api-token", "hosts/fleet.yaml", "hosts/hosts.csv", "README.md", ".gitignore"] {
            fs::remove_file(directory.path().join(file)).unwrap();
        }
    }
    assert_ne!(tokens[0], tokens[1]);
}

#[test]
fn the_directory_may_have_any_name_that_a_settings_file_can_hold() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("rack, {1} [a]: #b");
    let init = |directory: &Path| {
        ended(dayone().args(["init", "--media-url", "http://192.0.2.1:8081"]).arg(directory).output().unwrap())
    };
    let written = init(&directory);
    assert_eq!((written.code, written.err.as_str()), (0, ""));
    let settings = directory.join("dayone.yaml");
    let config = run(&["config", "check", "--format", "json", settings.to_str().unwrap()]);
    assert_eq!(config.code, 0, "{}", config.out);
    let config: serde_json::Value = serde_json::from_str(&config.out).unwrap();
    let value = |name: &str| {
        let all = config["settings"].as_array().unwrap();
        all.iter().find(|setting| setting["name"] == name).unwrap()["value"].clone()
    };
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    assert_eq!(value("api-token-file"), serde_json::json!([path("api-token")]));
    assert_eq!(value("data-dir"), path("data"));

    for name in [&b"two\nlines"[..], b"h\xf6st"] {
        let directory = parent.path().join(OsStr::from_bytes(name));
        let refused = init(&directory);
        assert!(refused.code == 2 && refused.err.contains("cannot be in a settings file"), "{}", refused.err);
        assert!(!directory.exists());
    }
}

#[test]
fn two_bases_with_one_name_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("rack");
    let refused = run(&["init", directory.to_str().unwrap(), "--base", "a=/1.iso", "--base", "a=/2.iso"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("two bases are named 'a'"), "{}", refused.err);
    assert!(!directory.exists());
}

/// The limit on the size of files stands for a full disk: the settings are smaller, and the fleet is larger.
#[test]
fn a_full_disk_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    for blocks in ["0", "1"] {
        let script = "trap '' XFSZ; ulimit -f \"$1\"; exec \"$2\" init";
        let mut bash = Command::new("bash");
        bash.args(["-c", script, "bash", blocks, env!("CARGO_BIN_EXE_dayone")]);
        let failed = ended(bash.current_dir(directory.path()).output().unwrap());
        assert!(failed.code == 2 && failed.err.contains("cannot write "), "{blocks}: {}", failed.err);
        for place in [directory.path(), &directory.path().join("hosts")] {
            let files = fs::read_dir(place).unwrap().map(Result::unwrap).filter(|entry| !entry.path().is_dir());
            assert_eq!(files.map(|entry| entry.file_name()).collect::<Vec<_>>(), Vec::<OsString>::new(), "{blocks}");
        }
    }
    assert_eq!(ended(dayone().arg("init").current_dir(directory.path()).output().unwrap()).code, 0);
}
