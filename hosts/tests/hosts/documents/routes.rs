//! What lies beyond the links: routes, routing rules, name servers.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::{Family, Interface};

/// What a document says of everything that is no interface.
#[derive(Debug, Clone)]
pub(super) struct Beyond {
    routes: Vec<Way>,
    rules: Vec<Rule>,
    servers: Vec<Index>,
    search: Vec<&'static str>,
    options: Vec<&'static str>,
    pub(super) hostname: Option<&'static str>,
}

/// A route, by an interface that is chosen when there are some.
#[derive(Debug, Clone)]
struct Way {
    by: Index,
    is_v4: bool,
    is_default: bool,
    gateway: Gateway,
    metric: Option<u64>,
    table: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gateway {
    OnLink,
    /// An address of the link only, where the family is IPv6.
    LinkLocal,
    None,
    /// It leads nowhere, by no interface.
    Blackhole,
}

#[derive(Debug, Clone)]
struct Rule {
    is_v4: bool,
    selector: Vec<(&'static str, Value)>,
    from: bool,
    iif: Option<Index>,
    priority: bool,
    table: u64,
}

pub(super) fn beyond() -> impl Strategy<Value = Beyond> {
    let search = prop::sample::subsequence(vec!["example.com", "lab.example.com", "xn--bcher-kva.example"], 0..=3);
    let options = prop::sample::subsequence(vec!["rotate", "timeout:2", "edns0"], 0..=2);
    (
        prop::collection::vec(way(), 0..5),
        prop::collection::vec(rule(), 0..4),
        prop::collection::vec(any::<Index>(), 0..3),
        search,
        options,
        prop::option::weighted(0.3, select(vec!["host-0", "host-0.example.com"])),
    )
        .prop_map(|(routes, rules, servers, search, options, hostname)| Beyond {
            routes,
            rules,
            servers,
            search,
            options,
            hostname,
        })
}

fn way() -> impl Strategy<Value = Way> {
    let gateway = prop_oneof![
        5 => Just(Gateway::OnLink),
        1 => Just(Gateway::LinkLocal),
        2 => Just(Gateway::None),
        1 => Just(Gateway::Blackhole),
    ];
    let metric = prop::option::of(prop_oneof![Just(0), Just(1024), 1..=4_000_000_u64]);
    let table = prop::option::weighted(0.3, prop_oneof![Just(254), 1..=4_000_000_u64]);
    (any::<Index>(), any::<bool>(), prop::bool::weighted(0.3), gateway, metric, table).prop_map(
        |(by, is_v4, is_default, gateway, metric, table)| Way { by, is_v4, is_default, gateway, metric, table },
    )
}

fn rule() -> impl Strategy<Value = Rule> {
    let selector = prop::sample::subsequence(
        vec![("fwmark", json!(16)), ("fwmask", json!("0xff")), ("suppress-prefix-length", json!(0))],
        0..=3,
    );
    let iif = prop::option::weighted(0.2, any::<Index>());
    (any::<bool>(), selector, any::<bool>(), iif, prop::bool::weighted(0.7), 1..=400_u64)
        .prop_map(|(is_v4, selector, from, iif, priority, table)| Rule { is_v4, selector, from, iif, priority, table })
}

fn having(interfaces: &[Interface], is_v4: bool, wanted: impl Fn(Family) -> bool) -> Vec<&Interface> {
    interfaces.iter().filter(|interface| wanted(interface.family(is_v4))).collect()
}

impl Beyond {
    pub(super) fn routes(&self, interfaces: &[Interface]) -> Vec<Value> {
        let mut routes = Vec::new();
        for (number, way) in self.routes.iter().enumerate() {
            let destination = match (way.is_v4, way.is_default && way.gateway != Gateway::Blackhole) {
                (true, true) => "0.0.0.0/0".to_owned(),
                (false, true) => "::/0".to_owned(),
                (true, false) => format!("172.16.{number}.0/24"),
                (false, false) => format!("2001:db8:ff{number}::/48"),
            };
            let mut route = json!({ "destination": destination });
            for (key, value) in [("metric", way.metric), ("table-id", way.table)] {
                if let Some(value) = value {
                    route[key] = json!(value);
                }
            }
            if way.gateway == Gateway::Blackhole {
                route["route-type"] = json!("blackhole");
                routes.push(route);
                continue;
            }
            let mut holders = having(interfaces, way.is_v4, |family| family == Family::Static);
            holders.retain(|interface| interface.is_found());
            if holders.is_empty() {
                continue;
            }
            let by = holders[way.by.index(holders.len())];
            route["next-hop-interface"] = json!(by.name);
            match (way.gateway, way.is_v4) {
                (Gateway::OnLink, true) => route["next-hop-address"] = json!(format!("10.{}.0.1", by.number)),
                (Gateway::OnLink, false) => route["next-hop-address"] = json!(format!("2001:db8:{}::1", by.number)),
                (Gateway::LinkLocal, false) => route["next-hop-address"] = json!("fe80::1"),
                _ => {}
            }
            if let Some(vrf) = by.vrf.as_ref().filter(|_| way.table.is_none()) {
                route["vrf-name"] = json!(vrf);
            }
            routes.push(route);
        }
        routes
    }

