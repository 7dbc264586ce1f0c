//! Linux bridges: `[Bridge]` of systemd.netdev(5), and of systemd.network(5) for ports.

use super::plan::Plan;
use super::unit::{Content, yes};
use crate::model::{Bridge, BridgeOptions, BridgePort, Interface};
use crate::network::form::Findings;

/// Writes the options of a bridge.
pub(super) fn write(bridge: &Bridge, netdev: &mut Content) {
    let Bridge {
        stp,
        forward_delay,
        hello_time,
        max_age,
        priority,
        // The settings of VLANs, without which nothing filters them, are refused.
        vlan_filtering: _,
        options:
            BridgeOptions {
                ageing_time,
                group_forward_mask,
                multicast_snooping,
                multicast_querier,
                vlan_protocol,
                default_vlan: _,
                vlans: _,
            },
    } = bridge;
    netdev.set("NetDev", "Kind", "bridge");
    netdev.set("Bridge", "STP", yes(*stp));
    let seconds = |time: &Option<u32>| time.map(|time| format!("{time}s"));
    netdev.set_some("Bridge", "ForwardDelaySec", seconds(forward_delay));
    netdev.set_some("Bridge", "HelloTimeSec", seconds(hello_time));
    netdev.set_some("Bridge", "MaxAgeSec", seconds(max_age));
    netdev.set_some("Bridge", "Priority", priority.map(|priority| priority.to_string()));
    netdev.set_some("Bridge", "AgeingTimeSec", seconds(ageing_time));
    netdev.set_some("Bridge", "GroupForwardMask", group_forward_mask.map(|mask| mask.to_string()));
    netdev.set_some("Bridge", "MulticastSnooping", multicast_snooping.map(yes));
    netdev.set_some("Bridge", "MulticastQuerier", multicast_querier.map(yes));
    netdev.set_some("Bridge", "VLANProtocol", vlan_protocol.as_deref());
}

/// Writes the ports of a bridge.
pub(super) fn attach_ports(plan: &mut Plan<'_>, interface: &Interface, findings: &mut Findings<'_>) {
    for port in &interface.ports {
        let Some(node) = plan.attach(&port.name, "Bridge", &interface.label, &port.path, findings) else { continue };
        let BridgePort { path_cost, priority, hairpin, vlans: _ } = &node.interface.options.bridge_port;
        let (priority, hairpin) = (*priority, *hairpin);
        node.network.set("Bridge", "Cost", path_cost.unwrap_or(BridgePort::USUAL_PATH_COST).to_string());
        node.network.set_some("Bridge", "Priority", priority.map(|priority| priority.to_string()));
        node.network.set_some("Bridge", "HairPin", hairpin.map(yes));
    }
}
