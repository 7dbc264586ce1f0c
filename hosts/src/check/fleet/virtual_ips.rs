//! Virtual IPs: where they are, and that nobody else has them.
//!
//! Rules as in openshift/installer, `pkg/types/validation/installconfig.go` (`validateAPIAndIngressVIPs`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::cluster::{Networks, own};
use super::{CheckedHost, bmcs, name_of, visible_addresses};
use crate::check::address::{self, Unusable};
use vocabulary::host::{Cluster, VirtualIp, VirtualIpRole};
use vocabulary::report::{DocumentPath, Report};

pub(super) fn check(hosts: &[CheckedHost<'_>], cluster: &Cluster, report: &mut Report) {
    let networks = Networks::of(cluster);
    among_themselves(cluster, &networks, report);
    usable(cluster, &networks, report);
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
fn usable(cluster: &Cluster, networks: &Networks, report: &mut Report) {
    for VirtualIp { address, path, .. } in &cluster.virtual_ips {
        let around = networks.around(*address).unwrap_or_else(|| IpNet::from(*address));
        let length = around.prefix_len();
        let why = IpNet::new(*address, length).ok().and_then(address::unusable);
        if let Some(why) = why.filter(|why| why.is_certain() && *why != Unusable::NoPrefix) {
            report.error("virtual-ip-unusable", path, format!("is {address}, {why}"));
        }
    }
}

fn among_themselves(cluster: &Cluster, networks: &Networks, report: &mut Report) {
    // The first of each address and role, and the first of each role and family.
    let mut by_address: BTreeMap<(IpAddr, VirtualIpRole), &VirtualIp> = BTreeMap::new();
    let mut by_family: BTreeMap<(VirtualIpRole, bool), &VirtualIp> = BTreeMap::new();
    for vip in &cluster.virtual_ips {
        let VirtualIp { role, address, path } = vip;
        let other_role = match role {
            VirtualIpRole::Api => VirtualIpRole::Ingress,
            VirtualIpRole::Ingress => VirtualIpRole::Api,
        };
        if let Some(first) = by_address.get(&(*address, other_role))
            && !cluster.own_load_balancer
        {
            let message = format!("is {address}, which is the {} address as well ({})", first.role, first.path);
            report.error("virtual-ip-twice", path, message);
        }
        by_address.entry((*address, *role)).or_insert(vip);
        if let Some(first) = by_family.get(&(*role, address.is_ipv4())) {
            let message = format!("is a second {role} address of its family beside {} ({})", first.address, first.path);
            report.error("virtual-ips-of-one-family", path, message);
        }
        by_family.entry((*role, address.is_ipv4())).or_insert(vip);
        let machine_networks = &cluster.machine_networks;
        if !machine_networks.is_empty() && !cluster.own_load_balancer && networks.around(*address).is_none() {
            let listed: Vec<String> =
                machine_networks.iter().take(4).map(|(network, path)| format!("{network} ({path})")).collect();
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
