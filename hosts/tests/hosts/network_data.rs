//! `network_data.json` as input, against the `network_data.json` that is written from NMState: there and back again the
//! profiles are the same, byte by byte.

use std::fs;
use std::path::Path;

use hosts::input;
use hosts::network::{ConvertedNetwork, Keyfile, NetworkFiles, Target, convert, convert_network};
use serde_yaml::{Mapping, Value};
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::DocumentPath;

/// The good documents of `fixtures/nmstate`, by name.
pub(crate) fn documents() -> Vec<(String, HostSpec)> {
    let mut documents = Vec::new();
    for case in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/nmstate")).unwrap() {
        let case = case.unwrap().path();
        let Ok(text) = fs::read_to_string(case.join("nmstate.yaml")) else { continue };
        let boot_mac = fs::read_to_string(case.join("boot-mac")).ok().map(|mac| mac.trim().parse().unwrap());
        let value = serde_yaml::from_str(&text).unwrap();
        let host = HostSpec { boot_mac, ..HostSpec::with_network(NmstateDocument::new(value, DocumentPath::root())) };
        documents.push((case.file_name().unwrap().to_str().unwrap().to_owned(), host));
    }
    documents.sort_by(|a, b| a.0.cmp(&b.0));
    documents
}

/// The document with what network data always says (a MAC address for every NIC and bond, how often a bond looks at its
/// links), and without what it has no place for (metrics, search domains).
fn as_network_data_has_it(mut host: HostSpec) -> HostSpec {
    let document = &mut host.network.as_nmstate_mut().unwrap().value;
    let interfaces = document.get_mut("interfaces").and_then(Value::as_sequence_mut);
    for (index, interface) in interfaces.into_iter().flatten().enumerate() {
        let interface = interface.as_mapping_mut().unwrap();
        let kind = interface.get("type").and_then(Value::as_str).unwrap_or("ethernet").to_owned();
        if kind == "ethernet" && !interface.contains_key("mac-address") {
            interface.insert("mac-address".into(), format!("52:54:00:00:01:{index:02x}").into());
            interface.insert("identifier".into(), "mac-address".into());
        }
        if let Some(bond) = interface.get_mut("link-aggregation").and_then(Value::as_mapping_mut) {
            let options = bond.entry("options".into()).or_insert_with(|| Mapping::new().into());
            options.as_mapping_mut().unwrap().entry("miimon".into()).or_insert_with(|| 100.into());
        }
    }
    give_bonds_addresses(document);
    let routes = document.get_mut("routes").and_then(|routes| routes.get_mut("config")?.as_sequence_mut());
    for route in routes.into_iter().flatten() {
        route.as_mapping_mut().unwrap().remove("metric");
    }
    let resolver = document.get_mut("dns-resolver").and_then(|resolver| resolver.get_mut("config")?.as_mapping_mut());
    if let Some(resolver) = resolver {
        resolver.remove("search");
    }
    host
}

/// A bond without a MAC address gets that of its first port.
fn give_bonds_addresses(document: &mut Value) {
    let Some(interfaces) = document.get_mut("interfaces").and_then(Value::as_sequence_mut) else { return };
    let all = interfaces.clone();
    for bond in interfaces.iter_mut().filter_map(Value::as_mapping_mut) {
        let port = bond.get("link-aggregation").and_then(|aggregation| aggregation.get("port")?.get(0));
        let mac = all.iter().find(|interface| interface.get("name") == port).and_then(|port| port.get("mac-address"));
        if let Some(mac) = mac {
            bond.entry("mac-address".into()).or_insert_with(|| mac.clone());
        }
    }
}

fn keyfiles(host: &HostSpec) -> Vec<Keyfile> {
    let (network, report) = convert(host);
    let ConvertedNetwork { keyfiles, .. } = network.unwrap_or_else(|| panic!("{:#?}", report.findings()));
    keyfiles
}

pub(crate) fn names(keyfiles: &[Keyfile]) -> Vec<&str> {
    keyfiles.iter().map(|keyfile| keyfile.name.as_str()).collect()
}

/// What the fixtures have too little of: addresses from the network, names and MAC addresses that are not the usual ones.
pub(crate) const MORE: &str = "
interfaces:
- {name: lan, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01', mtu: 1500,
   ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: true, dhcp: true, autoconf: true}}
- {name: nic1, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:02'}
- {name: nic2, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:03'}
- name: uplink
  type: bond
  mac-address: '52:54:00:00:00:aa'
  link-aggregation: {mode: 802.3ad, port: [nic1, nic2], options: {lacp_rate: fast, updelay: 200, downdelay: 100}}
- {name: storage, type: vlan, vlan: {base-iface: uplink, id: 7}, mtu: 1400, mac-address: '52:54:00:00:00:bb',
   ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 25}, {ip: 198.51.100.5, prefix-length: 24}]},
   ipv6: {enabled: true, dhcp: true, autoconf: true, address: [{ip: '2001:db8::5', prefix-length: 61}]}}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: storage}
  - {destination: 203.0.113.0/24, next-hop-address: 198.51.100.1, next-hop-interface: storage}
  - {destination: '2001:db8:1::/48', next-hop-address: 'fe80::1', next-hop-interface: storage}
dns-resolver: {config: {server: ['2001:db8:1::53', 203.0.113.53]}}
";

#[test]
fn there_and_back_again_the_keyfiles_are_the_same() {
    let mut same = Vec::new();
    let more = NmstateDocument::new(serde_yaml::from_str(MORE).unwrap(), DocumentPath::root());
    for (name, host) in documents().into_iter().chain([("more".to_owned(), HostSpec::with_network(more))]) {
        let host = as_network_data_has_it(host);
        let target = Target { files: NetworkFiles::NetworkData, ..Target::default() };
        let Some(written) = convert_network(&host, target).0.and_then(|network| network.network_data) else { continue };
        let read = input::read(written.as_bytes());
        assert!(read.report.is_empty(), "{name}: {:#?}\n{}", read.report.findings(), written);
        let [back] = read.hosts.as_slice() else { panic!("{name}") };
        let (before, after) = (keyfiles(&host), keyfiles(back));
        assert_eq!(names(&before), names(&after), "{name}");
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before.content, after.content, "{name}: {}", before.name);
        }
        same.push(name);
    }
    assert!(same.len() > 9, "{same:?}");
    assert!(
        ["bond-vlans", "ipv6-dual-stack", "mac-identified", "more"]
            .iter()
            .all(|case| same.iter().any(|name| name == case))
    );
}