    pub(super) fn rules(&self, interfaces: &[Interface]) -> Vec<Value> {
        let mut rules = Vec::new();
        for (number, rule) in self.rules.iter().enumerate() {
            if having(interfaces, rule.is_v4, |family| family == Family::Static).is_empty() {
                continue;
            }
            let mut value = json!({"route-table": rule.table, "family": if rule.is_v4 { "ipv4" } else { "ipv6" }});
            for (key, selected) in &rule.selector {
                if *key != "fwmask" || value.get("fwmark").is_some() {
                    value[*key] = selected.clone();
                }
            }
            if rule.from {
                value["ip-from"] = json!(if rule.is_v4 { "10.0.0.0/8" } else { "2001:db8::/32" });
            }
            // The profile of this interface holds the rule.
            let mut known = having(interfaces, rule.is_v4, |family| family == Family::Static);
            known.retain(|interface| interface.has_kernel_name);
            if let Some(iif) = rule.iif.filter(|_| !known.is_empty()) {
                value["iif"] = json!(known[iif.index(known.len())].name);
            }
            // One that could be taken for another needs a number of its own.
            let alone = rule.iif.is_none() && self.rules.iter().all(|other| other.iif.is_none());
            if rule.priority || !alone {
                value["priority"] = json!(1000 + number);
            }
            rules.push(value);
        }
        rules
    }

    /// Whom to ask, where an interface can hold the answer: nmstate takes one with link-local addresses only, too.
    pub(super) fn names(&self, interfaces: &[Interface]) -> Option<Value> {
        let link_local = |interface: &Interface| {
            interface.ipv6 == Family::Nothing && interface.value.get("ipv6").is_some_and(|ip| ip["enabled"] == true)
        };
        let mut known: Vec<String> = Vec::new();
        for interface in having(interfaces, true, |family| family == Family::Static) {
            known.push(format!("10.{}.0.1", interface.number));
        }
        if !interfaces.iter().any(link_local) {
            for interface in having(interfaces, false, |family| family == Family::Static) {
                known.push(format!("2001:db8:{}::53", interface.number));
            }
        }
        if known.is_empty() {
            return None;
        }
        let mut servers: Vec<&String> = self.servers.iter().map(|server| &known[server.index(known.len())]).collect();
        servers.dedup();
        if servers.len() == 2 && servers.first() == servers.last() {
            servers.pop();
        }
        let mut names = json!({ "server": servers });
        for (key, list) in [("search", &self.search), ("options", &self.options)] {
            if !list.is_empty() {
                names[key] = json!(list);
            }
        }
        Some(names)
    }
}
