//! Gateways that dayone refuses or warns of, given to NetworkManager all the same: what the explanations of
//! `gateway-is-host` and `gateway-off-link` say happens, happens.

use std::collections::BTreeMap;

use acceptance::network_manager::{Host, bring_up};
use hosts::network::Keyfile;
use serde_json::Value;
use vocabulary::report::explain;

/// A host with one NIC, and with one address and one route of a family.
fn host(name: &str, [address, route]: [&str; 2]) -> Host {
    let (family, other) = if address.contains(':') { ("ipv6", "ipv4") } else { ("ipv4", "ipv6") };
    let content = format!(
        "[connection]\nid=eth0\nuuid=0523c0a1-5f5e-5603-bcf2-68155d5d322e\ntype=802-3-ethernet\ninterface-name=eth0\n\
         autoconnect=true\n\n[{family}]\nmethod=manual\naddress0={address}\nroute0={route}\nroute0_options=table=254\n\n\
         [{other}]\nmethod=disabled\n"
    );
    let keyfiles = vec![Keyfile { name: "eth0.nmconnection".parse().unwrap(), content }];
    let mut host = Host::new(name, &Value::Null, keyfiles);
    host.nics = BTreeMap::from([("eth0".to_owned(), "52:54:00:aa:00:01".to_owned())]);
    host
}

#[test]
fn what_the_explanations_say_of_gateways_happens() {
    // Each with the routes that the host has in the end.
    let cases = [
        (
            "off-link-default",
            ["192.0.2.10/24", "0.0.0.0/0,198.51.100.1"],
            vec!["198.51.100.1", "default via 198.51.100.1"],
        ),
        (
            "off-link-network",
            ["192.0.2.10/24", "203.0.113.0/24,198.51.100.1"],
            vec!["198.51.100.1", "203.0.113.0/24 via 198.51.100.1"],
        ),
        // The kernel takes it, and asks nobody there.
        ("host-default", ["192.0.2.10/24", "0.0.0.0/0,192.0.2.10"], vec!["default via 192.0.2.10"]),
        ("host-network", ["192.0.2.10/24", "203.0.113.0/24,192.0.2.10"], vec!["203.0.113.0/24 via 192.0.2.10"]),
        (
            "off-link-default-6",
            ["2001:db8:1::10/64", "::/0,2001:db8:2::1"],
            vec!["2001:db8:2::1", "default via 2001:db8:2::1"],
        ),
        (
            "off-link-network-6",
            ["2001:db8:1::10/64", "2001:db8:3::/64,2001:db8:2::1"],
            vec!["2001:db8:2::1", "2001:db8:3::/64 via 2001:db8:2::1"],
        ),
        ("host-default-6", ["2001:db8:1::10/64", "::/0,2001:db8:1::10"], vec![]),
        ("host-network-6", ["2001:db8:1::10/64", "2001:db8:3::/64,2001:db8:1::10"], vec![]),
    ];
    let hosts: Vec<Host> = cases.iter().map(|(name, profile, _)| host(name, *profile)).collect();
    let found = bring_up(&hosts);
    let mut wrong = String::new();
    for (name, [address, _], expected) in &cases {
        let report = &found[*name];
        let mut routes = report.routes("eth0");
        // NetworkManager writes the routes of addresses itself.
        routes.retain(|route| {
            !address.starts_with(route.split("::").next().unwrap()) && !route.starts_with("192.0.2.0/")
        });
        routes.retain(|route| !route.starts_with("fe80") && !route.starts_with("2001:db8:1::/"));
        routes.sort();
        if routes != *expected || !report.addresses("eth0").iter().any(|own| own == address) {
            wrong +=
                &format!("{name}: {routes:?}, {:?}\n{}\n", report.addresses("eth0"), report.lines("log").join("\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let says = |code, sentence| explain(code).unwrap().effect.contains(sentence);
    assert!(says("gateway-off-link", "NetworkManager adds a route to the gateway itself"));
    assert!(
        says("gateway-is-host", "For IPv4, the kernel ignores the gateway")
            && says("gateway-is-host", "For IPv6, the kernel refuses the route")
    );
}
