//! Settings of an interface that are lost under a condition. What is lost always is in the tables of `features.rs`.

use std::collections::BTreeSet;

use serde_yaml::{Mapping, Value};

use crate::members::get;
use crate::nmstate_document::interfaces::Interface;
use crate::nmstate_document::{elements, is_true, mapping, number, quoted, text};
use vocabulary::report::{DocumentPath, Report};

/// Reports settings that are lost under a condition, and those with which a profile is not what it says.
pub(crate) fn check(interface: &Interface<'_>, report: &mut Report) {
    let Interface { map, path, kind, .. } = interface;
    if let Some(ethernet) = mapping(map, "ethernet")
        && get(ethernet, "auto-negotiation").is_none_or(|value| is_true(Some(value)))
    {
        for key in ["speed", "duplex"].into_iter().filter(|key| ethernet.contains_key(*key)) {
            let message = "is missing from the keyfiles unless auto-negotiation is false";
            report.warning("not-in-keyfiles", &path.key("ethernet").key(key), message);
        }
    }
    if let Some(pause) = mapping(map, "ethtool").and_then(|ethtool| mapping(ethtool, "pause"))
        && get(pause, "autoneg").is_none_or(|value| is_true(Some(value)))
    {
        for key in ["rx", "tx"].into_iter().filter(|key| pause.contains_key(*key)) {
            let message = "is missing from the keyfiles unless autoneg is false";
            report.warning("not-in-keyfiles", &path.key("ethtool").key("pause").key(key), message);
        }
    }
    if let Some(fec) = mapping(map, "ethtool").and_then(|ethtool| mapping(ethtool, "fec"))
        && is_true(get(fec, "auto"))
        && get(fec, "mode").is_some_and(|mode| !mode.is_null())
    {
        let message = "is missing from the keyfiles unless auto is false";
        report.warning("not-in-keyfiles", &path.key("ethtool").key("fec").key("mode"), message);
    }
    let flags = mapping(map, "mptcp").and_then(|mptcp| mptcp.get("address-flags")).and_then(Value::as_sequence);
    if flags.is_some_and(|flags| !flags.is_empty()) {
        let message = "is refused: nmstate writes it depending on the sysctl net.mptcp.enabled of the machine that it \
                       runs on, which is not the host; set it after the installation";
        report.error("mptcp", &path.key("mptcp").key("address-flags"), message);
    }
    if *kind == "loopback" && get(map, "mtu").is_some() {
        report.warning("not-in-keyfiles", &path.key("mtu"), "is missing from the keyfiles for the loopback interface");
    }
    if get(map, "copy-mac-from").is_some() && !matches!(*kind, "bond" | "linux-bridge") {
        let message = format!("has no effect on an interface of type {kind}; write mac-address instead");
        report.error("copy-mac-from", &path.key("copy-mac-from"), message);
    }
    if matches!(*kind, "infiniband" | "loopback") && is_true(get(map, "accept-all-mac-addresses")) {
        let message = format!("is missing from the keyfiles for an interface of type {kind}");
        report.warning("not-in-keyfiles", &path.key("accept-all-mac-addresses"), message);
    }
    if get(map, "pci-address").is_some_and(|address| !address.is_null())
        && text(map, "identifier") != Some("pci-address")
    {
        let message = "is not used: identifier is not pci-address, so the profile is for the NIC with this name";
        report.warning("not-in-keyfiles", &path.key("pci-address"), message);
    }
    check_section(interface, report);
    check_virtual_functions(interface, report);
    check_bridge_ports(interface, report);
    check_bond_ports(interface, report);
}

/// Types that need a section of the same name.
const WITH_SECTION: [&str; 7] = ["infiniband", "mac-vlan", "mac-vtap", "macsec", "veth", "vlan", "vxlan"];

fn check_section(Interface { map, path, kind, .. }: &Interface<'_>, report: &mut Report) {
    if WITH_SECTION.contains(kind) && mapping(map, kind).is_none() {
        let message = format!("is of type {kind} and has no section {kind}, which its profile needs");
        report.error("interface-section-missing", path, message);
    }
    let mode = mapping(map, "link-aggregation").and_then(|bond| text(bond, "mode"));
    if *kind == "bond" && mode == Some("unknown") {
        let message =
            "is unknown, which NetworkManager ignores: the bond would use balance-rr; write the mode that you want";
        report.error("bond-mode-invalid", &path.key("link-aggregation").key("mode"), message);
    }
}

