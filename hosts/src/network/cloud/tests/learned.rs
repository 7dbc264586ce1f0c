//! Which of several learned default routes wins.

use serde_json::json;

use super::*;

const LEARNED: &str = "
interfaces:
- {name: nic1, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01', ipv4: {enabled: true, dhcp: true}}
- {name: nic2, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:02'}
- {name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [nic2]}, ipv4: {enabled: true, dhcp: true},
   ipv6: {enabled: true, dhcp: true, autoconf: true}}
- {name: bond0.7, type: vlan, vlan: {base-iface: bond0, id: 7}, ipv6: {enabled: true, dhcp: true, autoconf: true}}
";

#[test]
fn netplan_gives_learned_routes_the_metrics_of_network_manager() {
    let found = value(network_config, LEARNED);
    let metrics = |section: &str, name: &str| {
        let device = &found[section][name];
        ["dhcp4-overrides", "dhcp6-overrides"].map(|key| device[key]["route-metric"].as_u64())
    };
    assert_eq!(metrics("ethernets", "nic1"), [None, None]);
    assert_eq!(metrics("bonds", "bond0"), [Some(300), Some(300)]);
    assert_eq!(metrics("vlans", "bond0.7"), [None, Some(400)]);
    let own = LEARNED.replace("dhcp: true}}", "dhcp: true, auto-route-metric: 50}}");
    let found = value(network_config, &own);
    assert_eq!(found["ethernets"]["nic1"]["dhcp4-overrides"], json!({"route-metric": 50, "use-domains": true}));
    let differing = LEARNED.replace("dhcp: true},", "dhcp: true, auto-route-metric: 50},");
    let refused = refused(network_config, &differing);
    assert!(refused[0].starts_with("interfaces[2].ipv6") && refused[0].contains("one metric"), "{refused:?}");
}

#[test]
fn openstack_cannot_say_which_learned_default_route_wins() {
    let warned = |yaml: &str| -> Vec<String> {
        let (network, report) = network_data(&host(yaml));
        assert!(network.is_ok(), "{:?}", report.findings());
        let found = report.findings().iter().filter(|finding| finding.code == "default-route-not-kept");
        found.map(ToString::to_string).collect()
    };
    let found = warned(LEARNED);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("interfaces[0].ipv4 ") && found[0].contains("\"bond0\""), "{found:?}");
    assert!(found[1].starts_with("interfaces[2].ipv6 ") && found[1].contains("\"bond0.7\""), "{found:?}");
    let only = LEARNED.replace("ipv4: {enabled: true, dhcp: true}}", "ipv4: {enabled: false}}");
    assert_eq!(warned(&only).len(), 1);
    let written = LEARNED.replace(
        "ipv4: {enabled: true, dhcp: true}}",
        "ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}}",
    );
    let route = "routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: nic1}]}";
    let found = warned(&format!("{written}{route}"));
    assert!(found.len() == 1 && found[0].starts_with("interfaces[2].ipv6 "), "{found:?}");
}
