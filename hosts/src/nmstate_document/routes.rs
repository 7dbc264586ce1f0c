//! Routes that no profile can hold, and those that nmstate takes for the same.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_yaml::{Mapping, Value};

use super::interfaces::Interface;
use super::other_names::Names;
use super::{elements, is_true, mapping, number, text};
use crate::members::get;
use vocabulary::report::{DocumentPath, Origins, Report};

/// The table that routes are in when they name none (`RT_TABLE_MAIN`).
const MAIN_TABLE: u64 = 254;

/// What nmstate compares of routes: all but the metric. Source: `RouteEntry::sort_key` and `sanitize` of its `route.rs`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RouteKey<'a> {
    destination: IpNet,
    interface: Option<&'a str>,
    addresses: [Option<IpAddr>; 2],
    table: u64,
    words: [Option<&'a str>; 2],
    flags: [bool; 2],
    numbers: [u64; 6],
}

impl<'a> RouteKey<'a> {
    /// Of a route that has a destination.
    pub(crate) fn of(route: &'a Mapping, interfaces: &[Interface<'a>], names: &Names<'a>) -> Option<Self> {
        let address = |key| text(route, key).and_then(|address| address.parse().ok());
        let flag = |key| is_true(get(route, key));
        let amount = |key| number(get(route, key)).unwrap_or_default();
        Some(Self {
            destination: destination(route)?,
            interface: text(route, "next-hop-interface").map(|name| names.name(name)),
            addresses: [address("next-hop-address"), address("source")],
            table: vrf_table(route, interfaces).or_else(|| number(get(route, "table-id"))).unwrap_or(MAIN_TABLE),
            words: ["route-type", "vrf-name"].map(|key| text(route, key)),
            flags: [flag("quickack"), flag("lock-mtu")],
            numbers: ["cwnd", "initcwnd", "initrwnd", "mtu", "weight", "advmss"].map(amount),
        })
    }
}

/// Where a route leads, with the bits behind its prefix cut off as nmstate does.
pub(crate) fn destination(route: &Mapping) -> Option<IpNet> {
    network(text(route, "destination")?).map(|network| network.trunc())
}

/// A network, or an address that is one by itself.
pub(crate) fn network(text: &str) -> Option<IpNet> {
    text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).ok()
}

