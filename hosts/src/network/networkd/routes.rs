//! Routes and routing rules: `[Route]` and `[RoutingPolicyRule]` of systemd.network(5).

use super::plan::Plan;
use super::unit::{Setting, yes};
use crate::model::{Family, Interface, MAIN_TABLE, Method, Route, RouteKind, RouteOptions, Rule, Topology};
use crate::network::form::Findings;

/// Writes a route into the unit of its interface.
pub(super) fn write(plan: &mut Plan<'_>, route: &Route, findings: &mut Findings<'_>) {
    let Route { destination, kind, interface, gateway, gateway_path, source, metric, table, options, path } = route;
    let mut settings: Vec<Setting> = vec![("Destination", destination.to_string())];
    add_options(options, route, &mut settings, findings);
    let is_of_family = |address: &std::net::IpAddr| Family::of(*address) == route.family();
    for (address, at) in [(gateway, gateway_path), (source, &path.key("source"))] {
        if address.is_some_and(|address| !is_of_family(&address)) {
            findings.refuse(at, "it is not an address of the destination's family");
        }
    }
    let node = if let Some(interface) = interface {
        plan.needed(interface, &path.key("next-hop-interface"), findings)
    } else {
        settings.push(("Type", kind.name().to_owned()));
        plan.loopback()
    };
    let Some(node) = node else { return };
    settings.extend(gateway.map(|gateway| ("Gateway", gateway.to_string())));
    if gateway.is_some_and(|gateway| !node.interface.ip(Family::of(gateway)).finds_on_link(gateway)) {
        settings.push(("GatewayOnLink", "yes".to_owned()));
    }
    settings.extend(source.map(|source| ("PreferredSource", source.to_string())));
    settings.extend(metric.map(|metric| ("Metric", metric.to_string())));
    // The route of a port of a VRF would be in the VRF's table by itself.
    if *table != MAIN_TABLE || node.is_in_vrf {
        settings.push(("Table", table.to_string()));
    }
    node.network.add("Route", settings);
}

fn add_options(options: &RouteOptions, route: &Route, settings: &mut Vec<Setting>, findings: &mut Findings<'_>) {
    // Units have neither of the last two, and their keys are refused.
    let RouteOptions { mtu, lock_mtu, advmss, initcwnd, initrwnd, quickack, cwnd: _, weight: _ } = options;
    let numbers = [
        ("MTUBytes", mtu),
        ("InitialCongestionWindow", initcwnd),
        ("InitialAdvertisedReceiveWindow", initrwnd),
        ("TCPAdvertisedMaximumSegmentSize", advmss),
    ];
    for (unit, number) in numbers {
        settings.extend(number.map(|number| (unit, number.to_string())));
    }
    settings.extend(quickack.map(|quickack| ("QuickAck", yes(quickack).to_owned())));
    if *lock_mtu == Some(true) {
        findings.refuse(&route.path.key("lock-mtu"), "they have no such setting");
    }
}

/// Writes a routing rule into the unit of the interface that holds it.
pub(super) fn write_rule(plan: &mut Plan<'_>, rule: &Rule, topology: &Topology, findings: &mut Findings<'_>) {
    let settings = settings_of(rule, findings);
    let named = rule.iif.as_ref().and_then(|iif| plan.described().find(|interface| interface.label == *iif));
    let holder = named.or_else(|| holder(plan, rule, topology)).map(|interface| interface.name.clone());
    match holder {
        Some(holder) => {
            if let Some(node) = plan.needed(&holder, &rule.path, findings) {
                node.network.add("RoutingPolicyRule", settings);
            }
        }
        None => findings.refuse(&rule.path, "no interface can hold it"),
    }
}

/// The interface that holds a rule: the first with a route in its table, else the first whose offered routes are in it, else
/// the first with its family, else the first.
fn holder<'p>(plan: &'p Plan<'_>, rule: &Rule, topology: &Topology) -> Option<&'p Interface> {
    let has_route = |interface: &Interface| {
        let mut routes =
            topology.routes.iter().filter(|route| (route.table, route.family()) == (rule.table, rule.family));
        routes.any(|route| route.interface.as_ref() == Some(&interface.name))
    };
    let rank = |interface: &&Interface| {
        let ip = interface.ip(rule.family);
        match ip.method != Method::Disabled {
            true if has_route(interface) => 0,
            true if ip.automatic_table == rule.table => 1,
            true => 2,
            false => 3,
        }
    };
    plan.described().filter(|interface| interface.active).min_by_key(rank)
}

fn settings_of(rule: &Rule, findings: &mut Findings<'_>) -> Vec<Setting> {
    let Rule {
        priority,
        family,
        from,
        to,
        iif,
        mark,
        mask,
        suppress_prefix_length,
        // Only users' own keyfiles have others.
        others: _,
        kind,
        table,
        path,
    } = rule;
    let mut settings: Vec<Setting> = Vec::new();
    for (unit, network) in [("From", from), ("To", to)] {
        settings.extend(network.map(|network| (unit, network.to_string())));
        if network.is_some_and(|network| Family::of(network.addr()) != *family) {
            findings.refuse(path, "its addresses are of two families");
        }
    }
    settings.push(("Family", family.key().to_owned()));
    settings.extend(priority.map(|priority| ("Priority", priority.to_string())));
    match kind {
        RouteKind::Unicast => settings.push(("Table", table.to_string())),
        kind => settings.push(("Type", kind.name().to_owned())),
    }
    match (mark, mask) {
        (Some(value), Some(mask)) => settings.push(("FirewallMark", format!("{value}/{mask}"))),
        (Some(value), None) => settings.push(("FirewallMark", value.to_string())),
        (None, Some(_)) => findings.refuse(&path.key("fwmask"), "it needs fwmark as well"),
        (None, None) => {}
    }
    if let Some(iif) = iif {
        if let Some(problem) = super::plan::name_problem(iif) {
            findings.refuse(&path.key("iif"), problem);
        }
        settings.push(("IncomingInterface", iif.clone()));
    }
    settings.extend(suppress_prefix_length.map(|length| ("SuppressPrefixLength", length.to_string())));
    settings
}
