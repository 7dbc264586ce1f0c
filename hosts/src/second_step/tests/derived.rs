//! What is derived of first steps that name one interface in several ways, or have routing rules.

use serde_yaml::Value;

use super::*;

const NAMED_BY_PROFILES: &str = r#"
interfaces:
- {name: eno1, profile-name: port-a, type: ethernet, state: up, identifier: mac-address, mac-address: "52:54:00:00:00:01"}
- {name: eno2, alt-names: [{name: altb}], type: ethernet, state: up}
- {name: bond0, profile-name: bundle, type: bond, state: up, bond: {mode: active-backup, ports: [port-a, altb, eno3]}}
- name: bond0.5
  profile-name: v5
  type: vlan
  state: up
  vlan: {base-iface: bundle, id: 5}
  ipv4: {enabled: true, address: [{ip: 10.2.0.5, prefix-length: 24}]}
  ipv6: {enabled: true, address: [{ip: "fd00::5", prefix-length: 64}]}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.2.0.1, next-hop-interface: v5}]}
dns-resolver: {config: {server: ["fe80::53%bond0.5", 10.2.0.1]}}
"#;

const WITH_RULES: &str = "
interfaces:
- name: eno1
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: true, auto-gateway: false, auto-route-table-id: 77, address: [{ip: 192.0.2.5, prefix-length: 24}]}
- name: eno2
  type: ethernet
  state: up
  ipv4: {enabled: true, address: [{ip: 198.51.100.5, prefix-length: 24}]}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1}
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1, table-id: 55}
  - {destination: 0.0.0.0/0, next-hop-address: 198.51.100.1, next-hop-interface: eno2, table-id: 66}
route-rules:
  config:
  - {ip-from: 192.0.2.5/32, route-table: 55}
  - {ip-from: 192.0.2.5/32, route-table: 77, priority: 11}
  - {ip-to: 192.0.2.0/24, priority: 9, route-table: 254}
  - {priority: 8, iif: eno1, route-table: 254, family: ipv4}
  - {ip-from: 198.51.100.5/32, route-table: 66, priority: 12}
";

/// The host `a` with this network.
fn host(network: &str) -> Vec<HostSpec> {
    let mut hosts = input::read(network.as_bytes()).hosts;
    hosts[0].name = Some("a".to_owned());
    hosts
}

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

/// The derived document, and the findings about it together with the first step.
fn derived(network: &str) -> (Value, Vec<String>) {
    let mut hosts = host(network);
    let (derived, report) = derive(&mut hosts, &[], true);
    assert!(report.is_empty(), "{:#?}", lines(&report));
    (derived[0].network.value.clone(), lines(&check(&derived, &hosts)))
}

#[test]
fn interfaces_that_the_first_step_names_in_several_ways_are_kept_and_have_one_name() {
    let (value, found) = derived(NAMED_BY_PROFILES);
    assert_eq!(found, [""; 0]);
    let interfaces = value["interfaces"].as_sequence().unwrap();
    let names: Vec<&str> = interfaces.iter().map(|interface| interface["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["eno1", "eno2", "bond0", "bond0.5", "eno3", "br-ex", "br-ex"]);
    assert_eq!(interfaces[0], yaml("{name: eno1, type: ethernet, state: up}"));
    assert_eq!(interfaces[2]["link-aggregation"]["port"], yaml("[eno1, eno2, eno3]"));
    assert_eq!(interfaces[3]["vlan"]["base-iface"], "bond0");
    assert_eq!(interfaces[4], yaml("{name: eno3, type: ethernet, state: up}"));
    assert_eq!(interfaces[5]["bridge"]["port"], yaml("[{name: bond0.5}, {name: br-ex}]"));
    assert_eq!(interfaces[6]["copy-mac-from"], "bond0.5");
    assert_eq!(value["routes"]["config"][0]["next-hop-interface"], "br-ex");
    assert_eq!(value["dns-resolver"]["config"]["server"], yaml("['fe80::53%br-ex', 10.2.0.1]"));
    assert!(!serde_yaml::to_string(&value).unwrap().contains("profile-name"));
}

#[test]
fn a_nic_found_by_its_address_may_be_the_uplink_by_its_profiles_name() {
    let network = r#"
interfaces:
- name: eno1
  profile-name: up
  type: ethernet
  state: up
  identifier: mac-address
  mac-address: "52:54:00:00:00:01"
  ipv4: {enabled: true, address: [{ip: 10.2.0.5, prefix-length: 24}]}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.2.0.1, next-hop-interface: up}]}
