//! What the kernel refuses from systemd-networkd, and what systemd-networkd does not send to the kernel. The acceptance tests boot a machine
//! with such units.

use vocabulary::report::Report;

use crate::networkd::{convert, host};

/// The `.netdev` of the document's only bond or bridge, if there are units, and the findings.
fn netdev(yaml: &str) -> (Option<String>, Report) {
    let (network, report) = convert(&host(serde_yaml::from_str(yaml).unwrap(), None));
    let mut units = network.into_iter().flat_map(|network| network.networkd_units);
    let netdev = units.find(|unit| unit.name.as_str().ends_with(".netdev"));
    (netdev.map(|unit| unit.content), report)
}

fn bond(mode: &str, options: &str) -> String {
    format!(
        "interfaces: [{{name: bond0, type: bond, link-aggregation: {{mode: {mode}, options: {{{options}}}, port: [eth0, eth1]}}}}]"
    )
}

fn option(name: &str) -> String {
    format!("interfaces[0].link-aggregation.options.{name}")
}

/// The paths of the findings with this code.
fn paths(report: &Report, code: &str) -> Vec<String> {
    report.findings().iter().filter(|finding| finding.code == code).map(|finding| finding.path.to_string()).collect()
}

const TARGETS: &str = "arp_interval: 200, arp_ip_target: 192.0.2.1";

/// NetworkManager leaves them out. The kernel refuses a bond with one of them, whatever its value.
#[test]
fn options_without_effect_are_not_in_the_unit_of_a_bond() {
    for (mode, options, name, key) in [
        ("802.3ad", "arp_validate: none".to_owned(), "arp_validate", "ARPValidate"),
        ("active-backup", "tlb_dynamic_lb: false".to_owned(), "tlb_dynamic_lb", "DynamicTransmitLoadBalancing"),
        ("active-backup", "ad_actor_sys_prio: 5".to_owned(), "ad_actor_sys_prio", "AdActorSystemPriority"),
        ("active-backup", "ad_user_port_key: 7".to_owned(), "ad_user_port_key", "AdUserPortKey"),
        ("active-backup", "ad_actor_system: '02:00:00:00:00:01'".to_owned(), "ad_actor_system", "AdActorSystem"),
        ("active-backup", format!("{TARGETS}, updelay: 200"), "updelay", "UpDelaySec"),
        ("active-backup", "miimon: 100, arp_validate: active".to_owned(), "arp_validate", "ARPValidate"),
    ] {
        let (netdev, report) = netdev(&bond(mode, &options));
        let netdev = netdev.unwrap_or_else(|| panic!("{options}: {report:?}"));
        assert!(!netdev.lines().any(|line| line.starts_with(&format!("{key}="))), "{options}: {netdev}");
        assert_eq!(paths(&report, "value-unused"), [option(name)], "{options}: {report:?}");
    }
}

#[test]
fn options_with_effect_are_in_the_unit_of_a_bond() {
    for (mode, options, lines) in [
        ("active-backup", format!("{TARGETS}, arp_validate: 1"), &["ARPValidate=active", "ARPIntervalSec=200ms"][..]),
        ("active-backup", "miimon: 100, arp_validate: 0".to_owned(), &["ARPValidate=none", "MIIMonitorSec=100ms"]),
        ("balance-alb", "tlb_dynamic_lb: false".to_owned(), &["DynamicTransmitLoadBalancing=no"]),
        ("802.3ad", "ad_user_port_key: 7, updelay: 200".to_owned(), &["AdUserPortKey=7", "UpDelaySec=200ms"]),
    ] {
        let (netdev, report) = netdev(&bond(mode, &options));
        let netdev = netdev.unwrap_or_else(|| panic!("{options}: {report:?}"));
        assert!(lines.iter().all(|line| netdev.lines().any(|found| found == *line)), "{options}: {netdev}");
        assert_eq!(paths(&report, "value-unused"), [""; 0], "{options}");
    }
}

/// It sends the interval only with `arp_interval`, and 0 is no value for it.
#[test]
fn what_networkd_does_not_send_is_refused() {
    let bridge = |priority: u32| {
        format!(
            "interfaces: [{{name: br0, type: linux-bridge, bridge: {{options: {{stp: {{priority: {priority}}}}}, port: [{{name: \
             eth0}}]}}}}]"
        )
    };
    let interval = || vec![option("lp_interval")];
    for (yaml, refused) in [
        (bond("balance-tlb", "lp_interval: 2"), interval()),
        (bond("balance-alb", "lp_interval: 2"), interval()),
        (bond("balance-alb", "lp_interval: 1"), Vec::new()),
        (bond("active-backup", &format!("{TARGETS}, lp_interval: 2")), Vec::new()),
        (bridge(0), vec!["interfaces[0].bridge.options.stp.priority".to_owned()]),
        (bridge(4096), Vec::new()),
    ] {
        let (netdev, report) = netdev(&yaml);
        assert_eq!(netdev.is_none(), !refused.is_empty(), "{yaml}: {report:?}");
        assert_eq!(paths(&report, "not-in-networkd-units"), refused, "{yaml}");
    }
}
