//! Gateways: that the host finds them on a link, and that they are somebody else.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use super::Network;
use crate::check::address;
use crate::model::{Address, Family, Interface, Kind, Route, RouteKind};
use vocabulary::report::Report;

/// The host's own addresses, each by itself in its VRF.
type Own<'a> = BTreeMap<(Option<&'a str>, IpAddr), (&'a Interface, &'a Address)>;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    let mut own = Own::new();
    for interface in network.active() {
        for address in interface.addresses() {
            own.insert((vrf(network, interface), address.network.addr()), (interface, address));
        }
    }
    for route in &network.topology.routes {
        let Some(interface) = interface_of(network, route) else { continue };
        match route.gateway {
            Some(gateway) => check_one(network, &own, route, gateway, interface, report),
            None => without(route, interface, report),
        }
    }
}

fn interface_of<'a>(network: &Network<'a>, route: &Route) -> Option<&'a Interface> {
    network.interface(route.interface.as_deref()?).filter(|_| route.kind == RouteKind::Unicast)
}

fn check_one(
    network: &Network<'_>,
    own: &Own<'_>,
    route: &Route,
    gateway: IpAddr,
    interface: &Interface,
    report: &mut Report,
) {
    let Route { destination, gateway_path: path, .. } = route;
    if gateway.is_ipv4() != destination.addr().is_ipv4() {
        let message =
            format!("names the gateway {gateway}, and {destination} is of the other family: the route is lost");
        report.error("gateway-family", path, message);
        return;
    }
    if let Some((holder, address)) = own.get(&(vrf(network, interface), gateway)) {
        let message = format!("names the gateway {gateway}, which is the host's own address ({})", address.path);
        report.error("gateway-is-host", path, format!("{message} on {}", holder.name));
        return;
    }
    if gateway.is_multicast() || gateway.is_loopback() {
        report.error("gateway-unusable", path, format!("names the gateway {gateway}, which no other host can have"));
        return;
    }
    if !network.topology.may_reach(interface, gateway) {
        off_link(network, route, gateway, interface, report);
        return;
    }
    let ip = interface.ip(Family::of(gateway));
    let is_given = ip.is_automatic();
    if let Some(link) = ip.addresses.iter().find(|address| address.network.contains(&gateway) && !is_given) {
        let link_network = IpNet::new(gateway, link.network.prefix_len()).ok();
        if let Some(why) = link_network.and_then(address::in_network).filter(|why| why.is_certain()) {
            report.error("gateway-unusable", path, format!("names the gateway {gateway}, {why}"));
        }
    }
}

/// A gateway that is in none of the interface's networks. NetworkManager adds a route to it even so
/// (`nm_platform_ip_route_sync`), and whether somebody answers there is the router's affair.
fn off_link(network: &Network<'_>, route: &Route, gateway: IpAddr, interface: &Interface, report: &mut Report) {
    let ip = interface.ip(Family::of(gateway));
    let networks: Vec<String> = ip.addresses.iter().take(4).map(|own| own.network.trunc().to_string()).collect();
    let elsewhere = network.active().find_map(|other| {
        let address = other.addresses();
        let address = address.into_iter().find(|address| address.network.contains(&gateway))?;
        Some(format!("; it is in that of {} ({})", other.name, address.path))
    });
    let message = format!(
        "names the gateway {gateway}, which is not in a network of {} ({})",
        interface.name,
        networks.join(", ")
    );
    match elsewhere {
        // There are providers that route a prefix to each host, and have their own router outside of it.
        None if gateway.is_ipv6() => {
            let message =
                format!("{message}: unless the router answers outside of its network, the host finds no router there");
            report.warning("gateway-off-link", &route.gateway_path, message);
        }
        elsewhere => {
            let message = format!("{message}{}: the host finds no router there", elsewhere.unwrap_or_default());
            report.error("gateway-off-link", &route.gateway_path, message);
        }
    }
}

fn vrf<'a>(network: &Network<'a>, interface: &Interface) -> Option<&'a str> {
    network.vrf_of(interface).map(|(name, _)| name)
}

/// A default route to a link, on which there is one network and not all of them.
fn without(route: &Route, interface: &Interface, report: &mut Report) {
    if let Some(link) = link_without_gateway(route, interface) {
        let message = format!(
            "is a default route without a gateway: the host looks for every address on the link of {}, where only {} is",
            interface.name,
            link.network.trunc()
        );
        report.warning("default-route-without-gateway", &route.path, message);
    }
}

/// The address that tells which network is on the link of a default route which names no gateway. Between two hosts no
/// gateway is needed.
pub(super) fn link_without_gateway<'a>(route: &Route, interface: &'a Interface) -> Option<&'a Address> {
    let is_shared = matches!(interface.kind, Kind::Ethernet | Kind::Bond(_) | Kind::Vlan(_) | Kind::LinuxBridge(_));
    let ip = interface.ip(route.family());
    let wide = |address: &&Address| address.network.max_prefix_len() - address.network.prefix_len() > 1;
    let widest = ip.addresses.iter().find(wide);
    widest.filter(|_| is_shared && route.is_default() && route.gateway.is_none() && interface.active)
}
