//! Routes and routing rules: `[Route]` and `[RoutingPolicyRule]` of systemd.network(5).

use std::net::IpAddr;

use ipnet::IpNet;
use serde_yaml::Mapping;

use super::plan::{Node, Plan};
use super::unit::Setting;
use crate::network::fields::Fields;
use crate::network::form::Findings;
use crate::network::rules::{self, Routes};
use crate::nmstate_document::interfaces::Interface;
use crate::nmstate_document::{elements, mapping, number, text};
use vocabulary::report::DocumentPath;

/// `RT_TABLE_MAIN`.
const MAIN_TABLE: u64 = 254;
/// The priority of the first rule that has none: nmstate's own choice.
const FIRST_PRIORITY: u64 = 30_000;

/// A way out of the main table, for whoever looks for one.
pub(super) struct Way<'a> {
    pub(super) destination: IpNet,
    pub(super) metric: u64,
    pub(super) interface: &'a str,
}

/// Reads `routes.config`.
pub(super) fn read<'a>(plan: &mut Plan<'a>, document: &Fields<'a>, findings: &mut Findings<'_>) -> Vec<Way<'a>> {
    let mut ways = Vec::new();
    for route in document.section("routes").entries("config") {
        // A route that is to go is left out, and the report says so.
        if !matches!(route.text("state"), Some("absent" | "ignore")) {
            ways.extend(read_route(plan, &route, findings));
        }
    }
    ways
}

fn read_route<'a>(plan: &mut Plan<'a>, route: &Fields<'a>, findings: &mut Findings<'_>) -> Option<Way<'a>> {
    let destination = read_network(route, "destination", findings)?;
    let metric = route.number("metric");
    let mut table = route.number("table-id").filter(|table| *table != 0);
    let [gateway, source] = ["next-hop-address", "source"].map(|key| read_address(route, key, destination, findings));
    let kind = route.text("route-type");
    let numbers = [
        ("mtu", "MTUBytes"),
        ("initcwnd", "InitialCongestionWindow"),
        ("initrwnd", "InitialAdvertisedReceiveWindow"),
        ("advmss", "TCPAdvertisedMaximumSegmentSize"),
    ];
    let mut settings: Vec<Setting> = vec![("Destination", destination.to_string())];
    for (key, unit) in numbers {
        settings.extend(route.number(key).map(|number| (unit, number.to_string())));
    }
    if let Some(quick) = route.flag("quickack") {
        settings.push(("QuickAck", super::unit::yes(quick).to_owned()));
    }
    if route.flag("lock-mtu") == Some(true) {
        findings.refuse(&route.at("lock-mtu"), "they have no such setting");
    }
    let vrf = route.text("vrf-name");
    let at = route.at("vrf-name");
    if let Some(vrf) = vrf {
        let interface = plan.needed(vrf, &at, findings)?.interface;
        table = interface.and_then(|i| number(mapping(i.map, "vrf")?.get("route-table-id")));
    }
    let at = route.at("next-hop-interface");
    let interface = route.text("next-hop-interface");
    let node = match (interface, kind) {
        (Some(interface), None) => plan.needed(interface, &at, findings)?,
        (Some(_), Some(_)) => {
            findings.refuse(&at, "a route that leads nowhere has no interface");
            return None;
        }
        (None, Some(kind)) => {
            settings.push(("Type", kind.to_owned()));
            plan.loopback()?
        }
        (None, None) => {
            findings.refuse(route.path(), "it has no next-hop-interface");
            return None;
        }
    };
    settings.extend(gateway.map(|gateway| ("Gateway", gateway.to_string())));
    if gateway.is_some_and(|gateway| !is_on_link(node, gateway)) {
        settings.push(("GatewayOnLink", "yes".to_owned()));
    }
    settings.extend(source.map(|source| ("PreferredSource", source.to_string())));
    settings.extend(metric.map(|metric| ("Metric", metric.to_string())));
    // Of a port of a VRF it would be the VRF's by itself.
    if table.is_some_and(|table| table != MAIN_TABLE) || node.in_vrf() {
        settings.push(("Table", table.unwrap_or(MAIN_TABLE).to_string()));
    }
    node.network.add("Route", settings);
    let main = table.is_none_or(|table| table == MAIN_TABLE) && kind.is_none();
    let usual = if destination.addr().is_ipv4() { 0 } else { 1024 };
    main.then_some(Way { destination, metric: metric.unwrap_or(usual), interface: node.name })
}

/// Whether the kernel finds a gateway on the link by itself.
fn is_on_link(node: &Node<'_>, gateway: IpAddr) -> bool {
    let family = node.ip.family(gateway);
    let local = matches!(gateway, IpAddr::V6(gateway) if gateway.is_unicast_link_local());
    local || family.automatic.is_some() || family.addresses.iter().any(|address| address.contains(&gateway))
}

