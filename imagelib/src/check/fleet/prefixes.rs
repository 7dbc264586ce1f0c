//! Lengths of prefixes: hosts that are in one network say the same of how large it is.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use super::{CheckedHost, addresses, name_of};
use crate::report::Report;
use crate::topology::Address;

type Holder<'a> = (&'a CheckedHost<'a>, &'a Address);

pub(super) fn check(hosts: &[CheckedHost<'_>], report: &mut Report) {
    // Of each network its addresses, each with a host that has it.
    let mut networks: BTreeMap<IpNet, BTreeMap<IpAddr, Holder<'_>>> = BTreeMap::new();
    for host in hosts {
        for (_, address) in addresses(host) {
            if address.network.prefix_len() < address.network.max_prefix_len() {
                let members = networks.entry(address.network.trunc()).or_default();
                members.entry(address.network.addr()).or_insert((host, address));
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
            && let Some((_, (host, address))) = members.iter().next()
            && let Some((_, (other, theirs))) = others.range(network.network()..=network.broadcast()).next()
            && !std::ptr::eq(*host, *other)
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
