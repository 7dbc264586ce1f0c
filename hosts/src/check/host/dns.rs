//! Name servers: that a host can reach them.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Network, gateways, rules};
use crate::check::address::{self, Unusable};
use crate::model::{Family, Interface, Kind, MAIN_TABLE, RouteKind};
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    search(network, report);
    let servers = &network.topology.dns.servers;
    let mut unreachable = Vec::new();
    for server in servers {
        let address = server.address;
        if let Some(why) = unusable(network, address) {
            report.error("dns-server-unusable", &server.path, format!("is {address}, {why}"));
            continue;
        }
        match reach(network, address) {
            Reach::Reached => {}
            reach => unreachable.push((server, reach)),
        }
    }
    // With one that answers, the host is only slow.
    let is_certain = unreachable.len() == servers.len() && !network.announces_addresses();
    for (server, reach) in unreachable {
        let address = server.address;
        let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
        let has_family = network
            .active()
            .flat_map(Interface::families)
            .any(|ip| ip.addresses.iter().any(|own| own.network.addr().is_ipv4() == address.is_ipv4()));
        let why = match reach {
            Reach::Apart => {
                "and the only route there is in a VRF or in a table without a rule, which the host itself does not use"
                    .to_owned()
            }
            Reach::WithoutGateway => "and the only route there is a default route without a gateway".to_owned(),
            _ if !has_family => format!("and the host has no {family} address"),
            _ => "which is in no network of the host, and no route leads there".to_owned(),
        };
        let unless = if network.announces_addresses() { "unless a routing protocol brings a route, " } else { "" };
        let message = format!("is {address}, {why}: {unless}the host never reaches it");
        // Programs that run in a VRF may ask there.
        if is_certain && reach == Reach::Nowhere {
            report.error("dns-server-unreachable", &server.path, message);
        } else {
            report.warning("dns-server-unreachable", &server.path, message);
        }
    }
}

/// Search domains that are no names of domains.
fn search(network: &Network<'_>, report: &mut Report) {
    for (index, domain) in network.topology.dns.search.iter().enumerate() {
        if is_domain(domain) {
            continue;
        }
        let path = match network.host.network.as_nmstate() {
            None => network.host.network.path(),
            Some(document) => {
                let path = document.path.key("dns-resolver").key("config").key("search").index(index);
                document.origins.of(&path).unwrap_or(path)
            }
        };
        let mut parts = domain.split(|c: char| c.is_whitespace() || c == ',').filter(|part| !part.is_empty());
        let are_domains = parts.clone().next().is_some() && parts.all(is_domain);
        let what = if are_domains {
            "which contains a blank or a comma; write each domain as an entry of its own"
        } else {
            "which is not a domain name"
        };
        report.warning("search-domain-invalid", &path, format!("is {domain:?}, {what}"));
    }
}

/// Whether the resolver may search it. A tilde before it makes it a routing domain, which only selects the server.
fn is_domain(text: &str) -> bool {
    let name = text.strip_prefix('~').unwrap_or(text);
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len()) && label.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
    };
    text.ends_with('.') && name.is_empty() || name.len() <= 253 && name.split('.').all(is_label)
}

/// How packets to an address leave the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Nowhere,
    /// By a VRF, or a table that no rule leads these to.
    Apart,
    /// By a default route without a gateway.
    WithoutGateway,
    Reached,
}

fn reach(network: &Network<'_>, address: IpAddr) -> Reach {
    let is_link_local = matches!(address, IpAddr::V6(ip) if ip.is_unicast_link_local());
    if address.is_loopback() || is_link_local {
        return Reach::Reached;
    }
    let looked_up = |interface: &Interface, table| {
        let is_apart =
            network.vrf_of(interface).is_some() && table == MAIN_TABLE || matches!(interface.kind, Kind::Vrf(_));
        if !is_apart && rules::lead_to(network, table, address) { Reach::Reached } else { Reach::Apart }
    };
    let connected = network.active().filter_map(|interface| {
        let ip = interface.ip(Family::of(address));
        // What the network gives may lead anywhere.
        let is_there = ip.is_automatic() || ip.addresses.iter().any(|own| own.network.contains(&address));
        is_there.then(|| looked_up(interface, ip.automatic_table))
    });
    let routed = network.topology.routes.iter().filter_map(|route| {
        let interface = network.interface(route.interface.as_deref()?).filter(|interface| interface.active)?;
        let leads = route.kind == RouteKind::Unicast && route.destination.contains(&address);
        leads.then(|| match gateways::link_without_gateway(route, interface) {
            _ if !rules::lead_to(network, network.table_of(route), address) => Reach::Apart,
            Some(_) => Reach::WithoutGateway,
            None => Reach::Reached,
        })
    });
    connected.chain(routed).max().unwrap_or(Reach::Nowhere)
}

/// Why nobody answers at an address.
fn unusable(network: &Network<'_>, address: IpAddr) -> Option<Unusable> {
    if address.is_loopback() {
        return None;
    }
    let by_itself = address::unusable(IpNet::from(address)).filter(|why| *why != Unusable::Mapped);
    let around = network
        .active()
        .filter(|interface| network.vrf_of(interface).is_none())
        .flat_map(Interface::addresses)
        .filter(|own| own.network.prefix_len() > 0 && own.network.contains(&address))
        .max_by_key(|own| own.network.prefix_len());
    let own_network = around.and_then(|own| IpNet::new(address, own.network.prefix_len()).ok());
    by_itself.or_else(|| address::in_network(own_network?)).filter(|why| why.is_certain())
}