"#;
    let (value, found) = derived(network);
    assert_eq!(value["interfaces"][0]["name"], "eno1");
    assert_eq!(value["interfaces"][1]["bridge"]["port"][0]["name"], "eno1");
    assert!(found.len() == 1 && found[0].contains("is on eno1, which is the first step's own name"), "{found:#?}");
}

#[test]
fn nothing_is_derived_over_a_port_that_cannot_be_described() {
    let mut hosts = host(
        "
interfaces:
- {name: veth0, type: veth, state: up, veth: {peer: veth1}}
- name: bond0
  type: bond
  state: up
  link-aggregation: {mode: active-backup, port: [eno1, veth1]}
  ipv4: {enabled: true, address: [{ip: 10.2.0.5, prefix-length: 24}]}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.2.0.1, next-hop-interface: bond0}]}
",
    );
    let (derived, report) = derive(&mut hosts, &[], true);
    assert!(derived.is_empty());
    let found = lines(&report);
    assert!(
        found.len() == 1 && found[0].starts_with("error derive-uplink: ") && found[0].contains("veth1"),
        "{found:?}"
    );
}

#[test]
fn the_rules_in_the_profile_of_the_uplink_move_with_its_addresses() {
    let (value, found) = derived(WITH_RULES);
    assert_eq!(found, [""; 0]);
    let expected = yaml(
        "
- {ip-from: 192.0.2.5/32, route-table: 55, priority: 30000}
- {ip-from: 192.0.2.5/32, route-table: 77, priority: 11}
- {ip-to: 192.0.2.0/24, priority: 9, route-table: 254}
- {priority: 8, iif: br-ex, route-table: 254, family: ipv4}
",
    );
    assert_eq!(value["route-rules"]["config"], expected);
}

#[test]
fn a_rule_that_the_second_step_lacks_is_reported() {
    let mut hosts = host(WITH_RULES);
    let (derived, _) = derive(&mut hosts, &[], true);
    let mut value = derived[0].network.value.clone();
    value["route-rules"]["config"].as_sequence_mut().unwrap().drain(1..);
    let text = serde_yaml::to_string(&value).unwrap();
    let (documents, _) = documents(&[("a.yml", &text)]);
    let found = check(&documents, &hosts);
    assert_eq!(codes(&found), ["second-step-rule-lost"; 3]);
    let found = lines(&found);
    assert!(found.iter().any(|line| line.contains("route-rules lack") && line.contains("(table 77)")), "{found:#?}");
}

/// A host whose second NIC gets an address, and no default route.
fn with_two_nics(second: &str) -> String {
    format!(
        "
interfaces:
- name: eno1
  type: ethernet
  state: up
  ipv4: {{enabled: true, dhcp: true}}
  ipv6: {{enabled: true, dhcp: true, autoconf: true}}
- {{name: eno2, type: ethernet, state: up, {second}}}
"
    )
}

#[test]
fn a_nic_that_gets_no_default_route_is_not_the_uplink() {
    for second in [
        "ipv4: {enabled: true, dhcp: true, auto-gateway: false}",
        "ipv4: {enabled: true, dhcp: true, auto-route-table-id: 77}",
        "ipv6: {enabled: true, dhcp: true, autoconf: false}",
    ] {
        let network = with_two_nics(second);
        let (value, found) = derived(&network);
        assert_eq!(found, [""; 0], "{second}");
        assert_eq!(value["interfaces"][0]["name"], "eno1", "{second}");

        let moved = serde_yaml::to_string(&value).unwrap().replace("eno1", "eno2");
        let found = lines(&check(&documents(&[("a.yml", &moved)]).0, &host(&network)));
        assert!(found.len() == 1 && found[0].starts_with("error second-step-other-nic: "), "{second}: {found:#?}");
    }
}

#[test]
fn default_routes_through_several_nics_are_unclear() {
    let network = with_two_nics("ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: true, dhcp: true, autoconf: true}");
    let (derived, report) = derive(&mut host(&network), &[], true);
    assert!(derived.is_empty());
    assert_eq!(codes(&report), ["derive-uplink"]);

    let one = with_two_nics("ipv4: {enabled: false}");
    let text = serde_yaml::to_string(&self::derived(&one).0).unwrap();
    let found = lines(&check(&documents(&[("a.yml", &text)]).0, &host(&network)));
    assert!(found.len() == 1 && found[0].contains("through several interfaces (eno1, eno2)"), "{found:#?}");
}
