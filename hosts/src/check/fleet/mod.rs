//! Checks hosts against each other and against their cluster. One file per subject.
//!
//! A finding about two hosts is at the later one and names both. Time grows with the number of hosts, and not with its
//! square. If many hosts have one thing in common, only the first few get a finding.

mod addresses;
mod bmcs;
mod cluster;
mod facts;
mod link;
mod macs;
mod names;
mod outliers;
mod prefixes;
mod tally;
mod virtual_ips;

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::CheckedHost;
use crate::model::{Address, Interface, Kind};
use vocabulary::host::Cluster;
use vocabulary::report::{DocumentPath, Report};

/// How many hosts with one thing in common get a finding.
const SAID: usize = 5;

/// Checks hosts against each other, and against what is said of their cluster.
pub(super) fn check(hosts: &[CheckedHost<'_>], cluster: Option<&Cluster>, all_read: bool, report: &mut Report) {
    names::check(hosts, report);
    addresses::check(hosts, report);
    macs::check(hosts, report);
    bmcs::check(hosts, report);
    prefixes::check(hosts, report);
    outliers::check(hosts, report);
    if let Some(cluster) = cluster {
        cluster::check(hosts, cluster, all_read, report);
        virtual_ips::check(hosts, cluster, report);
    }
}

/// What a host is called in sentences.
fn name_of(host: &CheckedHost<'_>) -> String {
    let hostname = || host.topology.hostname.as_ref().map(ToString::to_string);
    host.host.name.clone().or_else(hostname).unwrap_or_else(|| "another host".to_owned())
}

/// Things that each host has for itself: the first host of each, where it has it, and how many others have it as well.
struct Holders<'a, K>(BTreeMap<K, (&'a CheckedHost<'a>, DocumentPath, usize)>);

impl<'a, K: Ord> Holders<'a, K> {
    /// Notes that a host has `thing`, and reports it if another host has it as well: `message` gets the name of the first
    /// host, and where it has it. The last finding says that there may be more.
    fn add(
        &mut self,
        thing: K,
        host: &'a CheckedHost<'a>,
        path: DocumentPath,
        code: &'static str,
        message: impl FnOnce(&str, &DocumentPath) -> String,
        report: &mut Report,
    ) {
        let Some((first, first_path, others)) = self.0.get_mut(&thing) else {
            self.0.insert(thing, (host, path, 0));
            return;
        };
        // A host may have it at several places.
        if std::ptr::eq(*first, host) {
            return;
        }
        *others += 1;
        if *others <= SAID {
            let mut message = message(&name_of(first), first_path);
            and_more(*others, &mut message);
            report.error(code, &path, message);
        }
    }
}

/// Adds to the last finding about one thing that there may be more.
fn and_more(said: usize, message: &mut String) {
    if said == SAID {
        message.push_str("; if more have it, they are not listed");
    }
}

/// The addresses of a host that others can see, each with its interface: of interfaces that come up, and lead somewhere.
/// Link-local addresses are left out: each host may have the same one towards its own BMC.
fn visible_addresses<'a>(host: &CheckedHost<'a>) -> impl Iterator<Item = (&'a Interface, &'a Address)> {
    let topology = host.topology;
    let seen = topology.interfaces.iter().filter(move |interface| {
        let leads = match interface.kind {
            // Addresses for anycast and for services of the host itself.
            Kind::Loopback | Kind::Dummy | Kind::Veth(_) => false,
            // A bridge for what runs on the host.
            Kind::LinuxBridge(_) => topology.ports(&interface.name).next().is_some(),
            _ => true,
        };
        interface.active && leads
    });
    let all = seen.flat_map(|interface| interface.addresses().map(move |address| (interface, address)));
    all.filter(|(_, address)| match address.network.addr() {
        IpAddr::V4(ip) => !ip.is_link_local(),
        IpAddr::V6(ip) => !ip.is_unicast_link_local(),
    })
}
