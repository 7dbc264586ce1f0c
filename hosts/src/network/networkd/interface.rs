//! One interface: what all types have in common.

use nmstate::PciAddress;

use super::plan::Plan;
use super::unit::yes;
use super::{bond, bridge, ip, vlan};
use crate::model::{Device, Interface, InterfaceOptions, Kind, WaitIp};
use crate::network::form::Findings;

/// Writes the interface at `index` into the plan. What it says about another interface goes to the other's unit.
pub(super) fn write(plan: &mut Plan<'_>, index: usize, interface: &Interface, findings: &mut Findings<'_>) {
    let Interface {
        name: _,
        label: _,
        path,
        device,
        kind,
        active,
        mac,
        mtu,
        // The bridge writes what is about its ports, and 802.1X is refused.
        options: InterfaceOptions { description, promiscuous, lldp, wait_ip, bridge_port: _, authenticates: _ },
        // The controller writes its ports.
        controller: _,
        ports: _,
        // Both are written below.
        ipv4: _,
        ipv6: _,
    } = interface;
    let is_written = matches!(
        kind,
        Kind::Ethernet
            | Kind::Bond(_)
            | Kind::LinuxBridge(_)
            | Kind::Vlan(_)
            | Kind::Vrf(_)
            | Kind::Dummy
            | Kind::Loopback
    );
    let Some(node) = plan.nodes.get_mut(index).filter(|_| is_written) else { return };
    if let Some(description) = description {
        if description.trim() == description && !description.ends_with('\\') {
            node.network.set("Network", "Description", description.as_str());
        } else {
            let message = "is missing from the units: it begins or ends with a blank or a backslash";
            findings.warn("description-left-out", &path.key("description"), message);
        }
    }
    if let Device::Pci(pci) = device {
        match PciAddress::try_from(pci.as_str()) {
            Ok(pci) => {
                node.network.set("Match", "Path", format!("pci-{pci}"));
                node.network.set("Match", "Type", "ether");
                node.network.set("Match", "Kind", "!*");
            }
            Err(_) => findings.refuse(&path.key("pci-address"), "it is not a PCI address"),
        }
    }
    // An interface that is down has no settings: networkd leaves it alone.
    if !active {
        return;
    }
    match (kind, mac) {
        (Kind::Ethernet, Some(mac)) => node.network.set("Link", "MACAddress", mac.to_string()),
        (_, Some(mac)) => node.netdev.set("NetDev", "MACAddress", mac.to_string()),
        (Kind::Bond(_) | Kind::LinuxBridge(_), None) => {
            // Otherwise networkd, and then udev, would make one up, and the ports' would not count.
            node.netdev.set("NetDev", "MACAddress", "none");
            node.link.set("Link", "MACAddressPolicy", "none");
        }
        _ => {}
    }
    node.network.set_some("Link", "MTUBytes", mtu.map(|mtu| mtu.to_string()));
    node.network.set_some("Link", "Promiscuous", promiscuous.map(yes));
    node.network.set_some("Network", "LLDP", lldp.map(yes));
    let family = wait_ip.map(|family| match family {
        WaitIp::Any => "any",
        WaitIp::V4 => "ipv4",
        WaitIp::V6 => "ipv6",
        WaitIp::Both => "both",
    });
    node.network.set_some("Link", "RequiredFamilyForOnline", family);
    ip::write(interface, &mut node.network, findings);
    let netdev = &mut node.netdev;
    match kind {
        Kind::Bond(bond) => {
            bond::write(bond, path, netdev, findings);
            bond::attach_ports(plan, interface, bond, findings);
        }
        Kind::LinuxBridge(bridge) => {
            bridge::write(bridge, netdev);
            bridge::attach_ports(plan, interface, findings);
        }
        Kind::Vlan(vlan) => {
            vlan::write(vlan, netdev);
            plan.attach(&vlan.parent, "VLAN", &interface.label, &path.key("vlan").key("base-iface"), findings);
        }
        Kind::Vrf(table) => {
            netdev.set("NetDev", "Kind", "vrf");
            netdev.set("VRF", "Table", table.to_string());
            for port in &interface.ports {
                plan.attach(&port.name, "VRF", &interface.label, &port.path, findings);
            }
        }
        Kind::Dummy => netdev.set("NetDev", "Kind", "dummy"),
        _ => {}
    }
}
