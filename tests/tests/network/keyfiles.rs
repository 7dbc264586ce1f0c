//! The keyfiles of `fixtures/` against what reads them, libnm, and what else writes them, nmstatectl.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use acceptance::documents::documents;
use acceptance::golden::{cases, host};
use acceptance::libnm::{libnm, problems};
use acceptance::peers::{peer, run_text};
use hosts::network::{ConvertedNetwork, NMSTATE_VERSION, convert};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::DocumentPath;

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
    ("mac-identified-port-settings", "nmstate drops the settings of ports that are not found by their names"),
    ("mac-identified-vlan", "nmstate writes a file name with a blank"),
    ("ports-config-alone", "nmstate drops the settings of ports that are not found by their names"),
    ("routes-and-rules", "nmstate puts the rules into the order and the profile of the moment"),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/nmstate")
}

fn network(case: &Path) -> ConvertedNetwork {
    convert(&host(case)).0.unwrap()
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
        // nmstate knows no list of NICs, and ports by their names alone; what is meant is there in words that it understands.
        let twins = ["by-mac.yaml", "first-names.yaml"].map(|name| path.join(name));
        let document = twins.into_iter().find(|twin| twin.exists());
        let document = document.unwrap_or_else(|| path.join("nmstate.yaml"));
        let output = peer("nmstatectl").arg("gc").arg(document).output().unwrap();
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

/// Hundreds of documents that nobody has written, the same at every run.
#[test]
fn libnm_accepts_the_keyfiles_of_arbitrary_documents() {
    let mut runner = TestRunner::deterministic();
    let mut keyfiles = BTreeMap::new();
    let mut refused = Vec::new();
    for number in 0..400 {
        let document = documents().new_tree(&mut runner).unwrap().current();
        let value = serde_yaml::to_value(&document).unwrap();
        match convert(&HostSpec::with_network(NmstateDocument::new(value, DocumentPath::root()))) {
            (Some(network), _) => {
                keyfiles
                    .extend(network.keyfiles.into_iter().map(|file| (format!("{number}/{}", file.name), file.content)));
            }
            (None, report) => refused.push(format!("{report:?}: {document}")),
        }
    }
    assert!(refused.len() < 20, "{}:\n{}", refused.len(), refused.join("\n"));
    let problems = problems(&keyfiles);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(keyfiles.len() > 1500, "{}", keyfiles.len());
}
