//! The model as forms write it that are one document: interfaces in the order of the NMState document, each with the routes and
//! name servers that belong to it.

use std::borrow::Cow;
use std::net::IpAddr;

use serde_yaml::Mapping;

use crate::model::{Device as FoundBy, Dns, Family, Interface, Ip, Kind, Method, NameServer, Route, Topology, Vlan};
use crate::network::form::Values::{self, Within, WithinOrUsual, Words};
use crate::network::form::{Findings, Section};
use crate::nmstate_document::{quoted, text};
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::DocumentPath;

/// What such a form is written from.
pub(super) struct Network<'a> {
    pub(super) devices: Vec<Device<'a>>,
    /// The name servers of all interfaces, in the document's order.
    pub(super) servers: &'a [NameServer],
    pub(super) search: &'a [String],
    pub(super) search_path: &'a DocumentPath,
}

/// An interface, and what belongs to it.
pub(super) struct Device<'a> {
    pub(super) interface: Cow<'a, Interface>,
    pub(super) routes: Vec<&'a Route>,
    pub(super) servers: Vec<IpAddr>,
}

impl<'a> Device<'a> {
    fn of(interface: Cow<'a, Interface>) -> Self {
        Self { interface, routes: Vec::new(), servers: Vec::new() }
    }

    /// The interfaces that it is made of, each with the place that says so.
    pub(super) fn lower(&self) -> Vec<(&str, DocumentPath)> {
        match &self.interface.kind {
            Kind::Vlan(Vlan { parent, .. }) => vec![(parent, self.interface.path.key("vlan").key("base-iface"))],
            _ => self.interface.ports.iter().map(|port| (port.name.as_str(), port.path.clone())).collect(),
        }
    }

    /// Whether the gateway of a route is in no network of the interface, so that the host must be told that it is on the link.
    pub(super) fn has_off_link_gateway(&self, route: &Route) -> bool {
        route.gateway.is_some_and(|gateway| !self.interface.ip(Family::of(gateway)).finds_on_link(gateway))
    }

    /// Refuses a gateway that is in no network of the interface. For forms that cannot say that it is on the link.
    pub(super) fn refuse_off_link_gateway(&self, route: &Route, findings: &mut Findings<'_>) {
        if self.has_off_link_gateway(route) {
            findings.refuse(&route.gateway_path, "no address of the interface is in its network");
        }
    }

    /// Whether the network may tell it name servers, which are used.
    pub(super) fn asks_for_name_servers(&self) -> bool {
        let Interface { ipv4, ipv6, .. } = self.interface.as_ref();
        [ipv4, ipv6].into_iter().any(Ip::learns_name_servers)
    }
}

impl<'a> Network<'a> {
    /// The network of the document at `path`, with the NICs that it only mentions.
    pub(super) fn of(topology: &'a Topology, path: &DocumentPath, findings: &mut Findings<'_>) -> Self {
        let Topology { hostname: _, interfaces: _, routes, rules: _, dns } = topology;
        let Dns { servers, search, search_path, options: _ } = dns;
        let entries = topology.entries(path);
        let is_written = |interface: &&Interface| interface.active && section_of(&interface.kind).is_some();
        let written = entries.iter().copied().filter(is_written);
        let mut network = Self {
            devices: written.map(|interface| Device::of(Cow::Borrowed(interface))).collect(),
            servers,
            search,
            search_path,
        };
        network.check(findings);
        network.add_mentioned(topology, &entries, findings);
        for route in routes {
            network.add_route(route, findings);
        }
        for server in servers {
            network.add_server(server, topology, findings);
        }
        for (index, domain) in search.iter().enumerate() {
            if domain.is_empty() || domain.contains(char::is_whitespace) {
                findings.refuse(&search_path.index(index), &format!("{} is not a domain", quoted(domain)));
            }
        }
        network
    }

