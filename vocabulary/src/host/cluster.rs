//! The cluster that the hosts of some documents belong to.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::report::DocumentPath;

/// What dayone needs to know about a cluster to check its hosts' networks. All hosts of an input belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// The name.
    pub name: Option<String>,
    /// Where the documents describe it.
    pub path: DocumentPath,
    /// The networks that contain the addresses of its hosts and the virtual IPs, each with its path.
    pub machine_networks: Vec<(IpNet, DocumentPath)>,
    /// The virtual IPs.
    pub virtual_ips: Vec<VirtualIp>,
    /// Whether the user's own load balancer has the virtual IPs. They may then be in any network, and be the same address.
    pub own_load_balancer: bool,
    /// The address of the host that installs the others, with its path.
    pub rendezvous_ip: Option<(IpAddr, DocumentPath)>,
}

/// An address that moves between the hosts of a cluster: the host that serves it has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualIp {
    /// The service behind the address.
    pub role: VirtualIpRole,
    /// The address.
    pub address: IpAddr,
    /// Where the documents say it.
    pub path: DocumentPath,
}

/// The service behind a virtual IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VirtualIpRole {
    /// The cluster's API.
    Api,
    /// The cluster's workloads.
    Ingress,
}

impl fmt::Display for VirtualIpRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Api => "API",
            Self::Ingress => "ingress",
        })
    }
}
