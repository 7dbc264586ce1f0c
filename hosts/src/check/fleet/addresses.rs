//! Addresses, and gateways that are hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::link::Link;
use super::{CheckedHost, Comparison, SAID, and_more, name_of, visible_addresses};
use crate::model::Address;
use vocabulary::report::{Report, Severity};

/// How many hosts are remembered that have one address, each on a link of its own.
const LINKS: usize = 64;

/// A host that has an address.
struct Holder<'a> {
    host: &'a CheckedHost<'a>,
    link: Link<'a>,
    address: &'a Address,
}

/// The hosts that have one address, and of how many it was said.
#[derive(Default)]
struct Holders<'a> {
    /// Two hosts, if there are as many, and one on each link.
    known: Vec<Holder<'a>>,
    errors: usize,
    warnings: usize,
}

pub(super) fn check(hosts: &[CheckedHost<'_>], found: &mut Comparison) {
    let mut seen: BTreeMap<IpAddr, Holders<'_>> = BTreeMap::new();
    for host in hosts {
        for (interface, address) in visible_addresses(host) {
            let holder = Holder { host, link: Link::of(host, interface, address), address };
            seen.entry(address.network.addr()).or_default().add(holder, found);
        }
    }
    gateways(hosts, &seen, &mut found.report);
}

impl<'a> Holders<'a> {
    /// Reports that one more host has the address. On whose link it is does not depend on the order of the hosts, and so
    /// neither does whether there is an error.
    fn add(&mut self, new: Holder<'a>, found: &mut Comparison) {
        // The checks of a single host report addresses that it has twice.
        let mut others = self.known.iter().filter(|other| !std::ptr::eq(other.host, new.host)).peekable();
        let Some(first) = others.peek().copied() else {
            if self.known.len() < LINKS {
                self.known.push(new);
            }
            return;
        };
        let is_second = self.known.iter().all(|known| std::ptr::eq(known.host, first.host));
        let same = others.find(|other| !other.link.is_apart_from(&new.link));
        let (holder, severity, said) = match same {
            Some(same) => (same, Severity::Error, &mut self.errors),
            None => (first, Severity::Warning, &mut self.warnings),
        };
        *said += 1;
        if *said <= SAID {
            let Address { network, path } = new.address;
            let (ip, other, first) = (network.addr(), name_of(holder.host), &holder.address.path);
            let mut message = format!("is {ip}, which {other} has as well ({first})");
            and_more(*said, &mut message);
            if severity == Severity::Error {
                found.error(&[holder.host, new.host], "address-of-two-hosts", path, message);
            } else {
                found.report.warning("address-of-two-hosts", path, message);
            }
        } else if severity == Severity::Error {
            found.unsaid_error(new.host);
        }
        if is_second || (same.is_none() && self.known.len() < LINKS) {
            self.known.push(new);
        }
    }
}

/// A host may be the router of others, but most often somebody has written one number twice.
fn gateways(hosts: &[CheckedHost<'_>], seen: &BTreeMap<IpAddr, Holders<'_>>, report: &mut Report) {
    let mut said: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for host in hosts {
        for route in &host.topology.routes {
            let Some((gateway, holders)) = route.gateway.and_then(|gateway| Some((gateway, seen.get(&gateway)?)))
            else {
                continue;
            };
            let interface = route.interface.as_deref().and_then(|name| host.topology.interface(name));
            let own = interface.map(|interface| Link::to_gateway(host, interface, gateway));
            let is_there = |other: &&Holder<'_>| {
                !std::ptr::eq(other.host, host) && own.as_ref().is_none_or(|own| !other.link.is_apart_from(own))
            };
            let other = holders.known.iter().find(is_there);
            let Some(Holder { host: other, address, .. }) = other else { continue };
            let count = said.entry(gateway).or_default();
            if *count >= 1 {
                continue;
            }
            *count += 1;
            let message = format!(
                "names the gateway {gateway}, which is {}'s own address ({}); if that host is not a router, one of \
                 the two is wrong",
                name_of(other),
                address.path
            );
            report.warning("gateway-is-another-host", &route.gateway_path, message);
        }
    }
}
