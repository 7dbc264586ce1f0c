//! One interface of the document: what all types have in common.

use std::net::IpAddr;

use super::Route;
use super::ip::{self, Ip};
use super::kind::{self, Kind};
use crate::network::fields::{Fields, Findings};
use crate::nmstate_document::interfaces::{Identifier, Interface as Entry};
use crate::nmstate_document::{quoted, text};
use vocabulary::host::MacAddress;
use vocabulary::report::DocumentPath;

/// An interface as both forms write it.
#[derive(Debug)]
pub(super) struct Interface<'a> {
    pub(super) path: DocumentPath,
    pub(super) name: &'a str,
    /// The address by which the NIC is found.
    pub(super) own_mac: Option<MacAddress>,
    /// The address that it is given.
    pub(super) new_mac: Option<MacAddress>,
    pub(super) mtu: Option<u64>,
    pub(super) kind: Kind<'a>,
    pub(super) ip: Ip,
    pub(super) routes: Vec<Route>,
    pub(super) servers: Vec<IpAddr>,
}

/// Reads every interface that is to come up, and adds the ports that the document does not describe.
pub(super) fn read_all<'a>(entries: &'a [Entry<'a>], findings: &mut Findings<'_>) -> Vec<Interface<'a>> {
    let mut interfaces: Vec<Interface<'a>> = Vec::new();
    for entry in entries {
        interfaces.extend(read(entry, entries, findings));
    }
    let mut implied = Vec::new();
    for interface in &interfaces {
        for (name, path) in interface.kind.lower() {
            let known = interfaces.iter().chain(&implied).any(|other: &Interface<'_>| other.name == *name);
            if entries.iter().any(|entry| entry.name == *name) && !known {
                findings.refuse(path, "it is an interface that is left out");
            } else if !known {
                implied.push(Interface {
                    path: path.clone(),
                    name,
                    own_mac: None,
                    new_mac: None,
                    mtu: None,
                    kind: Kind::Ethernet,
                    ip: Ip::default(),
                    routes: Vec::new(),
                    servers: Vec::new(),
                });
            }
        }
    }
    interfaces.extend(implied);
    check_ports(&interfaces, entries, findings);
    interfaces
}

fn read<'a>(entry: &'a Entry<'a>, entries: &[Entry<'a>], findings: &mut Findings<'_>) -> Option<Interface<'a>> {
    let mut fields = Fields::of(entry.map, entry.path.clone());
    fields.ignore(&["name", "type", "state", "identifier", "profile-name", "controller", "description"]);
    if text(entry.map, "state") == Some("down") {
        findings.refuse(&fields.at("state"), "what is written is brought up; leave the interface out");
        return None;
    }
    // Of a type that is not written, the settings need no findings of their own.
    let kind = kind::read(entry.kind, &mut fields, findings)?;
    if entry.identifier == Identifier::Pci {
        findings.refuse(&fields.at("identifier"), "a NIC is found by its name or its MAC address");
    }
    if text(entry.map, "profile-name").is_some_and(|profile| profile != entry.name) {
        let others = entries.iter().filter(|other| refers(other, entry)).count();
        if others > 0 {
            findings.refuse(&fields.at("profile-name"), "another interface uses it; use the name there");
        }
    }
    let mac = fields.text("mac-address").and_then(|mac| mac.parse().ok());
    if let Some(source) = fields.text("copy-mac-from") {
        let known = entries.iter().find(|other| other.name == source);
        let copied: Option<MacAddress> = known.and_then(|other| text(other.map, "mac-address")?.parse().ok());
        if copied.is_none() || copied != mac.or(copied) {
            let reason = format!("the MAC address of {} is not the only one, or not known", quoted(source));
            findings.refuse(&fields.at("copy-mac-from"), &reason);
        }
    }
    let (own_mac, new_mac) = match entry.identifier {
        Identifier::Mac(mac) => (Some(mac), None),
        Identifier::Name | Identifier::Pci => (None, mac.or_else(|| copied_mac(entry, entries))),
    };
    let mtu = fields.number("mtu", 68..=65535, findings);
    // What these say is what happens anyway.
    let mut lldp = fields.section("lldp");
    lldp.word("enabled", &[("false", "")], findings);
    lldp.finish(findings);
    fields.word("accept-all-mac-addresses", &[("false", "")], findings);
    fields.word("wait-ip", &[("any", "")], findings);
    let mut ethernet = fields.section("ethernet");
    ethernet.word("auto-negotiation", &[("true", "")], findings);
    ethernet.finish(findings);
    let ip = ip::read(&mut fields, findings);
    fields.finish(findings);
    let path = entry.path.clone();
    let (routes, servers) = (Vec::new(), Vec::new());
    Some(Interface { path, name: entry.name, own_mac, new_mac, mtu, kind, ip, routes, servers })
}

fn copied_mac(entry: &Entry<'_>, entries: &[Entry<'_>]) -> Option<MacAddress> {
    let source = text(entry.map, "copy-mac-from")?;
    let source = entries.iter().find(|other| other.name == source)?;
    text(source.map, "mac-address")?.parse().ok()
}

/// Whether one interface mentions another by the name of its profile.
fn refers(other: &Entry<'_>, entry: &Entry<'_>) -> bool {
    fn mentions(value: &serde_yaml::Value, name: &str) -> bool {
        match value {
            serde_yaml::Value::String(text) => text == name,
            serde_yaml::Value::Sequence(values) => values.iter().any(|value| mentions(value, name)),
            serde_yaml::Value::Mapping(map) => map.values().any(|value| mentions(value, name)),
            _ => false,
        }
    }
    let Some(profile) = text(entry.map, "profile-name") else { return false };
    other.name != entry.name && other.map.values().any(|value| mentions(value, profile))
}

/// Ports of bonds and bridges have no addresses of their own, and a `controller` is the one that lists the port.
fn check_ports(interfaces: &[Interface<'_>], entries: &[Entry<'_>], findings: &mut Findings<'_>) {
    for interface in interfaces {
        let controllers = interfaces.iter().filter(|other| other.kind.ports().any(|port| port == interface.name));
        let controllers: Vec<&str> = controllers.map(|other| other.name).collect();
        if controllers.len() > 1 {
            findings.refuse(&interface.path, "it is a port of two interfaces");
        }
        if !controllers.is_empty() && interface.ip.is_configured() {
            findings.refuse(&interface.path, "a port of a bond or a bridge has no addresses");
        }
        let entry = entries.iter().find(|entry| entry.name == interface.name);
        let wanted = entry.and_then(|entry| text(entry.map, "controller")).filter(|name| !name.is_empty());
        if wanted.is_some() && wanted != controllers.first().copied() {
            findings.refuse(&interface.path.key("controller"), "no interface of this name lists it as its port");
        }
    }
}
