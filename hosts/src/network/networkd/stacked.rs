//! VLANs and VRFs.

use super::plan::{Attachment, Plan};
use super::unit::yes;
use crate::network::fields::{Fields, Findings};

/// Reads `vlan`.
pub(super) fn read_vlan<'a>(
    plan: &mut Plan<'a>,
    index: usize,
    name: &'a str,
    fields: &mut Fields<'a>,
    findings: &mut Findings<'_>,
) {
    let mut vlan = fields.section("vlan");
    let Some(node) = plan.nodes.get_mut(index) else { return };
    let netdev = &mut node.netdev;
    netdev.set("NetDev", "Kind", "vlan");
    match vlan.number("id", 0..=4094, findings) {
        Some(id) => netdev.set("VLAN", "Id", id.to_string()),
        None => findings.refuse(vlan.path(), "it has no id"),
    }
    if let Some(protocol) = vlan.word("protocol", &[("802.1q", "802.1q"), ("802.1ad", "802.1ad")], findings) {
        netdev.set("VLAN", "Protocol", protocol);
    }
    let protocols = [("gvrp", "GVRP"), ("mvrp", "MVRP"), ("none", "")];
    if let Some(protocol) = vlan.word("registration-protocol", &protocols, findings).filter(|p| !p.is_empty()) {
        netdev.set("VLAN", protocol, "yes");
    }
    for (key, unit) in [("loose-binding", "LooseBinding"), ("reorder-headers", "ReorderHeader")] {
        if let Some(value) = vlan.flag(key) {
            netdev.set("VLAN", unit, yes(value));
        }
    }
    for (key, unit) in [("ingress-qos-map", "IngressQOSMaps"), ("egress-qos-map", "EgressQOSMaps")] {
        let mut pairs = Vec::new();
        for mut entry in vlan.entries(key) {
            let [from, to] = ["from", "to"].map(|key| entry.number(key, 0..=0xffff_fffe, findings));
            pairs.extend(from.zip(to).map(|(from, to)| format!("{from}-{to}")));
            entry.finish(findings);
        }
        if !pairs.is_empty() {
            netdev.set("VLAN", unit, pairs.join(" "));
        }
    }
    let at = vlan.at("base-iface");
    match vlan.text("base-iface") {
        Some(lower) => {
            let settings = vec![("Network", ("VLAN", name.to_owned()))];
            plan.attach(lower, name, Attachment::Lower, settings, &at, findings);
        }
        None => findings.refuse(&at, "it is missing"),
    }
    vlan.finish(findings);
}

/// Reads `vrf`.
pub(super) fn read_vrf<'a>(
    plan: &mut Plan<'a>,
    index: usize,
    name: &'a str,
    fields: &mut Fields<'a>,
    findings: &mut Findings<'_>,
) {
    let mut vrf = fields.section("vrf");
    let Some(node) = plan.nodes.get_mut(index) else { return };
    node.netdev.set("NetDev", "Kind", "vrf");
    match vrf.number("route-table-id", 1..=0xffff_ffff, findings) {
        Some(table) => node.netdev.set("VRF", "Table", table.to_string()),
        None => findings.refuse(vrf.path(), "it has no route-table-id"),
    }
    for (path, port) in vrf.list("port") {
        let Some(port) = port.as_str() else { continue };
        let settings = vec![("Network", ("VRF", name.to_owned()))];
        plan.attach(port, name, Attachment::Routed, settings, &path, findings);
    }
    vrf.finish(findings);
}
