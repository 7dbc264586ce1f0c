//! Arbitrary values of every option against libnm: what dayone takes, NetworkManager takes without a word, whether users wrote the
//! profiles or nmstate; and what dayone refuses as a value, NetworkManager refuses or ignores.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::arbitrary::{Random, change};
use acceptance::golden::{cases, host};
use acceptance::libnm::{libnm_of, properties_of, release_of};
use acceptance::peers::{peer, run_text};
use hosts::network::{NetworkManagerVersion, convert, convert_for};
use serde_json::Value;
use vocabulary::host::{HostSpec, KeyfileDocument, NetworkDocument, NmstateDocument};
use vocabulary::report::{DocumentPath, Report, Severity};

/// Debians with NetworkManager 1.30, 1.42, which is assumed where nothing is known, and 1.52.
const DEBIANS: [&str; 3] = ["bullseye", "bookworm", "trixie"];
/// How many profiles and documents are tried; the same at every run.
const PROFILES: usize = 2000;
const DOCUMENTS: usize = 2000;

/// What libnm says that is about the machine it runs on, or that dayone says in a warning.
const NO_PROBLEM: [&str; 3] = ["does not exist", "missing prefix length", "deprecated semicolon"];

/// Codes of what the rules about values refuse. All else that is refused has reasons of its own, such as the topology.
const OF_VALUES: [&str; 4] = ["keyfile-refused", "keyfile-value-invalid", "profile-refused", "value-ignored"];

/// What dayone refuses although 1.52 takes it without a word: part of a finding, and why.
const STRICTER: &[(&str, &str)] = &[
    ("connection.secondaries", "NetworkManager leaves out what is no UUID, and writes no line about it"),
    ("_options", "NetworkManager ignores options that it cannot read, and writes no line about it"),
    ("sriov[\"vf.", "NetworkManager ignores functions that it cannot read, and takes addresses of any length"),
    ("-priority-map", "NetworkManager leaves out what is no pair, and writes no line about it"),
    ("separated by semicolons", "NetworkManager ignores lists that it cannot read, and writes no line about it"),
    ("bond.mode is missing", "1.52 takes balance-rr for it, and 1.42 refuses it"),
    ("this partition can only have the name", "1.52 gives partitions any name, and 1.42 refuses it"),
    ("is manual", "1.52 takes routes alone, and 1.42 refuses it"),
];

fn table() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hosts/src/check/profile/properties.txt")
}

#[test]
fn the_table_of_properties_is_what_libnm_says() {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for debian in DEBIANS {
        for (name, kind) in properties_of(debian) {
            let earlier = all.insert(name.clone(), kind.clone());
            assert!(earlier.is_none_or(|earlier| earlier == kind), "{debian}: {name} is another one: {kind}");
        }
    }
    let lines = all.iter().fold(String::new(), |mut lines, (name, kind)| {
        writeln!(lines, "{name} {kind}").unwrap();
        lines
    });
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(table(), &lines).unwrap();
    }
    assert!(fs::read_to_string(table()).unwrap() == lines, "properties.txt is not up to date: UPDATE_GOLDEN=1");
    assert!(all.len() > 500, "{}", all.len());
}

/// What libnm finds wrong with each of these.
fn problems(debian: &str, keyfiles: &BTreeMap<String, String>) -> BTreeMap<String, Vec<String>> {
    let found: BTreeMap<String, Value> = serde_json::from_value(libnm_of(debian, keyfiles)).unwrap();
    let problems = |found: &Value| -> Vec<String> {
        let all = found["problems"].as_array().unwrap().iter().map(|problem| problem.as_str().unwrap().to_owned());
        all.filter(|problem| !NO_PROBLEM.iter().any(|known| problem.contains(known))).collect()
    };
    found.into_iter().map(|(name, found)| (name, problems(&found))).collect()
}

fn profiles() -> BTreeMap<String, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/libnm_arbitrary.py");
    let mut python = Command::new("/usr/bin/python3");
    let written = run_text(python.arg(script).arg(table()).args(["1", &PROFILES.to_string()]));
    serde_json::from_str(&written).unwrap()
}

fn of_profile(content: &str, release: NetworkManagerVersion) -> Report {
    let path = DocumentPath::document("a.nmconnection");
    let document = KeyfileDocument { name: "a.nmconnection".to_owned(), content: content.to_owned(), path };
    convert_for(&HostSpec::with_network(NetworkDocument::Keyfiles(vec![document])), Some(release)).1
}

