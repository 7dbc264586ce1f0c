//! Checks of a cluster: its machine networks, and the host that installs the others.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use super::{CheckedHost, Comparison, name_of};
use crate::model::{Address, Interface};
use vocabulary::host::Cluster;
use vocabulary::report::{DocumentPath, Report};

/// How many hosts are named that are in none of the machine networks.
const SAID: usize = 20;

pub(super) fn check(hosts: &[CheckedHost<'_>], cluster: &Cluster, all_read: bool, found: &mut Comparison) {
    machine_networks(hosts, cluster, found);
    rendezvous(hosts, cluster, all_read, &mut found.report);
}

fn machine_networks(hosts: &[CheckedHost<'_>], cluster: &Cluster, found: &mut Comparison) {
    let networks = Networks::of(cluster);
    let of_family = |is_v4: bool| {
        let wanted = cluster.machine_networks.iter().filter(move |(network, _)| network.addr().is_ipv4() == is_v4);
        (is_v4, wanted.take(4).collect::<Vec<_>>())
    };
    let families = [true, false].map(of_family);
    // Errors and warnings, each for itself: many workers elsewhere hide no master.
    let mut said = [0, 0];
    for host in hosts {
        for (is_v4, wanted) in &families {
            let Some((_, first)) = wanted.first() else { continue };
            let is_v4 = *is_v4;
            let is_inside = |address: &Address| networks.around(address.network.addr()).is_some();
            let of_family = |address: &&Address| address.network.addr().is_ipv4() == is_v4;
            if own(host).filter(of_family).any(is_inside) || takes_any(host, is_v4) {
                continue;
            }
            let none = !own(host).any(is_inside);
            // Workers may be elsewhere. Of two families, one may do.
            let is_error = none && host.host.role.as_deref() == Some("master");
            let [warnings, errors] = &mut said;
            let count = if is_error { errors } else { warnings };
            if *count == SAID {
                if is_error {
                    found.unsaid_error(host);
                }
                continue;
            }
            *count += 1;
            let listed: Vec<String> = wanted.iter().map(|(network, _)| network.to_string()).collect();
            let family = if is_v4 { "IPv4" } else { "IPv6" };
            let message =
                format!("has no {family} address in a machine network of its cluster ({}, {first})", listed.join(", "));
            let path = place(host, is_v4);
            if is_error {
                found.error(&[host], "host-outside-machine-network", &path, message);
            } else {
                found.report.warning("host-outside-machine-network", &path, message);
            }
        }
    }
}

/// The machine networks of a cluster, found by the addresses in them: there may be ten thousand hosts, and as many networks.
pub(super) struct Networks {
    all: BTreeSet<IpNet>,
    /// The lengths of their prefixes, those of IPv4 apart.
    lengths: BTreeSet<(bool, u8)>,
}

impl Networks {
    pub(super) fn of(cluster: &Cluster) -> Self {
        let all: BTreeSet<IpNet> = cluster.machine_networks.iter().map(|(network, _)| network.trunc()).collect();
        let lengths = all.iter().map(|network| (network.addr().is_ipv4(), network.prefix_len())).collect();
        Self { all, lengths }
    }

    /// Returns the smallest network that contains the address.
    pub(super) fn around(&self, address: IpAddr) -> Option<IpNet> {
        let is_v4 = address.is_ipv4();
        let mut lengths = self.lengths.range((is_v4, 0)..=(is_v4, u8::MAX)).rev();
        lengths.find_map(|(_, length)| {
            let network = IpNet::new(address, *length).ok()?.trunc();
            self.all.contains(&network).then_some(network)
        })
    }
}

/// All addresses of a host's interfaces that come up.
pub(super) fn own<'a>(host: &CheckedHost<'a>) -> impl Iterator<Item = &'a Address> {
    let interfaces = host.topology.interfaces.iter().filter(|interface| interface.active);
    interfaces.flat_map(Interface::addresses)
}

/// Whether the network may give the host an address of a family.
fn takes_any(host: &CheckedHost<'_>, is_v4: bool) -> bool {
    let mut interfaces = host.topology.interfaces.iter().filter(|interface| interface.active);
    interfaces.any(|interface| if is_v4 { &interface.ipv4 } else { &interface.ipv6 }.is_automatic())
}

/// Where a host's addresses of a family are, or would be.
fn place(host: &CheckedHost<'_>, is_v4: bool) -> DocumentPath {
    let mut of_family = own(host).filter(|address| address.network.addr().is_ipv4() == is_v4);
    of_family.next().map_or_else(|| host.host.network.path(), |address| address.path.clone())
}

fn rendezvous(hosts: &[CheckedHost<'_>], cluster: &Cluster, all_read: bool, report: &mut Report) {
    let Some((ip, path)) = &cluster.rendezvous_ip else { return };
    let holders = hosts.iter().filter(|host| own(host).any(|address| address.network.addr() == *ip));
    let may_install = |host: &&CheckedHost<'_>| host.host.role.as_deref().is_none_or(|role| role == "master");
    let holder = holders.clone().find(may_install).or_else(|| holders.clone().next());
    match holder {
        Some(host) if host.host.role.as_deref().is_some_and(|role| role != "master") => {
            let role = host.host.role.as_deref().unwrap_or_default();
            let message = format!(
                "is {ip}, the address of {}, whose role is {role}: a master installs the others",
                name_of(host)
            );
            report.error("rendezvous-ip-of-worker", path, message);
        }
        Some(_) => {}
        // A host without a network in these documents, or one with DHCP, may have it.
        None if hosts.is_empty() => {}
        None if hosts.iter().any(|host| takes_any(host, ip.is_ipv4())) => {
            let message =
                format!("is {ip}, which is in no host's documents; a DHCP server must give it to one of the hosts");
            report.warning("rendezvous-ip-of-no-host", path, message);
        }
        None if !all_read => {
            let message = format!("is {ip}, which none of the hosts without errors has; fix the other hosts first");
            report.warning("rendezvous-ip-of-no-host", path, message);
        }
        None => {
            let message = format!("is {ip}, which no host has: no host installs the others");
            report.error("rendezvous-ip-of-no-host", path, message);
        }
    }
}
