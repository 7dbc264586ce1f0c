//! Reads the network of a checked NMState document: the same network as in the keyfiles that the nmstate crate makes.
//!
//! That includes what the crate adds or assumes: ports without an entry are NICs, and a family that the document does not
//! mention is off. It does not include a loopback whose profile only holds routes that lead nowhere.

mod ip;
mod kind;
mod routes;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::{Mapping, Value};

use super::{BridgePort, Device, Family, Interface, InterfaceOptions, Ip, Kind, Port, Topology, WaitIp};
use crate::nmstate_document::interfaces::{Identifier, Interface as Entry};
use crate::nmstate_document::other_names::Names;
use crate::nmstate_document::{elements, flag, mapping, ports, small, text};
use routes::Routes;
use vocabulary::host::HostName;
use vocabulary::report::DocumentPath;

/// The network that `document` describes. `entries` are those of its interfaces that get a profile.
pub(crate) fn read(
    document: &Mapping,
    entries: &[Entry<'_>],
    hostname: Option<HostName>,
    path: &DocumentPath,
) -> Topology {
    let names = Names::of(entries);
    let routes = Routes::read(document, entries, &names, path);
    let mut interfaces: BTreeMap<String, Interface> = BTreeMap::new();
    for entry in entries {
        let interface = interface(entry, entries, &names, &routes);
        interfaces.insert(interface.name.clone(), interface);
    }
    let left_out = left_out(document);
    for entry in entries {
        // nmstate writes the other end of a pair as it writes the one that is described, up or down.
        let peer = kind::peer(entry).map(|(peer, path)| Interface {
            active: is_active(entry),
            ..Interface::bare(peer, Kind::Veth(names.name(entry.name).to_owned()), path)
        });
        let ports = ports::with_places(entry.map, &entry.path).into_iter().filter(|(port, _)| !left_out.contains(port));
        let ports = ports.map(|(port, path)| Interface::bare(names.name(port), Kind::Ethernet, path));
        for implied in peer.into_iter().chain(ports) {
            interfaces.entry(implied.name.clone()).or_insert(implied);
        }
    }
    for entry in entries {
        for (port, path) in ports::with_places(entry.map, &entry.path) {
            join(names.name(port), names.name(entry.name), path, &mut interfaces);
            // Names of ports are those of their entries by now.
            if let Some(interface) = interfaces.get_mut(names.name(port)) {
                interface.options.bridge_port = kind::bridge_port(entry.map, port);
            }
        }
    }
    for entry in entries {
        if let Some(controller) = text(entry.map, "controller").filter(|controller| !controller.is_empty()) {
            join(names.name(entry.name), names.name(controller), entry.path.key("controller"), &mut interfaces);
        }
    }
    // As it is on every host, the loopback is nothing that the document has made.
    interfaces.retain(|_, interface| {
        interface.kind != Kind::Loopback || !interface.ipv4.addresses.is_empty() || !interface.ipv6.addresses.is_empty()
    });
    Topology {
        hostname,
        interfaces: interfaces.into_values().collect(),
        routes: routes.all,
        rules: routes::rules(document, path),
        dns: routes::dns(document, path),
    }
}

/// The names of entries that get no profile: nmstate adds none for them as ports either.
fn left_out(document: &Mapping) -> BTreeSet<&str> {
    let entries = elements(document, &["interfaces"]).iter().filter_map(Value::as_mapping);
    let left_out = entries.filter(|entry| matches!(text(entry, "state"), Some("absent" | "ignore")));
    left_out.filter_map(|entry| text(entry, "name")).collect()
}

fn interface(entry: &Entry<'_>, entries: &[Entry<'_>], names: &Names<'_>, routes: &Routes) -> Interface {
    let name = names.name(entry.name).to_owned();
    let kind = kind::read(entry, names);
    // A profile of these says nothing of its link's layer.
    let no_link = matches!(kind, Kind::Vrf(_) | Kind::Loopback | Kind::Infiniband(_)) || entry.has_address_of_port();
    let mac = match entry.identifier {
        Identifier::Mac(_) => None,
        Identifier::Name | Identifier::Pci if no_link => None,
        Identifier::Name | Identifier::Pci => text(entry.map, "copy-mac-from")
            .and_then(|source| {
                let source = entries.iter().find(|other| names.name(other.name) == names.name(source))?;
                text(source.map, "permanent-mac-address").or_else(|| text(source.map, "mac-address"))
            })
            .or_else(|| text(entry.map, "mac-address"))
            .and_then(|mac| mac.parse().ok()),
    };
    let ip = |family| match kind {
        Kind::Loopback => ip::of_loopback(entry, family),
        _ => ip::read(entry, family, routes.reach(&name, family)),
    };
    let has_link = !matches!(kind, Kind::Loopback | Kind::Infiniband(_));
    Interface {
        ipv4: ip(Family::V4),
        ipv6: ip(Family::V6),
        path: entry.path.clone(),
        device: match entry.identifier {
            Identifier::Name => Device::Name,
            Identifier::Mac(mac) => Device::Mac(mac),
            Identifier::Pci => Device::Pci(text(entry.map, "pci-address").unwrap_or_default().to_owned()),
        },
        active: is_active(entry),
        mac,
        mtu: small(entry.map, "mtu").filter(|_| kind != Kind::Loopback),
        options: InterfaceOptions {
            description: text(entry.map, "description").filter(|text| !text.is_empty()).map(str::to_owned),
            promiscuous: flag(entry.map, "accept-all-mac-addresses").filter(|_| has_link),
            lldp: mapping(entry.map, "lldp").and_then(|lldp| flag(lldp, "enabled")),
            wait_ip: match text(entry.map, "wait-ip") {
                Some("any") => Some(WaitIp::Any),
                Some("ipv4") => Some(WaitIp::V4),
                Some("ipv6") => Some(WaitIp::V6),
                Some("ipv4+ipv6") => Some(WaitIp::Both),
                _ => None,
            },
            bridge_port: BridgePort::default(),
            authenticates: mapping(entry.map, "802.1x").is_some(),
        },
        controller: None,
        ports: Vec::new(),
        label: entry.name.to_owned(),
        kind,
        name,
    }
}

fn is_active(entry: &Entry<'_>) -> bool {
    text(entry.map, "state") != Some("down")
}

/// Makes one interface a port of the other, as the document says at `path`. Ports have no addresses, but those of a VRF.
fn join(name: &str, controller: &str, path: DocumentPath, interfaces: &mut BTreeMap<String, Interface>) {
    if !interfaces.contains_key(name) {
        return;
    }
    let Some(of) = interfaces.get_mut(controller) else { return };
    let of_vrf = matches!(of.kind, Kind::Vrf(_));
    let port = Port { name: name.to_owned(), path };
    // The port may say what its controller says.
    if port.path.is_inside(&of.path) || of.ports.iter().all(|other| other.name != name) {
        of.ports.push(port);
    }
    let Some(port) = interfaces.get_mut(name) else { return };
    port.controller = Some(controller.to_owned());
    if !of_vrf {
        port.ipv4 = Ip::disabled(port.ipv4.path.clone());
        port.ipv6 = Ip::disabled(port.ipv6.path.clone());
        port.options.wait_ip = None;
    }
}
