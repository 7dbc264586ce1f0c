//! Bridges with VLAN filtering, and the VLANs that the bridge itself is in.

use super::{Network, has_address};
use crate::model::{Bridge, BridgePort, BridgeVlans, Interface, Kind};
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::Report;

/// The protocol of VLAN tags if nothing sets it.
const USUAL_PROTOCOL: &str = "802.1q";

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    for interface in network.active() {
        let Kind::LinuxBridge(bridge) = &interface.kind else { continue };
        if bridge.vlan_filtering {
            addresses(network, interface, bridge, report);
            vlans(network, interface, bridge, report);
        }
        // systemd-networkd has no such default.
        if network.files == NetworkFiles::Keyfiles {
            zeros(network, interface, report);
        }
    }
}

/// NetworkManager treats 0 as no value, and sets its default (`default_if_zero` in `nm-device-bridge.c`).
fn zeros(network: &Network<'_>, interface: &Interface, report: &mut Report) {
    for port in &interface.ports {
        let Some(settings) = network.interface(&port.name).map(|port| &port.options.bridge_port) else { continue };
        for (what, value, usual) in
            [("path cost", settings.path_cost, BridgePort::USUAL_PATH_COST), ("priority", settings.priority, 32)]
        {
            if value == Some(0) {
                let message = format!(
                    "is {}, a port with {what} 0, for which NetworkManager sets its default, {usual}",
                    port.name
                );
                report.warning("bridge-port-zero", &port.path, message);
            }
        }
    }
}

/// The bridge itself sends and receives only the frames of its own VLANs (`br_allowed_ingress`, `br_pass_frame_up`).
fn addresses(network: &Network<'_>, interface: &Interface, bridge: &Bridge, report: &mut Report) {
    let ports = network.ports(&interface.name);
    if !has_address(interface) || ports.is_empty() {
        return;
    }
    let default = bridge.default_vlan();
    let message = match bridge.options.vlans.untagged.or(default) {
        None => {
            let message = "filters VLANs and itself is in none, because vlan-default-pvid is 0: nothing reaches its \
                           addresses";
            message.to_owned()
        }
        Some(own) => {
            let carries = |vlans: &BridgeVlans| vlans.untagged.or(default) == Some(own) || vlans.tags(own);
            // A bridge that accepts every frame also accepts those of other VLANs. A MACVLAN on it makes it do so.
            let is_macvlan = |child: &&Interface| child.active && matches!(child.kind, Kind::MacVlan { .. });
            let accepts_all =
                interface.options.promiscuous == Some(true) || network.children(&interface.name).iter().any(is_macvlan);
            if accepts_all || ports.iter().any(|port| carries(&port.options.bridge_port.vlans)) {
                return;
            }
            format!(
                "filters VLANs and itself is in VLAN {own}, whose frames none of its ports passes in both directions: \
                 nothing reaches its addresses"
            )
        }
    };
    report.warning("bridge-outside-vlan", &interface.path, message);
}

/// A VLAN on the bridge receives frames only if the bridge itself is in that VLAN, and keeps the tag.
fn vlans(network: &Network<'_>, interface: &Interface, bridge: &Bridge, report: &mut Report) {
    let protocol = |set: Option<&str>| set.unwrap_or(USUAL_PROTOCOL).to_ascii_lowercase();
    let filtered = protocol(bridge.options.vlan_protocol.as_deref());
    for child in network.children(&interface.name).iter().filter(|child| child.active) {
        let Kind::Vlan(vlan) = &child.kind else { continue };
        // Tags of another protocol are content for the bridge.
        let is_filtered = vlan.id != 0 && protocol(vlan.options.protocol.as_deref()) == filtered;
        if is_filtered && !bridge.options.vlans.tags(vlan.id) {
            let message = format!(
                "is VLAN {} on {}, which filters VLANs ({}) and does not have this one with a tag itself: the VLAN \
                 receives nothing",
                vlan.id, interface.name, interface.path
            );
            report.warning("bridge-outside-vlan", &child.path, message);
        }
    }
}
