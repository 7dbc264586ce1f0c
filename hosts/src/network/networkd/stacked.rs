//! VLANs and VRFs.

use super::plan::Plan;
use super::unit::yes;
use crate::model::{Interface, PriorityMap, Registration, Vlan, VlanOptions};
use crate::network::form::Findings;

/// Writes a VLAN, and that it stands on its parent.
pub(super) fn write_vlan<'a>(
    plan: &mut Plan<'a>,
    index: usize,
    interface: &'a Interface,
    vlan: &'a Vlan,
    findings: &mut Findings<'_>,
) {
    let Vlan { parent, id, options } = vlan;
    let VlanOptions { protocol, registration, loose_binding, reorder_headers, ingress_priorities, egress_priorities } =
        options;
    let Some(node) = plan.nodes.get_mut(index) else { return };
    let netdev = &mut node.netdev;
    netdev.set("NetDev", "Kind", "vlan");
    netdev.set("VLAN", "Id", id.to_string());
    netdev.set_some("VLAN", "Protocol", protocol.as_deref());
    match registration {
        Some(Registration::Gvrp) => netdev.set("VLAN", "GVRP", "yes"),
        Some(Registration::Mvrp) => netdev.set("VLAN", "MVRP", "yes"),
        None => {}
    }
    netdev.set_some("VLAN", "LooseBinding", loose_binding.map(yes));
    netdev.set_some("VLAN", "ReorderHeader", reorder_headers.map(yes));
    for (unit, priorities) in [("IngressQOSMaps", ingress_priorities), ("EgressQOSMaps", egress_priorities)] {
        let pairs: Vec<String> = priorities.iter().map(|PriorityMap { from, to }| format!("{from}-{to}")).collect();
        netdev.set_some("VLAN", unit, (!pairs.is_empty()).then(|| pairs.join(" ")));
    }
    plan.attach(parent, "VLAN", &interface.label, &interface.path.key("vlan").key("base-iface"), findings);
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
    node.netdev.set("NetDev", "Kind", "vrf");
    node.netdev.set("VRF", "Table", table.to_string());
    for port in &interface.ports {
        plan.attach(&port.name, "VRF", &interface.label, &port.path, findings);
    }
}
