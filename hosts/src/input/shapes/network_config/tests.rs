mod readers;

use serde_json::json;

use super::*;
use crate::network::convert;
use vocabulary::host::HostSpec;

fn translated(yaml: &str) -> (Option<NmstateDocument>, Report) {
    let document: Mapping = serde_yaml::from_str(yaml).unwrap();
    let mut report = Report::new();
    let translated = translate(&document, &DocumentPath::root(), &mut report);
    (translated.ok(), report)
}

/// What is found by the translation, or else by the conversion to keyfiles.
fn findings(yaml: &str) -> Vec<String> {
    let (document, mut report) = translated(yaml);
    if let Some(document) = document {
        report.append(convert(&HostSpec::with_network(document)).1);
    }
    report.findings().iter().map(|finding| format!("{} [{}]", finding, finding.code)).collect()
}

fn nmstate(yaml: &str) -> serde_json::Value {
    let (document, report) = translated(yaml);
    let document = document.unwrap_or_else(|| panic!("{:#?}", report.findings()));
    serde_json::to_value(document.value).unwrap()
}

#[test]
fn no_setting_of_ipv6_is_lost_without_its_addresses() {
    let with = |rest: &str| format!("network: {{version: 2, ethernets: {{eth0: {{{rest}}}}}}}");
    for rest in ["dhcp4: true", "addresses: [192.0.2.5/24]", "dhcp6: true", "addresses: ['2001:db8::5/64']"] {
        let yaml = with(&format!("{rest}, ipv6-address-generation: stable-privacy"));
        assert_eq!(nmstate(&yaml)["interfaces"][0]["ipv6"]["addr-gen-mode"], "stable-privacy", "{rest}");
        let found = findings(&with(&format!("{rest}, ipv6-address-token: '::5'")));
        let is_refused = found.iter().any(|line| line.starts_with("network.ethernets.eth0.ipv6-address-token"));
        assert_eq!(is_refused, rest != "dhcp6: true", "{found:?}");
    }
}

/// netplan calls them mutually exclusive, and writes `eui64` with a token by itself.
#[test]
fn a_token_beside_a_generation_of_addresses_is_refused() {
    let with = |rest: &str| {
        format!("network: {{version: 2, ethernets: {{eth0: {{dhcp6: true, ipv6-address-token: '::5'{rest}}}}}}}")
    };
    for mode in ["eui64", "stable-privacy"] {
        let found = findings(&with(&format!(", ipv6-address-generation: {mode}")));
        let place = "network.ethernets.eth0.ipv6-address-generation stands beside ipv6-address-token";
        let is_expected = |line: &String| line.starts_with(place) && line.ends_with("[network-config-invalid]");
        assert!(found.len() == 1 && found.iter().all(is_expected), "{mode}: {found:?}");
    }
    assert_eq!(findings(&with("")), [""; 0]);
}

/// cloud-init and netplan read YAML 1.1, in which these are booleans.
#[test]
fn booleans_may_be_written_as_in_yaml_1_1() {
    let bond = |value: &str| {
        nmstate(&format!(
            "network: {{version: 2, ethernets: {{a: {{optional: no, wakeonlan: off, ipv6-privacy: No}}}}, bonds: {{b: {{interfaces: [a], \
             dhcp4: yes, parameters: {{mode: active-backup, all-slaves-active: {value}}}}}}}}}"
        ))
    };
    for (value, expected) in [("yes", "delivered"), ("true", "delivered"), ("Off", "dropped"), ("dropped", "dropped")] {
        let found = bond(value);
        let bond = found["interfaces"].as_array().unwrap().iter().find(|interface| interface["name"] == "b").unwrap();
        assert_eq!(bond["link-aggregation"]["options"]["all_slaves_active"], expected, "{value}");
        assert_eq!(bond["ipv4"]["dhcp"], true);
    }
    let yaml = "network: {version: 2, ethernets: {a: {dhcp4: yes, optional: no, wakeonlan: off, ipv6-privacy: No}}}";
    let (_, report) = translated(yaml);
    assert!(report.is_empty(), "{:?}", report.findings());
}

