//! Default routes: those that are written down against those that the network gives.
//!
//! NetworkManager gives the routes that it learns a metric by the type of their device, unless one is said, and the kernel
//! takes the lowest.

use super::Network;
use crate::check::words::Words;
use crate::model::{Family, Interface, MAIN_TABLE, Route, RouteKind, kernel_metric};
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    for family in Family::BOTH {
        let mut learned: Vec<(u32, &Interface)> = network
            .active()
            .filter(|interface| network.vrf_of(interface).is_none() && learns(interface, family))
            .map(|interface| (interface.learned_metric(family), interface))
            .collect();
        learned.sort_by_key(|(metric, _)| *metric);
        let Some((metric, best)) = learned.first() else { continue };
        let mut others = learned.iter().skip(1).take_while(|(other, _)| other == metric).peekable();
        let instead = network.words().without_learned_gateway(family);
        let first = written(network, family).map(|(metric, _)| metric).min();
        if others.peek().is_some() && first.is_none_or(|first| first > *metric) {
            let names: Vec<&str> = others.take(4).map(|(_, other)| other.name.as_str()).collect();
            let does = if names.len() > 1 { "do" } else { "does" };
            let choose = match (instead, network.words()) {
                (Some(instead), _) => format!("set {instead} where you do not want it"),
                (None, Words::CloudInitV1) => "give each of these subnets a metric of its own, or write the network as NMState, if accept-ra brings these \
                     routes"
                    .to_owned(),
                (None, _) => "to choose one, write the network as NMState, which has auto-route-metric".to_owned(),
            };
            let message = format!(
                "gets a default route from the network, and so {does} {}: the host uses the one that comes up first; \
                 {choose}",
                names.join(", ")
            );
            report.warning("default-routes-learned", &best.ip(family).path, message);
        }
        for (own, route) in written(network, family).filter(|(own, _)| own > metric) {
            let either = instead.map_or_else(String::new, |instead| format!("{instead} there, or "));
            let message = format!(
                "has metric {own}, and the default route that {} gets from the network has {metric}, which wins; \
                 write {either}a lower metric here",
                best.name
            );
            report.warning("default-route-unused", &route.path, message);
        }
    }
}

/// Whether the network gives a default route of the main table.
fn learns(interface: &Interface, family: Family) -> bool {
    let ip = interface.ip(family);
    ip.learns_gateway(family) && ip.automatic_table == MAIN_TABLE
}

/// The default routes of the main table that are written down, with their metrics.
fn written<'a>(network: &Network<'a>, family: Family) -> impl Iterator<Item = (u32, &'a Route)> {
    let by_name: Vec<_> = network.active().collect();
    let routes = network.topology.routes.iter();
    let wanted = move |route: &&Route| {
        route.family() == family
            && route.is_default()
            && network.table_of(route) == MAIN_TABLE
            && route.kind == RouteKind::Unicast
    };
    routes.filter(wanted).filter_map(move |route| {
        by_name.iter().find(|interface| Some(&interface.name) == route.interface.as_ref())?;
        Some((route.unusual_metric().unwrap_or(kernel_metric(family)), route))
    })
}
