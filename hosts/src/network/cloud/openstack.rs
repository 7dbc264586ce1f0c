//! `OpenStack`'s `network_data.json` (the schema is in nova's documentation, "Metadata"):
//! `links`, the `networks` upon them, and `services`.

use serde_json::{Value, json};

use super::interface::Interface;
use super::ip::Automatic;
use super::kind::{BondOptions, Kind};
use super::object::Object;
use super::{Network, Route};
use crate::network::fields::Findings;

/// Writes the whole document, as far as it can be said.
pub(super) fn write(network: &Network<'_>, findings: &mut Findings<'_>) -> String {
    let mut networks = Vec::new();
    let mut services = Vec::new();
    // A link comes before those that are made of it: readers take them in order.
    let mut interfaces: Vec<&Interface<'_>> = network.interfaces.iter().collect();
    interfaces.sort_by_key(|interface| depth(interface, network));
    let links: Vec<Value> = interfaces.iter().filter_map(|interface| link(interface, network, findings)).collect();
    for interface in &interfaces {
        networks_of(interface, &mut networks, findings);
        services.extend(interface.servers.iter().map(|server| json!({"type": "dns", "address": server.to_string()})));
    }
    if !network.search.is_empty() {
        findings.refuse(&network.search_path, "it knows no search domains");
    }
    json!({"links": links, "networks": networks, "services": services}).to_string()
}

fn depth(interface: &Interface<'_>, network: &Network<'_>) -> usize {
    // An interface cannot be made of itself: nmstate would have refused it.
    let lower =
        interface.kind.lower().iter().filter_map(|(name, _)| network.interfaces.iter().find(|i| i.name == *name));
    let kinds = |interface: &Interface<'_>| usize::from(!matches!(interface.kind, Kind::Ethernet));
    kinds(interface) + lower.map(kinds).max().unwrap_or(0)
}

fn link(interface: &Interface<'_>, network: &Network<'_>, findings: &mut Findings<'_>) -> Option<Value> {
    let mac = mac_of(interface, network);
    let mut link = Object::default();
    link.set("id", interface.name);
    match &interface.kind {
        Kind::Ethernet => {
            // One that the NIC is to be given finds nothing.
            let mac = interface.own_mac.map(|mac| mac.to_string());
            if mac.is_none() {
                let reason = "a NIC is found by its MAC address; add mac-address, and identifier: mac-address";
                findings.refuse(&interface.path, reason);
            }
            link.set("type", "phy");
            link.set_some("ethernet_mac_address", mac);
        }
        Kind::Bond { options, .. } => {
            link.set("type", "bond");
            link.set_some("ethernet_mac_address", mac);
            link.set("bond_links", interface.kind.ports().collect::<Value>());
            set_bond(&mut link, options, findings);
        }
        Kind::Vlan { lower: (lower, _), id } => {
            if mac.is_none() {
                let reason = "a VLAN needs the MAC address of what it is upon, which is not known";
                findings.refuse(&interface.path, reason);
            }
            link.set("type", "vlan");
            // What readers call it unless they are told.
            if interface.name != format!("{lower}.{id}") {
                link.set("name", interface.name);
            }
            link.set("vlan_link", *lower);
            link.set("vlan_id", *id);
            link.set_some("vlan_mac_address", mac);
        }
        Kind::Bridge { .. } => {
            findings.refuse(&interface.path.key("type"), "it knows no bridges that its readers would make");
            return None;
        }
    }
    link.set_some("mtu", interface.mtu);
    Some(link.into())
}

/// The address of an interface: its own, the one that it is given, or that of the first that it is made of.
fn mac_of(interface: &Interface<'_>, network: &Network<'_>) -> Option<String> {
    let find = |name: &str| network.interfaces.iter().find(|other| other.name == name);
    let lower = |interface: &Interface<'_>| interface.kind.lower().first().and_then(|(name, _)| find(name));
    let known = |interface: &Interface<'_>| interface.own_mac.or(interface.new_mac);
    // A VLAN upon a bond of NICs: there are no more levels.
    let first = lower(interface);
    let mac = known(interface).or_else(|| first.and_then(known)).or_else(|| first.and_then(lower).and_then(known));
    mac.map(|mac| mac.to_string())
}

fn set_bond(link: &mut Object, options: &BondOptions<'_>, findings: &mut Findings<'_>) {
    if let Some((_, path)) = &options.primary {
        findings.refuse(path, "a port's name is not known to its readers");
    }
    link.set("bond_mode", options.mode);
    link.set("bond_miimon", options.miimon);
    link.set_some("bond_updelay", options.updelay);
    link.set_some("bond_downdelay", options.downdelay);
    link.set_some("bond_lacp_rate", options.lacp_rate);
    link.set_some("bond_xmit_hash_policy", options.hash_policy);
}

/// One network for each address, and for each way to get one. Routes stand with the first of their family.
fn networks_of(interface: &Interface<'_>, networks: &mut Vec<Value>, findings: &mut Findings<'_>) {
    for (is_v4, family) in [(true, &interface.ip.v4), (false, &interface.ip.v6)] {
        let routes = interface.routes.iter().filter(|route| route.destination.addr().is_ipv4() == is_v4);
        let mut routes: Vec<Value> = routes.filter_map(|route| route_of(route, findings)).collect();
        let automatic = match (family.automatic, is_v4) {
            (Automatic::None, _) => None,
            (Automatic::Dhcp, true) => Some("ipv4_dhcp"),
            (Automatic::Dhcp, false) => Some("ipv6_dhcpv6-stateful"),
            (Automatic::Routers, _) => Some("ipv6_slaac"),
        };
        let kind = if is_v4 { "ipv4" } else { "ipv6" };
        let addresses = family.addresses.iter().map(|address| (kind, Some(address)));
        let found: Vec<_> = automatic.map(|kind| (kind, None)).into_iter().chain(addresses).collect();
        if found.is_empty() && !routes.is_empty() {
            findings.refuse(&interface.path, "a route needs an address of its family on its interface");
        }
        for (kind, address) in found {
            let mut entry = Object::default();
            entry.set("id", format!("network{}", networks.len()));
            entry.set("link", interface.name);
            entry.set("type", kind);
            entry.set_some("ip_address", address.map(|address| address.addr().to_string()));
            entry.set_some("netmask", address.map(|address| address.netmask().to_string()));
            entry.set("routes", std::mem::take(&mut routes));
            networks.push(entry.into());
        }
    }
}

fn route_of(route: &Route, findings: &mut Findings<'_>) -> Option<Value> {
    let Some(gateway) = route.gateway else {
        findings.refuse(&route.path, "every route there has a gateway");
        return None;
    };
    if route.metric.is_some() {
        findings.refuse(&route.path.key("metric"), "routes have none there; leave it out");
    }
    let network = route.destination;
    Some(json!({
        "network": network.network().to_string(),
        "netmask": network.netmask().to_string(),
        "gateway": gateway.to_string(),
    }))
}
