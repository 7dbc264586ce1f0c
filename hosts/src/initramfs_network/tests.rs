use super::*;
use crate::network::convert;
use vocabulary::host::{HostSpec, NmstateDocument};

fn topology(document: &str) -> Topology {
    let document = NmstateDocument::new(serde_yaml::from_str(document).unwrap(), DocumentPath::root());
    let (network, report) = convert(&HostSpec::with_network(document));
    network.unwrap_or_else(|| panic!("{report:?}")).topology
}

fn found(document: &str, server: &str) -> Result<InitramfsNetwork, (&'static str, String)> {
    of(&topology(document), server)
}

fn of(topology: &Topology, server: &str) -> Result<InitramfsNetwork, (&'static str, String)> {
    let mut report = Report::new();
    let result = leading_to(server.parse().unwrap(), topology, &mut report);
    assert_eq!(result.is_err(), report.has_errors());
    result.map_err(|_| (report.findings()[0].code, report.findings()[0].to_string()))
}

/// Each NIC: `MAC/NAME`.
fn nics(network: &InitramfsNetwork) -> Vec<String> {
    let text = |part: Option<String>| part.unwrap_or_default();
    let nic = |nic: &InitramfsNic| {
        format!("{}/{}", text(nic.mac.map(|mac| mac.to_string())), text(nic.name.as_ref().map(ToString::to_string)))
    };
    network.nics.iter().map(nic).collect()
}

/// Two NICs with routes, of which the first is found by its MAC address.
const TWO: &str = "
interfaces:
- {name: boot, type: ethernet, identifier: mac-address, mac-address: '52:54:00:12:34:01', mtu: 1400,
   ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}, {ip: 192.0.2.11, prefix-length: 25}]}}
- {name: eno2, type: ethernet, mac-address: '52:54:00:12:34:02',
   ipv4: {enabled: true, address: [{ip: 198.51.100.10, prefix-length: 24}]}}
- {name: eno3, type: ethernet, ipv4: {enabled: true, address: [{ip: 203.0.113.10, prefix-length: 32}]}}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: boot, metric: 200}
  - {destination: 10.0.0.0/8, next-hop-address: 192.0.2.2, next-hop-interface: boot}
  - {destination: 10.1.0.0/16, next-hop-address: 198.51.100.1, next-hop-interface: eno2}
  - {destination: 10.1.0.0/16, next-hop-address: 198.51.100.2, next-hop-interface: eno2, metric: 50}
  - {destination: 10.2.0.0/16, next-hop-interface: eno3}
  - {destination: 10.3.0.0/16, next-hop-address: 192.0.2.3, next-hop-interface: boot, table-id: 7}
";

#[test]
fn the_most_exact_route_decides() {
    for (server, nic, gateway) in [
        ("192.0.2.99", "52:54:00:12:34:01/", None),
        ("8.8.8.8", "52:54:00:12:34:01/", Some("192.0.2.1")),
        ("10.9.0.1", "52:54:00:12:34:01/", Some("192.0.2.2")),
        ("10.1.0.1", "52:54:00:12:34:02/eno2", Some("198.51.100.1")),
        ("10.2.0.1", "/eno3", None),
        // A route in another table does not count.
        ("10.3.0.1", "52:54:00:12:34:01/", Some("192.0.2.2")),
    ] {
        let network = found(TWO, server).unwrap();
        assert_eq!(nics(&network), [nic], "{server}");
        assert_eq!(network.gateway, gateway.map(|gateway| gateway.parse().unwrap()), "{server}");
        assert_eq!(network.server.to_string(), server);
    }
    let network = found(TWO, "192.0.2.99").unwrap();
    let addresses: Vec<String> = network.addresses.iter().map(ToString::to_string).collect();
    assert_eq!((addresses, network.mtu), (vec!["192.0.2.10/24".to_owned(), "192.0.2.11/25".to_owned()], Some(1400)));
}

#[test]
fn what_the_initramfs_cannot_configure_is_refused_with_the_reason() {
    let ip = "ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}";
    let eap = "802.1x: {eap-methods: [tls], identity: x, client-cert: /c, private-key: /k, private-key-password: p}";
    let nic = |more: &str| format!("interfaces: [{{name: eth0, type: ethernet, {more}}}]");
    for (document, reason) in [
        (
            format!("interfaces: [{{name: b, type: bond, link-aggregation: {{mode: 802.3ad, port: [eth0]}}, {ip}}}]"),
            "is a bond of the mode 802.3ad",
        ),
        (
            format!(
                "interfaces: [{{name: b, type: bond, link-aggregation: {{mode: 1, port: [eth0]}}, {ip}}}, \
                 {{name: eth0, type: ethernet, {eap}}}]"
            ),
            "eth0 authenticates itself by 802.1X",
        ),
        (
            format!(
                "interfaces: [{{name: v, type: vlan, vlan: {{base-iface: eth0, id: 7}}, {ip}}}, {{name: eth0, type: ethernet}}]"
            ),
            "the type vlan",
        ),
        (
            format!("interfaces: [{{name: br0, type: linux-bridge, bridge: {{port: [{{name: eth0}}]}}, {ip}}}]"),
            "the type bridge",
        ),
        (nic(&format!("{ip}, {eap}")), "802.1X"),
        (nic("ipv4: {enabled: true, dhcp: true}"), "gets its address from DHCP"),
        (nic(&format!("identifier: pci-address, pci-address: '0000:00:02.0', {ip}")), "by its PCI address"),
    ] {
        let (code, message) = found(&document, "192.0.2.99").unwrap_err();
        assert_eq!(code, "initramfs-network-unsupported", "{message}");
        assert!(message.contains(reason) && message.contains("leads to 192.0.2.99"), "{message}");
    }
}

