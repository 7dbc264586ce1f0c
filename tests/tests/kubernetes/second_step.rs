//! What `dayone second-step` and `dayone manifests` make, before those who take it: nmstatectl, Ignition's own reader of
//! configs, another reader of YAML, and an API server.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use acceptance::kubernetes::ApiServer;
use acceptance::peers::{peer, run_text};
use acceptance::{data_url, server};
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

fn dayone(arguments: &[&str]) -> String {
    run_text(server::dayone().args(arguments))
}

/// The documents of a YAML stream as Python's YAML 1.1 reads them.
fn python(yaml: &str) -> Vec<Value> {
    let script = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin.read()))))";
    let mut child = Command::new("/usr/bin/python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 with yaml, see scripts/setup-peers.sh");
    child.stdin.take().unwrap().write_all(yaml.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The files of a MachineConfig, by their paths on the host.
fn files(config: &Value) -> BTreeMap<String, String> {
    assert_eq!(config["kind"], "MachineConfig");
    let files = config["spec"]["config"]["storage"]["files"].as_array().unwrap();
    let file = |file: &Value| {
        assert_eq!((file["mode"].as_u64(), file["overwrite"].as_bool()), (Some(0o644), Some(true)));
        let source = file["contents"]["source"].as_str().unwrap();
        assert!(source.starts_with("data:text/plain;charset=utf-8;base64,"), "{source}");
        (file["path"].as_str().unwrap().to_owned(), data_url::text(source))
    };
    files.iter().map(file).collect()
}

/// A MachineConfig made of what is derived of a fixture's document.
fn derived(case: &str) -> Value {
    derived_of(&fs::read_to_string(fixture(&format!("nmstate/{case}/nmstate.yaml"))).unwrap(), &[])
}

/// A MachineConfig made of what is derived of a document.
fn derived_of(first_step: &str, options: &[&str]) -> Value {
    let place = tempfile::tempdir().unwrap();
    let first = place.path().join("worker-0.example.com.yaml");
    fs::write(&first, first_step).unwrap();
    let arguments = ["second-step", "--derive", "--first-step", first.to_str().unwrap(), "--role", "worker"];
    let made = dayone(&[&arguments[..], options].concat());
    let mut configs = python(&made);
    assert_eq!(configs.len(), 1);
    configs.remove(0)
}

/// A first step that calls its interfaces by the names of their profiles, and finds one by its MAC address.
const NAMED_BY_PROFILES: &str = r#"
interfaces:
- {name: eno1, profile-name: port-a, type: ethernet, state: up, identifier: mac-address, mac-address: "52:54:00:00:00:01"}
- {name: eno2, profile-name: port-b, type: ethernet, state: up}
- {name: bond0, profile-name: bundle, type: bond, state: up, link-aggregation: {mode: active-backup, port: [port-a, port-b]}}
- name: v5
  type: vlan
  state: up
  vlan: {base-iface: bundle, id: 5}
  ipv4: {enabled: true, address: [{ip: 10.2.0.5, prefix-length: 24}]}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.2.0.1, next-hop-interface: v5}]}
route-rules: {config: [{ip-from: 10.2.0.5/32, route-table: 254, priority: 10}]}
"#;

const DERIVED: &[&str] = &["bond-vlans", "ipv6-dual-stack", "static-ipv4-baremetalhost"];

#[test]
fn another_reader_finds_the_documents_as_they_were_written() {
    let (hosts, role) = (fixture("second-step/hosts"), "master");
    let made = dayone(&["second-step", hosts.to_str().unwrap(), "--role", role]);
    let configs = python(&made);
    assert_eq!(configs[0]["metadata"]["name"], "10-br-ex-master");
    assert_eq!(configs[0]["metadata"]["labels"]["machineconfiguration.openshift.io/role"], role);
    let found = files(&configs[0]);
    let scenario = fs::read_to_string(fixture("scenarios/br-ex-second-step.yaml")).unwrap();
    assert_eq!(found, BTreeMap::from([("/etc/nmstate/openshift/ostest-master-0.yml".to_owned(), scenario)]));
}