#[test]
fn what_dayone_does_not_know_may_be_known_to_others() {
    let with = |rest: &str| findings(&format!("network: {{version: 2, ethernets: {{a: {{dhcp6: true, {rest}}}}}}}"));
    let found = with("ra-overrides: {use-dns: false}");
    assert!(found[0].contains("cannot be kept: only newer releases of netplan have it"), "{found:?}");
    let found = with("brand-new: 1");
    assert!(found[0].contains("dayone knows no setting brand-new of cloud-init or netplan"), "{found:?}");
}

#[test]
fn a_lost_route_names_the_other_one_in_the_users_document() {
    let found = findings(
        "network: {version: 2, ethernets: {a: {addresses: [192.0.2.5/24], gateway4: 192.0.2.1, routes: [{to: default, via: \
         192.0.2.1, metric: 100}]}}}",
    );
    let lost = found.iter().find(|line| line.contains("[route-lost]")).unwrap();
    assert!(lost.contains(" differs from network.ethernets.a.gateway4 only in its metric"), "{lost}");
}

#[test]
fn a_name_beside_a_mac_address_is_a_warning() {
    let yaml =
        "network: {version: 2, ethernets: {a: {match: {macaddress: '52:54:00:00:00:01', name: 'enp*'}, dhcp4: true}}}";
    let found = findings(yaml);
    assert!(found.iter().any(|line| line.starts_with("network.ethernets.a.match.name is not compared")), "{found:?}");
}

#[test]
fn findings_about_the_nmstate_name_the_place_in_the_document() {
    let with = |rest: &str| format!("network: {{version: 2, ethernets: {{eth0: {{{rest}}}}}}}");
    for (rest, place) in [
        ("addresses: [192.0.2.0/24]", "network.ethernets.eth0.addresses[0]"),
        ("mtu: 20", "network.ethernets.eth0.mtu"),
        (
            "addresses: [192.0.2.5/24], routes: [{to: default, via: 198.51.100.1}]",
            "network.ethernets.eth0.routes[0].via",
        ),
        (
            "addresses: [192.0.2.5/24], nameservers: {addresses: [198.51.100.53]}",
            "network.ethernets.eth0.nameservers.addresses[0]",
        ),
        ("addresses: [192.0.2.5/24], macaddress: '01:00:5e:00:00:01'", "network.ethernets.eth0 sets"),
    ] {
        let found = findings(&with(rest));
        assert!(found.iter().any(|finding| finding.starts_with(place)), "{rest}: {found:#?}");
    }
    let bond = "{version: 1, config: [{type: physical, name: eth0}, {type: bond, name: bond0, bond_interfaces: [eth0], params: \
                {bond-mode: 802.3ad, bond_lacp_rate: often}, subnets: [{type: static, address: 192.0.2.5/24}]}]}";
    let found = findings(bond);
    assert!(found.iter().any(|finding| finding.starts_with("config[1].params.bond_lacp_rate")), "{found:#?}");
}

/// netplan gives interfaces link-local addresses of IPv6, unless the document says otherwise. STP is on in netplan as in
/// `NetworkManager`.
#[test]
fn the_defaults_are_netplans() {
    let found =
        nmstate("{version: 2, ethernets: {a: {}, b: {link-local: []}, c: {}}, bridges: {d: {interfaces: [c]}}}");
    let off = json!({"enabled": true, "dhcp": false, "autoconf": false});
    let v6 = |index: usize| found["interfaces"][index].get("ipv6");
    assert_eq!((v6(0), v6(1), v6(2), v6(3)), (Some(&off), None, None, Some(&off)));
    assert_eq!(found["interfaces"][3]["bridge"], json!({"port": [{"name": "c"}]}));
    let yaml = "{version: 2, ethernets: {c: {}}, bridges: {d: {interfaces: [c]}}}";
    let (network, _) = convert(&HostSpec::with_network(translated(yaml).0.unwrap()));
    let bridge = network.unwrap().topology.interfaces.into_iter().find_map(|interface| match interface.kind {
        crate::model::Kind::LinuxBridge(bridge) => Some(bridge.stp),
        _ => None,
    });
    assert_eq!(bridge, Some(true));
    let bond = nmstate("{version: 2, bonds: {b: {interfaces: [x]}}, ethernets: {x: {}}}");
    assert_eq!(bond["interfaces"][1]["link-aggregation"], json!({"mode": "balance-rr", "port": ["x"]}));
}

