//! Hosts against each other, and against what is said of their cluster. One file per subject.
//!
//! What two hosts have in common is said once, at the later one, and names both. Time grows with the number of hosts, and
//! not with its square; where many have one thing in common, it is said of the first few.

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

use std::net::IpAddr;

use super::CheckedHost;
use crate::model::{Address, Interface, Kind};
use vocabulary::host::Cluster;
use vocabulary::report::{DocumentPath, Report, Severity};

/// Of how many hosts with one thing in common it is said.
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

/// The first holder of a thing that each host has for itself, and how many others there are.
struct Holders<'a, T> {
    first: (&'a CheckedHost<'a>, T),
    others: usize,
}

impl<'a, T> Holders<'a, T> {
    fn new(host: &'a CheckedHost<'a>, what: T) -> Self {
        Self { first: (host, what), others: 0 }
    }

    /// Reports that another one has it as well: `message` is told how the first is called. Of the last that is said
    /// anything of, it is said that there are more.
    fn shared(
        &mut self,
        severity: Severity,
        code: &'static str,
        path: &DocumentPath,
        message: impl FnOnce(&str, &T) -> String,
        report: &mut Report,
    ) {
        self.others += 1;
        if self.others > SAID {
            return;
        }
        let mut message = message(&name_of(self.first.0), &self.first.1);
        and_more(self.others, &mut message);
        report.add(severity, code, path, message);
    }
}

/// Says in the last finding that is made of one thing that there may be more.
fn and_more(said: usize, message: &mut String) {
    if said == SAID {
        message.push_str("; if more have it, they are not listed");
    }
}

/// The addresses of a host that others can see, each with its interface: of interfaces that come up, and lead somewhere.
/// Those that mean something on their link only are not: each host may have the same towards its own BMC.
fn addresses<'a>(host: &CheckedHost<'a>) -> impl Iterator<Item = (&'a Interface, &'a Address)> {
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
