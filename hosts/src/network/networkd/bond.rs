//! Bonds: `[Bond]` of systemd.netdev(5).

use serde_yaml::Value;

use super::plan::Plan;
use super::unit::{Content, yes};
use crate::model::{Bond, Interface};
use crate::network::bonds::has_effect;
use crate::network::form::Findings;
use crate::nmstate_document::is_true;
use vocabulary::host::MacAddress;
use vocabulary::report::DocumentPath;

/// Options that have another name in units: NMState's name, the unit's, and what follows a number.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("ad_select", "AdSelect", ""),
    ("all_slaves_active", "AllSlavesActive", ""),
    ("arp_all_targets", "ARPAllTargets", ""),
    ("arp_validate", "ARPValidate", ""),
    ("fail_over_mac", "FailOverMACPolicy", ""),
    ("lacp_rate", "LACPTransmitRate", ""),
    ("primary_reselect", "PrimaryReselectPolicy", ""),
    ("xmit_hash_policy", "TransmitHashPolicy", ""),
    ("ad_actor_sys_prio", "AdActorSystemPriority", ""),
    ("ad_user_port_key", "AdUserPortKey", ""),
    ("downdelay", "DownDelaySec", "ms"),
    ("lp_interval", "LearnPacketIntervalSec", "s"),
    ("min_links", "MinLinks", ""),
    ("packets_per_slave", "PacketsPerSlave", ""),
    ("resend_igmp", "ResendIGMP", ""),
    ("updelay", "UpDelaySec", "ms"),
];

/// Writes the options of a bond.
pub(super) fn write(bond: &Bond, path: &DocumentPath, netdev: &mut Content, findings: &mut Findings<'_>) {
    netdev.set("NetDev", "Kind", "bond");
    netdev.set("Bond", "Mode", bond.mode.as_str());
    findings.check_learning_interval(bond, path);
    let option = |name: &str| bond.option(name).filter(|_| has_effect(bond, name));
    let number = |name: &str| bond.number(name).filter(|_| has_effect(bond, name));
    for (name, unit, suffix) in OPTIONS {
        match option(name) {
            Some("dropped") => netdev.set("Bond", unit, "no"),
            Some("delivered") => netdev.set("Bond", unit, "yes"),
            Some(value) => netdev.set("Bond", unit, format!("{value}{suffix}")),
            None => {}
        }
    }
    if let Some(dynamic) = option("tlb_dynamic_lb") {
        netdev.set("Bond", "DynamicTransmitLoadBalancing", yes(is_true(Some(&Value::from(dynamic)))));
    }
    if let Some(interval) = number("arp_interval") {
        netdev.set("Bond", "ARPIntervalSec", format!("{interval}ms"));
    }
    if let Some(miimon) = bond.miimon() {
        netdev.set("Bond", "MIIMonitorSec", format!("{miimon}ms"));
    }
    if let Some(targets) = option("arp_ip_target") {
        let targets: Vec<&str> = targets.split(',').map(str::trim).collect();
        findings.check_arp_targets(&targets, path);
        netdev.set("Bond", "ARPIPTargets", targets.join(" "));
    }
    if let Some(system) = option("ad_actor_system").and_then(|system| system.parse::<MacAddress>().ok()) {
        netdev.set("Bond", "AdActorSystem", system.to_string());
    }
    // One number of the kernel under two names.
    if let Some(repeated) = number("num_grat_arp").or_else(|| number("num_unsol_na")) {
        netdev.set("Bond", "GratuitousARP", repeated.to_string());
    }
}

fn option_at(path: &DocumentPath, option: &str) -> DocumentPath {
    path.key("link-aggregation").key("options").key(option)
}

/// Writes the ports of a bond.
pub(super) fn attach_ports(plan: &mut Plan<'_>, interface: &Interface, bond: &Bond, findings: &mut Findings<'_>) {
    let primary = bond.option("primary");
    let is_primary = |plan: &Plan<'_>, port: &str| {
        primary.is_some_and(|primary| primary == port || plan.label(port) == Some(primary))
    };
    if primary.is_some() && !interface.ports.iter().any(|port| is_primary(plan, &port.name)) {
        findings.refuse(&option_at(&interface.path, "primary"), "it is not one of the ports");
    }
    for port in &interface.ports {
        let is_primary = is_primary(plan, &port.name);
        let node = plan.attach(&port.name, "Bond", &interface.label, &port.path, findings);
        if let Some(node) = node.filter(|_| is_primary) {
            node.network.set("Network", "PrimarySlave", "yes");
        }
    }
}
