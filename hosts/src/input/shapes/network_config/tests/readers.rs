//! Documents against what netplan and cloud-init make of them.

use super::*;

/// netplan reads the text of a scalar, whatever its quotes and its case (`handle_generic_bool` in `src/parse.c`).
#[test]
fn booleans_may_be_in_quotes() {
    let dhcp = |value: &str| {
        let yaml = format!(
            "{{version: 2, ethernets: {{a: {{dhcp4: {value}, optional: 'FALSE'}}, c: {{}}}}, bridges: {{b: {{interfaces: [c], \
             parameters: {{stp: {value}}}}}}}}}"
        );
        let found = nmstate(&yaml);
        assert!(translated(&yaml).1.is_empty(), "{yaml}");
        let bridge = found["interfaces"].as_array().unwrap().iter().find(|interface| interface["name"] == "b").unwrap();
        (
            found["interfaces"][0].get("ipv4").map(|ip| ip["dhcp"] == true),
            bridge["bridge"]["options"]["stp"]["enabled"].clone(),
        )
    };
    for value in ["'true'", "'True'", "\"TRUE\"", "tRUE", "'yes'"] {
        assert_eq!(dhcp(value), (Some(true), json!(true)), "{value}");
    }
    for value in ["'false'", "'False'", "\"FALSE\"", "'no'"] {
        assert_eq!(dhcp(value), (None, json!(false)), "{value}");
    }
    let found = findings("{version: 2, ethernets: {a: {dhcp4: 'truth'}}}");
    assert!(found[0].contains("true or false belongs here"), "{found:?}");
    // cloud-init refuses this.
    let bridge = "{version: 1, config: [{type: physical, name: a}, {type: bridge, name: b, bridge_interfaces: [a], params: \
                  {bridge_stp: 'true'}}]}";
    assert!(findings(bridge).iter().any(|line| line.starts_with("config[1].params.bridge_stp ")));
}

/// systemd-networkd's default is `duid`, dayone's is `mac` as NMState's.
#[test]
fn client_ids_of_dhcp_are_kept() {
    let with = |rest: &str| format!("{{version: 2, ethernets: {{a: {{dhcp4: true{rest}}}}}}}");
    for (rest, expected, profile) in [
        ("", json!(null), "dhcp-client-id=mac"),
        (", dhcp-identifier: mac", json!("ll"), "dhcp-client-id=mac"),
        (", dhcp-identifier: duid", json!("iaid+duid"), "dhcp-client-id=duid"),
    ] {
        let yaml = with(rest);
        assert_eq!(nmstate(&yaml)["interfaces"][0]["ipv4"]["dhcp-client-id"], expected, "{rest}");
        let (network, report) = convert(&HostSpec::with_network(translated(&yaml).0.unwrap()));
        let network = network.unwrap_or_else(|| panic!("{:?}", report.findings()));
        assert!(network.keyfiles[0].content.lines().any(|line| line == profile), "{rest}");
    }
}

/// cloud-init takes `prefix` before `netmask` (`_normalize_net_keys` in `net/network_state.py`).
#[test]
fn masks_of_version_1_may_be_prefixes() {
    let with = |subnet: &str, rest: &str| {
        format!("{{version: 1, config: [{{type: physical, name: a, subnets: [{{type: static, {subnet}}}]}}{rest}]}}")
    };
    let yaml = with(
        "address: 192.0.2.5, prefix: 24, routes: [{network: 10.0.0.0, prefix: 8, gateway: 192.0.2.1}]",
        ", {type: route, destination: 172.16.0.0, prefix: 12, gateway: 192.0.2.1}",
    );
    assert_eq!(findings(&yaml), [""; 0]);
    let found = nmstate(&yaml);
    assert_eq!(found["interfaces"][0]["ipv4"]["address"], json!([{"ip": "192.0.2.5", "prefix-length": 24}]));
    let destinations = [0_usize, 1].map(|index| found["routes"]["config"][index]["destination"].clone());
    assert_eq!(destinations, ["10.0.0.0/8", "172.16.0.0/12"]);
    assert_eq!(findings(&with("address: 192.0.2.5/24, prefix: 24, netmask: 255.255.255.0", "")), [""; 0]);
    for (subnet, finding) in [
        ("address: 192.0.2.5", "netmask is missing"),
        ("address: 192.0.2.5, prefix: 33", "prefix is not a whole number from 0 to 32"),
        ("address: 192.0.2.5, prefix: 255.255.255.0", "prefix is not a whole number from 0 to 32"),
        ("address: 192.0.2.5/24, prefix: 16", "prefix stands for a prefix of 16 bits, and address says 24"),
        (
            "address: 192.0.2.5, prefix: 16, netmask: 255.255.255.0",
            "netmask stands for a prefix of 24 bits, and prefix says 16",
        ),
    ] {
        let found = findings(&with(subnet, ""));
        assert!(
            found.iter().any(|line| line.starts_with(&format!("config[0].subnets[0].{finding}"))),
            "{subnet}: {found:#?}"
        );
    }
}

