//! The keyfiles of `fixtures/` against what reads them, libnm, and what else writes them, nmstatectl.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use acceptance::peers::{peer, run_text};
use imagelib::host::{HostSpec, NmstateDocument};
use imagelib::network::{HostNetwork, NMSTATE_VERSION, convert};
use imagelib::report::DocumentPath;
use serde_json::Value;

/// What libnm 1.42 may find wrong with a keyfile, because dayone said so in a warning.
const KNOWN_PROBLEMS: &[(&str, &str)] = &[
    ("dropped-features", "invalid key 'ethtool.fec-mode'"),
    ("every-bond-option", "ignoring invalid bond option \"lacp_active\""),
    ("every-bond-option", "ignoring invalid bond option \"arp_missed_max\""),
    ("ieee8021x-tls", "certificate or key file 'file:///etc/pki/802-1x/"),
];

/// Cases in which dayone's keyfiles are not those of `nmstatectl gc`, on purpose, and why.
const DELIBERATE_DIFFERENCES: &[(&str, &str)] = &[
    ("copy-mac-from-boot-nic", "nmstate refuses it: it does not know the boot NIC"),
    ("escapes", "nmstate escapes no value, writes unsafe file names, and one name twice"),
    ("every-bridge-option", "nmstate writes the group address as a list of bytes, which NetworkManager refuses"),
    ("mac-identified-vlan", "nmstate writes a file name with a blank"),
    ("routes-and-rules", "nmstate puts the rules into the order and the profile of the moment"),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/nmstate")
}

/// Name and path of each good case.
fn cases() -> Vec<(String, PathBuf)> {
    let mut cases: Vec<_> = fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("nmstate.yaml").exists())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .collect();
    cases.sort();
    assert!(cases.len() > 20);
    cases
}

fn network(case: &Path) -> HostNetwork {
    let text = fs::read_to_string(case.join("nmstate.yaml")).unwrap();
    let boot_mac = fs::read_to_string(case.join("boot-mac")).ok();
    let host = HostSpec {
        boot_mac: boot_mac.map(|mac| mac.trim().parse().unwrap()),
        ..HostSpec::with_network(NmstateDocument {
            value: serde_yaml::from_str(&text).unwrap(),
            path: DocumentPath::root(),
        })
    };
    convert(&host).0.unwrap()
}

/// What libnm makes of keyfiles, by name.
fn libnm(keyfiles: &BTreeMap<String, String>) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/libnm.py");
    let mut child = Command::new("/usr/bin/python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3, see scripts/setup-peers.sh");
    let input = serde_json::to_vec(keyfiles).unwrap();
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn libnm_accepts_every_keyfile() {
    let mut keyfiles = BTreeMap::new();
    for (name, path) in cases() {
        for keyfile in network(&path).keyfiles {
            keyfiles.insert(format!("{name}/{}", keyfile.name), keyfile.content);
        }
    }
    let mut wrong = Vec::new();
    for (name, found) in libnm(&keyfiles).as_object().unwrap() {
        for problem in found["problems"].as_array().unwrap() {
            let problem = problem.as_str().unwrap();
            let known = KNOWN_PROBLEMS
                .iter()
                .any(|(case, text)| name.split('/').next() == Some(case) && problem.contains(text));
            if !known {
                wrong.push(format!("{name}: {problem}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn libnm_reads_escaped_values_as_they_were_written() {
    let network = network(&fixtures().join("escapes"));
    let keyfiles = network.keyfiles.into_iter().map(|file| (file.name.to_string(), file.content)).collect();
    let found = libnm(&keyfiles);
    let settings = &found["Lab__1___floor_2.nmconnection"]["settings"];
    assert_eq!(settings["connection"]["id"], "Lab (1), floor\\2");
    assert_eq!(settings["802-1x"]["identity"], "LAB\\svc-host");
    assert_eq!(settings["802-1x"]["password"], " p\\a;ss=w\\tord#");
    assert_eq!(settings["ipv4"]["dhcp-client-id"], "a\\b");
    assert_eq!(settings["user"]["data"]["nmstate.interface.description"], "  indented; with \\ and = and [brackets]  ");
}

#[test]
fn nmstatectl_is_of_the_same_version_and_writes_the_same() {
    let version = run_text(peer("nmstatectl").arg("--version"));
    assert_eq!(version.trim(), format!("nmstatectl {NMSTATE_VERSION}"));
    for (name, path) in cases() {
        let output = peer("nmstatectl").arg("gc").arg(path.join("nmstate.yaml")).output().unwrap();
        let theirs: Option<BTreeMap<String, String>> = output.status.success().then(|| {
            let all: BTreeMap<String, Vec<(String, String)>> = serde_yaml::from_slice(&output.stdout).unwrap();
            all.into_values().flatten().collect()
        });
        let ours: BTreeMap<String, String> =
            network(&path).keyfiles.into_iter().map(|file| (file.name.to_string(), file.content)).collect();
        if DELIBERATE_DIFFERENCES.iter().any(|(case, _)| *case == name) {
            assert_ne!(theirs, Some(ours), "{name} differs no longer");
        } else {
            assert_eq!(theirs, Some(ours), "{name}");
        }
    }
}
