//! Default routes: those that are written down against those that the network gives.
//!
//! NetworkManager gives the routes that it learns a metric by the type of their device, unless one is said, and the kernel
//! takes the lowest.

use std::net::IpAddr;

use super::Network;
use crate::model::{Interface, Ip, MAIN_TABLE, Method, Route, RouteKind};
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    for is_v4 in [true, false] {
        let mut learned: Vec<(u32, &Interface)> = network
            .active()
            .filter(|interface| network.vrf_of(interface).is_none() && learns(family(interface, is_v4), is_v4))
            .map(|interface| (learned_metric(interface, is_v4), interface))
            .collect();
        learned.sort_by_key(|(metric, _)| *metric);
        let Some((metric, best)) = learned.first() else { continue };
        let mut others = learned.iter().skip(1).take_while(|(other, _)| other == metric).peekable();
        let instead = if network.is_nmstate() { "auto-gateway: false" } else { "never-default=true" };
        let first = written(network, is_v4).map(|(metric, _)| metric).min();
        if others.peek().is_some() && first.is_none_or(|first| first > *metric) {
            let names: Vec<&str> = others.take(4).map(|(_, other)| other.name.as_str()).collect();
            let does = if names.len() > 1 { "do" } else { "does" };
            let message = format!(
                "gets a default route from the network, and so {does} {}: the host uses the one that comes up first; \
                 set {instead} where you do not want it",
                names.join(", ")
            );
            report.warning("default-routes-learned", &family(best, is_v4).path, message);
        }
        for (own, route) in written(network, is_v4).filter(|(own, _)| own > metric) {
            let message = format!(
                "has metric {own}, and the default route that {} gets from the network has {metric}, which wins; \
                 write {instead} there, or a lower metric here",
                best.name
            );
            report.warning("default-route-unused", &route.path, message);
        }
    }
}

fn family(interface: &Interface, is_v4: bool) -> &Ip {
    if is_v4 { &interface.ipv4 } else { &interface.ipv6 }
}

/// Whether the network gives a default route of the main table. DHCP of IPv6 never does.
fn learns(ip: &Ip, is_v4: bool) -> bool {
    ip.takes_gateway() && ip.automatic_table == MAIN_TABLE && (is_v4 || ip.method == Method::RouterAdvertisements)
}

fn learned_metric(interface: &Interface, is_v4: bool) -> u32 {
    match family(interface, is_v4).automatic_metric {
        Some(0) => kernels_own(is_v4),
        Some(metric) => metric,
        None => interface.kind.usual_metric(),
    }
}

/// The metric that the kernel gives to routes which say none (`IP6_RT_PRIO_USER`).
fn kernels_own(is_v4: bool) -> u32 {
    if is_v4 { 0 } else { 1024 }
}

/// The default routes of the main table that are written down, with their metrics.
fn written<'a>(network: &Network<'a>, is_v4: bool) -> impl Iterator<Item = (u32, &'a Route)> {
    let by_name: Vec<_> = network.active().collect();
    let routes = network.topology.routes.iter();
    let wanted = move |route: &&Route| {
        matches!(route.destination.addr(), IpAddr::V4(_)) == is_v4
            && route.is_default()
            && network.table_of(route) == MAIN_TABLE
            && route.kind == RouteKind::Unicast
    };
    routes.filter(wanted).filter_map(move |route| {
        by_name.iter().find(|interface| Some(&interface.name) == route.interface.as_ref())?;
        Some((route.unusual_metric().unwrap_or(kernels_own(is_v4)), route))
    })
}
