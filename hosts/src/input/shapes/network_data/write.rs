//! Writes network data as NMState, and notes where each part comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_yaml::{Mapping, Value};

use super::links::{Kind, Link, Links};
use super::names::Names;
use super::networks::Network;
use crate::family::Family;
use crate::members::mapping;
use vocabulary::host::NmstateDocument;
use vocabulary::report::{DocumentPath, NetworkFormat, Origins};

/// Writes the document, which is at `path`.
pub(super) fn nmstate(
    links: &Links<'_>,
    names: &Names<'_>,
    networks: &[Network<'_>],
    servers: Vec<(IpAddr, DocumentPath)>,
    path: &DocumentPath,
) -> NmstateDocument {
    let mut writer = Writer { links, names, path, origins: Origins::translated_from(NetworkFormat::NetworkData) };
    let mut document = Mapping::new();
    document.insert("interfaces".into(), writer.interfaces(networks));
    document.extend(writer.routes(networks).map(|routes| ("routes".into(), routes)));
    document.extend(writer.resolver(networks, servers).map(|resolver| ("dns-resolver".into(), resolver)));
    NmstateDocument { value: Value::Mapping(document), path: path.clone(), origins: writer.origins }
}

struct Writer<'w, 'a> {
    links: &'w Links<'a>,
    names: &'w Names<'a>,
    path: &'w DocumentPath,
    origins: Origins,
}

/// Whether the link needs its address in the NMState. A bond gets the address of the port that NetworkManager attaches first,
/// which depends on the ports' names. If `fail_over_mac` gives a bond the address of a port, no other can be set.
fn is_pinned(link: &Link<'_>) -> bool {
    matches!(&link.kind, Kind::Bond(bond) if !bond.has_address_of_port())
}

impl<'a> Writer<'_, 'a> {
    fn name(&self, id: &str) -> &str {
        self.names.get(id).map(String::as_str).unwrap_or_default()
    }

    fn interfaces(&mut self, networks: &[Network<'a>]) -> Value {
        let at = self.path.key("interfaces");
        self.origins.made(at.clone(), self.path.key("links"));
        let mut by_link: BTreeMap<(&str, Family), Vec<&Network<'a>>> = BTreeMap::new();
        for network in networks {
            by_link.entry((network.link, network.family)).or_default().push(network);
        }
        let mut interfaces = Vec::new();
        for (index, link) in self.links.iter().enumerate() {
            let at = at.index(index);
            let mut interface = self.interface(link, &at);
            for family in Family::BOTH {
                if let Some(networks) = by_link.get(&(link.id, family)) {
                    interface.insert(family.key().into(), self.ip(networks, family, &at.key(family.key())));
                }
            }
            interfaces.push(Value::Mapping(interface));
        }
        Value::Sequence(interfaces)
    }

    fn interface(&mut self, link: &Link<'a>, at: &DocumentPath) -> Mapping {
        self.origins.made(at.clone(), link.path.clone());
        self.origins.made(at.key("name"), link.path.key(if link.name.is_some() { "name" } else { "id" }));
        let mut interface = Mapping::new();
        let mut set = |key: &str, value: Value| interface.insert(key.into(), value);
        set("name", self.name(link.id).into());
        set("state", "up".into());
        if let Some(mtu) = link.mtu {
            self.origins.made(at.key("mtu"), link.path.key("mtu"));
            set("mtu", mtu.into());
        }
        if let Some((mac, origin)) = &link.mac
            && (is_pinned(link) || self.links.natural_mac(link) != Some(*mac))
        {
            self.origins.made(at.key("mac-address"), origin.clone());
            set("mac-address", mac.to_string().into());
        }
        match &link.kind {
            Kind::Nic => {
                set("type", "ethernet".into());
                if link.mac.is_some() {
                    set("identifier", "mac-address".into());
                }
            }
            Kind::Bond(bond) => {
                set("type", "bond".into());
                let at = at.key("link-aggregation");
                self.origins.made(at.key("mode"), link.path.key("bond_mode"));
                let mut ports = Vec::new();
                for (index, (port, origin)) in bond.ports.iter().enumerate() {
                    self.origins.made(at.key("port").index(index), origin.clone());
                    ports.push(Value::from(self.name(port)));
                }
                let mut options = Mapping::new();
                for (option, value, origin) in &bond.options {
                    self.origins.made(at.key("options").key(option), origin.clone());
                    options.insert(option.as_str().into(), self.option(option, value));
                }
                let options = if options.is_empty() { Value::Null } else { options.into() };
                let members = [("mode", bond.mode.as_str().into()), ("port", ports.into()), ("options", options)];
                set("link-aggregation", mapping(members).into());
            }
            Kind::Vlan { lower, id } => {
                set("type", "vlan".into());
                let at = at.key("vlan");
                self.origins.made(at.key("base-iface"), link.path.key("vlan_link"));
                self.origins.made(at.key("id"), link.path.key("vlan_id"));
                set("vlan", mapping([("base-iface", self.name(lower).into()), ("id", (*id).into())]).into());
            }
        }
        interface
    }

    /// Returns the value of a bond's option. The primary port may be the id of a link or the name of an interface.
    fn option(&self, option: &str, value: &Value) -> Value {
        let link = value.as_str().filter(|_| option == "primary").and_then(|id| self.names.get(id));
        link.map_or_else(|| value.clone(), |name| name.as_str().into())
    }

    /// Writes one family of an interface.
    fn ip(&mut self, networks: &[&Network<'a>], family: Family, at: &DocumentPath) -> Value {
        if let Some(network) = networks.first() {
            self.origins.made(at.clone(), network.path.clone());
        }
        let automatic = networks.iter().any(|network| network.address.is_none());
        let mut addresses = Vec::new();
        for address in networks.iter().filter_map(|network| network.address.as_ref()) {
            let at = at.key("address").index(addresses.len());
            self.origins.made(at.clone(), address.path.clone());
            self.origins.made(at.key("prefix-length"), address.length_path.clone());
            let (ip, length) = (address.network.addr().to_string(), address.network.prefix_len());
            addresses.push(Value::Mapping(mapping([("ip", ip.into()), ("prefix-length", length.into())])));
        }
        mapping([
            ("enabled", true.into()),
            ("dhcp", automatic.into()),
            ("autoconf", if family == Family::V6 { automatic.into() } else { Value::Null }),
            ("address", unless_empty(addresses)),
        ])
        .into()
    }

    fn routes(&mut self, networks: &[Network<'a>]) -> Option<Value> {
        let at = self.path.key("routes");
        self.origins.made(at.clone(), self.path.key("networks"));
        let at = at.key("config");
        let mut routes = Vec::new();
        // Several networks of one link may repeat the same route.
        let mut seen = BTreeSet::new();
        for network in networks {
            for route in &network.routes {
                if !seen.insert((network.link, route.destination, route.gateway, route.metric)) {
                    continue;
                }
                let at = at.index(routes.len());
                self.origins.made(at.clone(), route.path.clone());
                self.origins.made(at.key("next-hop-interface"), network.path.key("link"));
                self.origins.made(at.key("next-hop-address"), route.gateway_path.clone());
                routes.push(Value::Mapping(mapping([
                    ("destination", route.destination.to_string().into()),
                    ("next-hop-address", route.gateway.map_or(Value::Null, |hop| hop.to_string().into())),
                    ("next-hop-interface", self.name(network.link).into()),
                    ("metric", route.metric.map_or(Value::Null, Value::from)),
                ])));
            }
        }
        (!routes.is_empty()).then(|| mapping([("config", routes.into())]).into())
    }

    /// Writes the name servers of the document before those of networks. Servers of one family follow each other, because a profile
    /// can have more than three of them only then.
    fn resolver(&mut self, networks: &[Network<'a>], servers: Vec<(IpAddr, DocumentPath)>) -> Option<Value> {
        let at = self.path.key("dns-resolver");
        self.origins.made(at.clone(), self.path.key("services"));
        let at = at.key("config");
        let of_networks = networks.iter().flat_map(|network| network.servers.iter().cloned());
        let mut seen = BTreeSet::new();
        let mut all: Vec<_> =
            servers.into_iter().chain(of_networks).filter(|(address, _)| seen.insert(*address)).collect();
        let first = all.first().map(|(address, _)| Family::of(*address));
        all.sort_by_key(|(address, _)| Some(Family::of(*address)) != first);
        let mut list = Vec::new();
        for (address, origin) in all {
            self.origins.made(at.key("server").index(list.len()), origin);
            list.push(Value::from(address.to_string()));
        }
        let mut search = Vec::new();
        let mut seen = BTreeSet::new();
        for (domain, origin) in networks.iter().flat_map(|network| &network.search) {
            if seen.insert(*domain) {
                self.origins.made(at.key("search").index(search.len()), origin.clone());
                search.push(Value::from(*domain));
            }
        }
        let config = mapping([("server", unless_empty(list)), ("search", unless_empty(search))]);
        (!config.is_empty()).then(|| mapping([("config", config.into())]).into())
    }
}

fn unless_empty(list: Vec<Value>) -> Value {
    if list.is_empty() { Value::Null } else { list.into() }
}
