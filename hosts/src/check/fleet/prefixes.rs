//! Lengths of prefixes: hosts that are in one network say the same of how large it is.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use super::link::{Link, Site};
use super::{CheckedHost, name_of, visible_addresses};
use crate::model::Address;
use vocabulary::report::Report;

/// How many links are told apart of what may be one network.
const LINKS: usize = 64;

/// An address in a network.
struct Member<'a> {
    host: &'a CheckedHost<'a>,
    address: &'a Address,
    link: Link<'a>,
    site: Site<'a>,
}

/// The addresses in a network, each with the number of the host that has it.
type Network<'a> = BTreeMap<(IpAddr, usize), Member<'a>>;

/// Some of them for each gateway that they leave by.
type ByGateway<'m, 'a> = BTreeMap<IpAddr, Vec<&'m Member<'a>>>;

pub(super) fn check(hosts: &[CheckedHost<'_>], report: &mut Report) {
    let mut networks: BTreeMap<IpNet, Network<'_>> = BTreeMap::new();
    for (number, host) in hosts.iter().enumerate() {
        for (interface, address) in visible_addresses(host) {
            if address.network.prefix_len() < address.network.max_prefix_len() {
                let members = networks.entry(address.network.trunc()).or_default();
                members.entry((address.network.addr(), number)).or_insert_with(|| {
                    let link = Link::of(host, interface, address);
                    Member { host, address, site: link.site(), link }
                });
            }
        }
    }
    // In this order, whatever contains a network comes before it.
    let mut around: Vec<(IpNet, &Network<'_>, ByGateway<'_, '_>)> = Vec::new();
    for (network, members) in &networks {
        while around.last().is_some_and(|(outer, ..)| !outer.contains(network)) {
            around.pop();
        }
        let gateways = by_gateway(network, members);
        let some = of_each_link(members.values());
        let found = around.iter().rev().find_map(|(_, others, theirs)| {
            let inside = others.range((network.network(), 0)..=(network.broadcast(), usize::MAX));
            let inside = of_each_link(inside.map(|(_, member)| member));
            let by_gateway = || gateways.iter().find_map(|(gateway, members)| two_hosts(members, theirs.get(gateway)?));
            two_hosts(&some, &inside).map(|pair| (pair, true)).or_else(|| Some((by_gateway()?, false)))
        });
        if let Some(((one, other), is_inside)) = found {
            let (own, theirs) = (one.address.network, other.address.network);
            let why = if is_inside { "is in this network" } else { "uses the same gateway" };
            let (name, path) = (name_of(other.host), &other.address.path);
            let message = format!(
                "is {own}, and {name}, which {why}, has {theirs} ({path}): they disagree on the size of the network"
            );
            report.warning("prefixes-differ", &one.address.path, message);
        }
        around.push((*network, members, gateways));
    }
}

/// Two hosts of each link, of as many links as are told apart.
fn of_each_link<'m, 'a>(members: impl Iterator<Item = &'m Member<'a>>) -> Vec<&'m Member<'a>> {
    let mut some: BTreeMap<&Site<'a>, Vec<&'m Member<'a>>> = BTreeMap::new();
    for member in members {
        let is_known = some.contains_key(&member.site);
        if is_known || some.len() < LINKS {
            let known = some.entry(&member.site).or_default();
            if known.len() < 2 && !known.iter().any(|known| std::ptr::eq(known.host, member.host)) {
                known.push(member);
            }
        }
    }
    some.into_values().flatten().collect()
}

/// The same, for each gateway in the network that hosts leave by.
fn by_gateway<'m, 'a>(network: &IpNet, members: &'m Network<'a>) -> ByGateway<'m, 'a> {
    let mut known = ByGateway::new();
    for member in members.values() {
        for gateway in member.site.2.iter().filter(|gateway| network.contains(*gateway)) {
            known.entry(*gateway).or_default().push(member);
        }
    }
    known.into_iter().map(|(gateway, members)| (gateway, of_each_link(members.into_iter()))).collect()
}

/// The first of each that are different hosts on what may be one link.
fn two_hosts<'m, 'a>(some: &[&'m Member<'a>], others: &[&'m Member<'a>]) -> Option<(&'m Member<'a>, &'m Member<'a>)> {
    let differ = |one: &Member<'_>, other: &Member<'_>| {
        !std::ptr::eq(one.host, other.host) && !one.link.is_apart_from(&other.link)
    };
    some.iter().find_map(|one| Some((*one, *others.iter().find(|other| differ(one, other))?)))
}
