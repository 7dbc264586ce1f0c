//! Routes: that they are used, and that it is clear which.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Network;
use crate::model::{Family, Interface, Kind, Route, RouteKind};
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::{DocumentPath, Report};

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
    sources(network, report);
    unread_tables(network, report);
    unread_automatic_tables(network, report);
}

/// The kernel sets no route with a source that is not the host's (`fib_valid_prefsrc`, `ip6_route_info_create`).
fn sources(network: &Network<'_>, report: &mut Report) {
    for route in network.topology.routes.iter().filter(|route| route.kind == RouteKind::Unicast) {
        let Some(source) = route.source else { continue };
        let path = network.words().route_source(&route.path);
        if source.is_ipv4() != route.destination.addr().is_ipv4() {
            let message =
                format!("is {source}, and {} is of the other family: the kernel refuses the route", route.destination);
            report.error("route-source-not-own", &path, message);
            continue;
        }
        // Each interface makes its own link-local address, and what the network gives may be any.
        let is_local = source.is_loopback() || matches!(source, IpAddr::V6(ip) if ip.is_unicast_link_local());
        if is_local {
            continue;
        }
        let family = Family::of(source);
        let has = |interface: &Interface| {
            interface.ip(family).addresses.iter().any(|address| address.network.addr() == source)
        };
        let mut holders: Vec<&Interface> = network.active().filter(|interface| has(interface)).collect();
        if holders.is_empty() {
            holders.extend(network.active().filter(|interface| interface.ip(family).is_automatic()));
        }
        if !holders.is_empty() {
            of_another_interface(network, route, &holders, &path, report);
            continue;
        }
        let down = network.topology.interfaces.iter().find(|interface| has(interface));
        let but = down.map_or_else(String::new, |down| format!(" while {} is down ({})", down.name, down.path));
        let message = format!("is {source}, which is not an address of the host{but}: the kernel refuses the route");
        report.error("route-source-not-own", &path, message);
    }
}

/// NetworkManager sets a route once, when the interface of the route has its addresses. systemd-networkd waits until the host has the
/// source (`route_is_ready_to_configure`). `holders` have the source, or may get it from the network.
fn of_another_interface(
    network: &Network<'_>,
    route: &Route,
    holders: &[&Interface],
    path: &DocumentPath,
    report: &mut Report,
) {
    let Some(egress) = route.interface.as_deref().and_then(|name| network.interface(name)) else { return };
    let vrf = network.vrf_of(egress).map(|(name, _)| name);
    // A VRF has its addresses before its ports have theirs.
    let is_settled = |holder: &&Interface| holder.name == egress.name || Some(holder.name.as_str()) == vrf;
    let Some(source) = route.source.filter(|_| egress.active && !holders.iter().any(is_settled)) else { return };
    // IPv4 has a table of addresses for each VRF, and one for all else (`fib_valid_prefsrc`). IPv6 compares the VRFs
    // (`ipv6_chk_addr`).
    let table_of = |interface: &Interface| match interface.kind {
        Kind::Vrf(table) => Some(table),
        _ => network.vrf_of(interface).map(|(_, table)| table),
    };
    let is_usable = |holder: &&&Interface| match (source, table_of(holder)) {
        (IpAddr::V4(_), Some(table)) => table == network.table_of(route),
        (IpAddr::V4(_), None) => true,
        (IpAddr::V6(_), table) => table == table_of(egress),
    };
    let usable = holders.iter().find(is_usable);
    let Some(holder) = usable.or_else(|| holders.first()) else { return };
    let is_static = holder.addresses().any(|address| address.network.addr() == source);
    let has = if is_static { "has" } else { "may get" };
    let whose =
        format!("is {source}, which {} does not have, and {} {has} ({})", egress.name, holder.name, holder.path);
    if usable.is_some() {
        let result = match network.files {
            NetworkFiles::Keyfiles => "NetworkManager does not try again",
            NetworkFiles::TalosNetwork => "dayone does not know whether Talos tries again",
            // systemd-networkd waits, and the other forms have no sources.
            NetworkFiles::NetworkdUnits
            | NetworkFiles::NetworkData
            | NetworkFiles::NetworkConfig
            | NetworkFiles::Netplan => return,
        };
        let message = format!("{whose}: if {} comes up first, the kernel refuses the route, and {result}", egress.name);
        report.warning("route-source-elsewhere", path, message);
    } else {
        let message = format!("{whose}, and a VRF separates the two: the kernel refuses the route");
        report.error("route-source-not-own", path, message);
    }
}

