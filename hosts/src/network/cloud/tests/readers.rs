//! What netplan gets, and what cloud-init's other writers get.

use serde_json::json;

use super::*;

const STATIC: &str = "
interfaces:
- name: nic1
  type: ethernet
  identifier: mac-address
  mac-address: '52:54:00:00:00:01'
  ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}
  ipv6: {enabled: true, address: [{ip: '2001:db8::5', prefix-length: 64}]}
routes:
  config:
";

fn with_routes(routes: &[&str]) -> String {
    let lines = routes.iter().map(|route| format!("  - {{next-hop-interface: nic1, {route}}}\n"));
    format!("{STATIC}{}", lines.collect::<String>())
}

/// The findings of this code, as paths and messages. There is a network.
fn warned(convert: Convert, yaml: &str, code: &str) -> Vec<String> {
    let (network, report) = convert(&host(yaml));
    assert!(network.is_ok(), "{yaml}: {:?}", report.findings());
    report.findings().iter().filter(|finding| finding.code == code).map(ToString::to_string).collect()
}

const ELSEWHERE: &str = "only-with-netplan";
const DEFAULT_V4: &str = "destination: 0.0.0.0/0, next-hop-address: 192.0.2.1";
const DEFAULT_V6: &str = "destination: '::/0', next-hop-address: '2001:db8::1'";

/// Among the other routes, cloud-init 22.4 makes it a route to `::/64`.
#[test]
fn cloud_init_gets_a_default_route_of_ipv6_in_a_key_of_its_own() {
    let yaml = with_routes(&[DEFAULT_V4, DEFAULT_V6]);
    let nic = |convert: Convert, yaml: &str| value(convert, yaml)["ethernets"]["nic1"].clone();
    let found = nic(network_config, &yaml);
    let v4 = json!({"to": "0.0.0.0/0", "via": "192.0.2.1"});
    assert_eq!((&found["gateway6"], &found["routes"]), (&json!("2001:db8::1"), &json!([v4])));
    assert_eq!(found.get("gateway4"), None);
    assert_eq!(warned(network_config, &yaml, ELSEWHERE), [""; 0]);
    // netplan itself calls the key deprecated.
    let found = nic(netplan, &yaml);
    assert_eq!((found.get("gateway6"), &found["routes"]), (None, &json!([v4, {"to": "::/0", "via": "2001:db8::1"}])));
    // It writes the routes for NetworkManager with the family of the first subnet, which DHCP has.
    let learned = with_routes(&[DEFAULT_V4]).replace("ipv6: {", "ipv6: {dhcp: true, autoconf: true, ");
    let found = nic(network_config, &learned);
    assert_eq!((&found["gateway4"], found.get("routes")), (&json!("192.0.2.1"), None));
    assert_eq!(warned(network_config, &learned, ELSEWHERE), [""; 0]);
}

#[test]
fn what_cloud_init_loses_without_netplan_is_a_warning() {
    let with_metric = format!("{DEFAULT_V4}, metric: 50");
    let second_v6 = "destination: '::/0', next-hop-address: '2001:db8::2', metric: 50";
    for (routes, losses) in [
        (vec!["destination: 10.0.0.0/8, next-hop-address: 192.0.2.1"], vec![]),
        (vec!["destination: 10.0.0.0/8"], vec![(0, "the host has no network")]),
        (vec![with_metric.as_str()], vec![(0, "drop the metric")]),
        (vec![DEFAULT_V6, second_v6], vec![(0, "::/64"), (1, "drop the metric, and releases such as 22.4 make it")]),
        (
            vec!["destination: '2001:db8:1::/48', next-hop-address: '2001:db8::1'"],
            vec![(0, "in the section of the other family")],
        ),
    ] {
        let yaml = with_routes(&routes);
        let found = warned(network_config, &yaml, ELSEWHERE);
        assert_eq!(found.len(), losses.len(), "{yaml}: {found:?}");
        for (finding, (index, loss)) in found.iter().zip(losses) {
            let place = format!("routes.config[{index}] is kept where cloud-init writes netplan (Ubuntu); elsewhere ");
            assert!(finding.starts_with(&place) && finding.contains(loss), "{finding}");
        }
        assert_eq!(warned(netplan, &yaml, ELSEWHERE), [""; 0]);
    }
    let off_link = with_routes(&[DEFAULT_V4]).replace("prefix-length: 24", "prefix-length: 32");
    let found = warned(network_config, &off_link, ELSEWHERE);
    assert!(found.len() == 1 && found[0].contains("the next hop is on the link"), "{found:?}");
}

