//! Compares the second step of a host with the first one.

use std::net::IpAddr;

use super::bridge::Uplink;
use super::default_routes::{self, is_main_default};
use super::{BRIDGE, rules};
use crate::family::Family;
use crate::model::{Device, Interface, Ip, Method, Route, Rule, Topology};
use crate::network::ConvertedNetwork;
use vocabulary::host::HostSpec;
use vocabulary::report::{DocumentPath, Report};

/// The network that a second step gives a host.
pub(super) struct SecondNetwork {
    /// The uplinks of `br-ex`.
    pub(super) uplinks: Vec<Uplink>,
    /// The interfaces, routes and name servers. Of the bridge, only the interface with the addresses is here.
    pub(super) topology: Topology,
    /// The path of the document.
    pub(super) path: DocumentPath,
}

/// Names of profiles and interfaces that the second step, or `OpenShift` in its place, makes.
const MADE_LATER: &[&str] =
    &[BRIDGE, "br-ex-br", "br-ex-if", "br-ex-port", "ovs-if-br-ex", "ovs-if-phys0", "ovs-port-br-ex", "ovs-port-phys0"];

/// Compares the second step of a host with its first one.
pub(super) fn check(host: &HostSpec, first: &ConvertedNetwork, second: &SecondNetwork, report: &mut Report) {
    check_names(host, first, report);
    let Some(bridge) = second.topology.interface(BRIDGE) else { return };
    let (network, first) = (first, &first.topology);
    let Some(before) = before(first, bridge) else {
        let routes = match default_routes::all(first).as_slice() {
            [] => "no default route either".to_owned(),
            [one] => format!("its default route through {one}"),
            several => format!("default routes through several interfaces ({})", several.join(", ")),
        };
        let message = format!(
            "gives {BRIDGE} addresses, none of which the first step of {} has, and the first step has {routes}: dayone \
             cannot tell what happens to the host's address",
            name(host)
        );
        report.warning("second-step-address", &bridge.path, message);
        return;
    };
    check_uplink(first, before, second, report);
    for family in Family::BOTH {
        check_addresses(before.ip(family), bridge.ip(family), before, report);
        check_default_route(family, first, before, second, bridge, report);
    }
    check_other_routes(first, before, second, bridge, report);
    check_rules(&rules::held_by(before, network), before, second, report);
    check_name_servers(first, before, second, bridge, report);
    if let Some(mtu) = before.mtu
        && bridge.mtu != Some(mtu)
    {
        let message = format!("has another MTU than {}, which has {mtu} in the first step", before.name);
        report.warning("second-step-mtu", &bridge.path, message);
    }
}

fn name(host: &HostSpec) -> &str {
    host.name.as_deref().unwrap_or("the host")
}

fn addresses(interface: &Interface) -> impl Iterator<Item = IpAddr> {
    interface.addresses().map(|address| address.network.addr())
}

/// Finds the interface of the first step whose addresses the bridge takes over: the one with the same address, else the one with
/// the default route, else the only one that gets an address from the network. Default routes of the families that the bridge has
/// come first.
fn before<'a>(first: &'a Topology, bridge: &Interface) -> Option<&'a Interface> {
    let same = first
        .interfaces
        .iter()
        .find(|interface| addresses(interface).any(|address| addresses(bridge).any(|other| other == address)));
    let by_route = || {
        let mut own = Family::BOTH.into_iter().filter(|family| has_addresses(bridge.ip(*family)));
        let mut any = Family::BOTH.into_iter().flat_map(|family| default_routes::written(first, family));
        own.find_map(|family| by_default_route(first, family)).or_else(|| any.find_map(|name| first.interface(name)))
    };
    let only_dynamic = || {
        let mut all =
            first.interfaces.iter().filter(|interface| interface.ipv4.is_automatic() || interface.ipv6.is_automatic());
        all.next().filter(|_| all.next().is_none())
    };
    same.or_else(by_route).or_else(only_dynamic)
}

/// Finds the interface with the first default route of a family that the documents have, else the only one that gets a default
/// route from the network.
fn by_default_route(first: &Topology, family: Family) -> Option<&Interface> {
    let written = default_routes::written(first, family).find_map(|name| first.interface(name));
    let mut learned = default_routes::learned(first, family);
    written.or_else(|| learned.next().filter(|_| learned.next().is_none()))
}

