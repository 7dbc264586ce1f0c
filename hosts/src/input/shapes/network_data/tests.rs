use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::network::convert;
use vocabulary::host::HostSpec;

fn translated(yaml: &str) -> (Option<NmstateDocument>, Report) {
    let document: Mapping = serde_yaml::from_str(yaml).unwrap();
    let mut report = Report::new();
    let translated = translate(&document, &DocumentPath::root(), &mut report);
    assert_eq!(translated.is_err(), report.has_errors());
    (translated.ok(), report)
}

/// The NMState, and the warnings.
fn nmstate(yaml: &str) -> (serde_json::Value, Vec<String>) {
    let (document, report) = translated(yaml);
    let document = document.unwrap_or_else(|| panic!("{:#?}", report.findings()));
    (serde_json::to_value(document.value).unwrap(), sentences(&report))
}

fn sentences(report: &Report) -> Vec<String> {
    report.findings().iter().map(|finding| format!("{} [{}]", finding, finding.code)).collect()
}

/// What is found by the translation, or else by the conversion to keyfiles.
fn findings(yaml: &str) -> Vec<String> {
    let (document, mut report) = translated(yaml);
    if let Some(document) = document {
        report.append(convert(&HostSpec::with_network(document)).1);
    }
    sentences(&report)
}

const BOND: &str = "
links:
- {id: nic0, type: phy, ethernet_mac_address: '52:54:00:00:00:01'}
- {id: nic1, type: phy, ethernet_mac_address: '52:54:00:00:00:02', mtu: null}
- {id: bond0, type: bond, ethernet_mac_address: '52:54:00:00:00:01', bond_mode: 802.3ad, bond_links: [nic0, nic1], mtu: 9000,
   bond_miimon: 100, bond_xmit_hash_policy: layer3+4}
- {id: vlan110, type: vlan, vlan_link: bond0, vlan_id: 110, vlan_mac_address: '52:54:00:00:00:01'}
networks:
- {id: n0, type: ipv4, link: vlan110, network_id: prov, ip_address: 192.0.2.10, netmask: 255.255.255.0,
   routes: [{network: 0.0.0.0, netmask: 0.0.0.0, gateway: 192.0.2.1, services: [{type: dns, address: 192.0.2.55}]}],
   services: [{type: dns, address: 192.0.2.54}]}
- {id: n1, type: ipv6, link: vlan110, network_id: prov6, ip_address: '2001:db8::10/64',
   routes: [{network: '::', netmask: '::0', gateway: '2001:db8::1'}]}
services: [{type: dns, address: 192.0.2.53}, {type: dns, address: '2001:db8::53'}, {type: dns, address: 192.0.2.53}]
";

#[test]
fn a_bond_with_a_vlan_is_said_in_nmstate() {
    let (found, warnings) = nmstate(BOND);
    assert_eq!(warnings, [""; 0]);
    let expected = json!({
        "interfaces": [
            {"name": "nic0", "state": "up", "mac-address": "52:54:00:00:00:01", "type": "ethernet",
             "identifier": "mac-address"},
            {"name": "nic1", "state": "up", "mac-address": "52:54:00:00:00:02", "type": "ethernet",
             "identifier": "mac-address"},
            {"name": "bond0", "state": "up", "mtu": 9000, "mac-address": "52:54:00:00:00:01", "type": "bond", "link-aggregation": {
                "mode": "802.3ad", "port": ["nic0", "nic1"], "options": {"miimon": 100, "xmit_hash_policy": "layer3+4"}}},
            {"name": "bond0.110", "state": "up", "type": "vlan", "vlan": {"base-iface": "bond0", "id": 110},
             "ipv4": {"enabled": true, "dhcp": false, "address": [{"ip": "192.0.2.10", "prefix-length": 24}]},
             "ipv6": {"enabled": true, "dhcp": false, "autoconf": false,
                      "address": [{"ip": "2001:db8::10", "prefix-length": 64}]}},
        ],
        "routes": {"config": [
            {"destination": "0.0.0.0/0", "next-hop-address": "192.0.2.1", "next-hop-interface": "bond0.110"},
            {"destination": "::/0", "next-hop-address": "2001:db8::1", "next-hop-interface": "bond0.110"},
        ]},
        "dns-resolver": {"config": {"server": ["192.0.2.53", "192.0.2.54", "192.0.2.55", "2001:db8::53"]}},
    });
    assert_eq!(found, expected);
    assert_eq!(findings(BOND), [""; 0]);
}

