//! Kinds of interfaces that the kernel does not combine.

use super::Network;
use crate::model::{Interface, Kind};
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    for interface in network.active() {
        ports(network, interface, report);
        let parent = interface.kind.parent().and_then(|parent| network.interface(parent));
        if let Some(parent) = parent.filter(|parent| parent.active) {
            on_parent(network, interface, parent, report);
        }
    }
}

/// Reports ports that the kernel refuses for their controller.
fn ports(network: &Network<'_>, controller: &Interface, report: &mut Report) {
    for port in &controller.ports {
        let interface = network.interface(&port.name).filter(|interface| interface.active);
        let Some(interface) = interface.filter(|interface| interface.controller.as_ref() == Some(&controller.name))
        else {
            continue;
        };
        let Some(refusal) = refusal_of_port(&interface.kind, &controller.kind) else { continue };
        let message = format!(
            "makes {} ({}) a port of {} ({}): {refusal}",
            interface.name, interface.path, controller.name, controller.path
        );
        report.add(network.severity(), "port-refused", &port.path, message);
    }
}

/// Why the kernel refuses such a port (`vrf_add_slave`, `br_add_if`, `bond_enslave`). It takes a bond into a bond.
fn refusal_of_port(port: &Kind, controller: &Kind) -> Option<&'static str> {
    match (port, controller) {
        (Kind::Vrf(_), Kind::Vrf(_)) => Some("the kernel takes no VRF as a port of a VRF"),
        (Kind::Vrf(_), Kind::LinuxBridge(_)) => Some("the kernel takes no VRF as a port of a bridge"),
        (Kind::Vrf(_), Kind::Bond(_)) => Some("the kernel takes no VRF as a port of a bond"),
        (Kind::LinuxBridge(_), Kind::LinuxBridge(_)) => Some("the kernel takes no bridge as a port of a bridge"),
        _ => None,
    }
}

/// Reports a parent that cannot carry the interface.
fn on_parent(network: &Network<'_>, interface: &Interface, parent: &Interface, report: &mut Report) {
    match (&interface.kind, &parent.kind) {
        (Kind::Vlan(_), Kind::Vrf(_)) => {
            let message = format!("is {}, a VRF ({}), and the kernel puts no VLAN on a VRF", parent.name, parent.path);
            let place = network.place(interface, &["vlan", "base-iface"], &["vlan", "parent"]);
            report.add(network.severity(), "parent-refused", &place, message);
        }
        // A MACVLAN on another one stands on the interface below both, for the kernel.
        (Kind::MacVlan { tap, .. }, below) if !matches!(below, Kind::MacVlan { .. }) => {
            let controller = parent.controller.as_deref().and_then(|name| network.interface(name));
            let Some(controller) = controller.filter(|controller| controller.active) else { return };
            // Both take all frames of the interface (`netdev_rx_handler_register`); a VRF does not.
            let what = match controller.kind {
                Kind::Bond(_) => "bond",
                Kind::LinuxBridge(_) => "bridge",
                _ => return,
            };
            let message = format!(
                "is {}, which is a port of {} ({}), and the kernel puts no MACVLAN on a port of a {what}; put it on {}",
                parent.name, controller.name, controller.path, controller.name
            );
            let section = if *tap { "mac-vtap" } else { "mac-vlan" };
            let place = network.place(interface, &[section, "base-iface"], &["macvlan", "parent"]);
            report.add(network.severity(), "parent-refused", &place, message);
        }
        _ => {}
    }
}
