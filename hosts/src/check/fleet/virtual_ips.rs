//! Virtual IPs: where they are, and that nobody else has them.
//!
//! Rules as in openshift/installer, `pkg/types/validation/installconfig.go` (`validateAPIAndIngressVIPs`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::cluster::own;
use super::{CheckedHost, bmcs, name_of, visible_addresses};
use crate::check::address::{self, Unusable};
use vocabulary::host::{Cluster, VirtualIp, VirtualIpRole};
use vocabulary::report::{DocumentPath, Report};

pub(super) fn check(hosts: &[CheckedHost<'_>], cluster: &Cluster, report: &mut Report) {
    among_themselves(cluster, report);
    usable(cluster, report);
    let vips: BTreeMap<IpAddr, &VirtualIp> = cluster.virtual_ips.iter().rev().map(|vip| (vip.address, vip)).collect();
    if vips.is_empty() {
        return;
    }
    let mut said: BTreeSet<(IpAddr, &str)> = BTreeSet::new();
    let mut taken = |vip: &VirtualIp, code: &'static str, what: &str, path: &DocumentPath, host: &CheckedHost<'_>| {
        if said.insert((vip.address, code)) {
            let message = format!("is {}, which is {what} {} ({path})", vip.address, name_of(host));
            report.error(code, &vip.path, message);
        }
    };
    for (address, host) in bmcs::by_address(hosts) {
        if let Some(vip) = vips.get(&address).filter(|_| !cluster.own_load_balancer) {
            taken(vip, "virtual-ip-of-bmc", "the BMC of", &host.host.paths.bmc.key("address"), host);
        }
    }
    for host in hosts {
        let everywhere = own(host).filter(|_| !cluster.own_load_balancer);
        // Behind a load balancer that leaves packets as they are, hosts have its address where nobody sees it.
        let seen = visible_addresses(host).map(|(_, address)| address).filter(|_| cluster.own_load_balancer);
        for address in everywhere.chain(seen) {
            if let Some(vip) = vips.get(&address.network.addr()) {
                taken(vip, "virtual-ip-of-host", "an address of", &address.path, host);
            }
        }
        // One machine may be load balancer, router and name server.
        if cluster.own_load_balancer {
            continue;
        }
        for route in &host.topology.routes {
            if let Some(vip) = route.gateway.and_then(|gateway| vips.get(&gateway)) {
                taken(vip, "virtual-ip-of-gateway", "a gateway of", &route.path, host);
            }
        }
        for server in &host.topology.dns.servers {
            if let Some(vip) = vips.get(&server.address) {
                taken(vip, "virtual-ip-of-name-server", "a name server of", &server.path, host);
            }
        }
    }
}

/// Checks that a host can have them, in the smallest machine network that they are in.
fn usable(cluster: &Cluster, report: &mut Report) {
    for VirtualIp { address, path, .. } in &cluster.virtual_ips {
        let networks = cluster.machine_networks.iter().map(|(network, _)| network);
        let around = networks.filter(|network| network.contains(address)).max_by_key(|network| network.prefix_len());
        let length = around.map_or(IpNet::from(*address).max_prefix_len(), IpNet::prefix_len);
        let why = IpNet::new(*address, length).ok().and_then(address::unusable);
        if let Some(why) = why.filter(|why| why.is_certain() && *why != Unusable::NoPrefix) {
            report.error("virtual-ip-unusable", path, format!("is {address}, {why}"));
        }
    }
}

fn among_themselves(cluster: &Cluster, report: &mut Report) {
    for (index, vip) in cluster.virtual_ips.iter().enumerate() {
        let VirtualIp { role, address, path } = vip;
        let before = cluster.virtual_ips.get(..index).unwrap_or_default();
        let same_family = |other: &&VirtualIp| other.role == *role && other.address.is_ipv4() == address.is_ipv4();
        if let Some(first) = before.iter().find(|other| other.address == *address && other.role != *role)
            && !cluster.own_load_balancer
        {
            let message = format!("is {address}, which is the {} address as well ({})", first.role, first.path);
            report.error("virtual-ip-twice", path, message);
        }
        if let Some(first) = before.iter().find(same_family) {
            let message = format!("is a second {role} address of its family beside {} ({})", first.address, first.path);
            report.error("virtual-ips-of-one-family", path, message);
        }
        let networks = &cluster.machine_networks;
        if !networks.is_empty()
            && !cluster.own_load_balancer
            && !networks.iter().any(|(network, _)| network.contains(address))
        {
            let listed: Vec<String> =
                networks.iter().take(4).map(|(network, path)| format!("{network} ({path})")).collect();
            let message = format!("is {address}, which is in no machine network: {}", listed.join(", "));
            report.error("virtual-ip-outside-machine-network", path, message);
        }
    }
    let count = |role| cluster.virtual_ips.iter().filter(|vip| vip.role == role).count();
    let (api, ingress) = (count(VirtualIpRole::Api), count(VirtualIpRole::Ingress));
    if let Some(last) = cluster.virtual_ips.last()
        && api != ingress
    {
        let message = format!(
            "is one of {api} API and {ingress} ingress addresses; a cluster has as many API addresses as ingress \
             addresses"
        );
        report.error("virtual-ips-uneven", &last.path, message);
    }
}
