//! Checks hosts against each other and against their cluster. One file per subject.
//!
//! A finding about two hosts is at the later one and names both. Time grows with the number of hosts, and not with its
//! square. If many hosts have one thing in common, only the first few get a finding.

mod addresses;
mod bmc_fault;
mod bmc_url;
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

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::CheckedHost;
use crate::model::{Address, Interface, Kind};
use vocabulary::host::Cluster;
use vocabulary::report::{DocumentPath, Report, Severity};

/// How many hosts with one thing in common get a finding.
const SAID: usize = 5;

/// Checks hosts against each other, and against what is said of their cluster.
pub(super) fn check(hosts: &[CheckedHost<'_>], cluster: Option<&Cluster>, all_read: bool) -> Comparison {
    let mut found = Comparison::default();
    names::check(hosts, &mut found);
    addresses::check(hosts, &mut found);
    macs::check(hosts, &mut found);
    bmcs::check(hosts, &mut found);
    prefixes::check(hosts, &mut found.report);
    outliers::check(hosts, &mut found.report);
    if let Some(cluster) = cluster {
        cluster::check(hosts, cluster, all_read, &mut found);
        virtual_ips::check(hosts, cluster, &mut found.report);
    }
    found
}

/// What comparing hosts finds.
#[derive(Debug, Default)]
pub struct Comparison {
    /// The findings.
    pub report: Report,
    /// The hosts that errors are about, by where the documents describe them, each with the indices of these errors in the
    /// report. A host has none if the report names only others with the same error.
    pub in_error: BTreeMap<DocumentPath, BTreeSet<usize>>,
}

impl Comparison {
    /// Adds an error that is about these hosts.
    fn error(&mut self, hosts: &[&CheckedHost<'_>], code: &'static str, path: &DocumentPath, message: String) {
        let number = self.report.findings().len();
        self.report.error(code, path, message);
        for host in hosts {
            self.in_error.entry(host.host.paths.host.clone()).or_default().insert(number);
        }
    }

    /// Notes that a host has an error that others have as well, of which the report names enough.
    fn unsaid_error(&mut self, host: &CheckedHost<'_>) {
        self.in_error.entry(host.host.paths.host.clone()).or_default();
    }

    /// Whether there is an error that is about no host, but about the cluster.
    pub fn has_other_errors(&self) -> bool {
        let of_hosts: BTreeSet<usize> = self.in_error.values().flatten().copied().collect();
        let findings = self.report.findings().iter().enumerate();
        findings.into_iter().any(|(index, finding)| finding.severity == Severity::Error && !of_hosts.contains(&index))
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
        found: &mut Comparison,
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
            found.error(&[first, host], code, &path, message);
        } else {
            found.unsaid_error(host);
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