/// The errors of a report: code and sentence.
fn errors(report: &Report) -> Vec<(&'static str, String)> {
    let errors = report.findings().iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| (finding.code, finding.to_string())).collect()
}

fn needs_newer(report: &Report) -> bool {
    report.findings().iter().any(|finding| finding.code == "needs-newer-networkmanager")
}

/// Whether a refusal is about a profile by itself.
fn is_of_profile(code: &str) -> bool {
    OF_VALUES.contains(&code)
        || code.starts_with("keyfile-")
        || matches!(code, "interface-name-invalid" | "mac-address-invalid" | "needs-newer-networkmanager")
}

#[test]
fn of_users_profiles_dayone_takes_what_libnm_takes() {
    let profiles = profiles();
    let mut wrong = Vec::new();
    let (mut taken, mut only_by_rules, mut kinds) = (0, 0, BTreeSet::new());
    for debian in DEBIANS {
        let release: NetworkManagerVersion = release_of(debian).parse().unwrap();
        let theirs = problems(debian, &profiles);
        for (name, content) in &profiles {
            let report = of_profile(content, release);
            let ours: Vec<_> = errors(&report).into_iter().filter(|(code, _)| is_of_profile(code)).collect();
            match (theirs[name].as_slice(), ours.as_slice()) {
                ([], []) => taken += 1,
                // What this release does not know it cannot refuse; later ones do.
                ([], _) if debian != "trixie" => {}
                ([], ours) => {
                    let known = |(_, text): &&(_, String)| STRICTER.iter().any(|(part, _)| text.contains(part));
                    if !ours.iter().any(|finding| known(&finding)) {
                        wrong.push(format!("{debian} {name}: libnm takes it, dayone: {ours:?}\n{content}"));
                    }
                }
                (theirs, []) => {
                    if !needs_newer(&report) {
                        wrong.push(format!("{debian} {name}: dayone takes it, libnm: {theirs:?}\n{content}"));
                    }
                }
                (theirs, ours) => {
                    only_by_rules += usize::from(ours.iter().all(|(code, _)| OF_VALUES.contains(code)));
                    kinds.extend(theirs.iter().filter_map(|text| text.split(':').next()).map(str::to_owned));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    // Both kinds are there; and without the rules about values, those would be taken that nothing else refuses.
    assert!(taken > 1000 && only_by_rules > 1500 && kinds.len() > 120, "{taken} {only_by_rules} {}", kinds.len());
}

#[test]
fn what_libnm_ignores_without_a_word_has_no_effect() {
    let base = "[connection]\nid=a\nuuid=0523c0a1-5f5e-5603-bcf2-68155d5d322e\ninterface-name=a\n";
    let ip = "[ipv4]\nmethod=manual\naddress1=192.0.2.10/24\nroute1=198.51.100.0/24\n";
    for (before, line) in [
        (format!("{base}type=ethernet\n[sriov]\ntotal-vfs=2\n"), "vf.0=trust=maybe"),
        (format!("{base}type=ethernet\n[sriov]\ntotal-vfs=2\n"), "vf.x=trust=true"),
        (format!("{base}type=ethernet\n{ip}"), "route1_options=mtu=abc"),
        (format!("{base}type=ethernet\n{ip}"), "route1_options=foo=1"),
        (format!("{base}type=vlan\n[vlan]\nparent=b\nid=5\n"), "ingress-priority-map=foo;"),
        (format!("{base}type=vlan\n[vlan]\nparent=b\nid=5\n"), "egress-priority-map=1:8;"),
        (format!("{base}type=ethernet\n"), "secondaries=foo;"),
        (format!("{base}type=ethernet\n[match]\n"), "driver=a\\"),
        (format!("{base}type=ethernet\n[ipv4]\nmethod=auto\n"), "dsn=192.0.2.1;"),
    ] {
        let with = format!("{before}{line}\n");
        // 1.30 keeps a connection that is none, and ignores it when it is needed.
        for debian in DEBIANS.into_iter().filter(|debian| !line.starts_with("secondaries") || *debian != "bullseye") {
            let keyfiles = BTreeMap::from([("with".to_owned(), with.clone()), ("without".to_owned(), before.clone())]);
            let found = libnm_of(debian, &keyfiles);
            assert_eq!(found["with"]["settings"], found["without"]["settings"], "{debian}: {line}");
            let report = of_profile(&with, release_of(debian).parse().unwrap());
            let is_said = report
                .findings()
                .iter()
                .any(|finding| matches!(finding.code, "keyfile-value-invalid" | "keyfile-key-unknown"));
            assert!(is_said, "{debian}: {line}: {:?}", report.findings());
        }
    }
}

#[test]
fn of_nmstates_profiles_dayone_takes_what_libnm_takes() {
    let documents: Vec<serde_yaml::Value> = cases()
        .iter()
        .filter_map(|(_, path)| host(path).network.as_nmstate().map(|document| document.value.clone()))
        .collect();
    let mut random = Random::new(1);
    let (mut keyfiles, mut reports, mut refused) = (BTreeMap::new(), Vec::new(), Vec::new());
    for number in 0..DOCUMENTS {
        let mut document = documents[random.below(documents.len())].clone();
        change(&mut document, &mut random);
        let host = HostSpec::with_network(NmstateDocument::new(document.clone(), DocumentPath::root()));
        let (network, report) = convert(&host);
        let errors = errors(&report);
        let by_values = !errors.is_empty() && errors.iter().all(|(code, _)| OF_VALUES.contains(code));
        // nmstatectl loses the settings of ports that are found otherwise than by name.
        if by_values && !serde_yaml::to_string(&document).unwrap().contains("identifier:") {
            refused.push((document, errors));
        }
        let files = network.into_iter().flat_map(|network| network.keyfiles);
        keyfiles.extend(files.map(|file| (format!("{number}/{}", file.name), file.content)));
        reports.push(report);
    }
    let mut wrong = Vec::new();
    for debian in DEBIANS {
        for (name, problems) in problems(debian, &keyfiles).into_iter().filter(|(_, problems)| !problems.is_empty()) {
            let number: usize = name.split('/').next().unwrap().parse().unwrap();
            let release: NetworkManagerVersion = release_of(debian).parse().unwrap();
            // What a release does not know is said, where it is known which one the host has.
            let report = of_profile(&keyfiles[&name], release);
            if !needs_newer(&reports[number]) && !needs_newer(&report) {
                wrong.push(format!("{debian} {name}: {problems:?}\n{}", keyfiles[&name]));
            }
        }
    }
    wrong.extend(not_refused_by_libnm(&refused));
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(keyfiles.len() > 1500 && refused.len() > 25, "{} {}", keyfiles.len(), refused.len());
}

/// Of documents that only the rules about values refuse, those whose profiles libnm takes, as nmstatectl writes them.
fn not_refused_by_libnm(refused: &[(serde_yaml::Value, Vec<(&'static str, String)>)]) -> Vec<String> {
    let mut keyfiles = BTreeMap::new();
    for (number, (document, _)) in refused.iter().enumerate() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(serde_yaml::to_string(document).unwrap().as_bytes()).unwrap();
        let output = peer("nmstatectl").arg("gc").arg(file.path()).output().unwrap();
        let all: BTreeMap<String, Vec<(String, String)>> = serde_yaml::from_slice(&output.stdout).unwrap_or_default();
        // nmstatectl escapes nothing.
        let files = all.into_values().flatten().filter(|(_, content)| !content.contains('\\'));
        keyfiles.extend(files.map(|(name, content)| (format!("{number}/{name}"), content)));
    }
    let found = problems("bookworm", &keyfiles);
    let with_problems: BTreeSet<usize> = found
        .iter()
        .filter(|(_, p)| !p.is_empty())
        .map(|(name, _)| name.split('/').next().unwrap().parse().unwrap())
        .collect();
    let asked: BTreeSet<usize> = found.keys().map(|name| name.split('/').next().unwrap().parse().unwrap()).collect();
    let taken = asked.difference(&with_problems).map(|number| &refused[*number]);
    let known = |text: &str| STRICTER.iter().any(|(part, _)| text.contains(part)) || text.contains("sr-iov.vfs");
    let taken = taken.filter(|(_, errors)| !errors.iter().any(|(_, text)| known(text)));
    taken
        .map(|(document, errors)| {
            format!("libnm takes it, dayone: {errors:?}\n{}", serde_yaml::to_string(document).unwrap())
        })
        .collect()
}
