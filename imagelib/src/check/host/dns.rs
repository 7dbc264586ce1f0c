//! Name servers: that a host can reach them.

use std::net::IpAddr;

use super::{Network, families};
use crate::report::Report;
use crate::topology::{Method, RouteKind};

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    let servers = &network.topology.dns.servers;
    let mut unreachable = Vec::new();
    for server in servers {
        let address = server.address;
        if address.is_unspecified() || address.is_multicast() {
            report.error("dns-server-unusable", &server.path, format!("is {address}, where nobody answers"));
        } else if !reached(network, address) {
            unreachable.push(server);
        }
    }
    // With one that answers, the host is only slow.
    let is_certain = unreachable.len() == servers.len() && !network.announces_addresses();
    for server in unreachable {
        let address = server.address;
        let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
        let has_family = network
            .active()
            .flat_map(families)
            .any(|ip| ip.addresses.iter().any(|own| own.network.addr().is_ipv4() == address.is_ipv4()));
        let why = if has_family {
            format!("is {address}, which is in no network of the host, and no route leads there")
        } else {
            format!("is {address}, and the host has no {family} address")
        };
        let unless = if network.announces_addresses() { "unless a routing protocol brings a route, " } else { "" };
        let message = format!("{why}: {unless}it is never reached");
        if is_certain {
            report.error("dns-server-unreachable", &server.path, message);
        } else {
            report.warning("dns-server-unreachable", &server.path, message);
        }
    }
}

/// Whether packets to an address leave the host; which table they take is not asked.
fn reached(network: &Network<'_>, address: IpAddr) -> bool {
    let is_link_local = matches!(address, IpAddr::V6(ip) if ip.is_unicast_link_local());
    if address.is_loopback() || is_link_local {
        return true;
    }
    let connected = network.active().any(|interface| {
        let ip = if address.is_ipv4() { &interface.ipv4 } else { &interface.ipv6 };
        // What the network gives may lead anywhere.
        matches!(ip.method, Method::Dhcp | Method::RouterAdvertisements)
            || ip.addresses.iter().any(|own| own.network.contains(&address))
    });
    connected
        || network.topology.routes.iter().any(|route| {
            let interface = route.interface.as_deref().and_then(|name| network.interface(name));
            route.kind == RouteKind::Unicast
                && route.destination.contains(&address)
                && interface.is_some_and(|interface| interface.active)
        })
}