    /// The interface of this name.
    pub(super) fn device(&self, name: &str) -> Option<&Device<'a>> {
        self.devices.iter().find(|device| device.interface.name == name)
    }

    /// What the document calls the interface of this name.
    pub(super) fn label<'n>(&'n self, name: &'n str) -> &'n str {
        self.device(name).map_or(name, |device| &device.interface.label)
    }

    /// Refuses settings of which no such form can say all values.
    fn check(&self, findings: &mut Findings<'_>) {
        for Device { interface, .. } in &self.devices {
            let Interface { path, device, kind, ports, ipv4, ipv6, .. } = interface.as_ref();
            if matches!(device, FoundBy::Pci(_)) {
                findings.refuse(&path.key("identifier"), "the host finds a NIC by its name or its MAC address");
            }
            if let Kind::Bond(bond) = kind
                && let Some(primary) = bond.option("primary")
                && ports.iter().all(|port| port.name != primary && self.label(&port.name) != primary)
            {
                let at = path.key("link-aggregation").key("options").key("primary");
                findings.refuse(&at, "it is not one of the bond's ports");
            }
            let without_routers = ipv6.method == Method::Dhcp;
            if without_routers {
                let reason = "DHCPv6 goes with router advertisements; set it to true";
                findings.refuse(&ipv6.path.key("autoconf"), reason);
            }
            let automatic = [(ipv4, ipv4.is_automatic()), (ipv6, ipv6.is_automatic() && !without_routers)];
            for (ip, _) in automatic.into_iter().filter(|(_, is_automatic)| *is_automatic) {
                let Ip {
                    method: _,
                    addresses: _,
                    automatic_dns,
                    automatic_routes,
                    automatic_gateway,
                    // Only netplan can express it, and writes it.
                    metric: _,
                    // The list of keys that can be expressed has none of these.
                    automatic_table: _,
                    dhcp_duid: _,
                    sends_hostname: _,
                    dhcp_hostname: _,
                    token: _,
                    path,
                } = ip;
                // All other formats use everything that the network offers. netplan's writer checks its own exceptions.
                if findings.files() == NetworkFiles::Netplan {
                    continue;
                }
                let taken = [
                    ("auto-dns", automatic_dns),
                    ("auto-routes", automatic_routes),
                    ("auto-gateway", automatic_gateway),
                ];
                for (key, _) in taken.into_iter().filter(|(_, taken)| !**taken) {
                    findings.refuse(&path.key(key), "they have no equivalent of \"false\"");
                }
            }
        }
    }

    /// Adds the NICs that the document has no entries of.
    fn add_mentioned(&mut self, topology: &'a Topology, entries: &[&Interface], findings: &mut Findings<'_>) {
        let mut mentioned: Vec<Device<'a>> = Vec::new();
        for (name, path) in self.devices.iter().flat_map(Device::lower) {
            if entries.iter().any(|entry| entry.name == name) {
                if self.device(name).is_none() {
                    findings.refuse(&path, "that interface is left out");
                }
            } else if mentioned.iter().all(|device| device.interface.name != name) {
                let interface = topology.interface(name).map(Cow::Borrowed);
                let interface = interface.unwrap_or_else(|| Cow::Owned(Interface::bare(name, Kind::Ethernet, path)));
                mentioned.push(Device::of(interface));
            }
        }
        self.devices.extend(mentioned);
    }

    fn add_route(&mut self, route: &'a Route, findings: &mut Findings<'_>) {
        let Route {
            destination: _,
            kind: _,
            interface,
            gateway: _,
            gateway_path: _,
            source: _,
            metric: _,
            table: _,
            options: _,
            path,
        } = route;
        let mut devices = self.devices.iter_mut();
        let Some(device) = devices.find(|device| Some(&device.interface.name) == interface.as_ref()) else {
            findings.refuse(&path.key("next-hop-interface"), "there is no interface with this name there");
            return;
        };
        device.routes.push(route);
    }

    /// Gives a name server to the interface that leads to it.
    fn add_server(&mut self, server: &NameServer, topology: &Topology, findings: &mut Findings<'_>) {
        let NameServer { address, interface, path } = server;
        if interface.is_some() {
            findings.refuse(path, "it is not an IP address, or names an interface");
            return;
        }
        let interfaces: Vec<&Interface> = self.devices.iter().map(|device| device.interface.as_ref()).collect();
        match topology.leading_to(*address, &interfaces).and_then(|index| self.devices.get_mut(index)) {
            Some(device) => device.servers.push(*address),
            None => findings.refuse(path, "no interface of the document has a route to it"),
        }
    }
}