fn has_addresses(ip: &Ip) -> bool {
    ip.is_automatic() || !ip.addresses.is_empty()
}

fn check_names(host: &HostSpec, first: &ConvertedNetwork, report: &mut Report) {
    let profiles = first.keyfiles.iter().filter_map(|keyfile| keyfile.name.as_str().strip_suffix(".nmconnection"));
    let interfaces = first.topology.interfaces.iter().map(|interface| interface.name.as_str());
    let mut names: Vec<&str> = interfaces.chain(profiles).filter(|name| MADE_LATER.contains(name)).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let path = first.topology.interface(name).map_or_else(|| host.network.path(), |found| found.path.clone());
        let message = format!("has the name {name}, which the second step also uses: the two would conflict");
        report.error("second-step-name-taken", &path, message);
    }
}

/// Checks that the bridge's uplink is the interface that had the addresses, or is on top of it.
fn check_uplink(first: &Topology, before: &Interface, second: &SecondNetwork, report: &mut Report) {
    let Some(uplink) = second.uplinks.first() else { return };
    if second.uplinks.iter().any(|uplink| is_above(&uplink.name, before, first, &second.topology, 0)) {
        let described = [&before.label, &before.name].into_iter().find_map(|name| called(&second.topology, name));
        let described = described.map(|interface| &interface.device);
        if let Device::Mac(mac) = before.device
            && described != Some(&before.device)
        {
            let message = format!(
                "is on {}, which is the first step's own name for the NIC with the MAC address {mac}: it must be the \
                 name that the kernel gives the NIC",
                before.label
            );
            report.warning("second-step-nic-by-mac", &uplink.path, message);
        }
        return;
    }
    if let Device::Mac(mac) = before.device {
        let message = format!(
            "is {}, and the first step identifies its NIC by the MAC address {mac} and calls it {}: dayone cannot \
             tell whether they are the same",
            uplink.name, before.label
        );
        report.warning("second-step-nic-by-mac", &uplink.path, message);
        return;
    }
    let message = format!(
        "is {}, and in the first step the host's network is on {} ({}): the addresses would go to another cable",
        uplink.name, before.name, before.path
    );
    report.error("second-step-other-nic", &uplink.path, message);
}

/// Finds an interface by the name of its entry or of its profile.
fn called<'a>(topology: &'a Topology, name: &str) -> Option<&'a Interface> {
    topology.interfaces.iter().find(|interface| interface.label == name).or_else(|| topology.interface(name))
}

/// Whether `above` is `below`, or is on top of it in either network.
fn is_above(above: &str, below: &Interface, first: &Topology, second: &Topology, depth: usize) -> bool {
    let is_it = above == below.name || above == below.label;
    // No real host has that many levels of interfaces.
    if is_it || depth > 8 {
        return is_it;
    }
    [second, first].into_iter().any(|topology| {
        let Some(above) = called(topology, above) else { return false };
        let mut lower = topology.ports(&above.name).map(|port| port.name.as_str()).chain(above.kind.parent());
        lower.any(|lower| is_above(lower, below, first, second, depth + 1))
    })
}

fn check_addresses(before: &Ip, after: &Ip, nic: &Interface, report: &mut Report) {
    for address in &before.addresses {
        let network = address.network;
        match after.addresses.iter().find(|after| after.network.addr() == network.addr()) {
            Some(same) if same.network == network => {}
            Some(same) => {
                let message = format!(
                    "is {}, and in the first step {} has {network}: the host would have another network",
                    same.network, nic.name
                );
                report.error("second-step-address", &same.path, message);
            }
            None if after.is_automatic() => {
                let message = format!(
                    "gets its address from the network, and in the first step {} has {network}: the host's address \
                     changes unless the network gives it that one",
                    nic.name
                );
                report.warning("second-step-address", &after.path, message);
            }
            None => {
                let message = format!(
                    "lacks {network}, which {} has in the first step: the host's address would change",
                    nic.name
                );
                report.error("second-step-address", &after.path, message);
            }
        }
    }
    if before.is_automatic() && after.method == Method::Disabled {
        let message = format!("is off, and in the first step {} gets an address from the network", nic.name);
        report.warning("second-step-address", &after.path, message);
    }
}