/// The table of the VRF that a route names.
pub(crate) fn vrf_table(route: &Mapping, interfaces: &[Interface<'_>]) -> Option<u64> {
    let vrf = text(route, "vrf-name")?;
    let vrf = interfaces.iter().find(|interface| interface.name == vrf)?;
    number(get(mapping(vrf.map, "vrf")?, "route-table-id"))
}

/// Refuses routes that no profile can hold, and warns of routes and rules that nmstate drops.
pub(crate) fn check(
    document: &Mapping,
    interfaces: &[Interface<'_>],
    (path, origins): (&DocumentPath, &Origins),
    report: &mut Report,
) {
    for (index, rule) in elements(document, &["route-rules", "config"]).iter().enumerate() {
        if rule.as_mapping().is_some_and(|rule| text(rule, "state") == Some("absent")) {
            let message = "asks to remove a routing rule, and before the first boot there is none";
            report.warning("route-left-out", &path.key("route-rules").key("config").index(index).key("state"), message);
        }
    }
    let path = path.key("routes").key("config");
    let names = Names::of(interfaces);
    let mut seen: BTreeMap<RouteKey<'_>, usize> = BTreeMap::new();
    for (index, route) in elements(document, &["routes", "config"]).iter().enumerate() {
        let Some(map) = route.as_mapping() else { continue };
        let is_set = |key| get(map, key).is_some_and(|value: &Value| !value.is_null());
        if matches!(text(map, "state"), Some("absent" | "ignore")) {
            let message = "asks to ignore or to remove a route, and before the first boot there is none";
            report.warning("route-left-out", &path.index(index).key("state"), message);
        } else if !is_set("next-hop-interface") && !is_set("route-type") {
            let message = "has no next-hop-interface, so no profile can hold it; add next-hop-interface";
            report.error("route-without-interface", &path.index(index), message);
        } else if !is_set("destination") {
            let message = "has no destination, and nmstate leaves such a route out; add destination (0.0.0.0/0 or ::/0 for the \
                           default route)";
            report.error("route-without-destination", &path.index(index), message);
        } else if let Some(key) = RouteKey::of(map, interfaces, &names)
            && let Some(first) = seen.insert(key, index)
        {
            let first = path.index(first);
            let first = origins.of(&first).unwrap_or(first);
            let message = format!(
                "differs from {first} only in its metric, or not at all, and nmstate keeps one of the two; remove \
                 one of them"
            );
            report.warning("route-lost", &path.index(index), message);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::network::convert;
    use vocabulary::host::{HostSpec, NmstateDocument};

    /// The findings about two routes, and how many routes nmstate wrote.
    fn routes(first: &str, second: &str) -> (Vec<&'static str>, usize) {
        let yaml = format!(
            "interfaces:\n- {{name: eth0, type: ethernet, profile-name: up, ipv4: {{enabled: true, address: [{{ip: 192.0.2.10, \
             prefix-length: 24}}]}}}}\n- {{name: v, type: vrf, vrf: {{route-table-id: 100, port: []}}}}\nroutes:\n  config:\n  - \
             {{{first}}}\n  - {{{second}}}\n"
        );
        let value = serde_yaml::from_str(&yaml).unwrap();
        let document = NmstateDocument::new(value, vocabulary::report::DocumentPath::root());
        let (network, report) = convert(&HostSpec::with_network(document));
        let codes = report.findings().iter().map(|finding| finding.code);
        let codes = codes.filter(|code| code.starts_with("route-")).collect();
        let keyfiles = network.map(|network| network.keyfiles).unwrap_or_default();
        let lines = keyfiles.iter().flat_map(|keyfile| keyfile.content.lines());
        (codes, lines.filter(|line| line.starts_with("route") && line.contains("=10.0.0.0/8")).count())
    }

    #[test]
    fn routes_that_nmstate_takes_for_the_same_are_reported_and_no_others() {
        let first = "destination: 10.0.0.0/8, next-hop-address: 192.0.2.1, next-hop-interface: eth0, metric: 100";
        for same in [
            "next-hop-interface: eth0, destination: 10.0.0.0/8, next-hop-address: 192.0.2.1, metric: 200",
            "destination: 10.1.2.3/8, next-hop-address: 192.0.2.1, next-hop-interface: eth0",
            "destination: 10.0.0.0/8, next-hop-address: 192.0.2.1, next-hop-interface: eth0, table-id: 254",
            "destination: 10.0.0.0/8, next-hop-address: 192.0.2.1, next-hop-interface: up",
        ] {
            assert_eq!(routes(first, same), (vec!["route-lost"], 1), "{same}");
        }
        for other in [
            "destination: 10.0.0.0/8, next-hop-address: 192.0.2.2, next-hop-interface: eth0",
            "destination: 10.0.0.0/8, next-hop-address: 192.0.2.1, next-hop-interface: eth0, mtu: 1400",
            "destination: 10.0.0.0/8, next-hop-address: 192.0.2.1, next-hop-interface: eth0, source: 192.0.2.10",
            "destination: 10.0.0.0/8, next-hop-address: 192.0.2.1, next-hop-interface: eth0, table-id: 100",
        ] {
            assert_eq!(routes(first, other), (vec![], 2), "{other}");
        }
        let numbers = ["mtu: 1400", "mtu: '1400'", "mtu: '1400', lock-mtu: false, quickack: no"];
        for number in numbers {
            let route = |number: &str| format!("destination: 10.0.0.0/8, next-hop-interface: eth0, {number}");
            assert_eq!(routes(&route("mtu: 1400"), &route(number)), (vec!["route-lost"], 1), "{number}");
        }
        let of_vrf = "destination: 10.0.0.0/8, next-hop-interface: eth0, vrf-name: v";
        let of_table = "destination: 10.0.0.0/8, next-hop-interface: eth0, table-id: 100";
        assert_eq!(routes(of_vrf, of_table), (vec![], 2));
    }

    #[test]
    fn a_route_that_leads_nowhere_is_refused() {
        let good = "destination: 10.0.0.0/8, next-hop-interface: eth0";
        for lost in [
            "next-hop-interface: eth0, next-hop-address: 192.0.2.1",
            "next-hop-interface: eth0, destination: ~",
            "route-type: blackhole",
        ] {
            assert_eq!(routes(good, lost).0, ["route-without-destination"], "{lost}");
        }
    }
}
