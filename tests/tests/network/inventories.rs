//! Inventories of `fixtures/inputs/fleet/inventories` as dayone reads them, against `ansible-inventory --list`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use acceptance::peers::{peer, run};
use hosts::input::{Input, Text, read_all};
use serde_json::Value;

/// What Ansible makes of a value as it stands there: it takes literals of Python for what they are, and dayone does not.
fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        Value::Null => String::new(),
        // A text with the tag `!unsafe`.
        Value::Object(marked) if marked.contains_key("__ansible_unsafe") => as_text(&value["__ansible_unsafe"]),
        other => other.to_string(),
    }
}

fn inventories() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/inputs/fleet");
    let mut found: Vec<PathBuf> =
        fs::read_dir(fixtures.join("inventories")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.extend([fixtures.join("inventory-ini/inventory.ini"), fixtures.join("inventory-yaml/inventory.yml")]);
    found.sort();
    found
}

/// The hosts of the inventory, where each one's role is the value of `variable`.
fn read(inventory: &Path, group: &str, variable: &str) -> Input {
    let name = inventory.file_name().unwrap().to_str().unwrap();
    let fleet = format!(
        "{{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {{name: f}}, spec: {{hosts: \
         {{inventoryFile: {name}, group: {group}}}, template: {{role: 'x${{{variable}}}', network: {{interfaces: []}}}}}}}}"
    );
    let text = fs::read(inventory).unwrap();
    read_all([Text { name: Some("fleet.yaml"), text: fleet.as_bytes() }, Text { name: Some(name), text: &text }])
}

fn hosts_of(listed: &Value, group: &str) -> BTreeSet<String> {
    let members = |key: &str| listed[group][key].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut hosts: BTreeSet<String> = members("hosts").map(str::to_owned).collect();
    hosts.extend(members("children").flat_map(|child| hosts_of(listed, child)));
    hosts
}

/// The inventory as Ansible writes it.
fn listed(inventory: &Path, how: &[&str]) -> Vec<u8> {
    run(peer("ansible-inventory").arg("-i").arg(inventory).arg("--list").args(how))
}

#[test]
fn hosts_groups_and_variables_are_those_of_ansible() {
    let directory = tempfile::tempdir().unwrap();
    let mut values = 0;
    let mut groups = 0;
    // What dayone reads, and what Ansible makes of it. A listing, which people have who keep their hosts elsewhere, in a plugin or a
    // database, means what the inventory means: Ansible reads no listing of its own.
    let mut pairs: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for inventory in inventories() {
        let name = inventory.file_name().unwrap().to_str().unwrap().to_owned();
        let kept = |content: &[u8], extension: &str| {
            let path = directory.path().join(format!("{name}.{extension}"));
            fs::write(&path, content).unwrap();
            path
        };
        let theirs = listed(&inventory, &[]);
        let yaml = kept(&listed(&inventory, &["--yaml"]), "yml");
        let of_yaml = listed(&yaml, &[]);
        let (json, export) = (kept(&theirs, "json"), kept(&listed(&inventory, &["--export"]), "export.json"));
        pairs.extend([(inventory, theirs.clone()), (yaml, of_yaml), (json, theirs.clone()), (export, theirs)]);
    }
    for (inventory, listed) in pairs {
        let listed: Value = serde_json::from_slice(&listed).unwrap();
        let of_hosts = listed["_meta"]["hostvars"].as_object().unwrap();
        // The names of hosts, in groups that have any.
        for group in listed.as_object().unwrap().keys().filter(|group| !matches!(group.as_str(), "_meta" | "ungrouped"))
        {
            let theirs = hosts_of(&listed, group);
            let input = read(&inventory, group, "inventory_hostname");
            let ours: BTreeSet<String> =
                input.hosts.iter().filter_map(|host| Some(host.role.as_ref()?.get(1..)?.to_owned())).collect();
            // An address of IPv6 is no name that a host can have.
            let theirs: BTreeSet<String> = theirs.into_iter().filter(|name| !name.contains(':')).collect();
            assert_eq!(ours, theirs, "{} of {}: {:?}", group, inventory.display(), input.report.findings());
            groups += 1;
        }
        let variables: BTreeSet<&String> =
            of_hosts.values().flat_map(|variables| variables.as_object().unwrap().keys()).collect();
        for variable in variables {
            let ours: BTreeMap<String, String> = read(&inventory, "all", variable)
                .hosts
                .into_iter()
                .filter_map(|host| Some((host.name?, host.role?.get(1..)?.to_owned())))
                .collect();
            for (host, theirs) in of_hosts {
                let theirs = theirs.get(variable).map(as_text).filter(|text| !text.is_empty());
                // What only Ansible can work out, lists, and names that no host can have are no values to dayone.
                if host.contains(':')
                    || theirs.as_ref().is_some_and(|text| text.contains("{{") || text.starts_with('['))
                {
                    continue;
                }
                let found = ours.get(host).map(|text| match text.as_str() {
                    "True" => "true".to_owned(),
                    other => other.to_owned(),
                });
                // To Ansible's YAML 1.1, a MAC address without letters and quotes is a number of base 60; dayone keeps it.
                let sexagesimal = |text: &String| text.bytes().all(|b| b.is_ascii_digit());
                if found.as_ref().is_some_and(|text| text.contains(':')) && theirs.as_ref().is_some_and(sexagesimal) {
                    continue;
                }
                assert_eq!(found, theirs, "{variable} of {host} in {}", inventory.display());
                values += 1;
            }
        }
    }
    assert!(values > 100 && groups > 10, "{values} {groups}");
}

/// Encrypted with the password `secret`.
const ENCRYPTED: &str = "all:
  hosts:
    h1:
      v: !vault |
        $ANSIBLE_VAULT;1.1;AES256
        61633532663731353562346330313236666130303834633932616564636338326334386266393031
        6139666139336565626165363739626635313737363836320a656536353839633163626362653530
        66366638303163303638393434633437316564333233306639363232363236343334626430353831
        3531393734393936350a373363346564346637383663346338353938663932353164656439653033
        6131
";

/// The password does not help `ansible-inventory` with single values, so no finding may say that it does.
#[test]
fn single_values_stay_encrypted_in_a_listing() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    fs::write(place("hosts.yml"), ENCRYPTED).unwrap();
    fs::write(place("password"), "secret").unwrap();
    let password = format!("--vault-password-file={}", place("password").display());
    let listing = listed(&place("hosts.yml"), &[&password]);
    fs::write(place("hosts.json"), &listing).unwrap();
    for (name, message) in
        [("hosts.yml", "Ansible Vault has encrypted the value"), ("hosts.json", "does not decrypt it")]
    {
        let input = read(&place(name), "all", "v");
        let [finding] = input.report.findings() else { panic!("{name}: {:?}", input.report.findings()) };
        assert!(finding.to_string().contains(message), "{finding}");
    }
}
