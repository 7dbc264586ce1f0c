//! Reads facts about clusters: `AgentClusterInstall`, and the members that other documents share with it.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::input::document::Object;
use crate::input::fields::Fields;
use crate::input::host_part::contradiction;
use vocabulary::host::{Cluster, VirtualIp, VirtualIpRole};
use vocabulary::report::{DocumentPath, Report, Reported};

/// The kind of assisted-service and its operators with the cluster's addresses (`api/hiveextension/v1beta1`).
pub(in crate::input) const KIND: &str = "AgentClusterInstall";
pub(in crate::input) const API_VERSIONS: &[&str] = &["extensions.hive.openshift.io/v1beta1"];

/// Returns a cluster without any facts.
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

/// Reads an `AgentClusterInstall`.
pub(in crate::input) fn read(object: &Object, report: &mut Report) -> Result<Cluster, Reported> {
    let spec = object.spec(report)?;
    let name = spec.text_in("clusterDeploymentRef", "name", report)?.map(str::to_owned);
    let machine_networks = machine_networks(&spec, report);
    let virtual_ips = virtual_ips(&spec, report);
    let own_load_balancer = own_load_balancer(&spec, report);
    Ok(Cluster {
        name,
        machine_networks: machine_networks?,
        virtual_ips: virtual_ips?,
        own_load_balancer: own_load_balancer?,
        ..unknown(object.path().clone())
    })
}

/// Reads the machine networks in `networking` of `holder`: a list, or a single network in older documents.
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

/// Reads the `cidr` of each network in the list at `key`.
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

/// Reads the virtual IPs in `holder`: two lists, or two addresses in older documents.
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
                let about = format!("the {role} address of the cluster");
                return Err(contradiction(&path, &holder.path.key(many), &about, report));
            }
        }
    }
    Ok(found)
}

/// Whether the user's load balancer has the virtual IPs of `holder`.
pub(super) fn own_load_balancer(holder: &Fields<'_>, report: &mut Report) -> Result<bool, Reported> {
    Ok(holder.text_in("loadBalancer", "type", report)? == Some("UserManaged"))
}

/// Parses the address at `path`.
pub(super) fn address(text: &str, path: &DocumentPath, report: &mut Report) -> Result<IpAddr, Reported> {
    let message = || format!("is {text:?}, which is not an IP address");
    text.parse().map_err(|_| report.refuse("invalid-value", path, message()))
}