/// cloud-init 22.4 and later write no `IPv6AcceptRA` for systemd-networkd without `DHCPv6`, and no section `[ipv6]` for NetworkManager
/// without addresses of IPv6.
#[test]
fn routers_to_which_the_host_listens_unlike_in_the_document_are_a_warning() {
    let with = |ipv6: &str| {
        format!(
            "interfaces: [{{name: eth0, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01', \
             ipv4: {{enabled: true, address: [{{ip: 192.0.2.5, prefix-length: 24}}]}}, ipv6: {{{ipv6}}}}}]"
        )
    };
    let fixed = "enabled: true, dhcp: false, autoconf: false, address: [{ip: '2001:db8::5', prefix-length: 64}]";
    for (ipv6, seed, drive) in [
        ("enabled: false", "NetworkManager or ifupdown", "has no IPv6"),
        ("enabled: true", "NetworkManager or ifupdown", "has no IPv6"),
        (fixed, "in some cases with ifupdown", "with NetworkManager from cloud-init 22.4"),
    ] {
        for (convert, reason) in [(network_config as Convert, seed), (network_data, drive)] {
            let found = warned(convert, &with(ipv6), "ipv6-not-switched-off");
            let is_expected = |line: &String| line.starts_with("interfaces[0] ") && line.contains(reason);
            assert!(found.len() == 1 && found.iter().all(is_expected), "{ipv6}: {found:?}");
        }
        assert_eq!(warned(netplan, &with(ipv6), "ipv6-not-switched-off"), [""; 0], "{ipv6}");
    }
    // The document wants them, or the port of a bridge has no addresses at all.
    let automatic = with("enabled: true, dhcp: true, autoconf: true");
    let bridge = "interfaces: [{name: eth0, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01'}, {name: br0, type: \
                  linux-bridge, bridge: {port: [{name: eth0}]}, ipv6: {enabled: true, dhcp: true, autoconf: true}}]";
    assert_eq!(warned(network_config, &automatic, "ipv6-not-switched-off"), [""; 0]);
    assert_eq!(warned(network_data, &automatic, "ipv6-not-switched-off"), [""; 0]);
    assert_eq!(warned(network_config, bridge, "ipv6-not-switched-off"), [""; 0]);
}