/// One NIC alone does what the bond does, as far as others see.
#[test]
fn of_a_bond_without_the_switch_one_nic_will_do() {
    let bond = |mode: &str| {
        format!(
            "interfaces:
- {{name: bond0, type: bond, mac-address: '52:54:00:12:34:0b', link-aggregation: {{mode: {mode}, port: [eno1, b], options: {{primary: b}}}},
   ipv4: {{enabled: true, address: [{{ip: 192.0.2.10, prefix-length: 24}}]}}}}
- {{name: b, type: ethernet, identifier: mac-address, mac-address: '52:54:00:12:34:02'}}"
        )
    };
    let network = found(&bond("active-backup"), "192.0.2.99").unwrap();
    assert_eq!(nics(&network), ["52:54:00:12:34:02/", "/eno1"]);
    assert_eq!(network.mac.unwrap().to_string(), "52:54:00:12:34:0b");
    let of_alb = found(&bond("balance-alb").replace(", options: {primary: b}", ""), "192.0.2.99").unwrap();
    assert_eq!(nics(&of_alb), ["52:54:00:12:34:02/", "/eno1"]);
}

#[test]
fn a_server_that_no_static_route_leads_to_is_refused() {
    let other = "interfaces: [{name: e, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}]";
    let six = "interfaces: [{name: e, type: ethernet, ipv6: {enabled: true, address: [{ip: '2001:db8::1', prefix-length: 64}]}}]";
    let down = "interfaces: [{name: e, type: ethernet, state: down, ipv4: {enabled: true, address: [{ip: 198.51.100.1, prefix-length: 24}]}},
      {name: f, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}]";
    for (document, reason) in [
        (other, "no active interface has a network or a route that leads there"),
        (six, "no interface has a static IPv4 address"),
        (down, "no active interface"),
    ] {
        let (code, message) = found(document, "198.51.100.7").unwrap_err();
        assert_eq!(code, "root-server-unreachable", "{message}");
        assert!(message.contains("does not reach 198.51.100.7") && message.contains(reason), "{message}");
    }
}

#[test]
fn a_server_that_nothing_leads_to_is_reported() {
    let address = |rest: &str| {
        format!(
            "interfaces: [{{name: e, type: ethernet, ipv4: {{enabled: true, address: [{{ip: 192.0.2.10, prefix-length: 24}}]}}}}]\n{rest}"
        )
    };
    let route =
        "routes: {config: [{destination: 198.51.100.0/24, next-hop-address: 192.0.2.1, next-hop-interface: e}]}";
    let dhcp = "interfaces: [{name: e, type: ethernet, ipv4: {enabled: true, dhcp: true}}]";
    for (document, server, reaches) in [
        (address("").as_str(), "192.0.2.99", true),
        (&address(""), "198.51.100.7", false),
        (&address(route), "198.51.100.7", true),
        (&address(route), "203.0.113.7", false),
        (&address(route), "2001:db8::1", false),
        (dhcp, "198.51.100.7", true),
        (dhcp, "2001:db8::1", false),
    ] {
        let mut report = Report::new();
        check_reachable(server.parse().unwrap(), &topology(document), &mut report);
        let codes: Vec<_> = report.findings().iter().map(|finding| finding.code).collect();
        let expected: &[&str] = if reaches { &[] } else { &["root-server-unreachable"] };
        assert_eq!(codes, expected, "{document} {server}");
        assert!(!report.has_errors());
    }
}

#[test]
fn users_keyfiles_are_read_alike() {
    let keyfile = |extra: &str| {
        format!(
            "[connection]\nid=a\ntype=ethernet\n{extra}\n[ipv4]\nmethod=manual\naddress1=192.0.2.10/24,192.0.2.1\n[ipv6]\nmethod=disabled\n"
        )
    };
    let of = |extra: &str| {
        let content = keyfile(extra);
        let topology = Topology::from_profiles([(DocumentPath::document("a"), content.as_str())], None);
        of(&topology, "198.51.100.7")
    };
    let network = of("[ethernet]\nmac-address=52:54:00:12:34:01").unwrap();
    assert_eq!(network.gateway, Some(Ipv4Addr::new(192, 0, 2, 1)));
    assert_eq!(nics(&network), ["52:54:00:12:34:01/"]);
    assert_eq!(nics(&of("interface-name=eno1").unwrap()), ["/eno1"]);
    for (extra, reason) in [
        ("", "names no NIC"),
        ("interface-name=e'1", "has an unusual name"),
        ("interface-name=eno1\n[802-1x]\neap=tls;\nidentity=x", "802.1X"),
    ] {
        assert!(of(extra).unwrap_err().1.contains(reason), "{extra}");
    }
}
