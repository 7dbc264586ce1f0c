//! Routes and routing rules of a profile.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::ip;
use super::profile::Profile;
use super::section::Section;
use crate::family::Family;
use crate::model::{Kind, MAIN_TABLE, Route, RouteKind, Rule, Topology};

/// Adds a profile's routes and rules.
pub(super) fn read(profile: &Profile<'_>, kind: &Kind, topology: &mut Topology) {
    if !profile.has_ip(kind) {
        return;
    }
    for family in Family::BOTH {
        let section = profile.section(family.key());
        // Rules are the host's: NetworkManager sets them whether the interface has any of the family or not.
        topology.rules.extend(rules(&section));
        if section.text("method").as_deref() == Some("disabled") {
            continue;
        }
        // What leads nowhere is no interface's, and stands in the loopback's profile for want of another place.
        let interface = (*kind != Kind::Loopback).then(|| profile.name.clone());
        let unsaid = Unsaid {
            table: ip::table(&section).unwrap_or(MAIN_TABLE),
            metric: section.parsed("route-metric").unwrap_or(kind.usual_metric()),
        };
        topology.routes.extend(gateway(&section, family, interface.clone(), &unsaid));
        topology.routes.extend(routes(&section, family, interface.as_ref(), &unsaid));
    }
}

/// What the routes of a profile get that do not say it: NetworkManager gives none to the kernel without a metric.
struct Unsaid {
    table: u32,
    metric: u32,
}

/// The default route by a gateway that is no route's.
fn gateway(section: &Section<'_, '_>, family: Family, interface: Option<String>, unsaid: &Unsaid) -> Option<Route> {
    if section.flag("never-default") == Some(true) {
        return None;
    }
    let own = section.text("gateway").and_then(|gateway| ip::address(gateway.trim(), family));
    let (key, gateway) = match own {
        Some(gateway) => ("gateway".to_owned(), gateway),
        None => ip::gateway_of_address(section, family)?,
    };
    let destination = match family {
        Family::V4 => IpNet::V4(Ipv4Net::default()),
        Family::V6 => IpNet::V6(Ipv6Net::default()),
    };
    Some(Route {
        destination,
        kind: RouteKind::Unicast,
        interface,
        gateway: Some(gateway),
        gateway_path: section.at(&key),
        source: None,
        metric: stated(unsaid.metric),
        table: unsaid.table,
        path: section.at(&key),
    })
}

fn routes(section: &Section<'_, '_>, family: Family, interface: Option<&String>, unsaid: &Unsaid) -> Vec<Route> {
    let routes = section.numbered(&["route", "routes"]).into_iter();
    let route = |(key, value): (&str, String)| {
        let mut fields = ip::fields(&value);
        let whole = family.length();
        let destination = ip::network(fields.next()?, || Some(whole), family)?;
        let gateway = fields.next().and_then(|gateway| ip::address(gateway, family));
        let metric = fields.next().and_then(|metric| metric.parse().ok()).unwrap_or(unsaid.metric);
        let options = section.text(&format!("{key}_options")).unwrap_or_default();
        let option = |name: &str| {
            ip::fields(&options).find_map(|option| option.split_once('=').filter(|(key, _)| key.trim() == name))
        };
        let own_table = option("table").and_then(|(_, table)| table.trim().parse().ok());
        Some(Route {
            destination: destination.trunc(),
            kind: match option("type").map(|(_, kind)| kind.trim()) {
                None | Some("unicast") => RouteKind::Unicast,
                Some("blackhole") => RouteKind::Blackhole,
                Some("unreachable") => RouteKind::Unreachable,
                Some("prohibit") => RouteKind::Prohibit,
                Some(_) => return None,
            },
            interface: interface.cloned(),
            gateway,
            gateway_path: section.at(key),
            source: option("src").and_then(|(_, source)| source.trim().parse().ok()),
            metric: stated(metric),
            table: own_table.filter(|table| *table != 0).unwrap_or(unsaid.table),
            path: section.at(key),
        })
    };
    routes.filter_map(route).collect()
}

/// A metric; none, where the kernel gives one.
fn stated(metric: u32) -> Option<u32> {
    (metric != 0).then_some(metric)
}

fn rules(section: &Section<'_, '_>) -> Vec<Rule> {
    let rules = section.numbered(&["routing-rule"]).into_iter();
    rules
        .map(|(key, value)| {
            let mut rule = Rule { priority: None, selector: String::new(), table: MAIN_TABLE, path: section.at(key) };
            let mut selector = Vec::new();
            let mut words = value.split_whitespace();
            while let Some(word) = words.next() {
                match word {
                    "priority" | "order" | "pref" | "preference" => {
                        rule.priority = words.next().and_then(|number| number.parse().ok());
                    }
                    "table" | "lookup" => rule.table = words.next().and_then(table).unwrap_or(MAIN_TABLE),
                    "fwmark" => {
                        selector.push(word.to_owned());
                        selector.extend(words.next().map(hexadecimal));
                    }
                    _ => selector.push(word.to_owned()),
                }
            }
            rule.selector = selector.join(" ");
            rule
        })
        .collect()
}

/// The number of a table (`/etc/iproute2/rt_tables`).
fn table(text: &str) -> Option<u32> {
    match text {
        "main" => Some(MAIN_TABLE),
        "default" => Some(253),
        "local" => Some(255),
        _ => text.parse().ok(),
    }
}

/// A mark and its mask, as `ip rule` shows them.
fn hexadecimal(mark: &str) -> String {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let parts: Option<Vec<String>> = mark.split('/').map(|part| number(part).map(|n| format!("{n:#x}"))).collect();
    parts.map_or_else(|| mark.to_owned(), |parts| parts.join("/"))
}