#[test]
fn nics_found_by_their_addresses_have_the_names_by_which_the_document_refers_to_them() {
    let nic = |rest: &str| format!("{{match: {{macaddress: '52:54:00:00:00:0{rest}'}}}}");
    let yaml = format!(
        "{{version: 2, ethernets: {{'my first NIC': {}, a-name-that-is-too-long: {}, lan: {}}}, bonds: {{bond0: {{interfaces: \
         [a-name-that-is-too-long, 'my first NIC']}}}}}}",
        nic("1"),
        nic("2"),
        nic("3")
    );
    let found = nmstate(&yaml);
    let names: Vec<_> = (0..4).map(|index| found["interfaces"][index]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["nic0", "nic1", "lan", "bond0"]);
    assert_eq!(found["interfaces"][3]["link-aggregation"]["port"], json!(["nic1", "nic0"]));
}

#[test]
fn times_have_netplans_units_and_modes_may_be_numbers() {
    let bridge = |parameters: &str| {
        let yaml = format!("{{version: 2, bridges: {{br0: {{parameters: {{{parameters}}}}}}}}}");
        nmstate(&yaml)["interfaces"][0]["bridge"]["options"].clone()
    };
    assert_eq!(bridge("forward-delay: 4")["stp"]["forward-delay"], 4);
    assert_eq!(bridge("forward-delay: 4000ms")["stp"]["forward-delay"], 4);
    assert_eq!(bridge("ageing-time: 5s")["mac-ageing-time"], 5);
    assert_eq!(bridge("aging-time: 5")["mac-ageing-time"], 5);
    let bond = |parameters: &str| {
        let yaml = format!(
            "{{version: 2, bonds: {{b: {{interfaces: [x], parameters: {{{parameters}}}}}}}, ethernets: {{x: {{}}}}}}"
        );
        nmstate(&yaml)["interfaces"][1]["link-aggregation"]["options"].clone()
    };
    assert_eq!(bond("mii-monitor-interval: 1s"), json!({"miimon": 1000}));
    let by_number = "{version: 1, config: [{type: physical, name: x}, {type: bond, name: b, bond_interfaces: [x], params: \
                     {bond-mode: 4}}]}";
    assert_eq!(nmstate(by_number)["interfaces"][1]["link-aggregation"]["mode"], "802.3ad");
    assert_eq!(bond("learn-packet-interval: 2000ms"), json!({"lp_interval": 2}));
}

#[test]
fn nothing_is_left_out_without_a_word() {
    let setting = |rest: &str| format!("{{version: 2, ethernets: {{eth0: {{addresses: [192.0.2.5/24], {rest}}}}}}}");
    for (rest, code) in [
        ("optional: true", "network-config-ignored"),
        ("critical: true", "network-config-ignored"),
        ("dhcp4-overrides: {use-dns: false}", "network-config-ignored"),
        ("dhcp4: true, dhcp4-overrides: {use-ntp: false}", "network-config-ignored"),
        ("dhcp4: true, dhcp4-overrides: {use-dsn: false}", "network-config-unknown"),
        ("link-local: [], dhcp6: true", "network-config-ignored"),
        ("link-local: [ip6]", "network-config-invalid"),
        ("gateway4: ''", "gateway4 is empty"),
        ("routes: [{to: 198.51.100.0/24, via: ''}]", "routes[0].via is empty"),
        ("macaddress: ''", "macaddress is empty"),
        ("nameservers: {search: ''}", "nameservers.search is empty"),
        ("ipv6-mtu: 1280", "network-config-unsupported"),
        ("networkmanager: {passthrough: {x.y: z}}", "network-config-unsupported"),
        ("nameservers: {address: [192.0.2.53]}", "network-config-unknown"),
        ("dhcp-identifier: something", "network-config-unsupported"),
    ] {
        let found = findings(&setting(rest));
        assert!(found.iter().any(|finding| finding.contains(code)), "{rest}: {found:#?}");
    }
    let known =
        ["optional: false", "openvswitch: {}", "ipv6-privacy: false", "dhcp-identifier: duid", "link-local: [IPv6]"];
    for rest in known {
        assert_eq!(findings(&setting(rest)), [""; 0], "{rest}");
    }
    let cost = "{version: 2, ethernets: {a: {}}, bridges: {b: {interfaces: [a], dhcp4: true, parameters: {path-cost: {0: 5}}}}}";
    assert!(findings(cost)[0].starts_with("bridges.b.parameters.path-cost is a number"), "{:?}", findings(cost));
    let bond = |rest: &str| {
        format!(
            "{{version: 2, ethernets: {{a: {{}}}}, bonds: {{b: {{interfaces: [a], dhcp4: true, parameters: {{mode: active-backup, {rest}}}}}}}}}"
        )
    };
    for (rest, place) in [
        ("arp-interval: 100, arp-ip-targets: [192.0.2.1, 7]", "bonds.b.parameters.arp-ip-targets[1]"),
        ("arp-interval: 100, arp-ip-targets: {x: 192.0.2.1}", "bonds.b.parameters.arp-ip-targets"),
        ("mii-monitor-interval: 100, primary: [a]", "bonds.b.parameters.primary"),
    ] {
        let found = findings(&bond(rest));
        assert!(
            found.len() == 1 && found[0].starts_with(place) && found[0].contains("[wrong-type]"),
            "{rest}: {found:#?}"
        );
    }
}

