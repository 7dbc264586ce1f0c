//! MTUs of interfaces that stand on each other.

use super::Network;
use crate::report::Report;
use crate::topology::{Interface, Kind};

/// What a NIC has that nobody gives another.
const USUAL: u32 = 1500;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    for interface in &network.topology.interfaces {
        let parent = interface.kind.parent().and_then(|parent| network.interface(parent));
        if let (Kind::Vlan(_) | Kind::MacVlan { .. }, Some(mtu), Some(parent)) =
            (&interface.kind, interface.mtu, parent)
        {
            on_parent(interface, mtu, parent, report);
        }
        let controller = interface.controller.as_deref().and_then(|name| network.interface(name));
        if let Some(controller) = controller {
            on_port(interface, controller, report);
        }
    }
}

/// The kernel refuses an MTU above that of the parent (`vlan_dev_change_mtu`, `macvlan_change_mtu`).
fn on_parent(interface: &Interface, mtu: u32, parent: &Interface, report: &mut Report) {
    match parent.mtu {
        Some(least) if mtu > least => {
            let message = format!(
                "has MTU {mtu}, and {}, on which it stands, has {least} ({}): the kernel refuses more than that",
                parent.name, parent.path
            );
            report.error("mtu-above-parent", &interface.path, message);
        }
        None if mtu > USUAL => {
            let message = format!(
                "has MTU {mtu}, and {}, on which it stands, is given none ({}), which is {USUAL} as a rule; give it \
                 {mtu} as well",
                parent.name, parent.path
            );
            report.warning("mtu-above-parent", &interface.path, message);
        }
        _ => {}
    }
}

fn on_port(port: &Interface, controller: &Interface, report: &mut Report) {
    match (&controller.kind, port.mtu, controller.mtu) {
        // A bond sets its own MTU on its ports.
        (Kind::Bond(_), Some(own), bond) if own != bond.unwrap_or(USUAL) => {
            let bond = bond.map_or_else(|| format!("{USUAL} unless told otherwise"), |mtu| mtu.to_string());
            let message = format!(
                "has MTU {own}, and as a port gets that of {}, which is {bond} ({})",
                controller.name, controller.path
            );
            report.warning("mtu-of-port", &port.path, message);
        }
        (Kind::LinuxBridge(_), own, Some(bridge)) if bridge > own.unwrap_or(USUAL) => {
            let own = own.map_or_else(|| format!("{USUAL} as a rule"), |mtu| mtu.to_string());
            let message = format!(
                "has MTU {own}, and {}, of which it is a port, has {bridge} ({}): larger packets are dropped here",
                controller.name, controller.path
            );
            report.warning("mtu-of-port", &port.path, message);
        }
        _ => {}
    }
}
