use super::*;
use crate::input;
use crate::network::convert;

fn found(server: Option<[u8; 4]>, nmstate: &str) -> Result<FirmwareNetwork, String> {
    let input = input::read(nmstate.as_bytes());
    let (network, report) = convert(&input.hosts[0]);
    let network = network.unwrap_or_else(|| panic!("{report:?}"));
    leading_to(server.map(Ipv4Addr::from), &network.topology)
}

fn nic(name: &str, mac: &str, rest: &str) -> String {
    format!("- name: {name}\n  type: ethernet\n  state: up\n  identifier: mac-address\n  mac-address: {mac}\n{rest}")
}

fn ipv4(address: &str) -> String {
    format!("  ipv4: {{enabled: true, address: [{{ip: {address}, prefix-length: 24}}]}}\n")
}

fn default_route(interface: &str) -> String {
    let route = format!("{{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: {interface}}}");
    format!("routes: {{config: [{route}]}}\ndns-resolver: {{config: {{server: [192.0.2.53]}}}}\n")
}

#[test]
fn the_nic_that_leads_to_the_server_is_found() {
    let document = format!(
        "interfaces:\n{}{}{}",
        nic("eth0", "52:54:00:00:00:01", &ipv4("192.0.2.20")),
        nic("eth1", "52:54:00:00:00:02", &ipv4("198.51.100.20")),
        default_route("eth0")
    );
    let near = found(Some([198, 51, 100, 1]), &document).unwrap();
    assert_eq!((near.address.to_string(), near.gateway, near.vlan), ("198.51.100.20/24".to_owned(), None, None));
    assert_eq!((near.macs, near.dns), (vec!["52:54:00:00:00:02".parse().unwrap()], Vec::new()));
    let far = found(Some([203, 0, 113, 1]), &document).unwrap();
    assert_eq!((far.gateway, far.dns.len()), (Some([192, 0, 2, 1].into()), 0));
    // A server with a name needs a name server.
    let named = found(None, &document).unwrap();
    assert_eq!((named.gateway, named.dns), (Some([192, 0, 2, 1].into()), vec![[192, 0, 2, 53].into()]));
}

/// Firmware has no route to a router outside the network of its address.
#[test]
fn the_address_is_the_one_beside_the_router() {
    let addresses = |second: &str| {
        let list = format!("[{{ip: 10.0.0.5, prefix-length: 24}}, {{ip: {second}, prefix-length: 24}}]");
        let nic = nic("eth0", "52:54:00:00:00:01", &format!("  ipv4: {{enabled: true, address: {list}}}\n"));
        let on_link = "[{destination: 192.0.2.1/32, next-hop-interface: eth0}, ";
        format!("interfaces:\n{nic}{}", default_route("eth0").replacen('[', on_link, 1))
    };
    for server in [None, Some([203, 0, 113, 1])] {
        let beside = found(server, &addresses("192.0.2.20")).unwrap();
        assert_eq!((beside.address.to_string(), beside.caution), ("192.0.2.20/24".to_owned(), None));
        let outside = found(server, &addresses("10.0.1.5")).unwrap();
        assert_eq!(
            (outside.address.to_string(), outside.gateway),
            ("10.0.0.5/24".to_owned(), Some([192, 0, 2, 1].into()))
        );
        assert!(outside.caution.unwrap().starts_with("192.0.2.1 is in no network of the addresses of eth0"));
    }
    // The server itself, if a route says that it is on the link.
    let on_link = addresses("10.0.1.5").replace("0.0.0.0/0, next-hop-address: 192.0.2.1", "203.0.113.0/24");
    let on_link = on_link.replace("192.0.2.53", "203.0.113.53");
    let on_link = found(Some([203, 0, 113, 1]), &on_link).unwrap();
    assert!(on_link.gateway.is_none() && on_link.caution.unwrap().starts_with("203.0.113.1 is in no network"));
}

#[test]
fn a_vlan_on_a_bond_in_a_bridge_is_one_nic_with_a_tag() {
    let document = format!(
        "interfaces:\n{}{}- name: bond0\n  type: bond\n  state: up\n  link-aggregation: {{mode: 802.3ad, port: [eth0, eth1]}}\n\
         - name: bond0.7\n  type: vlan\n  state: up\n  vlan: {{base-iface: bond0, id: 7}}\n\
         - name: br0\n  type: linux-bridge\n  state: up\n  bridge: {{port: [{{name: bond0.7}}]}}\n{}{}",
        nic("eth0", "52:54:00:00:00:01", ""),
        nic("eth1", "52:54:00:00:00:02", ""),
        ipv4("192.0.2.20"),
        default_route("br0")
    );
    let found = found(None, &document).unwrap();
    assert_eq!((found.vlan, found.macs.len()), (Some(7), 2));
    assert!(found.caution.unwrap().contains("LACP"));
}

#[test]
fn what_a_firmware_cannot_have_is_an_error() {
    let dhcp = "  ipv4: {enabled: true, dhcp: true}\n";
    let cases = [
        (format!("interfaces:\n{}", nic("eth0", "52:54:00:00:00:01", dhcp)), "eth0 has no static IPv4 address"),
        (
            format!("interfaces:\n{}", nic("eth0", "52:54:00:00:00:01", &ipv4("192.0.2.20"))),
            "leads to the default router",
        ),
        (
            format!(
                "interfaces:\n- name: dummy0\n  type: dummy\n  state: up\n{}{}",
                ipv4("192.0.2.20"),
                default_route("dummy0")
            ),
            "of the type",
        ),
    ];
    for (document, expected) in cases {
        let error = found(None, &document).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
