//! VLANs and VRFs.

use super::plan::{Attachment, Plan};
use super::unit::yes;
use crate::model::{Interface, Vlan};
use crate::network::fields::Fields;
use crate::network::form::Findings;

/// Writes a VLAN, and that it stands on its parent.
pub(super) fn write_vlan<'a>(
    plan: &mut Plan<'a>,
    index: usize,
    vlan: &'a Vlan,
    fields: &Fields<'a>,
    findings: &mut Findings<'_>,
) {
    let Vlan { parent, id } = vlan;
    let fields = fields.section("vlan");
    let Some(node) = plan.nodes.get_mut(index) else { return };
    let (name, netdev) = (node.name, &mut node.netdev);
    netdev.set("NetDev", "Kind", "vlan");
    netdev.set("VLAN", "Id", id.to_string());
    if let Some(protocol) = fields.text("protocol") {
        netdev.set("VLAN", "Protocol", protocol);
    }
    match fields.text("registration-protocol") {
        Some("gvrp") => netdev.set("VLAN", "GVRP", "yes"),
        Some("mvrp") => netdev.set("VLAN", "MVRP", "yes"),
        _ => {}
    }
    for (key, unit) in [("loose-binding", "LooseBinding"), ("reorder-headers", "ReorderHeader")] {
        if let Some(value) = fields.flag(key) {
            netdev.set("VLAN", unit, yes(value));
        }
    }
    for (key, unit) in [("ingress-qos-map", "IngressQOSMaps"), ("egress-qos-map", "EgressQOSMaps")] {
        let pairs = fields.entries(key).into_iter();
        let pairs: Vec<String> =
            pairs.filter_map(|pair| Some(format!("{}-{}", pair.number("from")?, pair.number("to")?))).collect();
        if !pairs.is_empty() {
            netdev.set("VLAN", unit, pairs.join(" "));
        }
    }
    let settings = vec![("Network", ("VLAN", name.to_owned()))];
    plan.attach(parent, name, Attachment::Lower, settings, &fields.at("base-iface"), findings);
}

/// Writes a VRF, and that its ports are such.
pub(super) fn write_vrf<'a>(
    plan: &mut Plan<'a>,
    index: usize,
    interface: &'a Interface,
    table: u32,
    findings: &mut Findings<'_>,
) {
    let Some(node) = plan.nodes.get_mut(index) else { return };
    let name = node.name;
    node.netdev.set("NetDev", "Kind", "vrf");
    node.netdev.set("VRF", "Table", table.to_string());
    for port in &interface.ports {
        let settings = vec![("Network", ("VRF", name.to_owned()))];
        plan.attach(&port.name, name, Attachment::Routed, settings, &port.path, findings);
    }
}