/// cloud-init splits a single text at its blanks.
#[test]
fn a_text_of_several_name_servers_or_domains_is_a_list_of_them() {
    let servers = "'192.0.2.53 192.0.2.54'";
    let domains = "'a.example b.example'";
    let nic = |rest: &str| {
        format!("{{type: physical, name: eth0, subnets: [{{type: static, address: 192.0.2.5/24{rest}}}]}}")
    };
    for config in [
        nic(&format!(", dns_nameservers: {servers}, dns_search: {domains}")),
        nic("") + &format!(", {{type: nameserver, address: {servers}, search: {domains}}}"),
        nic("")
            + &format!(
                ", {{type: loopback, name: lo, subnets: [{{type: loopback, dns_nameservers: {servers}, dns_search: {domains}}}]}}"
            ),
    ] {
        let found = nmstate(&format!("{{version: 1, config: [{config}]}}"));
        let expected = json!({"server": ["192.0.2.53", "192.0.2.54"], "search": ["a.example", "b.example"]});
        assert_eq!(found["dns-resolver"]["config"], expected, "{config}");
    }
}

/// The kernel and netplan accept 0, NMState does not.
#[test]
fn timers_of_stp_do_not_count_where_it_is_off() {
    let netplan = |parameters: &str| {
        format!(
            "{{version: 2, ethernets: {{c: {{}}}}, bridges: {{d: {{interfaces: [c], dhcp4: true, parameters: {{{parameters}}}}}}}}}"
        )
    };
    let cloud_init = |parameters: &str| {
        format!(
            "{{version: 1, config: [{{type: physical, name: c}}, {{type: bridge, name: d, bridge_interfaces: [c], subnets: [{{type: dhcp}}], \
             params: {{{parameters}}}}}]}}"
        )
    };
    for (yaml, place, switch) in [
        (netplan("stp: false, forward-delay: 0"), "bridges.d.parameters.forward-delay", "stp"),
        (cloud_init("bridge_stp: 'off', bridge_fd: 1"), "config[1].params.bridge_fd", "bridge_stp"),
        (cloud_init("bridge_stp: 'off', bridge_maxage: 0"), "config[1].params.bridge_maxage", "bridge_stp"),
    ] {
        let expected = format!("{place} is not used: {switch} is off [network-config-ignored]");
        assert_eq!(findings(&yaml), [expected], "{yaml}");
    }
    assert_eq!(findings(&netplan("stp: false, forward-delay: 4")), [""; 0]);
    let refused = findings(&netplan("stp: true, forward-delay: 0"));
    assert!(refused.iter().any(|line| line.starts_with("bridges.d.parameters.forward-delay ")), "{refused:?}");
}