/// One NIC with these networks.
fn with_networks(networks: &str) -> String {
    format!(
        "links: [{{id: a, type: vif, ethernet_mac_address: 52-54-00-00-00-AB}}]\nnetworks: {networks}\nservices: []"
    )
}

#[test]
fn addresses_come_from_the_network_as_the_type_says_and_several_networks_of_a_link_add_up() {
    for kind in ["ipv6_dhcp", "ipv6_slaac", "ipv6_dhcpv6-stateless", "ipv6_dhcpv6-stateful"] {
        // The address that nova adds is what the network will give.
        let (found, warnings) =
            nmstate(&with_networks(&format!("[{{link: a, type: {kind}, ip_address: '2001:db8::7', netmask: '64'}}]")));
        assert_eq!(warnings, [""; 0]);
        let interface = &found["interfaces"][0];
        assert_eq!(interface["mac-address"], "52:54:00:00:00:ab");
        assert_eq!(interface["ipv6"], json!({"enabled": true, "dhcp": true, "autoconf": true}), "{kind}");
        assert_eq!(interface.get("ipv4"), None);
    }
    let yaml = with_networks(
        "[{link: a, type: ipv4_dhcp}, {link: a, type: static, ip_address: 192.0.2.1, netmask: 24}, {link: a, type: \
         static6, ip_address: '2001:db8::1', netmask: 'ffff:ffff::'}, {link: a, type: ipv4, ip_address: \
         192.0.2.2/255.255.255.0}]",
    );
    let address = |ip, length| json!({"ip": ip, "prefix-length": length});
    let interface = &nmstate(&yaml).0["interfaces"][0];
    let addresses = [address("192.0.2.1", 24), address("192.0.2.2", 24)];
    assert_eq!(interface["ipv4"], json!({"enabled": true, "dhcp": true, "address": addresses}));
    assert_eq!(interface["ipv6"]["address"], json!([address("2001:db8::1", 32)]));
    let mixed = "networks[0] has static addresses, and gets others from DHCP as well [static-and-automatic]";
    assert_eq!(findings(&yaml), [mixed]);
}

#[test]
fn routes_and_name_servers_are_read_in_the_dialects() {
    let yaml = with_networks(
        "[{link: a, type: ipv4, ip_address: 192.0.2.5/24, gateway: 192.0.2.1, dns_nameservers: [192.0.2.53], dns_search: \
         [example.org], routes: [{network: 10.1.2.3/8, gateway: 192.0.2.2, metric: 7}, {network: 0.0.0.0, gateway: \
         192.0.2.1}, {network: 198.51.100.0, netmask: 24, gateway: 0.0.0.0}]}, {link: a, type: ipv6_slaac, \
         dns_nameservers: '2001:db8::53'}]",
    );
    let (found, warnings) = nmstate(&yaml);
    assert_eq!(warnings, [""; 0]);
    let expected = json!([
        {"destination": "0.0.0.0/0", "next-hop-address": "192.0.2.1", "next-hop-interface": "a"},
        {"destination": "10.0.0.0/8", "next-hop-address": "192.0.2.2", "next-hop-interface": "a", "metric": 7},
        {"destination": "198.51.100.0/24", "next-hop-interface": "a"},
    ]);
    assert_eq!(found["routes"]["config"], expected);
    let expected = json!({"server": ["192.0.2.53", "2001:db8::53"], "search": ["example.org"]});
    assert_eq!(found["dns-resolver"]["config"], expected);
}

