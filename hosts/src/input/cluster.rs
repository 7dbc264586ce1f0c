//! Documents about the cluster of their hosts, and how several of them are merged.

use std::net::IpAddr;

use ipnet::IpNet;

use super::flaw::Reported;
use super::object::{Fields, Object};
use super::part::contradiction;
use vocabulary::host::{Cluster, VirtualIp, VirtualIpRole};
use vocabulary::report::{DocumentPath, Report};

/// The kind of assisted-service and its operators that says the cluster's addresses (`api/hiveextension/v1beta1`).
pub(super) const KIND: &str = "AgentClusterInstall";
pub(super) const API_VERSIONS: [&str; 1] = ["extensions.hive.openshift.io/v1beta1"];

/// The clusters that documents describe, which must be one.
#[derive(Default)]
pub(super) struct Clusters(Vec<(&'static str, Cluster)>);

/// A cluster of which nothing is known.
pub(super) fn unknown(path: DocumentPath) -> Cluster {
    Cluster {
        name: None,
        path,
        machine_networks: Vec::new(),
        virtual_ips: Vec::new(),
        own_load_balancer: false,
        rendezvous_ip: None,
    }
}

/// The cluster that an `AgentClusterInstall` is of.
pub(super) fn of_object(object: &Object, report: &mut Report) -> Result<Cluster, Reported> {
    let top = object.fields();
    let Some(spec) = top.mapping("spec", report)? else {
        return Err(top.wrong("spec", "spec-missing", "is missing", report));
    };
    let name = match spec.mapping("clusterDeploymentRef", report)? {
        Some(reference) => reference.text("name", report)?.map(str::to_owned),
        None => None,
    };
    let machine_networks = machine_networks(&spec, report);
    let virtual_ips = virtual_ips(&spec, report);
    Ok(Cluster { name, machine_networks: machine_networks?, virtual_ips: virtual_ips?, ..unknown(object.path.clone()) })
}

/// The machine networks in `networking` of `holder`: a list, and in older documents one.
pub(super) fn machine_networks(
    holder: &Fields<'_>,
    report: &mut Report,
) -> Result<Vec<(IpNet, DocumentPath)>, Reported> {
    let Some(networking) = holder.mapping("networking", report)? else { return Ok(Vec::new()) };
    let mut found = networks(&networking, "machineNetwork", report)?;
    if found.is_empty() {
        found.extend(cidr(&networking, "machineCIDR", report)?);
    }
    Ok(found)
}

/// The networks in the list at `key`, each with its `cidr`.
pub(super) fn networks(
    holder: &Fields<'_>,
    key: &str,
    report: &mut Report,
) -> Result<Vec<(IpNet, DocumentPath)>, Reported> {
    let mut found = Vec::new();
    for network in holder.mappings(key, report)? {
        found.extend(cidr(&network, "cidr", report)?);
    }
    Ok(found)
}

fn cidr(fields: &Fields<'_>, key: &str, report: &mut Report) -> Result<Option<(IpNet, DocumentPath)>, Reported> {
    let Some(text) = fields.text(key, report)? else { return Ok(None) };
    if let Ok(network) = text.parse::<IpNet>() {
        if network.addr() != network.network() {
            let message = format!("is {network}, an address inside the network {}; write {0}", network.trunc());
            report.error("machine-network-address", &fields.path.key(key), message);
        }
        return Ok(Some((network.trunc(), fields.path.key(key))));
    }
    let message = format!("is {text:?}, which is not a network; write it like 192.0.2.0/24");
    Err(fields.wrong(key, "invalid-value", message, report))
}

/// The virtual IPs that `holder` gives: two lists, and in older documents one address each.
pub(super) fn virtual_ips(holder: &Fields<'_>, report: &mut Report) -> Result<Vec<VirtualIp>, Reported> {
    let mut found = Vec::new();
    for (role, many, one) in
        [(VirtualIpRole::Api, "apiVIPs", "apiVIP"), (VirtualIpRole::Ingress, "ingressVIPs", "ingressVIP")]
    {
        let before = found.len();
        for (text, path) in holder.texts(many, report)? {
            found.push(VirtualIp { role, address: address(text, &path, report)?, path });
        }
        let Some(text) = holder.text(one, report)? else { continue };
        let path = holder.path.key(one);
        let address = address(text, &path, report)?;
        let listed = found.get(before..).unwrap_or_default();
        match listed.first() {
            None => found.push(VirtualIp { role, address, path }),
            Some(_) if listed.iter().any(|vip| vip.address == address) => {}
            Some(_) => {
                contradiction(&path, &holder.path.key(many), &format!("the {role} address of the cluster"), report);
                return Err(Reported);
            }
        }
    }
    Ok(found)
}

/// An address that stands at `path`.
pub(super) fn address(text: &str, path: &DocumentPath, report: &mut Report) -> Result<IpAddr, Reported> {
    text.parse().map_err(|_| {
        report.error("invalid-value", path, format!("is {text:?}, which is not an IP address"));
        Reported
    })
}

impl Clusters {
    /// Adds what a document of a shape says. A second document of one shape is a second cluster.
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

    /// The cluster; none where no document describes one.
    pub(super) fn finish(self, report: &mut Report) -> Option<Cluster> {
        let mut all = self.0.into_iter().map(|(_, cluster)| cluster);
        let mut joined = all.next()?;
        for cluster in all {
            let mut networks = (joined.machine_networks.clone(), cluster.machine_networks.clone());
            networks.0.sort();
            networks.1.sort();
            let only =
                |networks: &[(IpNet, DocumentPath)]| -> Vec<IpNet> { networks.iter().map(|(net, _)| *net).collect() };
            match (networks.0.first(), networks.1.first()) {
                (Some((_, first)), Some((_, path))) if only(&networks.0) != only(&networks.1) => {
                    contradiction(path, first, "the cluster's machine networks", report);
                }
                (None, Some(_)) => joined.machine_networks = cluster.machine_networks,
                _ => {}
            }
            let addresses = |vips: &[VirtualIp]| {
                let mut all: Vec<_> = vips.iter().map(|vip| (vip.role, vip.address)).collect();
                all.sort();
                all
            };
            match (joined.virtual_ips.first(), cluster.virtual_ips.first()) {
                (Some(first), Some(other)) if addresses(&joined.virtual_ips) != addresses(&cluster.virtual_ips) => {
                    contradiction(&other.path, &first.path, "the cluster's virtual IPs", report);
                }
                (None, Some(_)) => joined.virtual_ips = cluster.virtual_ips,
                _ => {}
            }
            joined.own_load_balancer |= cluster.own_load_balancer;
            joined.rendezvous_ip = joined.rendezvous_ip.or(cluster.rendezvous_ip);
            joined.name = joined.name.or(cluster.name);
        }
        Some(joined)
    }
}
