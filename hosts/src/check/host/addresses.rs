//! Addresses: that they are such as a host can have, and have them once.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use super::{Network, rules};
use crate::check::address::{self, Unusable};
use crate::model::{Address, Family, Interface, Kind, Method};
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    for interface in &network.topology.interfaces {
        for (family, ip) in Family::BOTH.into_iter().zip(interface.families()) {
            for address in &ip.addresses {
                usable(interface, address, report);
            }
            // What a user's own profile shares with its neighbours needs no address.
            if ip.method == Method::Static
                && ip.addresses.is_empty()
                && network.is_nmstate()
                && interface.kind != Kind::Loopback
            {
                let message = format!(
                    "has static routes and no address, so NetworkManager refuses the whole profile; add an \
                     address or {}",
                    network.words().automatic_addresses(family)
                );
                report.error("static-without-address", &ip.path, message);
            }
            if ip.is_automatic() && !ip.addresses.is_empty() {
                let others = if ip.method == Method::Dhcp { "DHCP" } else { "router advertisements" };
                let message = format!("has static addresses, and gets others from {others} as well");
                report.warning("static-and-automatic", &ip.path, message);
            }
        }
    }
    twice(network, report);
    overlaps(network, report);
}

fn usable(interface: &Interface, address: &Address, report: &mut Report) {
    let Address { network, path } = address;
    let loopback = interface.kind == Kind::Loopback;
    let Some(unusable) = address::unusable(*network).filter(|why| !(loopback && *why == Unusable::Loopback)) else {
        return;
    };
    let message = format!("is {network}, {unusable}");
    if unusable.is_certain() {
        report.error("address-unusable", path, message);
    } else {
        report.warning("address-unusual", path, message);
    }
}

/// An address that the host has twice.
fn twice(network: &Network<'_>, report: &mut Report) {
    let mut seen: BTreeMap<(Option<&str>, IpAddr), (&Interface, &Address)> = BTreeMap::new();
    for (interface, address) in addresses(network) {
        let vrf = network.vrf_of(interface).map(|(name, _)| name);
        let ip = address.network.addr();
        let Some((other, first)) = seen.get(&(vrf, ip)).copied() else {
            seen.insert((vrf, ip), (interface, address));
            continue;
        };
        if other.name == interface.name {
            report.warning("address-repeated", &address.path, format!("is {ip}, which is already at {}", first.path));
            continue;
        }
        let message = format!("is {ip}, which {} has as well ({})", other.name, first.path);
        // Without a network around it no two are in one: hosts that speak a routing protocol on every link are made so.
        if [address, first].iter().all(|address| address.network.prefix_len() == address.network.max_prefix_len()) {
            report.warning("address-duplicate", &address.path, message);
        } else {
            report.error("address-duplicate", &address.path, message);
        }
    }
}

/// Networks that two interfaces are in.
fn overlaps(network: &Network<'_>, report: &mut Report) {
    let mut all: Vec<(Option<&str>, IpNet, &Interface, &Address)> = addresses(network)
        .filter(|(_, address)| address.network.prefix_len() < address.network.max_prefix_len())
        .map(|(interface, address)| {
            (network.vrf_of(interface).map(|(name, _)| name), address.network.trunc(), interface, address)
        })
        .collect();
    all.sort_by(|a, b| (a.0, a.1, &a.2.name).cmp(&(b.0, b.1, &b.2.name)));
    // In this order, whatever contains a network comes before it.
    let mut around: Vec<(Option<&str>, IpNet, &Interface, &Address)> = Vec::new();
    for entry in all {
        let (vrf, net, interface, address) = entry;
        while around.last().is_some_and(|(other_vrf, other, ..)| *other_vrf != vrf || !other.contains(&net)) {
            around.pop();
        }
        if let Some((_, other, holder, first)) = around.last()
            && holder.name != interface.name
            && first.network.addr() != address.network.addr()
            && !leave_apart(network, first, address)
        {
            let which = if *other == net { "whichever comes up first" } else { "the one with the longer prefix" };
            let message = format!(
                "is in {net}, and {} is in {other} ({}): the host sends there through only one of the two, {which}",
                holder.name, first.path
            );
            report.warning("networks-overlap", &address.path, message);
        }
        around.push(entry);
    }
}

/// Whether routing rules send what comes from each of two addresses its own way.
fn leave_apart(network: &Network<'_>, one: &Address, other: &Address) -> bool {
    let table = |address: &Address| rules::table_from(network, address.network.addr());
    table(one).zip(table(other)).is_some_and(|(one, other)| one != other)
}

/// All addresses of interfaces that come up, but for the loopback's.
fn addresses<'a>(network: &Network<'a>) -> impl Iterator<Item = (&'a Interface, &'a Address)> {
    let interfaces = network.active().filter(|interface| interface.kind != Kind::Loopback);
    interfaces.flat_map(|interface| interface.addresses().map(move |address| (interface, address)))
}