#[test]
fn links_have_names_that_devices_can_have_and_no_two_the_same() {
    let yaml = "
links:
- {id: 8f0dc3b4-9d0c-4b5e-8f0d-5d1e5c3f0a11, type: phy, ethernet_mac_address: '52:54:00:00:00:01'}
- {id: nic0, type: phy, ethernet_mac_address: '52:54:00:00:00:02'}
- {id: a/b, type: tap, ethernet_mac_address: '52:54:00:00:00:03', name: lan}
- {id: a bond of all, type: bond, bond_mode: 1, bond_links: [nic0]}
- {id: v1, type: vlan, vlan_link: v2, vlan_id: 7}
- {id: v2, type: vlan, vlan_link: a bond of all, vlan_id: '4094', name: a-long-name-9}
- {id: v3, type: vlan, vlan_link: v2, vlan_id: 4000}
- {id: v4, type: vlan, vlan_link: a/b, vlan_id: 4000, vlan_mac_address: '52:54:00:00:00:04'}
networks: []
services: []";
    let (found, _) = nmstate(yaml);
    let names: Vec<_> = found["interfaces"].as_array().unwrap().iter().map(|i| i["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["nic1", "nic0", "lan", "bond0", "a-long-name-9.7", "a-long-name-9", "vlan4000", "lan.4000"]);
    assert_eq!(found["interfaces"][4]["vlan"]["base-iface"], "a-long-name-9");
    assert_eq!(found["interfaces"][7]["mac-address"], "52:54:00:00:00:04");
    assert!(findings(yaml).iter().all(|found| found.ends_with("[no-address]")), "{:#?}", findings(yaml));
}

#[test]
fn a_bonds_own_address_is_set_whichever_port_comes_first() {
    const OWN: &str = "bond0, type: bond, ethernet_mac_address: '52:54:00:00:00:01'";
    let (found, _) = nmstate(BOND);
    assert_eq!(found["interfaces"][2]["mac-address"], "52:54:00:00:00:01");
    assert!(found["interfaces"][3].get("mac-address").is_none());
    let second = BOND.replacen(OWN, "bond0, type: bond, ethernet_mac_address: '52:54:00:00:00:02'", 1);
    let (found, _) = nmstate(&second);
    assert_eq!(found["interfaces"][2]["mac-address"], "52:54:00:00:00:02");
    // Now it is the VLAN's that is another than that of what it is upon.
    assert_eq!(found["interfaces"][3]["mac-address"], "52:54:00:00:00:01");
}

#[test]
fn a_bond_with_the_address_of_a_port_is_given_no_address() {
    for (value, is_set) in [("active", false), ("1", false), ("follow", false), ("2", false), ("none", true)] {
        let options = format!("bond_fail_over_mac: {value}, bond_links");
        let yaml = BOND.replacen("802.3ad", "active-backup", 1).replacen("bond_links", &options, 1);
        let yaml = yaml.replacen(", bond_xmit_hash_policy: layer3+4", "", 1);
        let (found, _) = nmstate(&yaml);
        assert_eq!(found["interfaces"][2].get("mac-address").is_some(), is_set, "{value}");
        assert_eq!(findings(&yaml), [""; 0], "{value}");
    }
}

#[test]
fn what_is_odd_and_harmless_is_said_and_taken() {
    let yaml = "
links:
- {id: a, type: phy, name: eno1, ethernet_mac_address: ''}
- {id: b, type: bond, bond_mode: 802.1ad, bond_links: [a], bond_color: red, bond_xmit_hash_policy: '', bond-miimon: 100}
networks:
- {id: n, type: ipv4_dhcp, link: b, ipv4: true}
- {id: n, type: ipv6_dhcp, link: b, services: [{type: ntp, address: 192.0.2.1}]}
services: []
version: 1";
    let (found, warnings) = nmstate(yaml);
    let starts = [
        "version is ignored",
        "links[0] has no ethernet_mac_address: dayone assumes that it is the NIC that the kernel calls \"eno1\"",
        "links[1].bond_mode is 802.1ad, which dayone reads as 802.3ad",
        "links[1].bond_color is not used",
        "networks[0].ipv4 is ignored",
        "networks[1].id is \"n\", like the id of networks[0]",
        "networks[1].services[0].type is ntp, and dayone uses only dns",
    ];
    assert_eq!(warnings.len(), starts.len(), "{warnings:#?}");
    for (warning, start) in warnings.iter().zip(starts) {
        assert!(warning.starts_with(start), "{warning}: {start}");
    }
    assert_eq!(found["interfaces"][0], json!({"name": "eno1", "state": "up", "type": "ethernet"}));
    let expected = json!({"mode": "802.3ad", "port": ["eno1"], "options": {"miimon": 100}});
    assert_eq!(found["interfaces"][1]["link-aggregation"], expected);
}

/// Each mistake, with the beginning of the one thing that is said of it.
#[test]
fn what_is_wrong_is_refused_with_its_place() {
    for (right, wrong, said) in [
        ("links:", "interfaces: []\nlinks:", "interfaces belongs to NMState"),
        ("type: vlan,", "type: vxlan,", "links[3].type is \"vxlan\", which is not a link type"),
        ("vlan_id: 110,", "vlan_id: 4095,", "links[3].vlan_id is not a whole number from 0 to 4094"),
        ("vlan_id: 110,", "", "links[3].vlan_id is missing"),
        (
            "vlan_link: bond0",
            "vlan_link: bond1",
            "links[3].vlan_link is bond1, and no link has that id; the ids are nic0",
        ),
        ("vlan_link: bond0", "vlan_link: vlan110", "links[3] depends on itself"),
        ("id: vlan110,", "id: nic0,", "links[3].id is \"nic0\", like the id of links[0]"),
        ("id: vlan110,", "", "links[3].id is missing"),
        ("mtu: 9000", "mtu: 0", "links[2].mtu is not a whole number from 1 to 65535"),
        ("[nic0, nic1]", "[nic0, nic0]", "links[2].bond_links[1] is \"nic0\", which is a link of \"bond0\" already"),
        ("[nic0, nic1]", "[nic0, nic2]", "links[2].bond_links[1] is nic2, and no link has that id"),
        ("[nic0, nic1]", "[]", "links[2].bond_links is missing or empty"),
        ("bond_mode: 802.3ad", "bond_mode: lacp", "links[2].bond_mode is \"lacp\", which is not a bond mode"),
        ("'52:54:00:00:00:02'", "none", "links[1].ethernet_mac_address is refused: \"none\" is not a MAC address"),
        ("ethernet_mac_address: '52:54:00:00:00:02', ", "", "links[1].ethernet_mac_address is missing"),
        ("link: vlan110, network_id: prov,", "link: eth0,", "networks[0].link is eth0, and no link has that id"),
        (
            "link: vlan110, network_id: prov,",
            "link: nic1,",
            "networks[0].link is nic1, which is a link of the bond bond0",
        ),
        ("type: ipv4,", "type: ipv5,", "networks[0].type is \"ipv5\", which is not a network type"),
        ("255.255.255.0", "255.0.255.0", "networks[0].netmask is not an IPv4 mask of ones followed by zeros"),
        ("netmask: 255.255.255.0,", "", "networks[0].netmask is missing"),
        ("ip_address: 192.0.2.10,", "", "networks[0].ip_address is missing"),
        ("192.0.2.10,", "'2001:db8::1',", "networks[0].ip_address is \"2001:db8::1\", which is not an IPv4 address"),
        ("'2001:db8::10/64'", "'2001:db8::10/640'", "networks[1].ip_address is \"2001:db8::10/640\""),
        ("'2001:db8::10/64'", "'2001:db8::10/64', netmask: 48", "networks[1].netmask stands for a prefix of 48 bits"),
        (
            "gateway: 192.0.2.1,",
            "gateway: '::1',",
            "networks[0].routes[0].gateway is \"::1\", which is not an IPv4 address",
        ),
        ("gateway: 192.0.2.1,", "", "networks[0].routes[0].gateway is missing"),
        (
            "address: 192.0.2.55",
            "address: dns",
            "networks[0].routes[0].services[0].address is dns, which is not an IP address",
        ),
        ("address: 192.0.2.54", "x: y", "networks[0].services[0].address is missing"),
        // What nmstate and the checks before it say has the places of this document.
        ("bond_miimon: 100", "bond_miimon: often", "links[2].bond_miimon is refused by nmstate"),
        (
            "'52:54:00:00:00:02'",
            "'52:54:00:00:00:01'",
            "links[1].ethernet_mac_address is 52:54:00:00:00:01, like the address of",
        ),
    ] {
        let document = BOND.replacen(right, wrong, 1);
        assert_ne!(document, BOND, "{right}");
        let found = findings(&document);
        assert!(found.len() == 1 && found[0].starts_with(said), "{said}: {found:#?}");
    }
    let links = "links: [{id: a, type: phy, name: eno1}, {id: v, type: vlan, vlan_link: a, vlan_id: 5}, {id: w, type: vlan, \
                 vlan_link: a, vlan_id: 5}]";
    let found = findings(links);
    assert!(
        found.iter().any(|found| found.starts_with("links[2].vlan_id is 5, like the vlan_id of \"v\"")),
        "{found:#?}"
    );
    assert_eq!(
        findings("links: []"),
        ["links describes no interface: the host would come up without a network [no-interfaces]"]
    );
}

/// Values as a program might write them, most of them with members that mean something.
fn any_value() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(vec![
        "a",
        "b",
        "",
        "phy",
        "bond",
        "vlan",
        "ipv4",
        "ipv6_dhcp",
        "802.3ad",
        "192.0.2.1",
        "255.255.0.0",
        "::0",
        "/24",
        "2001:db8::1/64",
        "52:54:00:00:00:01",
        "dns",
        "\u{0}",
        "ä b/c",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..70_000_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "links",
        "networks",
        "services",
        "id",
        "type",
        "name",
        "mtu",
        "ethernet_mac_address",
        "vlan_link",
        "vlan_id",
        "vlan_mac_address",
        "bond_mode",
        "bond_links",
        "bond_miimon",
        "bond_primary",
        "link",
        "ip_address",
        "netmask",
        "gateway",
        "routes",
        "network",
        "metric",
        "address",
        "dns_nameservers",
        "dns_search",
        "x",
    ]);
    leaf.prop_recursive(5, 64, 8, move |inner| {
        let members = prop::collection::vec((key.clone().prop_map(Value::from), inner.clone()), 0..8);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::Sequence),
            members.prop_map(|members| Value::Mapping(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_document_is_translated_or_refused(links in any_value(), networks in any_value(), services in any_value()) {
        let members = [("links", links), ("networks", networks), ("services", services)];
        let document = members.into_iter().map(|(key, value)| (Value::from(key), value)).collect();
        let mut report = Report::new();
        if let Ok(document) = translate(&document, &DocumentPath::root(), &mut report) {
            convert(&HostSpec::with_network(document));
        }
    }

    /// Links that refer to each other in every way: what is taken has no circles, and every link a name of its own.
    #[test]
    fn links_in_any_arrangement_come_to_an_end(
        links in prop::collection::vec((0..3_u8, 0..8_usize, 0..8_usize, 0..3_u16), 0..8),
    ) {
        let links: Vec<_> = links.iter().enumerate().map(|(id, (kind, lower, other, vlan))| match kind {
            0 => json!({"id": id.to_string(), "type": "phy", "ethernet_mac_address": format!("52:54:00:00:00:0{id}")}),
            1 => json!({"id": id.to_string(), "type": "bond", "bond_mode": 0,
                        "bond_links": [lower.to_string(), other.to_string()]}),
            _ => json!({"id": id.to_string(), "type": "vlan", "vlan_link": lower.to_string(), "vlan_id": vlan}),
        }).collect();
        let text = json!({"links": links}).to_string();
        let (document, _) = translated(&text);
        if let Some(document) = document {
            let interfaces = document.value["interfaces"].as_sequence().unwrap();
            let names: std::collections::BTreeSet<_> = interfaces.iter().map(|i| i["name"].as_str().unwrap()).collect();
            prop_assert_eq!(names.len(), interfaces.len());
            prop_assert!(!names.contains(""));
            convert(&HostSpec::with_network(document));
        }
    }
}
