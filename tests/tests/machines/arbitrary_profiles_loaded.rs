//! A sample of arbitrary profiles in the real daemon: NetworkManager 1.42 loads what dayone takes, and refuses what dayone and its
//! own library refuse. What dayone refuses and libnm 1.42 takes, since a later release refuses it, is for
//! `arbitrary_values` to say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use acceptance::libnm::libnm_of;
use acceptance::network_manager::{Host, bring_up};
use acceptance::peers::run_text;
use hosts::network::{Keyfile, convert_for};
use vocabulary::host::{HostSpec, KeyfileDocument, NetworkDocument};
use vocabulary::report::DocumentPath;

/// How many profiles of each sort are shown to the daemon.
const SAMPLE: usize = 150;

/// Arbitrary profiles that nothing activates, each with its own UUID.
fn profiles() -> Vec<(String, String)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = here.join("../hosts/src/check/profile/properties.txt");
    let mut python = Command::new("/usr/bin/python3");
    let written = run_text(python.arg(here.join("peers/libnm_arbitrary.py")).arg(table).args(["2", "1500"]));
    let all: BTreeMap<String, String> = serde_json::from_str(&written).unwrap();
    let own = |(number, (name, content)): (usize, (String, String))| {
        let content = content.replace("0523c0a1-5f5e-5603-bcf2-", &format!("0523c0a1-5f5e-5603-{number:04x}-"));
        (format!("p{name}.nmconnection"), content.replacen("[connection]\n", "[connection]\nautoconnect=false\n", 1))
    };
    all.into_iter()
        .filter(|(_, content)| content.matches("\nuuid=0523c0a1").count() == 1)
        .enumerate()
        .map(own)
        .collect()
}

/// The codes of the errors of a profile, for NetworkManager 1.42.
fn errors(name: &str, content: &str) -> BTreeSet<&'static str> {
    let document =
        KeyfileDocument { name: name.to_owned(), content: content.to_owned(), path: DocumentPath::document(name) };
    let host = HostSpec::with_network(NetworkDocument::Keyfiles(vec![document]));
    let report = convert_for(&host, Some("1.42.4".parse().unwrap())).1;
    report.findings().iter().filter(|f| f.severity == vocabulary::report::Severity::Error).map(|f| f.code).collect()
}

#[test]
fn the_daemon_loads_what_is_taken_and_refuses_what_is_refused() {
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    let profiles = profiles();
    // The library of the daemon's own release.
    let library = libnm_of("bookworm", &profiles.iter().cloned().collect());
    for (name, content) in profiles {
        let is_refused = library[&name]["settings"].as_object().unwrap().is_empty();
        let errors = errors(&name, &content);
        let keyfile = Keyfile { name: name.parse().unwrap(), content };
        if errors.is_empty() && taken.len() < SAMPLE {
            taken.push(keyfile);
        } else if errors == BTreeSet::from(["keyfile-refused"]) && is_refused && refused.len() < SAMPLE {
            refused.push(keyfile);
        }
    }
    assert_eq!((taken.len(), refused.len()), (SAMPLE, SAMPLE));
    let host = |name: &str, keyfiles: &[Keyfile]| Host {
        name: name.to_owned(),
        nics: BTreeMap::new(),
        vlans: BTreeSet::new(),
        neighbours: Vec::new(),
        keyfiles: keyfiles.to_vec(),
        // All are loaded before the first of them comes up, which some of them never do.
        wait: 30,
    };
    let reports = bring_up(&[host("taken", &taken), host("refused", &refused)]);
    let failed = |name: &str, keyfile: &Keyfile| {
        let file = format!("/{}\"", keyfile.name);
        let lines: Vec<_> = reports[name].lines("log").into_iter().filter(|line| line.contains(&file)).collect();
        lines.iter().any(|line| line.starts_with("<warn>"))
    };
    let wrong: Vec<_> = taken.iter().filter(|keyfile| failed("taken", keyfile)).collect();
    let log = || reports["taken"].lines("log").join("\n");
    assert!(wrong.is_empty(), "{wrong:?}\n{}", log());
    let loaded: Vec<_> = refused.iter().filter(|keyfile| !failed("refused", keyfile)).map(|k| &k.content).collect();
    assert!(loaded.is_empty(), "{loaded:#?}");
}