/// Functions of a NIC with SR-IOV.
fn check_virtual_functions(Interface { map, path, .. }: &Interface<'_>, report: &mut Report) {
    let Some(functions) = mapping(map, "ethernet").and_then(|ethernet| mapping(ethernet, "sr-iov")) else { return };
    let at = path.key("ethernet").key("sr-iov");
    let is_set = |map: &Mapping, key: &str| get(map, key).is_some_and(|value| !value.is_null());
    let lost = |at: &DocumentPath, key: &str, without: &str, report: &mut Report| {
        report.warning("not-in-keyfiles", &at.key(key), format!("is missing from the keyfiles {without}"));
    };
    if number(get(functions, "total-vfs")) == Some(0) {
        for key in ["vfs", "drivers-autoprobe"].into_iter().filter(|key| is_set(functions, key)) {
            lost(&at, key, "if total-vfs is 0", report);
        }
        return;
    }
    let mut numbers = BTreeSet::new();
    for (index, function) in elements(functions, &["vfs"]).iter().enumerate() {
        if let Some(number) = number(function.get("id")).filter(|number| !numbers.insert(*number)) {
            let message = format!("is a second entry for the function {number}: nmstate {ONE_OF_TWO}");
            report.error("settings-twice", &at.key("vfs").index(index).key("id"), message);
        }
        let Some(function) = function.as_mapping().filter(|function| !is_set(function, "vlan-id")) else { continue };
        for key in ["qos", "vlan-proto"].into_iter().filter(|key| is_set(function, key)) {
            lost(&at.key("vfs").index(index), key, "without vlan-id", report);
        }
    }
}

const ONE_OF_TWO: &str = "uses only one of the two, and says nothing; write one entry with the settings of both";

/// Settings of a bond's ports. nmstate refuses a port that is listed twice, unless `port` lists the ports as well: then it takes
/// the first entry with settings.
fn check_bond_ports(Interface { map, path, .. }: &Interface<'_>, report: &mut Report) {
    let at = path.key("link-aggregation").key("ports-config");
    let mut names = BTreeSet::new();
    for (index, port) in elements(map, &["link-aggregation", "ports-config"]).iter().enumerate() {
        let Some(port) = port.as_mapping() else { continue };
        let Some(name) = text(port, "name").filter(|name| !names.insert(*name)) else { continue };
        if port.len() > 1 {
            let message = format!("is a second entry for the port {}: nmstate {ONE_OF_TWO}", quoted(name));
            report.error("settings-twice", &at.index(index).key("name"), message);
        }
    }
}

/// VLANs of a bridge's ports.
fn check_bridge_ports(Interface { map, path, .. }: &Interface<'_>, report: &mut Report) {
    let at = path.key("bridge").key("port");
    for (index, port) in elements(map, &["bridge", "port"]).iter().enumerate() {
        let Some(vlan) = port.as_mapping().and_then(|port| mapping(port, "vlan")) else { continue };
        let at = at.index(index).key("vlan");
        let is_set = |key: &&str| get(vlan, key).is_some_and(|value| !value.is_null());
        if !is_set(&"mode") && ["tag", "trunk-tags", "enable-native"].iter().any(is_set) {
            let message = "has no mode, so nmstate leaves its VLANs out, and the bridge filters all others; add mode, \
                           access or trunk";
            report.error("bridge-port-vlan-lost", &at, message);
        }
        let without_tag = match text(vlan, "mode") {
            _ if is_set(&"tag") => None,
            Some("trunk") if is_true(get(vlan, "enable-native")) => Some("enable-native"),
            Some("access") => Some("mode"),
            _ => None,
        };
        if let Some(key) = without_tag {
            report.warning("not-in-keyfiles", &at.key(key), "is missing from the keyfiles without tag");
        }
        for (index, tag) in elements(vlan, &["trunk-tags"]).iter().enumerate() {
            if tag.get("id").is_some() && tag.get("id-range").is_some() {
                let message = "has id and id-range, and nmstate uses only id; write two entries";
                report.error("bridge-port-vlan-lost", &at.key("trunk-tags").index(index), message);
            }
        }
    }
}
