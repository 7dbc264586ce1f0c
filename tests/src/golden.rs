//! The NMState documents of `fixtures/nmstate`, and the hosts that they describe.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use vocabulary::host::{HostSpec, NamedNic, NmstateDocument};
use vocabulary::report::DocumentPath;

/// Name and directory of each good document, in the order of their names.
pub fn cases() -> Vec<(String, PathBuf)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/nmstate");
    let entries = fs::read_dir(directory).expect("fixtures").map(|entry| entry.expect("an entry"));
    let mut cases: Vec<_> = entries
        .filter(|entry| entry.path().join("nmstate.yaml").exists())
        .map(|entry| (entry.file_name().into_string().expect("a name"), entry.path()))
        .collect();
    cases.sort();
    assert!(cases.len() > 20);
    cases
}

/// The host that the document in a directory describes, with what stands beside it.
pub fn host(case: &Path) -> HostSpec {
    let text = fs::read_to_string(case.join("nmstate.yaml")).expect("a document");
    let boot_mac = fs::read_to_string(case.join("boot-mac")).ok();
    HostSpec {
        boot_mac: boot_mac.map(|mac| mac.trim().parse().expect("a MAC address")),
        nics: nics(case),
        ..HostSpec::with_network(NmstateDocument::new(serde_yaml::from_str(&text).expect("YAML"), DocumentPath::root()))
    }
}

/// What `nics.yaml` beside a document says about its names.
fn nics(case: &Path) -> Vec<NamedNic> {
    let Ok(text) = fs::read_to_string(case.join("nics.yaml")) else { return Vec::new() };
    let list: Value = serde_yaml::from_str(&text).expect("YAML");
    let nic = |nic: &Value| NamedNic {
        name: nic["name"].as_str().expect("a name").to_owned(),
        mac: nic["macAddress"].as_str().expect("a text").parse().expect("a MAC address"),
        path: DocumentPath::document("list"),
    };
    list["interfaces"].as_array().expect("a list").iter().map(nic).collect()
}
