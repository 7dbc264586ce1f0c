//! Routes, routing rules and name servers.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_yaml::{Mapping, Value};

use super::super::{Dns, MAIN_TABLE, NameServer, Route, RouteKind, Rule};
use crate::members::get;
use crate::nmstate_document::interfaces::Interface as Entry;
use crate::nmstate_document::other_names::Names;
use crate::nmstate_document::routes::{self, RouteKey};
use crate::nmstate_document::{elements, number, text};
use vocabulary::report::DocumentPath;

/// The priority that nmstate gives to the first rule that has none.
const USUAL_PRIORITY: u32 = 30_000;

/// The routes of a document.
pub(super) struct Routes {
    pub(super) all: Vec<Route>,
    /// The interfaces that have routes, with whether these are of IPv4.
    reach: BTreeSet<(String, bool)>,
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
                let reach = route.interface.clone().map(|name| (name, route.destination.addr().is_ipv4()));
                routes.reach.extend(reach);
                routes.all.push(route);
            }
        }
        routes
    }

    /// Whether an interface has routes of IPv4, or of IPv6.
    pub(super) fn reach(&self, interface: &str, is_v4: bool) -> bool {
        self.reach.contains(&(interface.to_owned(), is_v4))
    }
}

fn read(route: &Mapping, entries: &[Entry<'_>], names: &Names<'_>, path: DocumentPath) -> Option<Route> {
    let destination = routes::destination(route)?;
    let kind = match text(route, "route-type") {
        Some("blackhole") => RouteKind::Blackhole,
        Some("unreachable") => RouteKind::Unreachable,
        Some("prohibit") => RouteKind::Prohibit,
        _ => RouteKind::Unicast,
    };
    let interface = text(route, "next-hop-interface").filter(|_| kind == RouteKind::Unicast);
    let gateway: Option<IpAddr> = text(route, "next-hop-address").and_then(|gateway| gateway.parse().ok());
    let of_vrf = routes::vrf_table(route, entries).and_then(|table| u32::try_from(table).ok());
    Some(Route {
        destination,
        kind,
        interface: interface.map(|name| names.name(name).to_owned()),
        gateway: gateway.filter(|gateway| !gateway.is_unspecified()),
        gateway_path: path.key("next-hop-address"),
        source: text(route, "source").and_then(|source| source.parse().ok()),
        metric: small(get(route, "metric")),
        table: of_vrf.unwrap_or_else(|| table(get(route, "table-id"))),
        path,
    })
}

/// The routing rules.
pub(super) fn rules(document: &Mapping, path: &DocumentPath) -> Vec<Rule> {
    let path = path.key("route-rules").key("config");
    let rules = elements(document, &["route-rules", "config"]).iter().enumerate();
    let rules = rules.filter_map(|(index, rule)| Some((index, rule.as_mapping()?)));
    let rules: Vec<_> = rules.filter(|(_, rule)| text(rule, "state") != Some("absent")).collect();
    let greatest = rules.iter().filter_map(|(_, rule)| small(get(rule, "priority"))).max().unwrap_or_default();
    let mut next = greatest.saturating_add(1).max(USUAL_PRIORITY);
    let mut read = Vec::with_capacity(rules.len());
    for (index, rule) in rules {
        let priority = small(get(rule, "priority")).unwrap_or_else(|| {
            next = next.saturating_add(1);
            next.saturating_sub(1)
        });
        read.push(Rule {
            priority: Some(priority),
            selector: selector(rule),
            table: table(get(rule, "route-table")),
            path: path.index(index),
        });
    }
    read.sort_by_key(|rule| rule.priority);
    read
}

/// What a rule is about, in the order in which nmstate writes it.
fn selector(rule: &Mapping) -> String {
    let mut words = Vec::new();
    for (key, word) in [("ip-to", "to"), ("ip-from", "from")] {
        let network = text(rule, key).and_then(routes::network);
        words.extend(network.map(|network| format!("{word} {}", network.trunc())));
    }
    if words.is_empty() {
        let all = if text(rule, "family") == Some("ipv6") { "::/0" } else { "0.0.0.0/0" };
        words.push(format!("from {all}"));
    }
    words.extend(text(rule, "iif").map(|name| format!("iif {name}")));
    words.extend(number(get(rule, "suppress-prefix-length")).map(|length| format!("suppress_prefixlength {length}")));
    words.extend(text(rule, "action").map(|action| format!("type {action}")));
    words.extend(number(get(rule, "fwmark")).map(|mark| match number(get(rule, "fwmask")) {
        Some(mask) => format!("fwmark {mark:#x}/{mask:#x}"),
        None => format!("fwmark {mark:#x}"),
    }));
    words.join(" ")
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

fn small(value: Option<&Value>) -> Option<u32> {
    number(value).and_then(|number| u32::try_from(number).ok())
}

fn table(value: Option<&Value>) -> u32 {
    small(value).filter(|table| *table != 0).unwrap_or(MAIN_TABLE)
}
