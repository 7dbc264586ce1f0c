//! Settings that only a system with netplan gets, because cloud-init's other writers lose them.

use serde_json::json;

use super::*;

const BOND_WITH: &str = "
interfaces:
- {name: nic1, type: ethernet}
- {name: nic2, type: ethernet}
- {name: bond0, type: bond, link-aggregation: {mode: MODE, options: {OPTIONS}, port: [nic1, nic2]},
   ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}}
";

fn bond(mode: &str, options: &str) -> String {
    BOND_WITH.replace("MODE", mode).replace("OPTIONS", options)
}

#[test]
fn a_bond_has_the_options_that_netplan_knows() {
    for (mode, options, expected) in [
        (
            "active-backup",
            "arp_interval: 200, arp_ip_target: '192.0.2.1, 192.0.2.2', arp_validate: 3, arp_all_targets: all",
            json!({
                "mode": "active-backup", "arp-validate": "all", "arp-all-targets": "all", "arp-interval": 200,
                "arp-ip-targets": ["192.0.2.1", "192.0.2.2"],
            }),
        ),
        (
            "active-backup",
            "primary: nic1, primary_reselect: better, num_grat_arp: 3",
            json!({
                "mode": "active-backup", "mii-monitor-interval": 100, "primary": "nic1",
                "primary-reselect-policy": "better", "gratuitous-arp": 3,
            }),
        ),
        (
            "802.3ad",
            "ad_select: 1, min_links: 2, all_slaves_active: delivered",
            json!({
                "mode": "802.3ad", "mii-monitor-interval": 100, "ad-select": "bandwidth", "min-links": 2,
                "all-slaves-active": true,
            }),
        ),
    ] {
        let yaml = bond(mode, options);
        assert_eq!(value(netplan, &yaml)["bonds"]["bond0"]["parameters"], expected);
        let refused = refused(network_config, &yaml);
        assert!(!refused.is_empty() && refused[0].contains("in cloud-init's network-config: "), "{refused:?}");
    }
    let targets: Vec<String> = (1..=17).map(|last| format!("192.0.2.{last}")).collect();
    let too_many = format!("arp_interval: 200, arp_ip_target: '{}'", targets.join(","));
    for (options, place) in [
        (too_many.as_str(), "arp_ip_target"),
        ("num_grat_arp: 0", "num_grat_arp"),
        ("fail_over_mac: active", "fail_over_mac"),
    ] {
        let refused = refused(netplan, &bond("active-backup", options));
        let expected =
            format!("interfaces[2].link-aggregation.options.{place} cannot be expressed exactly in netplan's format");
        assert!(refused.len() == 1 && refused[0].starts_with(&expected), "{refused:?}");
    }
}

/// NetworkManager leaves them out. netplan would pass them on, and the kernel would refuse the whole bond.
#[test]
fn options_of_a_bond_without_effect_are_left_out() {
    let targets = "arp_interval: 200, arp_ip_target: 192.0.2.1";
    for (mode, options, key, option) in [
        ("802.3ad", "arp_validate: none".to_owned(), "arp-validate", "arp_validate"),
        ("802.3ad", "arp_interval: 0".to_owned(), "arp-interval", "arp_interval"),
        ("active-backup", "packets_per_slave: 2".to_owned(), "packets-per-slave", "packets_per_slave"),
        ("active-backup", "miimon: 100, arp_validate: active".to_owned(), "arp-validate", "arp_validate"),
        ("active-backup", format!("{targets}, updelay: 200"), "up-delay", "updelay"),
        ("active-backup", format!("{targets}, downdelay: 200"), "down-delay", "downdelay"),
    ] {
        let yaml = bond(mode, &options);
        let parameters = value(netplan, &yaml)["bonds"]["bond0"]["parameters"].clone();
        assert_eq!((&parameters["mode"], parameters.get(key)), (&json!(mode), None), "{options}");
        let report = netplan(&host(&yaml)).1;
        let path = format!("interfaces[2].link-aggregation.options.{option}");
        let mut findings = report.findings().iter();
        assert!(
            findings.any(|finding| finding.code == "value-unused" && finding.path.to_string() == path),
            "{options}: {report:?}"
        );
    }
    let delays = value(netplan, &bond("active-backup", "updelay: 200, downdelay: 100"))["bonds"]["bond0"].clone();
    assert_eq!((&delays["parameters"]["up-delay"], &delays["parameters"]["down-delay"]), (&json!(200), &json!(100)));
}

/// systemd-networkd sends it only with `arp_interval`.
#[test]
fn an_interval_between_learning_packets_is_refused_in_the_modes_that_have_them() {
    for (mode, interval, is_refused) in
        [("balance-tlb", 2, true), ("balance-alb", 2, true), ("balance-alb", 1, false), ("balance-rr", 2, false)]
    {
        let yaml = bond(mode, &format!("lp_interval: {interval}"));
        if is_refused {
            let refused = refused(netplan, &yaml);
            let place = "interfaces[2].link-aggregation.options.lp_interval ";
            assert!(refused.len() == 1 && refused[0].starts_with(place), "{mode}: {refused:?}");
        } else {
            let parameters = value(netplan, &yaml)["bonds"]["bond0"]["parameters"].clone();
            assert_eq!(parameters["learn-packet-interval"], interval, "{mode}");
        }
    }
}

#[test]
fn a_host_leaves_out_what_dhcp_offers() {
    let nic = |ipv4: &str, rest: &str| {
        format!("interfaces: [{{name: nic1, type: ethernet, ipv4: {{enabled: true, dhcp: true, {ipv4}}}{rest}}}]")
    };
    for (ipv4, expected) in [
        ("auto-dns: false", json!({"use-dns": false})),
        ("auto-routes: false", json!({"use-domains": true, "use-routes": false})),
        ("auto-dns: false, auto-routes: false, auto-gateway: false", json!({"use-dns": false, "use-routes": false})),
    ] {
        let yaml = nic(ipv4, "");
        assert_eq!(value(netplan, &yaml)["ethernets"]["nic1"]["dhcp4-overrides"], expected);
        assert!(!refused(network_config, &yaml).is_empty());
    }
    let both = ", ipv6: {enabled: true, dhcp: true, autoconf: true}";
    let ipv6 = ", ipv6: {enabled: true, dhcp: true, autoconf: true, auto-dns: false}";
    for (ipv4, rest, place) in [
        ("auto-gateway: false", "", "ipv4.auto-gateway"),
        ("auto-dns: false", both, "ipv4.auto-dns"),
        ("auto-dns: false", ipv6, "ipv6.auto-dns"),
    ] {
        let refused = refused(netplan, &nic(ipv4, rest));
        let expected = format!("interfaces[0].{place} cannot be expressed exactly in netplan's format");
        assert!(refused.len() == 1 && refused[0].starts_with(&expected), "{refused:?}");
    }
}

#[test]
fn no_interface_has_the_name_of_a_merge_key() {
    let yaml = "interfaces: [{name: nic1, type: ethernet}, {name: '<<', type: vlan, vlan: {base-iface: nic1, id: 7}}]";
    let refused = refused(netplan, yaml);
    assert!(refused.len() == 1 && refused[0].starts_with("interfaces[1].name "), "{refused:?}");
}
