//! The network of an installer that configures one NIC.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::family::Family;
use crate::model::{Device, Interface, Kind, Topology};

/// The NIC by which an installer reaches the network, and its addresses.
pub(super) struct InstallerNetwork {
    /// The NIC's name, or its MAC address.
    pub(super) nic: String,
    /// The address; none if the network gives it.
    pub(super) address: Option<IpNet>,
    /// The router of the address's family.
    pub(super) gateway: Option<IpAddr>,
    pub(super) servers: Vec<IpAddr>,
}

/// Returns the network of the installer, if one NIC alone can have it. That is the NIC that a default route leads to, or else the
/// first one with addresses. Between equals, the order of their names decides.
pub(super) fn network(topology: &Topology) -> Option<InstallerNetwork> {
    let usable: Vec<&Interface> = topology.interfaces.iter().filter(|nic| is_usable(nic)).collect();
    let mut leading = Family::BOTH.into_iter().filter_map(|family| topology.leading_to(family.whole().addr(), &usable));
    let nic = *usable.get(leading.next().unwrap_or_default())?;
    let addresses = [&nic.ipv4, &nic.ipv6].into_iter().flat_map(|ip| &ip.addresses);
    let address = if is_automatic(nic) { None } else { addresses.map(|address| address.network).next() };
    let gateway = address.and_then(|address| gateway(topology, nic, Family::of(address.addr())));
    let servers = topology.dns.servers.iter().map(|server| server.address).collect();
    let name = match nic.device {
        Device::Mac(mac) => mac.to_string(),
        _ => nic.name.clone(),
    };
    Some(InstallerNetwork { nic: name, address, gateway, servers })
}

fn is_usable(nic: &Interface) -> bool {
    let has_addresses = is_automatic(nic) || !nic.ipv4.addresses.is_empty() || !nic.ipv6.addresses.is_empty();
    nic.kind == Kind::Ethernet && nic.active && nic.controller.is_none() && has_addresses
}

fn is_automatic(nic: &Interface) -> bool {
    nic.ipv4.is_automatic() || (nic.ipv4.addresses.is_empty() && nic.ipv6.is_automatic())
}

fn gateway(topology: &Topology, nic: &Interface, family: Family) -> Option<IpAddr> {
    let defaults = topology.main_routes(nic).filter(|route| route.is_default() && route.family() == family);
    let best = defaults.filter(|route| route.gateway.is_some()).min_by_key(|route| route.known_metric())?;
    best.gateway
}
