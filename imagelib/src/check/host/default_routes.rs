//! Default routes: those that are written down against those that the network gives.
//!
//! NetworkManager gives the routes that it learns a metric by the type of their device
//! (`nm_device_get_route_metric_default`), and takes the lowest.

use std::net::IpAddr;

use super::Network;
use crate::report::Report;
use crate::topology::{Interface, Ip, Kind, MAIN_TABLE, Method, Route, RouteKind};

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    for is_v4 in [true, false] {
        let mut learned: Vec<(u32, &Interface)> = network
            .active()
            .filter(|interface| network.vrf_of(interface).is_none() && learns(family(interface, is_v4), is_v4))
            .map(|interface| (usual_metric(&interface.kind), interface))
            .collect();
        learned.sort_by_key(|(metric, _)| *metric);
        let Some((metric, best)) = learned.first() else { continue };
        let mut others = learned.iter().skip(1).take_while(|(other, _)| other == metric).peekable();
        let first = written(network, is_v4).map(|(metric, _)| metric).min();
        if others.peek().is_some() && first.is_none_or(|first| first > *metric) {
            let names: Vec<&str> = others.take(4).map(|(_, other)| other.name.as_str()).collect();
            let does = if names.len() > 1 { "do" } else { "does" };
            let message = format!(
                "takes a default route from the network, and so {does} {}: which one the host uses depends on which is up \
                 first; set auto-gateway: false where it is not wanted",
                names.join(", ")
            );
            report.warning("default-routes-learned", &family(best, is_v4).path, message);
        }
        for (own, route) in written(network, is_v4).filter(|(own, _)| own > metric) {
            let message = format!(
                "has metric {own}, and the default route that {} takes from the network has {metric}, which wins; write \
                 auto-gateway: false there, or a lower metric here",
                best.name
            );
            report.warning("default-route-unused", &route.path, message);
        }
    }
}

fn family(interface: &Interface, is_v4: bool) -> &Ip {
    if is_v4 { &interface.ipv4 } else { &interface.ipv6 }
}

/// Whether the network gives a default route. DHCP of IPv6 never does.
fn learns(ip: &Ip, is_v4: bool) -> bool {
    ip.automatic_gateway && (is_v4 || ip.method == Method::RouterAdvertisements)
}

/// The default routes of the main table that are written down, with their metrics.
fn written<'a>(network: &Network<'a>, is_v4: bool) -> impl Iterator<Item = (u32, &'a Route)> {
    let nmstate = network.is_nmstate();
    let by_name: Vec<_> = network.active().collect();
    let routes = network.topology.routes.iter();
    let wanted = move |route: &&Route| {
        matches!(route.destination.addr(), IpAddr::V4(_)) == is_v4
            && route.is_default()
            && route.table == MAIN_TABLE
            && route.kind == RouteKind::Unicast
    };
    routes.filter(wanted).filter_map(move |route| {
        let interface = by_name.iter().find(|interface| Some(&interface.name) == route.interface.as_ref())?;
        // What nmstate writes is the kernel's own metric; NetworkManager takes that of the device.
        let unsaid = match (nmstate, is_v4) {
            (false, _) => usual_metric(&interface.kind),
            (true, true) => 0,
            (true, false) => 1024,
        };
        Some((route.metric.unwrap_or(unsaid), route))
    })
}

fn usual_metric(kind: &Kind) -> u32 {
    match kind {
        Kind::Ethernet | Kind::Veth(_) => 100,
        Kind::Macsec { .. } => 125,
        Kind::Infiniband(_) => 150,
        Kind::Bond(_) => 300,
        Kind::Vlan(_) => 400,
        Kind::MacVlan { .. } => 410,
        Kind::LinuxBridge(_) => 425,
        Kind::Vrf(_) => 470,
        Kind::Vxlan { .. } => 500,
        Kind::Dummy => 550,
        Kind::Loopback | Kind::Other(_) => 950,
    }
}