/// cloud-init takes `bridge_ports` in place of `bridge_interfaces` (`handle_bridge` in `net/network_state.py`).
#[test]
fn the_parameters_of_a_bridge_may_list_its_ports() {
    let with = |interfaces: &str, params: &str| {
        format!(
            "{{version: 1, config: [{{type: physical, name: a}}, {{type: physical, name: c}}, {{type: bridge, name: d{interfaces}, \
             params: {{{params}}}, subnets: [{{type: dhcp}}]}}]}}"
        )
    };
    for (interfaces, params, expected) in [
        (", bridge_interfaces: [a]", "bridge_ports: [a]", json!([{"name": "a"}])),
        (", bridge_interfaces: []", "bridge_ports: [a, c]", json!([{"name": "a"}, {"name": "c"}])),
        (", bridge_interfaces: []", "bridge_ports: a c", json!([{"name": "a"}, {"name": "c"}])),
        (", bridge_interfaces: [c]", "bridge_ports: null", json!([{"name": "c"}])),
        (
            ", bridge_interfaces: [a]",
            "bridge_ports: [a], bridge_stp: '1', bridge_pathcost: [a 50]",
            json!([{"name": "a", "stp-path-cost": 50}]),
        ),
    ] {
        let yaml = with(interfaces, params);
        assert_eq!(findings(&yaml), [""; 0], "{yaml}");
        assert_eq!(nmstate(&yaml)["interfaces"][2]["bridge"]["port"], expected, "{yaml}");
    }
    let none = nmstate(&with(", bridge_interfaces: []", "bridge_ports: none"));
    assert_eq!(none["interfaces"][2]["bridge"]["port"], serde_json::Value::Null);
    let ignored = "config[2].bridge_interfaces is not used: cloud-init takes the ports from bridge_ports in params \
                   [network-config-ignored]";
    assert_eq!(findings(&with(", bridge_interfaces: [a]", "bridge_ports: [c]")), [ignored]);
    for (interfaces, params, place, code) in [
        (", bridge_interfaces: []", "bridge_ports: [e]", "config[2].params.bridge_ports[0] is e", "link-not-found"),
        ("", "bridge_ports: [a]", "config[2].bridge_interfaces is missing", "member-missing"),
        (
            ", bridge_interfaces: [], bridge_ports: [a]",
            "",
            "config[2].bridge_ports cannot be kept: cloud-init reads it only in params",
            "network-config-unsupported",
        ),
    ] {
        let found = findings(&with(interfaces, params));
        assert!(found.iter().any(|line| line.starts_with(place) && line.contains(code)), "{params}: {found:#?}");
    }
}

#[test]
fn a_gateway_may_be_on_the_link() {
    let with = |rest: &str| {
        format!(
            "{{version: 2, ethernets: {{eth0: {{addresses: [203.0.113.5/32], routes: [{{to: default, via: 172.31.1.1{rest}}}]}}}}}}"
        )
    };
    assert_eq!(findings(&with(", on-link: true")), findings(&with("")));
    assert_eq!(nmstate(&with(", on-link: true"))["routes"], nmstate(&with(""))["routes"]);
    // A gateway outside of the interface's network is an error, unless the document says that it is on the link.
    let outside = |rest: &str| with(rest).replace("/32", "/26");
    assert!(findings(&outside("")).iter().any(|line| line.contains("[gateway-off-link]")));
    assert_eq!(findings(&outside(", on-link: true")), [""; 0]);
    let routes = &nmstate(&outside(", on-link: true"))["routes"]["config"];
    assert_eq!(routes[1]["destination"], "172.31.1.1/32");
    assert_eq!(routes[2], serde_json::Value::Null);
    let inside = outside(", on-link: true").replace("172.31.1.1", "203.0.113.1");
    assert_eq!(nmstate(&inside)["routes"]["config"][1], serde_json::Value::Null);
    let wrong = findings(&with(", on-link: perhaps"));
    assert!(wrong.iter().any(|line| line.contains("routes[0].on-link")), "{wrong:?}");
}

/// MAAS writes it so for curtin.
#[test]
fn the_network_that_maas_writes_is_read() {
    let yaml = "network: {version: 1, config: [{id: eth0, type: physical, name: eth0, mac_address: '52:54:00:00:00:01', mtu: 9000, \
                subnets: [{type: static, address: 192.0.2.5/24}]}, {id: eth1, type: physical, name: eth1}, {id: bond0, type: bond, \
                name: bond0, bond_interfaces: [eth1]}, {id: 1, type: route, destination: 198.51.100.0/24, gateway: 192.0.2.1}]}\n\
                network_commands: {builtin: [curtin, net-meta, custom]}\n";
    let (document, report) = translated(yaml);
    assert!(document.is_some(), "{:?}", report.findings());
    let found: Vec<String> =
        report.findings().iter().map(|finding| format!("{} {}", finding.path, finding.code)).collect();
    assert_eq!(found, ["network_commands network-config-ignored"]);
}