/// Netplan's section for interfaces of a kind; none, where no such form has one.
pub(super) fn section_of(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Ethernet | Kind::Loopback => Some("ethernets"),
        Kind::Bond(_) => Some("bonds"),
        Kind::LinuxBridge(_) => Some("bridges"),
        Kind::Vlan(_) => Some("vlans"),
        _ => None,
    }
}

/// The way to make addresses that all these forms use.
pub(super) const EUI64: Values = Words(&["eui64", "EUI64", "Eui64"]);

/// The keys that all these forms can express. Of some settings, they can express only the value that is the default.
pub(super) const SECTIONS: &[Section] = &[
    // Where the host name has a place of its own, it is written there.
    Section::new("", "hostname interfaces routes dns-resolver", &[]),
    Section::new(
        "interfaces.*",
        "name type state identifier profile-name controller description mac-address copy-mac-from lldp \
         ethernet ipv4 ipv6 link-aggregation vlan bridge",
        &[("mtu", Within(68, 65535)), ("accept-all-mac-addresses", Words(&["false"])), ("wait-ip", Words(&["any"]))],
    ),
    Section::new("interfaces.*.lldp", "", &[("enabled", Words(&["false"]))]),
    Section::new("interfaces.*.ethernet", "", &[("auto-negotiation", Words(&["true"]))]),
    Section::new("interfaces.*.ipv4", "enabled dhcp auto-dns auto-routes auto-gateway address", &[]),
    Section::new(
        "interfaces.*.ipv6",
        "enabled dhcp autoconf auto-dns auto-routes auto-gateway address",
        &[("addr-gen-mode", EUI64)],
    ),
    Section::new("interfaces.*.ipv4.address.*", "ip prefix-length", &[]),
    Section::new("interfaces.*.ipv6.address.*", "ip prefix-length", &[]),
    Section::new("interfaces.*.link-aggregation", "mode options port", &[]),
    Section::new("interfaces.*.bridge", "port options", &[]),
    Section::new("interfaces.*.bridge.port.*", "name", &[]),
    Section::new("interfaces.*.bridge.options", "stp", &[]),
    Section::new("routes", "config", &[]),
    Section::new("dns-resolver", "config", &[]),
    Section::new("dns-resolver.config", "server search", &[]),
];

pub(super) const HASH_POLICIES: Values =
    Words(&["layer2", "0", "layer3+4", "1", "layer2+3", "2", "encap2+3", "3", "encap3+4", "4"]);

/// The keys of a route of which they can express some values.
pub(super) const ROUTE: &[(&str, Values)] = &[
    ("metric", WithinOrUsual(0, 0xffff_ffff)),
    // Both are the main table.
    ("table-id", Words(&["0", "254"])),
];

/// Whether such a form has an interface at all. For [`super::form::Form::takes`].
pub(super) fn takes(interface: &Mapping, path: &DocumentPath, findings: &mut Findings<'_>) -> bool {
    let kind = text(interface, "type").unwrap_or("ethernet");
    if text(interface, "state") == Some("down") {
        findings.refuse(&path.key("state"), "the host brings up every interface there; leave the interface out");
    } else if !matches!(kind, "ethernet" | "bond" | "vlan" | "linux-bridge" | "loopback") {
        let written = if findings.files() == NetworkFiles::NetworkData {
            "ethernet, bond and vlan"
        } else {
            "ethernet, bond, vlan, linux-bridge and addresses of the loopback"
        };
        let reason = format!("it is {kind}, and dayone writes {written}");
        findings.refuse(&path.key("type"), &reason);
    } else {
        return true;
    }
    false
}
