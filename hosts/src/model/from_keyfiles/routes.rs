//! Routes and routing rules of a profile.

use super::ip;
use super::profile::Profile;
use super::section::Section;
use crate::family::Family;
use crate::model::{Kind, MAIN_TABLE, Route, RouteKind, RouteOptions, Rule, Topology};
use vocabulary::report::DocumentPath;

/// Adds a profile's routes and rules.
pub(super) fn read(profile: &Profile<'_>, kind: &Kind, topology: &mut Topology) {
    if !profile.has_ip(kind) {
        return;
    }
    for family in Family::BOTH {
        let section = profile.section(family.key());
        // Rules are the host's: NetworkManager sets them whether the interface has any of the family or not.
        let rules = section.numbered(&["routing-rule"]).into_iter();
        topology.rules.extend(rules.map(|(key, value)| rule(&value, family, section.at(key))));
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
    Some(Route {
        destination: family.whole(),
        kind: RouteKind::Unicast,
        interface,
        gateway: Some(gateway),
        gateway_path: section.at(&key),
        source: None,
        metric: stated(unsaid.metric),
        table: unsaid.table,
        options: RouteOptions::default(),
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
            let pairs = ip::fields(&options).filter_map(|option| option.split_once('='));
            pairs.map(|(key, value)| (key.trim(), value.trim())).find_map(|(key, value)| (key == name).then_some(value))
        };
        let number = |name| option(name).and_then(|value| value.parse().ok());
        let flag = |name| option(name).map(|value| value == "true");
        Some(Route {
            destination: destination.trunc(),
            kind: route_kind(option("type").unwrap_or("unicast"))?,
            interface: interface.cloned(),
            gateway,
            gateway_path: section.at(key),
            source: option("src").and_then(|source| ip::address(source, family)),
            metric: stated(metric),
            table: number("table").filter(|table| *table != 0).unwrap_or(unsaid.table),
            options: RouteOptions {
                mtu: number("mtu"),
                lock_mtu: flag("lock-mtu"),
                advmss: number("advmss"),
                cwnd: number("cwnd"),
                initcwnd: number("initcwnd"),
                initrwnd: number("initrwnd"),
                quickack: flag("quickack"),
                weight: number("weight"),
            },
            path: section.at(key),
        })
    };
    routes.filter_map(route).collect()
}

/// A metric; none, where the kernel gives one.
fn stated(metric: u32) -> Option<u32> {
    (metric != 0).then_some(metric)
}

/// What happens to packets, by the word of `ip route`.
fn route_kind(word: &str) -> Option<RouteKind> {
    use RouteKind::{Blackhole, Prohibit, Unicast, Unreachable};
    [Unicast, Blackhole, Unreachable, Prohibit].into_iter().find(|kind| kind.name() == word)
}

/// A rule, such as `priority 5 from 192.0.2.0/24 table 100`.
fn rule(text: &str, family: Family, path: DocumentPath) -> Rule {
    let mut rule = Rule::of_all(family, path);
    let mut words = text.split_whitespace();
    // Every network has addresses; `all` is no network.
    let network = |text: &str| ip::network(text, || Some(family.length()), family).filter(|net| net.prefix_len() > 0);
    while let Some(word) = words.next() {
        match word {
            "priority" | "order" | "pref" | "preference" => {
                rule.priority = words.next().and_then(|number| number.parse().ok());
            }
            "table" | "lookup" => rule.table = words.next().and_then(table).unwrap_or(MAIN_TABLE),
            "from" => rule.from = words.next().and_then(network),
            "to" => rule.to = words.next().and_then(network),
            "iif" => rule.iif = words.next().map(str::to_owned),
            "suppress_prefixlength" => {
                rule.suppress_prefix_length = words.next().and_then(|length| length.parse().ok());
            }
            "type" => rule.kind = words.next().and_then(route_kind).unwrap_or(RouteKind::Unicast),
            "fwmark" => {
                let (value, mask) = words.next().map(|mark| mark.split_once('/').unwrap_or((mark, ""))).unzip();
                (rule.mark, rule.mask) = (value.and_then(number), mask.and_then(number));
            }
            other => rule.others.push(other.to_owned()),
        }
    }
    rule
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

/// A number, in decimal or hexadecimal digits.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
