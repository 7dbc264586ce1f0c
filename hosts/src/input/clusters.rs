//! Merges what several documents say about the cluster of their hosts.

use std::net::IpAddr;

use ipnet::IpNet;

use super::host_part::contradiction;
use vocabulary::host::{Cluster, VirtualIp, VirtualIpRole};
use vocabulary::report::{DocumentPath, Report};

/// The descriptions of a cluster, each with the shape of its document.
#[derive(Default)]
pub(super) struct Clusters(Vec<(&'static str, Cluster)>);

impl Clusters {
    /// Adds what a document of a shape says. A second document of the same shape describes a second cluster, which is an error.
    pub(super) fn add(&mut self, shape: &'static str, cluster: Cluster, report: &mut Report) {
        if let Some((_, first)) = self.0.iter().find(|(known, _)| *known == shape) {
            let first = if first.path == DocumentPath::root() { shape.to_owned() } else { first.path.to_string() };
            let message =
                format!("describes a second cluster besides {first}; hand over the documents of one cluster at a time");
            report.error("second-cluster", &cluster.path, message);
            return;
        }
        self.0.push((shape, cluster));
    }

    /// Returns the cluster, if any document describes one.
    pub(super) fn finish(self, report: &mut Report) -> Option<Cluster> {
        let mut all = self.0.into_iter().map(|(_, cluster)| cluster);
        let mut merged = all.next()?;
        for cluster in all {
            let ((mine, first), (theirs, other)) = (networks(&merged), networks(&cluster));
            match (first, other) {
                (None, _) => merged.machine_networks.clone_from(&cluster.machine_networks),
                (Some(first), Some(other)) if mine != theirs => {
                    contradiction(&other, &first, "the cluster's machine networks", report);
                }
                _ => {}
            }
            let ((mine, first), (theirs, other)) = (virtual_ips(&merged), virtual_ips(&cluster));
            match (first, other) {
                (None, _) => merged.virtual_ips = cluster.virtual_ips,
                (Some(first), Some(other)) if mine != theirs => {
                    contradiction(&other, &first, "the cluster's virtual IPs", report);
                }
                _ => {}
            }
            merged.own_load_balancer |= cluster.own_load_balancer;
            merged.rendezvous_ip = merged.rendezvous_ip.or(cluster.rendezvous_ip);
            merged.name = merged.name.or(cluster.name);
        }
        Some(merged)
    }
}

/// Returns the machine networks in order, and the path of the first of them.
fn networks(cluster: &Cluster) -> (Vec<IpNet>, Option<DocumentPath>) {
    let mut networks = cluster.machine_networks.clone();
    networks.sort();
    let first = networks.first().map(|(_, path)| path.clone());
    (networks.into_iter().map(|(network, _)| network).collect(), first)
}

/// Returns the virtual IPs in order, and the path of the first in the document.
fn virtual_ips(cluster: &Cluster) -> (Vec<(VirtualIpRole, IpAddr)>, Option<DocumentPath>) {
    let mut addresses: Vec<_> = cluster.virtual_ips.iter().map(|vip: &VirtualIp| (vip.role, vip.address)).collect();
    addresses.sort();
    (addresses, cluster.virtual_ips.first().map(|vip| vip.path.clone()))
}