/// systemd-networkd accepts router advertisements if the document says nothing, `NetworkManager` with netplan's profile does not.
#[test]
fn a_default_route_from_routers_is_not_lost_without_a_word() {
    let with = |top: &str, rest: &str| {
        format!("{{version: 2{top}, ethernets: {{a: {{addresses: [192.0.2.5/24, '2001:db8::5/64']{rest}}}}}}}")
    };
    let warned = |yaml: &str| {
        let (_, report) = translated(yaml);
        report
            .findings()
            .iter()
            .filter(|finding| finding.code == "accept-ra-unset")
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    for rest in [
        "",
        ", dhcp6: false",
        ", gateway4: 192.0.2.1",
        ", routes: [{to: default, via: 192.0.2.1}]",
        ", routes: [{to: '::/0', via: '2001:db8::1', table: 100}]",
        ", link-local: [ipv6]",
    ] {
        let found = warned(&with("", rest));
        let place = "ethernets.a.addresses[1] has no default route of IPv6 beside it";
        assert!(found.len() == 1 && found[0].starts_with(place), "{rest}: {found:?}");
    }
    for rest in [
        ", accept-ra: false",
        ", accept-ra: true",
        ", dhcp6: true",
        ", gateway6: '2001:db8::1'",
        ", routes: [{to: default, via: '2001:db8::1'}]",
        ", routes: [{to: '::/0', via: '2001:db8::1', table: 254}]",
        ", link-local: []",
        ", renderer: NetworkManager",
    ] {
        assert_eq!(warned(&with("", rest)), [""; 0], "{rest}");
    }
    assert_eq!(warned(&with(", renderer: NetworkManager", "")), [""; 0]);
    assert_eq!(warned("{version: 2, ethernets: {a: {addresses: [192.0.2.5/24, 'fe80::5/64']}}}"), [""; 0]);
    let port = "{version: 2, ethernets: {a: {addresses: ['2001:db8::5/64']}}, bonds: {b: {interfaces: [a]}}}";
    assert_eq!(warned(port), [""; 0]);
}

/// netplan's documentation gives addresses to `lo` so. netplan 0.106 writes a profile of type ethernet for it, which never activates.
#[test]
fn lo_among_the_ethernets_is_the_loopback() {
    let nic = "eth0: {dhcp4: true}";
    let own = "addresses: [127.0.0.1/8, '::1/128'";
    let with = |lo: &str| format!("{{version: 2, ethernets: {{{lo}, {nic}}}}}");
    for lo in [
        format!("lo: {{{own}, 192.0.2.99/32]}}"),
        format!("own: {{match: {{name: lo}}, {own}, 192.0.2.99/32]}}"),
        "lo: {addresses: [192.0.2.99/32]}".to_owned(),
    ] {
        let yaml = with(&lo);
        assert_eq!(findings(&yaml), [""; 0], "{yaml}");
        let (network, _) = convert(&HostSpec::with_network(translated(&yaml).0.unwrap()));
        let network = network.unwrap();
        let keyfile = network.keyfiles.iter().find(|keyfile| keyfile.content.contains("interface-name=lo")).unwrap();
        assert!(keyfile.content.contains("type=loopback"), "{}", keyfile.content);
        assert!(keyfile.content.contains("=192.0.2.99/32"), "{}", keyfile.content);
    }
    for lo in ["lo: {}", "lo: {addresses: [127.0.0.1/8], nameservers: {addresses: [192.0.2.53]}}"] {
        assert_eq!(findings(&with(lo)), [""; 0], "{lo}");
    }
    let found = findings(&with("lo: {mtu: 65536, addresses: [192.0.2.99/32]}"));
    assert!(found.len() == 1 && found[0].starts_with("ethernets.lo.mtu is missing from the keyfiles"), "{found:?}");
    let found = findings(&with("lo: {dhcp4: true}"));
    assert!(found.len() == 1 && found[0].contains("Loopback interface cannot have IPv4 DHCP"), "{found:?}");
    let version_1 = "{version: 1, config: [{type: physical, name: eth0, subnets: [{type: dhcp}]}, {type: physical, name: lo, subnets: \
                     [{type: static, address: 192.0.2.99/32}]}]}";
    let found = findings(version_1);
    assert!(found.len() == 1 && found[0].starts_with("config[1] is ethernet, and lo is the loopback"), "{found:?}");
}
