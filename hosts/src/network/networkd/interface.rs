//! One interface of the document: what all types have in common.

use nmstate::PciAddress;

use super::plan::Plan;
use super::unit::yes;
use super::{LINK_FILE, bond, bridge, ip, stacked};
use crate::network::fields::{Fields, Findings};
use crate::nmstate_document::interfaces::{Identifier, Interface};
use crate::nmstate_document::{quoted, text};
use vocabulary::host::MacAddress;

/// Reads every interface into the plan. What one says about another goes to the other.
pub(super) fn read_all<'a>(plan: &mut Plan<'a>, interfaces: &'a [Interface<'a>], findings: &mut Findings<'_>) {
    for interface in interfaces {
        let index = plan.add(interface.name, text(interface.map, "profile-name"), Some(interface));
        if let Some(node) = plan.nodes.get_mut(index) {
            node.down = text(interface.map, "state") == Some("down");
        }
    }
    for (index, interface) in interfaces.iter().enumerate() {
        read(plan, index, interface, interfaces, findings);
    }
    check_ports(plan, findings);
}

fn read<'a>(
    plan: &mut Plan<'a>,
    index: usize,
    interface: &'a Interface<'a>,
    interfaces: &'a [Interface<'a>],
    findings: &mut Findings<'_>,
) {
    let mut fields = Fields::of(interface.map, interface.path.clone());
    if let Some(problem) = problem_of(interface.kind) {
        findings.refuse(&fields.at("type"), &format!("it is {}, and {problem}", interface.kind));
        return;
    }
    fields.ignore(&["name", "type", "state", "identifier", "profile-name", "controller"]);
    let Some(node) = plan.nodes.get_mut(index) else { return };
    let description = fields.text("description").filter(|text| !text.is_empty());
    if let Some(description) = description {
        if description.trim() == description && !description.ends_with('\\') {
            node.network.set("Network", "Description", description);
        } else {
            let message = "is not carried into the units: it begins or ends with a blank or a backslash";
            findings.warn("description-left-out", &fields.at("description"), message);
        }
    }
    let pci = fields.text("pci-address");
    if interface.identifier == Identifier::Pci {
        match pci.and_then(|pci| PciAddress::try_from(pci).ok()) {
            Some(pci) => {
                node.network.set("Match", "Path", format!("pci-{pci}"));
                node.network.set("Match", "Type", "ether");
                node.network.set("Match", "Kind", "!*");
            }
            None => findings.refuse(&fields.at("pci-address"), "it is not a PCI address"),
        }
    }
    if node.down {
        if interface.kind != "ethernet" {
            let reason = "no unit waits for somebody to activate it; leave the interface out";
            findings.refuse(&fields.at("state"), reason);
        }
        read_down(fields, interface, findings);
        return;
    }
    read_link(plan, index, interface, interfaces, &mut fields, findings);
    read_kind(plan, index, interface, &mut fields, findings);
    fields.finish(findings);
}

/// An interface that is down has no settings: networkd leaves it alone.
fn read_down(mut fields: Fields<'_>, interface: &Interface<'_>, findings: &mut Findings<'_>) {
    if matches!(interface.identifier, Identifier::Mac(_)) {
        fields.ignore(&["mac-address"]);
    }
    for family in ["ipv4", "ipv6"] {
        let mut ip = fields.section(family);
        if ip.exists() && ip.flag("enabled") == Some(true) {
            findings.refuse(ip.path(), DOWN);
        }
    }
    fields.finish_because(DOWN, findings);
}

const DOWN: &str = "the interface is down, and networkd keeps no settings for later";

