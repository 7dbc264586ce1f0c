//! Checks of what interfaces consist of: their ports, peers, parents and addresses.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::Value;

use super::{Network, bonds};
use crate::model::{Device, Interface, Kind, Method};
use crate::nmstate_document::references;
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    nics(network, report);
    let mut tables: BTreeMap<u32, &Interface> = BTreeMap::new();
    for interface in &network.topology.interfaces {
        if let Some(mac) = interface.mac.filter(|mac| mac.is_group() || mac.is_zero()) {
            let message = format!("sets the MAC address {mac}, which no single interface can have");
            report.error("mac-address-unusable", &interface.path, message);
        }
        of_the_loopback(network, interface, report);
        match interface.kind {
            Kind::Bond(ref kind) => {
                bond(network, interface, report);
                bonds::check(network, interface, kind, report);
            }
            Kind::Veth(ref peer) => pair(network, interface, peer, report),
            Kind::Ethernet => {
                of_another_type(network, interface, report);
                of_odd_name(network, interface, report);
            }
            Kind::Vrf(table) if interface.active => {
                if let Some(first) = tables.insert(table, interface) {
                    let message = format!("uses table {table}, like {} ({})", first.name, first.path);
                    report.warning("vrf-table-shared", &interface.path, message + ": the two are not separate");
                }
                if matches!(table, 253..=255) {
                    let message =
                        format!("uses table {table}, which the rest of the host uses as well: the VRF is not separate");
                    report.warning("vrf-table-shared", &interface.path, message);
                }
            }
            _ => {}
        }
        let parent = interface.kind.parent().and_then(|parent| network.interface(parent));
        if let Some(parent) = parent.filter(|parent| interface.active && !parent.active) {
            let message = format!("is on {}, which stays down ({})", parent.name, parent.path);
            report.warning("parent-down", &interface.path, message);
        }
    }
}

/// The NICs that documents know by their MAC addresses: none has one of a group.
fn nics(network: &Network<'_>, report: &mut Report) {
    let boot = network.host.boot_mac.map(|mac| (mac, &network.host.paths.boot_mac));
    let listed = network.host.nics.iter().map(|nic| (nic.mac, &nic.path));
    let identified = network.topology.interfaces.iter().filter_map(|interface| match interface.device {
        Device::Mac(mac) => Some((mac, &interface.path)),
        _ => None,
    });
    let mut said = BTreeSet::new();
    for (mac, path) in boot.into_iter().chain(listed).chain(identified) {
        if (mac.is_group() || mac.is_zero()) && said.insert(mac) {
            report.error("mac-address-unusable", path, format!("is {mac}, which no NIC has"));
        }
    }
}

/// The two ends of a pair name each other.
fn pair(network: &Network<'_>, interface: &Interface, peer: &str, report: &mut Report) {
    let path = interface.path.key("veth").key("peer");
    if peer == interface.name {
        let message = format!("is {peer}, the interface itself; the other end of a pair has a name of its own");
        report.error("veth-peer", &path, message);
        return;
    }
    let Some(other) = network.interface(peer) else { return };
    match &other.kind {
        Kind::Veth(theirs) if *theirs == interface.name => {}
        Kind::Veth(theirs) => {
            let message = format!(
                "is {peer}, whose own peer is {theirs} ({}); the two ends of a pair name each other",
                other.path
            );
            report.error("veth-peer", &path, message);
        }
        // NetworkManager also uses the profile of a NIC for the end of a pair.
        Kind::Ethernet if other.device != Device::Name || !references::is_of_a_nic(peer) => {}
        // An interface that stays down does not exist, unless it is a NIC.
        kind if !other.active && *kind != Kind::Ethernet => {}
        kind => {
            let message = format!(
                "is {peer}, which is of type {} ({}): the kernel creates both ends of a pair at once, and refuses a name \
                 that exists",
                kind.name(),
                other.path
            );
            report.warning("veth-peer", &path, message);
        }
    }
}

/// A user's own profile for the loopback that has another type. In NMState, dayone refuses such an interface. NetworkManager has a type for
/// the loopback since 1.42; older releases leave the loopback alone.
fn of_the_loopback(network: &Network<'_>, interface: &Interface, report: &mut Report) {
    if network.is_nmstate() || interface.device != Device::Name || interface.name != "lo" {
        return;
    }
    let consequence = match interface.kind {
        Kind::Loopback | Kind::Other(_) => return,
        Kind::Ethernet => "NetworkManager never activates a profile of this type on it; write type=loopback",
        _ => "the kernel creates no other interface of this name; choose another name",
    };
    let message = format!("is {}, and lo is the loopback, which every host has: {consequence}", interface.kind.name());
    report.warning("type-unlike-name", &network.place(interface, &["type"], &["connection", "type"]), message);
}

/// A NIC with a name that only a profile of another type makes.
fn of_another_type(network: &Network<'_>, interface: &Interface, report: &mut Report) {
    if interface.device != Device::Name {
        return;
    }
    let Some(made) = references::made_by(&interface.name) else { return };
    // A port without an entry, or without a type, gets its finding where the document names it.
    if let Some(document) = network.host.network.as_nmstate() {
        let interfaces = document.value.get("interfaces").and_then(Value::as_sequence);
        let mut entries = interfaces.into_iter().flatten();
        let entry = entries.find(|entry| entry.get("name").and_then(Value::as_str) == Some(&interface.name));
        if entry.is_none_or(|entry| entry.get("type").is_none()) {
            return;
        }
    }
    let message = format!(
        "is ethernet, and only an interface of type {made} has a name like {}; did you mean {}?",
        interface.name,
        network.words().of_type(made)
    );
    report.warning("type-unlike-name", &network.place(interface, &["type"], &["connection", "type"]), message);
}

/// The characters that mark placeholders in templates.
const OF_PLACEHOLDERS: [char; 5] = ['$', '{', '}', '<', '>'];

/// A NIC whose name has an invisible character, one that looks like another one, or one of a placeholder. The kernel compares names byte
/// by byte.
fn of_odd_name(network: &Network<'_>, interface: &Interface, report: &mut Report) {
    if interface.device != Device::Name {
        return;
    }
    let is_odd = |c: &char| !c.is_ascii_graphic() || OF_PLACEHOLDERS.contains(c);
    let Some(odd) = interface.name.chars().find(is_odd) else { return };
    let what = if OF_PLACEHOLDERS.contains(&odd) {
        format!("contains {odd}, like a placeholder that was not filled in")
    } else {
        format!("contains the character U+{:04X}", u32::from(odd))
    };
    let message = format!(
        "is \"{}\", which {what}: no NIC has this character in its name, unless the host renames it",
        interface.name.escape_default()
    );
    report.warning("nic-name-odd", &network.place(interface, &["name"], &["connection", "interface-name"]), message);
}

/// A bond without a port that comes up has no link.
fn bond(network: &Network<'_>, bond: &Interface, report: &mut Report) {
    let ports = network.ports(&bond.name);
    if !bond.active || ports.iter().any(|port| port.active) {
        return;
    }
    let what = if ports.is_empty() { "has no ports" } else { "has no port that comes up" };
    let needed = bond.families().iter().any(|ip| !matches!(ip.method, Method::Disabled | Method::LinkLocal))
        || bond.controller.is_some()
        || network.children(&bond.name).iter().any(|child| child.active);
    if needed {
        let message = format!("{what}: it never has a link, and neither do the interfaces on it");
        report.error("bond-without-ports", &bond.path, message);
    } else {
        report.warning("bond-without-ports", &bond.path, format!("{what}: it never has a link"));
    }
}
