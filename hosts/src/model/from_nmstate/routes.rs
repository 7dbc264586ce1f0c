//! Routes, routing rules and name servers.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_yaml::{Mapping, Value};

use super::super::{Dns, Family, MAIN_TABLE, NameServer, Route, RouteKind, RouteOptions, Rule};
use crate::nmstate_document::interfaces::Interface as Entry;
use crate::nmstate_document::other_names::Names;
use crate::nmstate_document::routes::{self, RouteKey};
use crate::nmstate_document::{elements, flag, small, text};
use vocabulary::report::DocumentPath;

/// The priority that nmstate gives to the first rule that has none.
const USUAL_PRIORITY: u32 = 30_000;

/// The routes of a document.
pub(super) struct Routes {
    pub(super) all: Vec<Route>,
    /// The interfaces that have routes, with the families of these.
    reach: BTreeSet<(String, Family)>,
}

impl Routes {
    pub(super) fn read(document: &Mapping, entries: &[Entry<'_>], names: &Names<'_>, path: &DocumentPath) -> Self {
        let path = path.key("routes").key("config");
        let mut routes = Self { all: Vec::new(), reach: BTreeSet::new() };
        let mut seen = BTreeSet::new();
        for (index, route) in elements(document, &["routes", "config"]).iter().enumerate() {
            let Some(map) = route.as_mapping() else { continue };
            if matches!(text(map, "state"), Some("absent" | "ignore")) {
                continue;
            }
            let Some(route) = read(map, entries, names, path.index(index)) else { continue };
            let key = RouteKey::of(map, entries, names);
            if seen.insert(key) {
                routes.reach.extend(route.interface.clone().map(|name| (name, route.family())));
                routes.all.push(route);
            }
        }
        routes
    }

    /// Whether an interface has routes of a family.
    pub(super) fn reach(&self, interface: &str, family: Family) -> bool {
        self.reach.contains(&(interface.to_owned(), family))
    }
}

fn read(route: &Mapping, entries: &[Entry<'_>], names: &Names<'_>, path: DocumentPath) -> Option<Route> {
    let destination = routes::destination(route)?;
    let kind = kind(text(route, "route-type"));
    let interface = text(route, "next-hop-interface").filter(|_| kind == RouteKind::Unicast);
    // `0.0.0.0` and `::` stand for none.
    let address = |key| text(route, key)?.parse().ok().filter(|address: &IpAddr| !address.is_unspecified());
    let of_vrf = routes::vrf_table(route, entries).and_then(|table| u32::try_from(table).ok());
    Some(Route {
        destination,
        kind,
        interface: interface.map(|name| names.name(name).to_owned()),
        gateway: address("next-hop-address"),
        gateway_path: path.key("next-hop-address"),
        source: address("source"),
        metric: small(route, "metric"),
        table: of_vrf.unwrap_or_else(|| table(route, "table-id")),
        options: RouteOptions {
            mtu: small(route, "mtu"),
            lock_mtu: flag(route, "lock-mtu"),
            advmss: small(route, "advmss"),
            cwnd: small(route, "cwnd"),
            initcwnd: small(route, "initcwnd"),
            initrwnd: small(route, "initrwnd"),
            quickack: flag(route, "quickack"),
            weight: small(route, "weight"),
        },
        path,
    })
}

fn kind(word: Option<&str>) -> RouteKind {
    match word {
        Some("blackhole") => RouteKind::Blackhole,
        Some("unreachable") => RouteKind::Unreachable,
        Some("prohibit") => RouteKind::Prohibit,
        _ => RouteKind::Unicast,
    }
}

/// The routing rules.
pub(super) fn rules(document: &Mapping, path: &DocumentPath) -> Vec<Rule> {
    let path = path.key("route-rules").key("config");
    let rules = elements(document, &["route-rules", "config"]).iter().enumerate();
    let rules = rules.filter_map(|(index, rule)| Some((index, rule.as_mapping()?)));
    let rules: Vec<_> = rules.filter(|(_, rule)| text(rule, "state") != Some("absent")).collect();
    let greatest: u32 = rules.iter().filter_map(|(_, rule)| small(rule, "priority")).max().unwrap_or_default();
    let mut next = greatest.saturating_add(1).max(USUAL_PRIORITY);
    let mut read = Vec::with_capacity(rules.len());
    for (index, rule) in rules {
        let priority = small(rule, "priority").unwrap_or_else(|| {
            next = next.saturating_add(1);
            next.saturating_sub(1)
        });
        let network = |key| text(rule, key).and_then(routes::network).map(|network| network.trunc());
        let [from, to] = ["ip-from", "ip-to"].map(network);
        let is_v6 = |network: Option<IpNet>| network.is_some_and(|network| network.addr().is_ipv6());
        read.push(Rule {
            priority: Some(priority),
            family: if text(rule, "family") == Some("ipv6") || is_v6(from) || is_v6(to) {
                Family::V6
            } else {
                Family::V4
            },
            from: from.filter(|network| network.prefix_len() > 0),
            to: to.filter(|network| network.prefix_len() > 0),
            iif: text(rule, "iif").filter(|name| !name.is_empty()).map(str::to_owned),
            mark: small(rule, "fwmark"),
            mask: small(rule, "fwmask"),
            suppress_prefix_length: small(rule, "suppress-prefix-length"),
            others: Vec::new(),
            kind: kind(text(rule, "action")),
            table: table(rule, "route-table"),
            path: path.index(index),
        });
    }
    read.sort_by_key(|rule| rule.priority);
    read
}

/// Whom the document asks for names.
pub(super) fn dns(document: &Mapping, path: &DocumentPath) -> Dns {
    let path = path.key("dns-resolver").key("config");
    let list = |key| elements(document, &["dns-resolver", "config", key]);
    let texts = |key| list(key).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let servers = list("server").iter().enumerate().filter_map(|(index, server)| {
        // One that is link-local names the interface behind a percent sign.
        let mut parts = server.as_str()?.split('%');
        let address = parts.next()?.parse().ok()?;
        Some(NameServer { address, interface: parts.next().map(str::to_owned), path: path.key("server").index(index) })
    });
    Dns {
        servers: servers.collect(),
        search: texts("search"),
        search_path: path.key("search"),
        options: texts("options"),
    }
}

fn table(map: &Mapping, key: &str) -> u32 {
    small(map, key).filter(|table| *table != 0).unwrap_or(MAIN_TABLE)
}