const PORTS: &str = "
interfaces:
- {name: nic1, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:03'}
- {name: nic2, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:02'}
- {name: nic3, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01'}
- {name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [nic1, nic2]}}
- {name: bond0.7, type: vlan, vlan: {base-iface: bond0, id: 7}}
- {name: br0, type: linux-bridge, bridge: {port: [{name: bond0.7}, {name: nic3}]}, ipv4: {enabled: true, dhcp: true}}
";

/// systemd-networkd makes up an address, where the kernel takes that of a port. The DHCP server would not know the host.
#[test]
fn netplan_gives_bonds_and_bridges_the_address_that_they_have_with_keyfiles() {
    for convert in [network_config as Convert, netplan] {
        let found = value(convert, PORTS);
        assert_eq!(found["bonds"]["bond0"]["macaddress"], "52:54:00:00:00:03");
        // The kernel takes the lowest.
        assert_eq!(found["bridges"]["br0"]["macaddress"], "52:54:00:00:00:01");
        assert_eq!(found["vlans"]["bond0.7"].get("macaddress"), None);
        // The document does not have the kernel names of the bond's ports, by which NetworkManager orders them.
        let found = warned(convert, PORTS, "mac-address-made-up");
        assert!(found.len() == 1 && found[0].starts_with("interfaces[5] gets a MAC address that follows"), "{found:?}");
        let one_port = PORTS.replace("port: [nic1, nic2]", "port: [nic1]");
        assert_eq!(warned(convert, &one_port, "mac-address-made-up"), [""; 0]);
        let unknown = PORTS.replace(", identifier: mac-address, mac-address: '52:54:00:00:00:03'", "");
        assert_eq!(value(convert, &unknown)["bridges"]["br0"].get("macaddress"), None);
        let found = warned(convert, &unknown, "mac-address-made-up");
        assert!(found.len() == 1 && found[0].contains("that systemd-networkd makes up"), "{found:?}");
        // Addresses that the document has do not depend on it.
        for document in [PORTS, unknown.as_str()] {
            let fixed = document.replace("dhcp: true", "address: [{ip: 192.0.2.5, prefix-length: 24}]");
            assert_eq!(warned(convert, &fixed, "mac-address-made-up"), [""; 0]);
        }
    }
    let vlan = "interfaces: [{name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [eth0]}}, {name: bond0.7, \
                type: vlan, vlan: {base-iface: bond0, id: 7}, ipv4: {enabled: true, dhcp: true}}]";
    let found = warned(network_config, vlan, "mac-address-made-up");
    assert!(found.len() == 1 && found[0].starts_with("interfaces[0] gets a MAC address"), "{found:?}");
}

/// So does NetworkManager, whatever the order in the document.
#[test]
fn netplan_gives_a_bond_the_address_of_the_port_whose_name_sorts_first() {
    let bond = |ports: &str| {
        format!(
            "interfaces: [{{name: eth9, type: ethernet, mac-address: '02:00:00:00:00:01'}}, {{name: eth10, type: ethernet, \
             mac-address: '02:00:00:00:00:02'}}, {{name: bond0, type: bond, link-aggregation: {{mode: active-backup, port: \
             [{ports}]}}, ipv4: {{enabled: true, dhcp: true}}}}]"
        )
    };
    for convert in [network_config as Convert, netplan] {
        for ports in ["eth9, eth10", "eth10, eth9"] {
            assert_eq!(value(convert, &bond(ports))["bonds"]["bond0"]["macaddress"], "02:00:00:00:00:02", "{ports}");
            assert_eq!(warned(convert, &bond(ports), "mac-address-made-up"), [""; 0]);
        }
        let unknown = bond("eth9, eth10").replace(", mac-address: '02:00:00:00:00:02'", "");
        assert_eq!(value(convert, &unknown)["bonds"]["bond0"].get("macaddress"), None);
    }
}

const BOTH_FAMILIES: &str = "interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, dhcp: true}, \
     ipv6: {enabled: true, dhcp: true, autoconf: true}}]";

#[test]
fn netplan_uses_the_search_domains_that_the_network_offers() {
    let both = BOTH_FAMILIES;
    let uses = json!({"use-domains": true});
    for convert in [network_config as Convert, netplan] {
        let eth0 = value(convert, both)["ethernets"]["eth0"].clone();
        assert_eq!([&eth0["dhcp4-overrides"], &eth0["dhcp6-overrides"]], [&uses, &uses]);
        let v4 = both.replace("ipv6: {enabled: true, dhcp: true, autoconf: true}", "ipv6: {enabled: false}");
        let eth0 = value(convert, &v4)["ethernets"]["eth0"].clone();
        assert_eq!((&eth0["dhcp4-overrides"], eth0.get("dhcp6-overrides")), (&uses, None));
    }
}

#[test]
fn no_format_of_cloud_init_says_the_duid() {
    let found_by = |families: &str| {
        families.replace("type: ethernet", "type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01'")
    };
    let v4 = BOTH_FAMILIES.replace("ipv6: {enabled: true, dhcp: true, autoconf: true}", "ipv6: {enabled: false}");
    for convert in [network_config as Convert, netplan, network_data] {
        let duid = warned(convert, &found_by(BOTH_FAMILIES), "dhcpv6-duid-not-kept");
        assert!(duid.len() == 1 && duid[0].starts_with("interfaces[0].ipv6 "), "{duid:?}");
        assert_eq!(warned(convert, &found_by(&v4), "dhcpv6-duid-not-kept"), [""; 0]);
    }
}

#[test]
fn names_that_netplan_refuses_are_refused() {
    for name in ["eth*", "eth?", "eth[1", "eth]1", "renderer"] {
        let yaml = format!("interfaces: [{{name: '{name}', type: ethernet, ipv4: {{enabled: true, dhcp: true}}}}]");
        for convert in [network_config as Convert, netplan] {
            let found = refused(convert, &yaml);
            assert!(found.iter().any(|finding| finding.starts_with("interfaces[0].name ")), "{name}: {found:?}");
        }
    }
}

#[test]
fn netplan_has_the_costs_and_priorities_of_a_bridges_ports() {
    let yaml = "interfaces: [{name: br0, type: linux-bridge, bridge: {port: [{name: eth0, stp-path-cost: 50, stp-priority: 63}, \
                {name: eth1, stp-path-cost: 60}, {name: eth2}]}}]";
    // NetworkManager's own cost of a port is 100. netplan leaves it to the kernel.
    for (convert, costs) in [
        (network_config as Convert, json!({"eth0": 50, "eth1": 60})),
        (netplan, json!({"eth0": 50, "eth1": 60, "eth2": 100})),
    ] {
        let expected = json!({"stp": true, "path-cost": costs, "port-priority": {"eth0": 63}});
        assert_eq!(value(convert, yaml)["bridges"]["br0"]["parameters"], expected);
    }
    let found = warned(network_config, yaml, ELSEWHERE);
    let places: Vec<&str> = found.iter().filter_map(|finding| finding.split(' ').next()).collect();
    assert_eq!(places, [0, 1].map(|index| format!("interfaces[0].bridge.port[{index}].name")), "{found:?}");
    assert_eq!(warned(netplan, yaml, ELSEWHERE), [""; 0]);
    let hairpin = yaml.replace("{name: eth2}", "{name: eth2, stp-hairpin-mode: true}");
    let found = refused(network_config, &hairpin);
    assert!(found.iter().any(|finding| finding.contains("stp-hairpin-mode")), "{found:?}");
}

#[test]
fn a_refused_type_is_told_with_those_that_the_format_has() {
    let dummy = "interfaces: [{name: dummy0, type: dummy, ipv4: {enabled: true, address: [{ip: 192.0.2.9, prefix-length: 32}]}}]";
    for (convert, types) in [
        (network_config as Convert, "ethernet, bond, vlan, linux-bridge and addresses of the loopback"),
        (network_data as Convert, "ethernet, bond and vlan"),
    ] {
        let found = refused(convert, dummy);
        assert!(found.len() == 1 && found[0].ends_with(&format!("dayone writes {types}")), "{found:?}");
    }
}

/// netplan has the loopback among the NICs. cloud-init writes a profile of type ethernet for it, which never activates.
#[test]
fn addresses_of_the_loopback_are_for_netplan() {
    let nic = "{name: nic1, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01', ipv4: {enabled: true, dhcp: true}}";
    let with = |addresses: &str| {
        format!(
            "interfaces: [{{name: lo, type: loopback, mtu: 65536, ipv4: {{enabled: true, address: [{addresses}]}}}}, {nic}]"
        )
    };
    let own = "{ip: 127.0.0.1, prefix-length: 8}";
    let yaml = with(&format!("{own}, {{ip: 192.0.2.99, prefix-length: 32}}"));
    for convert in [network_config as Convert, netplan] {
        assert_eq!(value(convert, &yaml)["ethernets"]["lo"], json!({"addresses": ["192.0.2.99/32"]}));
        // As on every host.
        assert_eq!(value(convert, &with(own))["ethernets"].get("lo"), None);
        let others = with(&format!("{own}, {{ip: 127.0.0.2, prefix-length: 8}}"));
        assert_eq!(value(convert, &others)["ethernets"]["lo"], json!({"addresses": ["127.0.0.2/8"]}));
    }
    let found = warned(network_config, &yaml, ELSEWHERE);
    assert!(found.len() == 1 && found[0].starts_with("interfaces[0] has these addresses only where"), "{found:?}");
    let routers = warned(network_config, &yaml, "ipv6-not-switched-off");
    assert!(routers.len() == 1 && routers[0].starts_with("interfaces[1] "), "{routers:?}");
    assert_eq!(warned(netplan, &yaml, ELSEWHERE), [""; 0]);
    let found = refused(network_data, &yaml);
    assert!(found.iter().any(|line| line.starts_with("interfaces[0].type cannot be expressed exactly")), "{found:?}");
    assert!(network_data(&host(&with(own))).0.is_ok());
}

/// It treats 0 as no value.
#[test]
fn priorities_that_netplan_loses_are_refused() {
    let bridge = |bridge: u32, port: u32| {
        format!(
            "interfaces: [{{name: br0, type: linux-bridge, bridge: {{options: {{stp: {{priority: {bridge}}}}}, port: [{{name: eth0, \
             stp-priority: {port}}}]}}}}]"
        )
    };
    for convert in [network_config as Convert, netplan] {
        for (yaml, place) in
            [(bridge(0, 1), "bridge.options.stp.priority"), (bridge(4096, 0), "bridge.port[0].stp-priority")]
        {
            let found = refused(convert, &yaml);
            assert!(found.len() == 1 && found[0].starts_with(&format!("interfaces[0].{place} ")), "{found:?}");
        }
        let parameters = value(convert, &bridge(4096, 1))["bridges"]["br0"]["parameters"].clone();
        assert_eq!((&parameters["priority"], &parameters["port-priority"]), (&json!(4096), &json!({"eth0": 1})));
    }
}
