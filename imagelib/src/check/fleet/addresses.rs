//! Addresses, and gateways that are hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{CheckedHost, Holders, addresses, name_of};
use crate::report::{Report, Severity};
use crate::topology::{Address, Interface, Kind};

pub(super) fn check(hosts: &[CheckedHost<'_>], report: &mut Report) {
    let mut seen: BTreeMap<IpAddr, Holders<'_, (&Interface, &Address)>> = BTreeMap::new();
    for host in hosts {
        for (interface, address) in addresses(host) {
            let ip = address.network.addr();
            let Some(holders) = seen.get_mut(&ip) else {
                seen.insert(ip, Holders::new(host, (interface, address)));
                continue;
            };
            // What a host has twice, its own checks say.
            if std::ptr::eq(holders.first.0, host) {
                continue;
            }
            let severity =
                if apart(holders.first.1, (interface, address)) { Severity::Warning } else { Severity::Error };
            let says = |other: &str, (_, first): &(&Interface, &Address)| {
                format!("is {ip}, which {other} has as well ({})", first.path)
            };
            holders.shared(severity, "address-of-two-hosts", &address.path, says, report);
        }
    }
    gateways(hosts, &seen, report);
}

/// Whether two addresses may be equal because their links have nothing to do with each other: links between two hosts
/// each, or VLANs of different numbers.
fn apart(one: (&Interface, &Address), other: (&Interface, &Address)) -> bool {
    let narrow = |address: &Address| {
        let bits = address.network.max_prefix_len() - address.network.prefix_len();
        bits == 1 || bits == 2
    };
    let vlan = |interface: &Interface| match &interface.kind {
        Kind::Vlan(vlan) => Some(vlan.id),
        _ => None,
    };
    let vlans = vlan(one.0).zip(vlan(other.0)).is_some_and(|(one, other)| one != other);
    vlans || (narrow(one.1) && narrow(other.1))
}

/// A host may be the router of others, but most often somebody has written one number twice.
fn gateways(
    hosts: &[CheckedHost<'_>],
    seen: &BTreeMap<IpAddr, Holders<'_, (&Interface, &Address)>>,
    report: &mut Report,
) {
    let mut said: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for host in hosts {
        for route in &host.topology.routes {
            let Some((gateway, holders)) = route.gateway.and_then(|gateway| Some((gateway, seen.get(&gateway)?)))
            else {
                continue;
            };
            let (other, (_, address)) = &holders.first;
            let count = said.entry(gateway).or_default();
            if std::ptr::eq(*other, host) || *count >= 1 {
                continue;
            }
            *count += 1;
            let message = format!(
                "has the gateway {gateway}, which is {}'s own address ({}); if that is no router, one of the two is wrong",
                name_of(other),
                address.path
            );
            report.warning("gateway-is-another-host", &route.path, message);
        }
    }
}
