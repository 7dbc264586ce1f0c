//! Checks `br-ex` in a document: mistakes that matter on every host.

use serde_yaml::Mapping;

use super::BRIDGE;
use crate::nmstate_document::{elements, is_true, mapping, quoted, text};
use vocabulary::report::{DocumentPath, Report};

/// Names that OVN-Kubernetes gives its own interfaces. A `*` stands for the rest of a name.
const RESERVED: &[&str] = &[
    "br-ext",
    "br-int",
    "br-local",
    "br-nexthop",
    "br0",
    "ext",
    "ext-vxlan",
    "genev_sys_*",
    "int",
    "k8s-*",
    "ovn-k8s-*",
    "patch-br-*",
    "tun0",
    "vxlan_sys_*",
];

/// An entry of `interfaces` for an interface that shall exist.
struct Entry<'a> {
    map: &'a Mapping,
    path: DocumentPath,
    name: &'a str,
    kind: &'a str,
}

/// The interface that connects the bridge to the external network: a NIC, a bond or a VLAN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Uplink {
    pub(super) name: String,
    pub(super) path: DocumentPath,
}

/// Checks the bridge, its ports and its interface. Returns its uplinks.
pub(super) fn check(document: &Mapping, path: &DocumentPath, report: &mut Report) -> Vec<Uplink> {
    let entries = entries(document, path);
    for entry in &entries {
        check_name(entry, report);
    }
    let of_type = |kind: &str| entries.iter().find(|entry| entry.name == BRIDGE && entry.kind == kind);
    let (bridge, interface) = (of_type("ovs-bridge"), of_type("ovs-interface"));
    for (found, kind, why) in [
        (
            bridge,
            "ovs-bridge",
            "OVN-Kubernetes would find no bridge to the external network, and the node would never be ready",
        ),
        (interface, "ovs-interface", "nothing would have the host's addresses once its NIC is a port of the bridge"),
    ] {
        if found.is_none() {
            let message = format!("have none with the name {BRIDGE} and the type {kind}: {why}");
            report.error("br-ex-missing", &path.key("interfaces"), message);
        }
    }
    if let Some(interface) = interface {
        check_interface(interface, &entries, report);
    }
    let Some(bridge) = bridge else { return Vec::new() };
    let ports = ports(bridge);
    let internal: Vec<&str> =
        entries.iter().filter(|entry| entry.kind == "ovs-interface").map(|entry| entry.name).collect();
    let at = bridge.path.key("bridge").key("port");
    if !ports.iter().any(|port| port.name == BRIDGE) {
        let message = format!("lacks {BRIDGE} itself: an Open vSwitch interface exists only as a port of its bridge");
        report.error("br-ex-not-a-port", &at, message);
    }
    let uplinks: Vec<Uplink> = ports.into_iter().filter(|port| !internal.contains(&port.name.as_str())).collect();
    match uplinks.as_slice() {
        [] => {
            let message = "names no NIC, bond or VLAN: the bridge would have no uplink";
            report.error("br-ex-without-uplink", &at, message);
        }
        [_] => {}
        [_, second, ..] => {
            let message = "is a second uplink, and OVN-Kubernetes uses one: make a bond of them, and make the bond \
                           the port";
            report.warning("br-ex-several-uplinks", &second.path, message);
        }
    }
    for entry in entries.iter().filter(|entry| uplinks.iter().any(|uplink| uplink.name == entry.name)) {
        check_uplink(entry, report);
    }
    uplinks
}

fn entries<'a>(document: &'a Mapping, path: &DocumentPath) -> Vec<Entry<'a>> {
    let all = elements(document, &["interfaces"]).iter().enumerate();
    let entries = all.filter_map(|(index, value)| {
        let map = value.as_mapping()?;
        let (name, kind) = (text(map, "name")?, text(map, "type").unwrap_or("ethernet"));
        let exists = !matches!(text(map, "state"), Some("absent" | "ignore" | "down"));
        exists.then(|| Entry { map, path: path.key("interfaces").index(index), name, kind })
    });
    entries.collect()
}

/// Returns the ports of a bridge. For a bond that Open vSwitch makes, it returns its first member.
fn ports(bridge: &Entry<'_>) -> Vec<Uplink> {
    let at = bridge.path.key("bridge").key("port");
    let mut found = Vec::new();
    for (index, port) in elements(bridge.map, &["bridge", "port"]).iter().enumerate() {
        let at = at.index(index);
        let Some(port) = port.as_mapping() else { continue };
        let members = elements(port, &["link-aggregation", "port"]);
        let uplink = |name: &str| Uplink { name: name.to_owned(), path: at.clone() };
        if members.is_empty() {
            found.extend(text(port, "name").map(uplink));
        } else {
            found.extend(members.first().and_then(|member| member.get("name")?.as_str()).map(uplink));
        }
    }
    found
}

fn check_name(entry: &Entry<'_>, report: &mut Report) {
    let is_reserved = RESERVED.iter().any(|reserved| match reserved.strip_suffix('*') {
        Some(prefix) => entry.name.starts_with(prefix),
        None => entry.name == *reserved,
    });
    if is_reserved {
        let message = format!("is {}, a name that OVN-Kubernetes gives to an interface of its own", quoted(entry.name));
        report.error("interface-name-reserved", &entry.path.key("name"), message);
    }
}

fn check_interface(interface: &Entry<'_>, entries: &[Entry<'_>], report: &mut Report) {
    let has_addresses = ["ipv4", "ipv6"].into_iter().filter_map(|family| mapping(interface.map, family)).any(|ip| {
        let some = is_true(ip.get("dhcp")) || is_true(ip.get("autoconf")) || !elements(ip, &["address"]).is_empty();
        is_true(ip.get("enabled")) && some
    });
    if !has_addresses {
        let message = "has neither an address nor DHCP: the host would lose its address";
        report.error("br-ex-without-address", &interface.path, message);
    }
    match text(interface.map, "copy-mac-from") {
        None if text(interface.map, "mac-address").is_none() => {
            let message = "has neither copy-mac-from nor mac-address: Open vSwitch chooses a MAC address, which may \
                           change, and DHCP servers and switches know the host by it";
            report.warning("br-ex-mac", &interface.path, message);
        }
        Some(source) if !entries.iter().any(|entry| entry.name == source || profile(entry) == Some(source)) => {
            let message = format!("is {}, which the document does not describe", quoted(source));
            report.warning("br-ex-mac", &interface.path.key("copy-mac-from"), message);
        }
        _ => {}
    }
}

fn profile<'a>(entry: &Entry<'a>) -> Option<&'a str> {
    text(entry.map, "profile-name")
}

/// Reports addresses of an uplink. The interface of the bridge has the addresses, and its ports have none.
fn check_uplink(entry: &Entry<'_>, report: &mut Report) {
    for family in ["ipv4", "ipv6"] {
        if mapping(entry.map, family).is_some_and(|ip| is_true(ip.get("enabled"))) {
            let message = format!(
                "is enabled on a port of {BRIDGE}, which nmstate refuses: a port has no addresses; move them to the \
                 interface {BRIDGE}, and set enabled: false here"
            );
            report.error("uplink-has-address", &entry.path.key(family), message);
        }
    }
}
