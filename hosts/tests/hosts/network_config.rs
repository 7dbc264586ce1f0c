//! cloud-init's `network-config` as input, against the one that is written from NMState: there and back again the profiles are
//! the same, byte by byte. And version 1 against version 2.

use hosts::input;
use hosts::network::{Keyfile, NetworkFiles, Target, convert, convert_network};
use proptest::prelude::*;
use serde_yaml::{Mapping, Value};
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::DocumentPath;

use crate::network_data::{MORE, documents, names};

fn keyfiles(host: &HostSpec) -> Vec<Keyfile> {
    let (network, report) = convert(host);
    network.unwrap_or_else(|| panic!("{:#?}", report.findings())).keyfiles
}

fn written(host: &HostSpec) -> Option<String> {
    let target = Target { files: NetworkFiles::NetworkConfig, ..Target::default() };
    convert_network(host, target).0.and_then(|network| network.network_data)
}

/// The document with what `network-config` always says: how often a bond looks at its links, that bridges have STP, and the metrics of
/// learned routes that differ from netplan's.
fn with_defaults(mut host: HostSpec) -> HostSpec {
    let document = &mut host.network.as_nmstate_mut().unwrap().value;
    let interfaces = document.get_mut("interfaces").and_then(Value::as_sequence_mut);
    for interface in interfaces.into_iter().flatten() {
        // Text for people, and the document's own way of writing an address.
        interface.as_mapping_mut().unwrap().remove("description");
        if let Some(Value::String(mac)) = interface.get_mut("mac-address") {
            *mac = mac.to_lowercase().replace('-', ":");
        }
        let metric = match interface.get("type").and_then(Value::as_str) {
            Some("bond") => Some(300),
            Some("vlan") => Some(400),
            Some("linux-bridge") => Some(425),
            _ => None,
        };
        for family in ["ipv4", "ipv6"] {
            let Some(ip) = interface.get_mut(family).and_then(Value::as_mapping_mut) else { continue };
            let is_automatic = ["dhcp", "autoconf"].iter().any(|key| ip.get(*key).is_some_and(|value| *value == true));
            if let Some(metric) = metric.filter(|_| is_automatic) {
                ip.entry("auto-route-metric".into()).or_insert_with(|| metric.into());
            }
        }
        if let Some(bond) = interface.get_mut("link-aggregation").and_then(Value::as_mapping_mut) {
            let options = bond.entry("options".into()).or_insert_with(|| Mapping::new().into());
            options.as_mapping_mut().unwrap().entry("miimon".into()).or_insert_with(|| 100.into());
        }
        if let Some(bridge) = interface.get_mut("bridge").and_then(Value::as_mapping_mut) {
            let options = bridge.entry("options".into()).or_insert_with(|| Mapping::new().into());
            let stp = options.as_mapping_mut().unwrap().entry("stp".into()).or_insert_with(|| Mapping::new().into());
            stp.as_mapping_mut().unwrap().entry("enabled".into()).or_insert_with(|| true.into());
        }
    }
    // The writer has a place for search domains only beside name servers.
    let resolver = document.get_mut("dns-resolver").and_then(|resolver| resolver.get_mut("config")?.as_mapping_mut());
    if let Some(resolver) = resolver.filter(|resolver| !resolver.contains_key("server")) {
        resolver.remove("search");
    }
    host
}

/// The document with the MAC addresses that bonds and bridges have in `network-config`: that of a port, unless it says another one.
fn with_macs(mut host: HostSpec, written: &str) -> HostSpec {
    let written: Value = serde_yaml::from_str(written).unwrap();
    let document = &mut host.network.as_nmstate_mut().unwrap().value;
    let interfaces = document.get_mut("interfaces").and_then(Value::as_sequence_mut);
    for interface in interfaces.into_iter().flatten() {
        let name = interface.get("name").and_then(Value::as_str).unwrap_or_default();
        let device = ["bonds", "bridges"].into_iter().find_map(|section| written.get(section)?.get(name));
        let mac = device.and_then(|device| device.get("macaddress")).cloned();
        let interface = interface.as_mapping_mut().unwrap();
        if let Some(mac) = mac.filter(|_| !interface.contains_key("copy-mac-from")) {
            interface.insert("mac-address".into(), mac);
        }
    }
    host
}

