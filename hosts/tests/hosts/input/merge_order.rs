//! Members before a merge key, of which kubectl takes what is merged.

use hosts::input::{Text, read, read_all};

use super::findings;

/// Returns the places of the findings about a document, and the MTU of the second interface.
fn found(second: &str) -> (Vec<String>, u64) {
    let first = "&a {name: eth0, type: ethernet, mtu: 9000}";
    let input = read(format!("interfaces:\n- {first}\n- {second}\n").as_bytes());
    let paths = input.report.findings().iter().map(|finding| {
        assert_eq!(finding.code, "merge-key-order");
        finding.path.to_string()
    });
    let mtu = &input.hosts[0].network.as_nmstate().unwrap().value["interfaces"][1]["mtu"];
    (paths.collect(), mtu.as_u64().unwrap())
}

#[test]
fn a_member_before_a_merge_key_that_adds_another_value_is_a_warning() {
    let both = vec!["interfaces[1].name".to_owned(), "interfaces[1].mtu".to_owned()];
    assert_eq!(found("{name: eth1, mtu: 1500, <<: *a}"), (both, 1500));
    for (second, mtu) in [
        ("{<<: *a, name: eth1, mtu: 1500}", 1500),
        ("{type: ethernet, <<: *a, name: eth1}", 9000),
        // The earlier of two mappings counts, for all readers.
        ("{mtu: 1500, <<: [{mtu: 1500}, {mtu: 1400}]}", 1500),
    ] {
        assert_eq!(found(second), (Vec::new(), mtu), "{second}");
    }
    let (paths, _) = found("{mtu: 1500, <<: [{state: up}, {mtu: 1400}]}");
    assert_eq!(paths, ["interfaces[1].mtu"]);
}

/// The order of the members is that of the mapping with the anchor, and not that of the one around the alias.
#[test]
fn a_mapping_that_is_merged_elsewhere_has_its_warning_once() {
    let text = "x: &x {mtu: 1500, <<: {mtu: 9000}}\ninterfaces:\n- {<<: *x, name: eth0, type: ethernet}\n";
    let found = read(text.as_bytes());
    let lines = findings(&found);
    assert!(lines.lines().count() == 1 && lines.contains("x.mtu has another value"), "{lines}");
}

#[test]
fn objects_have_the_warning_and_files_of_ansible_do_not() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b, <<: {a: c}}\n";
    let all = findings(&read(secret.as_bytes()));
    assert!(all.contains("Secret/s: stringData.a has another value"), "{all}");
    let fleet = "{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {name: f}, spec: {hosts: {inventoryFile: i.yml}, \
                 template: {role: '${v}', network: {interfaces: []}}}}";
    let inventory = "all: {hosts: {a: {v: '1', <<: {v: '2'}}}}\n";
    let texts =
        [("f.yaml", fleet), ("i.yml", inventory)].map(|(name, text)| Text { name: Some(name), text: text.as_bytes() });
    let found = read_all(texts);
    assert_eq!((found.hosts[0].role.as_deref(), findings(&found).as_str()), (Some("1"), ""));
}