/// A network, its host bits cleared; an address is the network of itself.
fn read_network(fields: &Fields<'_>, key: &'static str, findings: &mut Findings<'_>) -> Option<IpNet> {
    let text = fields.text(key);
    let found = text.and_then(|text| match text.parse::<IpNet>() {
        Ok(network) => Some(network.trunc()),
        Err(_) => text.parse::<IpAddr>().ok().map(IpNet::from),
    });
    if found.is_none() {
        findings.refuse(&fields.at(key), "it is not a network such as 192.0.2.0/24");
    }
    found
}

/// An address of the family of `like`; the one that stands for none is none.
fn read_address(fields: &Fields<'_>, key: &'static str, like: IpNet, findings: &mut Findings<'_>) -> Option<IpAddr> {
    let text = fields.text(key)?;
    let found = text.parse::<IpAddr>().ok().filter(|address| address.is_ipv4() == like.addr().is_ipv4());
    if found.is_none() {
        findings.refuse(&fields.at(key), "it is not an address of the destination's family");
    }
    found.filter(|address| !address.is_unspecified())
}

/// Reads `route-rules.config`.
pub(super) fn read_rules<'a>(
    plan: &mut Plan<'a>,
    document: &'a Mapping,
    path: &DocumentPath,
    interfaces: &[Interface<'a>],
    findings: &mut Findings<'_>,
) {
    let routes = Routes::of(elements(document, &["routes", "config"]));
    let at = path.key("route-rules").key("config");
    let mut next_priority = FIRST_PRIORITY;
    for (index, rule) in elements(document, &["route-rules", "config"]).iter().enumerate() {
        let Some(map) = rule.as_mapping() else { continue };
        let path = at.index(index);
        let fields = Fields::of(map, path.clone());
        if fields.text("state") == Some("absent") {
            continue;
        }
        let priority = fields.number("priority").unwrap_or_else(|| {
            next_priority += 1;
            next_priority - 1
        });
        let settings = read_rule(priority, &fields, findings);
        // A rule about what comes in by an interface of the document is that one's.
        let holder = text(map, "iif").filter(|iif| interfaces.iter().any(|interface| interface.name == *iif));
        match holder.or_else(|| rules::holder(rule, &routes, interfaces)) {
            Some(holder) => {
                if let Some(node) = plan.needed(holder, &path, findings) {
                    node.network.add("RoutingPolicyRule", settings);
                }
            }
            None => findings.refuse(&path, "no interface can hold it"),
        }
    }
}

fn read_rule(priority: u64, rule: &Fields<'_>, findings: &mut Findings<'_>) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    let mut families = Vec::new();
    for (key, unit) in [("ip-from", "From"), ("ip-to", "To")] {
        if rule.text(key).is_some()
            && let Some(network) = read_network(rule, key, findings)
        {
            families.push(if network.addr().is_ipv4() { "ipv4" } else { "ipv6" });
            settings.push((unit, network.to_string()));
        }
    }
    let family = rule.text("family");
    match family.or(families.first().copied()) {
        Some(family) if families.iter().all(|other| *other == family) => settings.push(("Family", family.to_owned())),
        Some(_) => findings.refuse(rule.path(), "its addresses are of two families"),
        None => findings.refuse(rule.path(), "its family is not known; add family"),
    }
    settings.push(("Priority", priority.to_string()));
    let action = rule.text("action");
    let table = rule.number("route-table").filter(|table| *table != 0);
    match action {
        Some(action) => settings.push(("Type", action.to_owned())),
        None => settings.push(("Table", table.unwrap_or(MAIN_TABLE).to_string())),
    }
    let firewall = ["fwmark", "fwmask"].map(|key| rule.number(key));
    match firewall {
        [Some(mark), Some(bits)] => settings.push(("FirewallMark", format!("{mark}/{bits}"))),
        [Some(mark), None] => settings.push(("FirewallMark", mark.to_string())),
        [None, Some(_)] => findings.refuse(&rule.at("fwmask"), "it needs fwmark as well"),
        [None, None] => {}
    }
    if let Some(iif) = rule.text("iif") {
        if let Some(problem) = super::plan::name_problem(iif) {
            findings.refuse(&rule.at("iif"), problem);
        }
        settings.push(("IncomingInterface", iif.to_owned()));
    }
    for key in ["suppress-prefix-length", "suppress_prefixlength"] {
        settings.extend(rule.number(key).map(|length| ("SuppressPrefixLength", length.to_string())));
    }
    settings
}
