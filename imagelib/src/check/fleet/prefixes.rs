//! Lengths of prefixes: hosts that are in one network say the same of how large it is.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use super::{CheckedHost, addresses, name_of};
use crate::report::Report;
use crate::topology::Address;

type Holder<'a> = (&'a CheckedHost<'a>, &'a Address);

pub(super) fn check(hosts: &[CheckedHost<'_>], report: &mut Report) {
    // Of each network its addresses, each with the hosts that have it.
    let mut networks: BTreeMap<IpNet, BTreeMap<(IpAddr, usize), Holder<'_>>> = BTreeMap::new();
    for (number, host) in hosts.iter().enumerate() {
        for (_, address) in addresses(host) {
            if address.network.prefix_len() < address.network.max_prefix_len() {
                let members = networks.entry(address.network.trunc()).or_default();
                members.entry((address.network.addr(), number)).or_insert((host, address));
            }
        }
    }
    // In this order, whatever contains a network comes before it.
    let mut around: Vec<IpNet> = Vec::new();
    for (network, members) in &networks {
        while around.last().is_some_and(|outer| !outer.contains(network)) {
            around.pop();
        }
        if let Some(outer) = around.last()
            && let Some(others) = networks.get(outer)
            && let Some(((_, address), (other, theirs))) = two_hosts(
                members.values(),
                others.range((network.network(), 0)..=(network.broadcast(), usize::MAX)).map(|(_, holder)| holder),
            )
        {
            let message = format!(
                "is {}, and {}, which is in this network, has {} ({}): they do not agree on how large it is",
                address.network,
                name_of(other),
                theirs.network,
                theirs.path
            );
            report.warning("prefixes-differ", &address.path, message);
        }
        around.push(*network);
    }
}

/// The first of each that are different hosts.
fn two_hosts<'h, 'a>(
    mut some: impl Iterator<Item = &'h Holder<'a>>,
    mut others: impl Iterator<Item = &'h Holder<'a>>,
) -> Option<(&'h Holder<'a>, &'h Holder<'a>)>
where
    'a: 'h,
{
    let (one, other) = (some.next()?, others.next()?);
    if !std::ptr::eq(one.0, other.0) {
        return Some((one, other));
    }
    let next = others.find(|other| !std::ptr::eq(one.0, other.0)).map(|other| (one, other));
    next.or_else(|| Some((some.find(|one| !std::ptr::eq(one.0, other.0))?, other)))
}