fn check_default_route(
    family: Family,
    first: &Topology,
    before: &Interface,
    second: &SecondNetwork,
    bridge: &Interface,
    report: &mut Report,
) {
    let of = |topology: &'_ Topology, name: &str| -> Vec<Option<IpAddr>> {
        let routes = topology.routes.iter().filter(|route| is_main_default(route));
        let routes = routes.filter(|route| Family::of(route.destination.addr()) == family);
        routes.filter(|route| route.interface.as_deref() == Some(name)).map(|route| route.gateway).collect()
    };
    let (had, has) = (of(first, &before.name), of(&second.topology, BRIDGE));
    let offered = bridge.ip(family).learns_gateway(family);
    let path = second.path.key("routes");
    let Some(gateway) = had.first() else {
        // If this family is off, a finding about the addresses says so.
        let may_be_missed = has.is_empty() && !offered && bridge.ip(family).method != Method::Disabled;
        if may_be_missed && default_routes::learned(first, family).any(|interface| interface.name == before.name) {
            let message = format!(
                "have no default route through {BRIDGE}, and in the first step {} takes the one that the network \
                 offers, which disappears with its addresses: the host may be cut off",
                before.name
            );
            report.warning("second-step-default-route", &path, message);
        }
        return;
    };
    let shown = gateway.map_or_else(|| "the link itself".to_owned(), |gateway| gateway.to_string());
    if has.is_empty() && !offered {
        let message = format!(
            "have no default route through {BRIDGE}, and the first step has one through {} to {shown}, which \
             disappears with its addresses: the host would be cut off",
            before.name
        );
        report.error("second-step-default-route", &path, message);
    } else if !has.is_empty() && !had.iter().any(|gateway| has.contains(gateway)) {
        let message = format!("lead to another gateway than the first step, which has {shown}");
        report.warning("second-step-default-route", &path, message);
    }
}

/// Warns of routes through the NIC, which disappear with its addresses, unless the document has them through the bridge.
fn check_other_routes(
    first: &Topology,
    before: &Interface,
    second: &SecondNetwork,
    bridge: &Interface,
    report: &mut Report,
) {
    let by = |route: &&Route, name: &str| route.interface.as_deref() == Some(name);
    for route in first.routes.iter().filter(|route| by(route, &before.name) && !is_main_default(route)) {
        let mut kept = second.topology.routes.iter().filter(|other| by(other, &bridge.name));
        if !kept.any(|other| other.destination == route.destination && other.table == route.table) {
            let message = format!(
                "lack the route to {} through {BRIDGE} (table {}), which the first step has through {}: it disappears \
                 with the addresses",
                route.destination, route.table, before.name
            );
            report.warning("second-step-route-lost", &second.path.key("routes"), message);
        }
    }
}

/// Warns of routing rules in the profile of the NIC, unless the document has them, too.
fn check_rules(held: &[Rule], before: &Interface, second: &SecondNetwork, report: &mut Report) {
    for rule in held {
        if !second.topology.rules.iter().any(|other| rules::is_same(rule, other, before)) {
            let message = format!(
                "lack the routing rule \"{}\" (table {}), which is in the profile of {} in the first step: it \
                 disappears with the addresses",
                rule.selector(),
                rule.table,
                before.name
            );
            report.warning("second-step-rule-lost", &second.path.key("route-rules"), message);
        }
    }
}

fn check_name_servers(
    first: &Topology,
    before: &Interface,
    second: &SecondNetwork,
    bridge: &Interface,
    report: &mut Report,
) {
    let servers = |topology: &Topology| topology.dns.servers.iter().map(|server| server.address).collect::<Vec<_>>();
    let learns = |interface: &Interface| Family::BOTH.iter().any(|family| interface.ip(*family).learns_name_servers());
    let (had, has) = (servers(first), servers(&second.topology));
    // Other interfaces keep what the network offers them.
    let only_learned = had.is_empty()
        && learns(before)
        && !first.interfaces.iter().any(|other| other.name != before.name && learns(other));
    if (had == has && !only_learned) || (has.is_empty() && learns(bridge)) {
        return;
    }
    let shown = |servers: &[IpAddr]| match servers {
        [] => "none".to_owned(),
        some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    let shown_before = if only_learned { "those that the network offers".to_owned() } else { shown(&had) };
    let message = format!("has other name servers ({}) than the first step ({shown_before})", shown(&has));
    report.warning("second-step-name-servers", &second.path.key("dns-resolver"), message);
}
