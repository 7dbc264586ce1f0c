//! VLANs: `[VLAN]` of systemd.netdev(5).

use super::unit::{Content, yes};
use crate::model::{PriorityMap, Registration, Vlan, VlanOptions};

/// Writes a VLAN.
pub(super) fn write(vlan: &Vlan, netdev: &mut Content) {
    let Vlan { parent: _, id, options } = vlan;
    let VlanOptions { protocol, registration, loose_binding, reorder_headers, ingress_priorities, egress_priorities } =
        options;
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
}
