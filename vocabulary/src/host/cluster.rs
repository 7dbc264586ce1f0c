//! What documents say of the cluster that their hosts are of.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::report::DocumentPath;

/// A cluster, as far as its hosts' networks are concerned. All hosts of an input are of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// What it is called.
    pub name: Option<String>,
    /// Where it is described.
    pub path: DocumentPath,
    /// The networks in which its hosts and virtual IPs are, each with its place.
    pub machine_networks: Vec<(IpNet, DocumentPath)>,
    /// The addresses that go from host to host.
    pub virtual_ips: Vec<VirtualIp>,
    /// Whether a load balancer of the user's own has the virtual IPs: they may then be anywhere, and one.
    pub own_load_balancer: bool,
    /// The address of the host that installs the others, with its place.
    pub rendezvous_ip: Option<(IpAddr, DocumentPath)>,
}

/// An address that whichever host of a cluster takes that serves it at the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualIp {
    /// What is served there.
    pub role: VirtualIpRole,
    /// The address.
    pub address: IpAddr,
    /// Where it is given.
    pub path: DocumentPath,
}

/// What a virtual IP serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VirtualIpRole {
    /// The cluster's API.
    Api,
    /// What the cluster's workloads serve.
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
