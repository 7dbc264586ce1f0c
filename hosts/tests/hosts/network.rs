//! NMState documents of `fixtures/` against the keyfiles and findings that stand beside them.
//! `UPDATE_GOLDEN=1` rewrites those.

use crate::nics;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use hosts::network::{ConvertedNetwork, convert};
use serde::Deserialize;
use serde_yaml::Value;
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::{DocumentPath, Report};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

fn updating() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some()
}

fn yaml(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The host that the document at `path` describes. Beside it, a file `boot-mac` says which NIC it boots from, and
/// `nics.yaml`, or `NAME.nics`, which NICs are meant by names.
fn host(path: &Path) -> HostSpec {
    let boot_mac = fs::read_to_string(path.with_file_name("boot-mac")).ok();
    HostSpec {
        boot_mac: boot_mac.map(|mac| mac.trim().parse().unwrap()),
        nics: nics::beside(path),
        ..HostSpec::with_network(NmstateDocument::new(yaml(path), DocumentPath::root()))
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn cases() -> Vec<PathBuf> {
    entries(&fixtures().join("nmstate")).into_iter().filter(|path| path.join("nmstate.yaml").exists()).collect()
}

fn lines(report: &Report) -> String {
    report.findings().iter().fold(String::new(), |mut text, finding| {
        writeln!(text, "{} {}: {finding}", finding.severity, finding.code).unwrap();
        text
    })
}

fn contents(network: &ConvertedNetwork) -> BTreeMap<String, String> {
    network.keyfiles.iter().map(|keyfile| (keyfile.name.to_string(), keyfile.content.clone())).collect()
}

/// Compares, or rewrites, a golden file; nothing found means no file.
fn compare(path: &Path, found: &str, wrong: &mut Vec<String>) {
    if !updating() {
        if fs::read_to_string(path).unwrap_or_default() != found {
            wrong.push(format!("{}: found\n{found}", path.display()));
        }
    } else if found.is_empty() {
        drop(fs::remove_file(path));
    } else {
        fs::write(path, found).unwrap();
    }
}

#[test]
fn every_good_document_gives_its_keyfiles() {
    let mut wrong = Vec::new();
    for case in cases() {
        let (network, report) = convert(&host(&case.join("nmstate.yaml")));
        let Some(network) = network else {
            wrong.push(format!("{}: refused:\n{}", case.display(), lines(&report)));
            continue;
        };
        assert!(!report.has_errors());
        compare(&case.join("findings"), &lines(&report), &mut wrong);
        let hostname = network.hostname.as_ref().map(|name| format!("{name}\n")).unwrap_or_default();
        compare(&case.join("hostname"), &hostname, &mut wrong);
        let expected = case.join("expected");
        let found = contents(&network);
        if updating() {
            drop(fs::remove_dir_all(&expected));
            fs::create_dir(&expected).unwrap();
            for (name, content) in &found {
                fs::write(expected.join(name), content).unwrap();
            }
        }
        let golden: BTreeMap<String, String> = entries(&expected)
            .into_iter()
            .map(|path| {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, fs::read_to_string(&path).unwrap())
            })
            .collect();
        if golden != found {
            wrong.push(format!("{}: found\n{found:#?}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases().len() > 10);
}

#[test]
fn every_bad_document_is_refused_with_its_reason() {
    let mut wrong = Vec::new();
    let documents: Vec<PathBuf> = entries(&fixtures().join("nmstate/invalid"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    for document in &documents {
        let (network, report) = convert(&host(document));
        if network.is_some() || !report.has_errors() {
            wrong.push(format!("{}: accepted", document.display()));
        }
        compare(&document.with_extension("findings"), &lines(&report), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A rule by the name of a NIC that a list knows works where the kernel calls the NIC so: it is no error.
#[test]
fn a_rule_by_the_name_of_a_listed_nic_is_a_warning() {
    let yaml = "interfaces:\n- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}\nroute-rules: {config: \
                [{iif: eth0, priority: 5, route-table: 254, ip-from: 192.0.2.0/24}]}\n";
    let document = NmstateDocument::new(serde_yaml::from_str(yaml).unwrap(), DocumentPath::root());
    let nic = vocabulary::host::NamedNic {
        name: "eth0".to_owned(),
        mac: "52:54:00:00:00:01".parse().unwrap(),
        path: DocumentPath::document("list"),
    };
    let (network, report) = convert(&HostSpec { nics: vec![nic], ..HostSpec::with_network(document) });
    let found: Vec<String> =
        report.findings().iter().map(|found| format!("{} {}", found.severity, found.code)).collect();
    assert_eq!(found, ["warning alias-as-kernel-name"], "{}", lines(&report));
    assert!(network.unwrap().keyfiles[0].content.contains("iif eth0"));
}

/// The documents of `fixtures/nmstate` that came out of larger ones still say what those say.
#[test]
fn extracted_documents_are_what_the_originals_hold() {
    let scenarios = fixtures().join("scenarios");
    let mut pairs = Vec::new();
    for name in ["static-ipv4-install-config", "virtual-ips-install-config"] {
        let original = yaml(&scenarios.join(format!("{name}.yaml")));
        for host in original["platform"]["baremetal"]["hosts"].as_sequence().unwrap() {
            pairs.push((format!("{name}-{}", host["name"].as_str().unwrap()), host["networkConfig"].clone()));
        }
    }
    for document in stream(&scenarios.join("static-ipv4-baremetalhost.yaml")) {
        if let Some(text) = document["stringData"]["nmstate"].as_str() {
            pairs.push(("static-ipv4-baremetalhost".to_owned(), serde_yaml::from_str(text).unwrap()));
        }
    }
    for policy in stream(&scenarios.join("linux-bridges-nncp.yaml")) {
        let state = policy["spec"]["desiredState"].clone();
        pairs.push((format!("linux-bridges-nncp-{}", state["interfaces"][0]["name"].as_str().unwrap()), state));
    }
    for name in ["bond-vlans", "external-bridge", "ipv6-dual-stack", "mac-identified"] {
        pairs.push((name.to_owned(), yaml(&scenarios.join(format!("{name}-nmstate.yaml")))));
    }
    assert_eq!(pairs.len(), 11);
    for (case, original) in pairs {
        assert_eq!(yaml(&fixtures().join("nmstate").join(&case).join("nmstate.yaml")), original, "{case}");
    }
    let second_step = yaml(&scenarios.join("br-ex-second-step.yaml"));
    assert_eq!(yaml(&fixtures().join("nmstate/invalid/openvswitch-br-ex.yaml")), second_step);
}

fn stream(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    serde_yaml::Deserializer::from_str(&text).map(|document| Value::deserialize(document).unwrap()).collect()
}

#[test]
fn the_same_host_written_in_two_ways_gives_the_same_bytes() {
    let cases = fixtures().join("nmstate");
    let bare_metal_host = convert(&host(&cases.join("static-ipv4-baremetalhost/nmstate.yaml"))).0;
    let install_config = convert(&host(&cases.join("static-ipv4-install-config-ostest-master-0/nmstate.yaml"))).0;
    assert!(bare_metal_host.is_some());
    assert_eq!(bare_metal_host, install_config);
}

/// `by-mac.yaml` says by hand, in NMState's own words, what the list beside the document says.
#[test]
fn a_list_of_nics_gives_what_identification_by_mac_address_gives() {
    let mut compared = 0;
    for case in cases().iter().filter(|case| case.join("nics.yaml").exists()) {
        let by_hand = case.join("by-mac.yaml");
        let document = NmstateDocument::new(yaml(&by_hand), DocumentPath::root());
        let by_hand = convert(&HostSpec::with_network(document)).0.unwrap();
        let by_list = convert(&host(&case.join("nmstate.yaml"))).0.unwrap();
        assert_eq!(contents(&by_list), contents(&by_hand), "{}", case.display());
        assert_eq!(by_list.keyfiles, by_hand.keyfiles, "{}", case.display());
        compared += 1;
    }
    assert!(compared > 3);
}

/// `first-names.yaml` is the document with the names that NMState's own documentation has.
#[test]
fn other_names_of_keys_give_what_the_first_names_give() {
    let mut compared = 0;
    for case in cases().iter().filter(|case| case.join("first-names.yaml").exists()) {
        let network = |name: &str| convert(&host(&case.join(name))).0.unwrap();
        let (other, first) = (network("nmstate.yaml"), network("first-names.yaml"));
        assert_eq!(other.keyfiles, first.keyfiles, "{}", case.display());
        assert_eq!(other.topology.tables(), first.topology.tables(), "{}", case.display());
        compared += 1;
    }
    assert!(compared > 1);
}

/// nmstate keeps some things in hash sets, whose order differs between sets even within a process.
#[test]
fn many_runs_on_many_threads_give_the_same_bytes() {
    let hosts: Vec<HostSpec> = cases().iter().map(|case| host(&case.join("nmstate.yaml"))).collect();
    let once: Vec<_> = hosts.iter().map(convert).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..8 {
                    for (host, first) in hosts.iter().zip(&once) {
                        assert_eq!(&convert(host), first, "{:?}", first.0);
                    }
                }
            });
        }
    });
}

#[test]
fn the_version_is_that_of_the_lock_file() {
    let lock = fs::read_to_string(fixtures().join("../Cargo.lock")).unwrap();
    let entry = format!("name = \"nmstate\"\nversion = \"{}\"\n", hosts::network::NMSTATE_VERSION);
    assert!(lock.contains(&entry));
}