/// Tables with a default route that no rule and no VRF leads to.
fn unread_tables(network: &Network<'_>, report: &mut Report) {
    let mut read: BTreeSet<u32> = network.topology.rules.iter().map(|rule| rule.table).collect();
    read.extend(always_read(network));
    for route in network.topology.routes.iter().filter(|route| route.is_default() && route.kind == RouteKind::Unicast) {
        let table = network.table_of(route);
        let comes_up = network.interface(route.interface.as_deref().unwrap_or_default()).is_some_and(|i| i.active);
        if comes_up && read.insert(table) {
            let message = format!(
                "is a default route in table {table}, and no rule names that table, so the host never uses it; {}",
                network.words().rule_or_main_table(table)
            );
            report.warning("route-table-without-rule", &route.path, message);
        }
    }
}

/// Tables of the routes that come with addresses from the network, if no rule of the family and no VRF leads to them.
fn unread_automatic_tables(network: &Network<'_>, report: &mut Report) {
    for family in Family::BOTH {
        let rules = network.topology.rules.iter().filter(|rule| rule.family == family);
        let mut read: BTreeSet<u32> = rules.map(|rule| rule.table).collect();
        read.extend(always_read(network));
        for interface in network.active() {
            let ip = interface.ip(family);
            let table = ip.automatic_table;
            if !ip.is_automatic() || !read.insert(table) {
                continue;
            }
            let message = format!(
                "is {table}, and no {} rule names that table, so the host never uses the routes that {} gets with its \
                 addresses; {}",
                family.name(),
                interface.name,
                network.words().rule_or_main_table_of_automatic(table)
            );
            let keys = [family.key(), "auto-route-table-id"];
            let place = network.place(interface, &keys, &[family.key(), "route-table"]);
            report.warning("route-table-without-rule", &place, message);
        }
    }
}

/// The tables that a host looks in without a rule of the document: those of its VRFs, and default, main and local.
fn always_read(network: &Network<'_>) -> impl Iterator<Item = u32> {
    let of_vrfs = network.topology.interfaces.iter().filter_map(|interface| match interface.kind {
        Kind::Vrf(table) => Some(table),
        _ => None,
    });
    of_vrfs.chain(253..=255)
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
        let first = *seen.entry((route.destination, network.table_of(route), route.unusual_metric())).or_insert(route);
        if std::ptr::eq(first, route) || (first.interface == route.interface && first.gateway == route.gateway) {
            continue;
        }
        let both = "the kernel makes one route of the two and divides connections between them";
        let one = "the host uses the one that it sets first, and the other one only when that is gone";
        let is_shared = route.destination.addr().is_ipv6() && route.gateway.and(first.gateway).is_some();
        let message = format!(
            "leads to {} with {}, like the route through {} ({}): {}; give the route that you prefer less a higher \
             metric",
            route.destination,
            route.unusual_metric().map_or("no metric".to_owned(), |metric| format!("metric {metric}")),
            first.interface.as_deref().unwrap_or_default(),
            first.path,
            if is_shared { both } else { one },
        );
        report.warning("routes-compete", &route.path, message);
    }
}

/// Whether the document shares traffic out among routes.
fn weighted(network: &Network<'_>) -> bool {
    network.topology.routes.iter().any(|route| route.options.weight.is_some())
}