#[test]
fn there_and_back_again_the_keyfiles_are_the_same() {
    let mut same = Vec::new();
    let more = NmstateDocument::new(serde_yaml::from_str(MORE).unwrap(), DocumentPath::root());
    for (name, host) in documents().into_iter().chain([("more".to_owned(), HostSpec::with_network(more))]) {
        // The format has no place for the names of profiles, which are the names of files here.
        let document = serde_yaml::to_string(&host.network.as_nmstate().unwrap().value).unwrap();
        if document.contains("profile-name") || document.contains("alt-names") {
            continue;
        }
        let host = with_defaults(host);
        let Some(written) = written(&host) else { continue };
        let read = input::read(written.as_bytes());
        assert!(read.report.is_empty(), "{name}: {:#?}\n{written}", read.report.findings());
        let [back] = read.hosts.as_slice() else { panic!("{name}") };
        let back = HostSpec { boot_mac: host.boot_mac, ..back.clone() };
        let (before, after) = (keyfiles(&with_macs(host, &written)), keyfiles(&back));
        assert_eq!(names(&before), names(&after), "{name}\n{written}");
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before.content, after.content, "{name}: {}\n{written}", before.name);
        }
        same.push(name);
    }
    assert!(same.len() > 9, "{same:?}");
}

/// A NIC with addresses, a gateway and name servers, in both versions.
fn in_both_versions() -> impl Strategy<Value = (String, String)> {
    let v4 = (1_u8..255, 8_u8..31);
    let servers = prop::collection::vec(1_u8..255, 0..4);
    (v4, any::<bool>(), any::<bool>(), prop::option::of(68_u16..9000), servers, 0_u32..5000).prop_map(
        |((host, length), v6, dhcp, mtu, servers, metric)| {
            let servers: Vec<String> = servers.into_iter().map(|last| format!("10.1.2.{last}")).collect();
            let servers = servers.join(", ");
            let mtu = mtu.filter(|mtu| !v6 || *mtu >= 1280).map_or(String::new(), |mtu| format!("mtu: {mtu}, "));
            let six = |one: &str| if v6 { one.to_owned() } else { String::new() };
            let other = |one: &str| if dhcp { one.to_owned() } else { String::new() };
            let address = format!("10.1.2.{host}/{length}");
            let version_1 = format!(
                "{{version: 1, config: [{{type: physical, name: eth0, mac_address: '52:54:00:00:00:01', {mtu}subnets: [{{type: \
                 static, address: {address}, gateway: 10.1.2.77, metric: {metric}, dns_nameservers: [{servers}], routes: \
                 [{{network: 172.16.0.0, netmask: 255.240.0.0, gateway: 10.1.2.78}}]}}{}]}}{}]}}",
                six(", {type: static6, address: '2001:db8::5/64', gateway: '2001:db8::1'}"),
                other(", {type: physical, name: eth1, subnets: [{type: dhcp4}]}")
            );
            let link_local = if v6 { "" } else { "link-local: [], " };
            let version_2 = format!(
                "{{version: 2, ethernets: {{eth0: {{match: {{macaddress: '52:54:00:00:00:01'}}, {mtu}{link_local}addresses: \
                 [{address}{}], nameservers: {{addresses: [{servers}]}}, routes: [{{to: default, via: 10.1.2.77, metric: \
                 {metric}}}, {{to: 172.16.0.0/12, via: 10.1.2.78}}{}]}}{}}}}}",
                six(", '2001:db8::5/64'"),
                six(", {to: default, via: '2001:db8::1'}"),
                other(", eth1: {dhcp4: true, link-local: []}")
            );
            (version_1, version_2)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_versions_of_a_network_are_the_same_network((first, second) in in_both_versions()) {
        let read = |text: &str| input::read(text.as_bytes());
        let (first_read, second_read) = (read(&first), read(&second));
        prop_assert!(first_read.report.is_empty(), "{first} {:?}", first_read.report);
        prop_assert!(second_read.report.is_empty(), "{second} {:?}", second_read.report);
        let value = |input: &input::Input| input.hosts[0].network.as_nmstate().unwrap().value.clone();
        let (first_nmstate, second_nmstate) = (value(&first_read), value(&second_read));
        let (one, other) = (convert(&first_read.hosts[0]), convert(&second_read.hosts[0]));
        let content = |converted: Option<hosts::network::ConvertedNetwork>| converted.map(|network| network.keyfiles);
        prop_assert_eq!(content(one.0), content(other.0), "{:?}\n{:?}", first_nmstate, second_nmstate);
    }
}
