//! Routes, and name servers: both belong to the interface that leads to them.

use std::net::IpAddr;

use ipnet::IpNet;

use super::interface::Interface;
use super::ip::Automatic;
use super::{Network, Route};
use crate::network::fields::{Fields, Findings};
use crate::nmstate_document::quoted;

/// Reads `routes.config`.
pub(super) fn read(network: &mut Network<'_>, document: &mut Fields<'_>, findings: &mut Findings<'_>) {
    let mut routes = document.section("routes");
    for mut route in routes.entries("config") {
        // A route that is to go is left out, and the report says so.
        if !matches!(route.text("state"), Some("absent" | "ignore")) {
            read_route(network, &mut route, findings);
            route.finish(findings);
        }
    }
    routes.finish(findings);
}

fn read_route(network: &mut Network<'_>, fields: &mut Fields<'_>, findings: &mut Findings<'_>) {
    let destination = fields.text("destination").and_then(|text| match text.parse::<IpNet>() {
        Ok(network) => Some(network.trunc()),
        Err(_) => text.parse::<IpAddr>().ok().map(IpNet::from),
    });
    let Some(destination) = destination else {
        findings.refuse(&fields.at("destination"), "it is not a network such as 192.0.2.0/24");
        return;
    };
    let metric = fields.number_or_usual("metric", 0..=0xffff_ffff, findings);
    // Zero and 254 are the main table.
    fields.word("table-id", &[("0", ""), ("254", "")], findings);
    let gateway = fields.text("next-hop-address").filter(|text| !text.is_empty());
    let gateway = match gateway.map(str::parse::<IpAddr>) {
        Some(Ok(gateway)) if gateway.is_ipv4() == destination.addr().is_ipv4() => {
            Some(gateway).filter(|gateway| !gateway.is_unspecified())
        }
        Some(_) => {
            findings.refuse(&fields.at("next-hop-address"), "it is not an address of the destination's family");
            return;
        }
        None => None,
    };
    let at = fields.at("next-hop-interface");
    let name = fields.text("next-hop-interface");
    let Some(interface) = network.interfaces.iter_mut().find(|interface| Some(interface.name) == name) else {
        findings.refuse(&at, "no interface of this name is written");
        return;
    };
    if let Some(gateway) = gateway
        && !is_on_link(interface, gateway)
    {
        findings.refuse(&fields.at("next-hop-address"), "no address of the interface is in its network");
    }
    interface.routes.push(Route { path: fields.path().clone(), destination, gateway, metric });
}

/// Whether the kernel finds a gateway on the link by itself.
fn is_on_link(interface: &Interface<'_>, gateway: IpAddr) -> bool {
    let family = interface.ip.family(gateway);
    let local = matches!(gateway, IpAddr::V6(gateway) if gateway.is_unicast_link_local());
    let automatic = family.automatic != Automatic::None;
    local || automatic || family.addresses.iter().any(|address| address.contains(&gateway))
}

/// Reads `dns-resolver.config`.
pub(super) fn read_dns(network: &mut Network<'_>, document: &mut Fields<'_>, findings: &mut Findings<'_>) {
    let mut resolver = document.section("dns-resolver");
    let mut config = resolver.section("config");
    for (path, server) in config.list("server") {
        let Some(address) = server.as_str().and_then(|server| server.parse::<IpAddr>().ok()) else {
            findings.refuse(&path, "it is not an IP address, or names an interface");
            continue;
        };
        match holder(&mut network.interfaces, address) {
            Some(interface) => interface.servers.push(address),
            None => findings.refuse(&path, "no interface of the document has a route to it"),
        }
    }
    network.search_path = config.at("search");
    for (path, domain) in config.list("search") {
        match domain.as_str().filter(|domain| !domain.is_empty() && !domain.contains(char::is_whitespace)) {
            Some(domain) => network.search.push(domain.to_owned()),
            None => findings.refuse(&path, &format!("{} is not a domain", quoted(domain.as_str().unwrap_or_default()))),
        }
    }
    config.finish(findings);
    resolver.finish(findings);
}

/// The interface by which an address is reached: the longest prefix, then the least metric, then the first.
fn holder<'n, 'a>(interfaces: &'n mut [Interface<'a>], address: IpAddr) -> Option<&'n mut Interface<'a>> {
    let routed = |interface: &Interface<'_>| {
        let connected = interface.ip.addresses().filter(|network| network.contains(&address));
        let connected = connected.map(|network| (network.prefix_len(), 0));
        let through = interface.routes.iter().filter(|route| route.destination.contains(&address));
        let through = through.map(|route| (route.destination.prefix_len(), route.metric.unwrap_or(0)));
        let automatic = interface.ip.family(address).automatic != Automatic::None;
        // What the network says has no say against what the document says.
        let automatic = automatic.then_some((0, u64::MAX));
        connected.chain(through).chain(automatic).map(|(length, metric)| (u8::MAX - length, metric)).min()
    };
    let best = interfaces.iter().enumerate().filter_map(|(index, interface)| Some((routed(interface)?, index))).min();
    interfaces.get_mut(best?.1)
}