#[test]
fn ignition_takes_what_is_in_a_machine_config() {
    for case in DERIVED {
        let config = derived(case)["spec"]["config"].to_string();
        let (_, warnings) = ignition_config::Config::parse_slice(config.as_bytes()).unwrap();
        assert!(warnings.is_empty(), "{case}: {warnings:?}");
    }
}

/// nmstatectl cannot copy a MAC address without a host to ask, so that is left out here.
#[test]
fn nmstatectl_makes_profiles_of_every_document() {
    let place = tempfile::tempdir().unwrap();
    let scenario = fs::read_to_string(fixture("scenarios/br-ex-second-step.yaml")).unwrap();
    let documents = DERIVED.iter().flat_map(|case| files(&derived(case)).into_values()).chain([scenario]);
    for document in documents {
        let mut lines: Vec<&str> = document.lines().collect();
        let count = lines.len();
        lines.retain(|line| !line.trim_start().starts_with("copy-mac-from: "));
        assert!(lines.len() < count, "{document}");
        let path = place.path().join("document.yml");
        fs::write(&path, lines.join("\n")).unwrap();
        let profiles = run_text(peer("nmstatectl").arg("gc").arg(&path).stderr(Stdio::null()));
        for part in ["br-ex-br.nmconnection", "br-ex-port.nmconnection", "br-ex-if.nmconnection"] {
            assert!(profiles.contains(part), "{part} is not in\n{profiles}\nof\n{document}");
        }
    }
}

/// nmstatectl makes the same ports of a derived document that the first step has, by the kernel's names.
#[test]
fn nmstatectl_finds_every_interface_of_a_derived_document() {
    let config = derived_of(NAMED_BY_PROFILES, &["--real-names"]);
    let document: String = files(&config).into_values().collect();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("document.yml");
    let lines = document.lines().filter(|line| !line.trim_start().starts_with("copy-mac-from: "));
    fs::write(&path, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let profiles = run_text(peer("nmstatectl").arg("gc").arg(&path).stderr(Stdio::null()));
    for part in ["eno1.nmconnection", "eno2.nmconnection", "bond0.nmconnection", "v5.nmconnection", "parent=bond0"] {
        assert!(profiles.contains(part), "{part} is not in\n{profiles}\nof\n{document}");
    }
    assert!(profiles.contains("routing-rule0=priority 10 from 10.2.0.5/32"), "{profiles}\nof\n{document}");
    assert!(!profiles.contains("port-a") && !profiles.contains("bundle"), "{profiles}\nof\n{document}");
}

/// What is applied is stored, and nothing is lost.
#[test]
fn an_api_server_takes_the_manifests() {
    let cluster = ApiServer::shared();
    cluster.install_metal3();
    let namespace = cluster.admin().new_namespace("manifests");
    let first = fixture("scenarios/static-ipv4-baremetalhost.yaml");
    let arguments = ["manifests", first.to_str().unwrap(), "--namespace", &namespace, "--install-coreos"];
    let made = dayone(&arguments);
    let written = python(&made);
    let stored = cluster.admin().apply(&made);
    assert_eq!(stored.len(), 3);
    for (stored, written) in stored.iter().zip(&written) {
        assert_eq!(stored["spec"], written["spec"]);
    }
    let data = &stored[0]["data"]["nmstate"];
    let nmstate = data_url::text(&format!("data:;base64,{}", data.as_str().unwrap()));
    assert_eq!(Value::from(nmstate), written[0]["stringData"]["nmstate"]);
    // What the server gives back is read as the same host.
    let place = tempfile::tempdir().unwrap();
    let listed = place.path().join("stored.json");
    fs::write(&listed, Value::from(stored).to_string()).unwrap();
    let again = dayone(&["convert", listed.to_str().unwrap()]);
    assert_eq!(again, dayone(&["convert", first.to_str().unwrap()]));
}
