//! Kinds of interfaces that the kernel does not combine.

use super::Network;
use crate::model::{Interface, Kind};
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    for interface in network.active() {
        ports(network, interface, report);
        on_parent(network, interface, report);
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
fn on_parent(network: &Network<'_>, interface: &Interface, report: &mut Report) {
    let (name, section, group) = match interface.kind {
        Kind::Vlan(_) => ("VLAN", "vlan", "vlan"),
        Kind::MacVlan { tap: false, .. } => ("MACVLAN", "mac-vlan", "macvlan"),
        Kind::MacVlan { tap: true, .. } => ("MACVLAN", "mac-vtap", "macvlan"),
        Kind::Macsec { .. } => ("MACsec", "macsec", "macsec"),
        _ => return,
    };
    if let Some(message) = refusal_of_parent(network, interface, name) {
        let place = network.place(interface, &[section, "base-iface"], &[group, "parent"]);
        report.add(network.severity(), "parent-refused", &place, message);
    }
}

/// Why the kernel does not put an interface on its parent. `upper` is what people call the interface.
fn refusal_of_parent(network: &Network<'_>, interface: &Interface, upper: &str) -> Option<String> {
    let name = interface.kind.parent()?;
    let Some(parent) = network.interface(name) else {
        return (name == "lo").then(|| format!("is lo, the loopback, and the kernel puts no {upper} on it"));
    };
    if !parent.active {
        return None;
    }
    let path = &parent.path;
    // `NETIF_F_VLAN_CHALLENGED`, `IFF_NO_RX_HANDLER`, and the types of hardware that are not `ARPHRD_ETHER`.
    match (&parent.kind, &interface.kind) {
        (Kind::Loopback, _) => {
            return Some(format!("is {name}, the loopback ({path}), and the kernel puts no {upper} on it"));
        }
        (Kind::Vrf(_), _) => {
            return Some(format!("is {name}, a VRF ({path}), and the kernel puts no {upper} on a VRF"));
        }
        (Kind::Infiniband(_), _) => {
            return Some(format!("is {name}, an InfiniBand interface ({path}), and the kernel puts no {upper} on one"));
        }
        // The kernel puts a MACVLAN on another MACVLAN on the interface below both.
        (_, Kind::Vlan(_)) | (Kind::MacVlan { .. }, Kind::MacVlan { .. }) => return None,
        _ => {}
    }
    let controller = network.interface(parent.controller.as_deref()?).filter(|controller| controller.active)?;
    // Both take all frames of the interface (`netdev_rx_handler_register`). A VRF does not.
    let what = match controller.kind {
        Kind::Bond(_) => "bond",
        Kind::LinuxBridge(_) => "bridge",
        _ => return None,
    };
    let (controller, path) = (&controller.name, &controller.path);
    Some(format!(
        "is {name}, which is a port of {controller} ({path}), and the kernel puts no {upper} on a port of a {what}; put it \
         on {controller}"
    ))
}