/// The settings of the link itself.
fn read_link<'a>(
    plan: &mut Plan<'a>,
    index: usize,
    interface: &'a Interface<'a>,
    interfaces: &'a [Interface<'a>],
    fields: &mut Fields<'a>,
    findings: &mut Findings<'_>,
) {
    let Some(node) = plan.nodes.get_mut(index) else { return };
    let mac = read_mac(fields, interface, interfaces, findings);
    match (interface.kind, mac) {
        ("ethernet", Some(mac)) => node.network.set("Link", "MACAddress", mac.to_string()),
        (_, Some(mac)) => node.netdev.set("NetDev", "MACAddress", mac.to_string()),
        ("bond" | "linux-bridge", None) => {
            // Otherwise networkd, and then udev, would make one up, and the ports' would not count.
            node.netdev.set("NetDev", "MACAddress", "none");
            node.link.set("Link", "MACAddressPolicy", "none");
        }
        _ => {}
    }
    if let Some(mtu) = fields.number("mtu", 68..=65535, findings) {
        node.network.set("Link", "MTUBytes", mtu.to_string());
    }
    if let Some(all) = fields.flag("accept-all-mac-addresses") {
        node.network.set("Link", "Promiscuous", yes(all));
    }
    let mut lldp = fields.section("lldp");
    if let Some(enabled) = lldp.flag("enabled") {
        node.network.set("Network", "LLDP", yes(enabled));
    }
    lldp.finish(findings);
    let wait = [("any", "any"), ("ipv4", "ipv4"), ("ipv6", "ipv6"), ("ipv4+ipv6", "both")];
    if let Some(family) = fields.word("wait-ip", &wait, findings) {
        node.network.set("Link", "RequiredFamilyForOnline", family);
    }
    let mut ethernet = fields.section("ethernet");
    ethernet.word("auto-negotiation", &[("true", "")], findings);
    ethernet.finish_because(LINK_FILE, findings);
    node.ip = ip::read(interface.kind, fields, &mut node.network, findings);
}

/// The MAC address to set.
fn read_mac<'a>(
    fields: &mut Fields<'a>,
    interface: &Interface<'_>,
    interfaces: &[Interface<'a>],
    findings: &mut Findings<'_>,
) -> Option<MacAddress> {
    let mac = fields.text("mac-address").and_then(|mac| mac.parse().ok());
    let source = fields.text("copy-mac-from");
    if matches!(interface.identifier, Identifier::Mac(_)) {
        return None;
    }
    let Some(source) = source else { return mac };
    let copied = interfaces
        .iter()
        .find(|other| other.name == source || text(other.map, "profile-name") == Some(source))
        .and_then(|other| text(other.map, "mac-address")?.parse().ok());
    if copied.is_none() || mac.is_some_and(|mac| Some(mac) != copied) {
        let reason = format!("the MAC address of {} is not the only one, or not known", quoted(source));
        findings.refuse(&fields.at("copy-mac-from"), &reason);
    }
    copied
}

fn read_kind<'a>(
    plan: &mut Plan<'a>,
    index: usize,
    interface: &Interface<'a>,
    fields: &mut Fields<'a>,
    findings: &mut Findings<'_>,
) {
    match interface.kind {
        "bond" => bond::read(plan, index, interface.name, fields, findings),
        "linux-bridge" => bridge::read(plan, index, interface.name, fields, findings),
        "vlan" => stacked::read_vlan(plan, index, interface.name, fields, findings),
        "vrf" => stacked::read_vrf(plan, index, interface.name, fields, findings),
        "dummy" => {
            if let Some(node) = plan.nodes.get_mut(index) {
                node.netdev.set("NetDev", "Kind", "dummy");
            }
        }
        _ => {}
    }
}

/// Why there are no units for interfaces of a type.
fn problem_of(kind: &str) -> Option<&'static str> {
    match kind {
        "ethernet" | "bond" | "linux-bridge" | "vlan" | "vrf" | "dummy" => None,
        "macsec" => Some("its key would be a secret in a file that everyone may read"),
        "loopback" => Some("the kernel sets it up by itself"),
        _ => Some("dayone makes units of ethernet, bond, vlan, linux-bridge, vrf and dummy"),
    }
}

/// Ports of bonds and bridges have no addresses of their own, and a `controller` is the one that lists the port.
fn check_ports(plan: &Plan<'_>, findings: &mut Findings<'_>) {
    for node in &plan.nodes {
        let Some(interface) = node.interface else { continue };
        let wanted = text(interface.map, "controller").filter(|name| !name.is_empty());
        let found = node.controller.map(|(name, _)| name);
        if wanted.is_some() && wanted != found {
            findings.refuse(&interface.path.key("controller"), "no interface of this name lists it as its port");
        }
        if node.controller.is_some() && !node.in_vrf() {
            for (family, enabled) in [("ipv4", node.ip.v4.enabled), ("ipv6", node.ip.v6.enabled)] {
                if enabled {
                    findings.refuse(&interface.path.key(family), "a port of a bond or a bridge has no addresses");
                }
            }
        }
    }
}
