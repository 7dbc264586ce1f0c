//! One interface of the document: what all types have in common.

use nmstate::PciAddress;

use super::plan::Plan;
use super::sayable::problem_of;
use super::unit::yes;
use super::{bond, bridge, ip, stacked};
use crate::model::{self, Device, Kind, Topology};
use crate::network::fields::Fields;
use crate::network::form::Findings;
use crate::nmstate_document::interfaces::Interface;
use crate::nmstate_document::text;

/// Writes every interface into the plan. What one says about another goes to the other.
pub(super) fn write_all<'a>(
    plan: &mut Plan<'a>,
    topology: &'a Topology,
    interfaces: &'a [Interface<'a>],
    findings: &mut Findings<'_>,
) {
    for interface in interfaces {
        let index = plan.add(interface.name, text(interface.map, "profile-name"), Some(interface));
        if let Some(node) = plan.nodes.get_mut(index) {
            node.down = text(interface.map, "state") == Some("down");
        }
    }
    for (index, entry) in interfaces.iter().enumerate().filter(|(_, entry)| problem_of(entry.kind).is_none()) {
        if let Some(interface) = topology.interfaces.iter().find(|interface| interface.path == entry.path) {
            write(plan, index, interface, &Fields::of(entry.map, entry.path.clone()), findings);
        }
    }
}

fn write<'a>(
    plan: &mut Plan<'a>,
    index: usize,
    interface: &'a model::Interface,
    fields: &Fields<'a>,
    findings: &mut Findings<'_>,
) {
    let Some(node) = plan.nodes.get_mut(index) else { return };
    if let Some(description) = fields.text("description") {
        if description.trim() == description && !description.ends_with('\\') {
            node.network.set("Network", "Description", description);
        } else {
            let message = "is missing from the units: it begins or ends with a blank or a backslash";
            findings.warn("description-left-out", &fields.at("description"), message);
        }
    }
    if let Device::Pci(pci) = &interface.device {
        match PciAddress::try_from(pci.as_str()) {
            Ok(pci) => {
                node.network.set("Match", "Path", format!("pci-{pci}"));
                node.network.set("Match", "Type", "ether");
                node.network.set("Match", "Kind", "!*");
            }
            Err(_) => findings.refuse(&fields.at("pci-address"), "it is not a PCI address"),
        }
    }
    // An interface that is down has no settings: networkd leaves it alone.
    if node.down {
        return;
    }
    // Units say the address of a VRF, and of a bond that follows its active port; profiles do not.
    let is_to_set = !matches!(interface.device, Device::Mac(_));
    let written = || fields.text("mac-address").filter(|_| is_to_set).and_then(|mac| mac.parse().ok());
    match (&interface.kind, interface.mac.or_else(written)) {
        (Kind::Ethernet, Some(mac)) => node.network.set("Link", "MACAddress", mac.to_string()),
        (_, Some(mac)) => node.netdev.set("NetDev", "MACAddress", mac.to_string()),
        (Kind::Bond(_) | Kind::LinuxBridge(_), None) => {
            // Otherwise networkd, and then udev, would make one up, and the ports' would not count.
            node.netdev.set("NetDev", "MACAddress", "none");
            node.link.set("Link", "MACAddressPolicy", "none");
        }
        _ => {}
    }
    if let Some(mtu) = interface.mtu {
        node.network.set("Link", "MTUBytes", mtu.to_string());
    }
    if let Some(all) = fields.flag("accept-all-mac-addresses") {
        node.network.set("Link", "Promiscuous", yes(all));
    }
    if let Some(enabled) = fields.section("lldp").flag("enabled") {
        node.network.set("Network", "LLDP", yes(enabled));
    }
    if let Some(family) = fields.text("wait-ip") {
        node.network.set("Link", "RequiredFamilyForOnline", if family == "ipv4+ipv6" { "both" } else { family });
    }
    node.ip = ip::read(&interface.kind, fields, &mut node.network, findings);
    match &interface.kind {
        Kind::Bond(bond) => bond::write(plan, index, interface, bond, findings),
        Kind::LinuxBridge(bridge) => bridge::write(plan, index, interface, bridge, fields, findings),
        Kind::Vlan(vlan) => stacked::write_vlan(plan, index, vlan, fields, findings),
        Kind::Vrf(table) => stacked::write_vrf(plan, index, interface, *table, findings),
        Kind::Dummy => node.netdev.set("NetDev", "Kind", "dummy"),
        _ => {}
    }
}
