//! NMState documents of `fixtures/` against Talos' network configurations and findings in `fixtures/talos`.
//! `UPDATE_GOLDEN=1` rewrites those.

use crate::nics;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use hosts::network::{self, ConvertedNetwork, NetworkFiles, Target};
use serde_json::Value;
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::{DocumentPath, Report};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

fn convert(host: &HostSpec) -> (Option<ConvertedNetwork>, Report) {
    network::convert_network(host, Target { files: NetworkFiles::TalosNetwork, ..Target::default() })
}

/// The good documents of `fixtures/nmstate`, and those of `fixtures/talos` itself.
fn cases() -> Vec<(String, HostSpec)> {
    let mut cases = Vec::new();
    for directory in ["nmstate", "talos"] {
        for entry in fs::read_dir(fixtures().join(directory)).unwrap() {
            let case = entry.unwrap();
            let document = case.path().join("nmstate.yaml");
            let Ok(text) = fs::read_to_string(&document) else { continue };
            let boot_mac = fs::read_to_string(case.path().join("boot-mac")).ok();
            let host = HostSpec {
                boot_mac: boot_mac.map(|mac| mac.trim().parse().unwrap()),
                nics: nics::beside(&document),
                ..HostSpec::with_network(NmstateDocument::new(
                    serde_yaml::from_str(&text).unwrap(),
                    DocumentPath::root(),
                ))
            };
            cases.push((case.file_name().into_string().unwrap(), host));
        }
    }
    cases.sort_by(|(a, _), (b, _)| a.cmp(b));
    assert!(cases.windows(2).all(|pair| pair[0].0 != pair[1].0), "a case has the name of another");
    assert!(cases.len() > 25);
    cases
}

/// What a case gives, as files: the document with the host's name, laid out for people, and the findings.
fn files(network: Option<&ConvertedNetwork>, report: &Report) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    if let Some(network) = network {
        let document = network.talos_network.as_ref().unwrap().document(network.hostname.as_ref()).unwrap();
        let document: Value = serde_json::from_str(&document).unwrap();
        files.insert("network.json".to_owned(), serde_json::to_string_pretty(&document).unwrap() + "\n");
    }
    let findings = report.findings().iter().fold(String::new(), |mut text, finding| {
        writeln!(text, "{} {}: {finding}", finding.severity, finding.code).unwrap();
        text
    });
    if !findings.is_empty() {
        files.insert("findings".to_owned(), findings);
    }
    files
}

#[test]
fn every_document_gives_its_configuration_or_the_reasons_why_not() {
    let mut wrong = Vec::new();
    for (name, host) in cases() {
        let (network, report) = convert(&host);
        assert_eq!(network.is_some(), !report.has_errors(), "{name}");
        let found = files(network.as_ref(), &report);
        let directory = fixtures().join("talos").join(&name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::create_dir_all(&directory).unwrap();
            for name in ["network.json", "findings"] {
                let path = directory.join(name);
                match found.get(name) {
                    Some(content) => fs::write(path, content).unwrap(),
                    None => drop(fs::remove_file(path)),
                }
            }
        }
        for name in ["network.json", "findings"] {
            if fs::read_to_string(directory.join(name)).ok().as_ref() != found.get(name) {
                wrong.push(format!("{}/{name}: found\n{found:#?}", directory.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with the configuration of a document, or with its refusal; none, if nothing is.
pub(crate) fn problem_of(host: &HostSpec) -> Option<String> {
    let (network, report) = convert(host);
    if network.is_some() == report.has_errors() {
        return Some(format!("neither a network nor an error, or both: {report:?}"));
    }
    let network = network?;
    let document = network.talos_network.as_ref()?.document(network.hostname.as_ref())?;
    let document: Value = match serde_json::from_str(&document) {
        Ok(document) => document,
        Err(error) => return Some(format!("{error}: {document}")),
    };
    let list = |key: &str| document[key].as_array().cloned().unwrap_or_default();
    let names: Vec<String> = list("links").iter().filter_map(|link| Some(link["name"].as_str()?.to_owned())).collect();
    let names_of = |specs: Vec<Value>, key: &'static str| {
        specs.into_iter().filter_map(move |spec| Some(spec[key].as_str()?.to_owned())).collect::<Vec<_>>()
    };
    let mut used = names_of(list("addresses"), "linkName");
    used.extend(names_of(list("routes"), "outLinkName"));
    used.extend(names_of(list("operators"), "linkName"));
    used.extend(names_of(list("links"), "masterName"));
    used.extend(names_of(list("links"), "parentName"));
    if let Some(unknown) = used.iter().find(|name| !names.contains(name)) {
        return Some(format!("there is no link {unknown}: {document}"));
    }
    let mut unique = names.clone();
    unique.sort();
    unique.dedup();
    (unique.len() < names.len()).then(|| format!("two links have one name: {document}"))
}

/// What is wrong for keyfiles is wrong for Talos, in the same words.
#[test]
fn findings_about_keyfiles_come_first() {
    for (name, host) in cases() {
        let (network, mut keyfiles) = network::convert(&host);
        let (talos, report) = convert(&host);
        // Except for findings about releases of NetworkManager, and about delays, which dayone rounds for Talos.
        keyfiles.forget("needs-newer-networkmanager");
        keyfiles.forget("bond-delay-rounded");
        assert!(report.findings().starts_with(keyfiles.findings()), "{name}: {report:?}");
        if let Some(talos) = talos {
            assert_eq!(talos.hostname, network.unwrap().hostname, "{name}");
        }
    }
}
