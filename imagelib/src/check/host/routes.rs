//! Routes: that they are used, and that it is clear which.

use std::collections::BTreeMap;

use super::Network;
use crate::report::Report;
use crate::topology::{Route, RouteKind};

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    for route in &network.topology.routes {
        let Some(interface) = route.interface.as_deref().and_then(|name| network.interface(name)) else { continue };
        if let Some((vrf, table)) = network.vrf_of(interface)
            && route.table != table
            && network.is_nmstate()
        {
            let message = format!(
                "is in table {}, and {} is in {vrf}, which looks in table {table} only; write vrf-name: {vrf} or \
                 table-id: {table}",
                route.table, interface.name
            );
            report.warning("route-outside-vrf", &route.path, message);
        }
    }
    compete(network, report);
}

/// Routes to one destination with one metric: which one the host takes is chance.
fn compete(network: &Network<'_>, report: &mut Report) {
    if weighted(network) {
        return;
    }
    let mut seen: BTreeMap<_, &Route> = BTreeMap::new();
    for route in network.topology.routes.iter().filter(|route| route.kind == RouteKind::Unicast) {
        let interface = route.interface.as_deref().and_then(|name| network.interface(name));
        if interface.is_none_or(|interface| !interface.active) {
            continue;
        }
        let first = *seen.entry((route.destination, network.table_of(route), route.metric)).or_insert(route);
        if std::ptr::eq(first, route) || (first.interface == route.interface && first.gateway == route.gateway) {
            continue;
        }
        let both = "the kernel makes one route of the two and divides connections between them";
        let one = "the host takes whichever is set first, and the other one only when that is gone";
        let is_shared = route.destination.addr().is_ipv6() && route.gateway.and(first.gateway).is_some();
        let message = format!(
            "leads to {} with {}, as does the route by {} ({}): {}; give the one that is second best a greater metric",
            route.destination,
            route.metric.map_or("no metric".to_owned(), |metric| format!("metric {metric}")),
            first.interface.as_deref().unwrap_or_default(),
            first.path,
            if is_shared { both } else { one },
        );
        report.warning("routes-compete", &route.path, message);
    }
}

/// Whether the document shares traffic out among routes.
fn weighted(network: &Network<'_>) -> bool {
    let value = network.host.network.as_nmstate().map(|document| &document.value);
    let routes = value.and_then(|value| value.get("routes")?.get("config")?.as_sequence());
    routes.is_some_and(|routes| routes.iter().any(|route| route.get("weight").is_some()))
}
