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

/// Returns the network of the installer, if one NIC alone can have it. That is the NIC with a default route, or else the first
/// one with addresses.
pub(super) fn network(topology: &Topology) -> Option<InstallerNetwork> {
    let usable = topology.interfaces.iter().filter(|nic| is_usable(nic));
    let mut usable: Vec<&Interface> = usable.collect();
    // The sort is stable, so the order of the document decides between equals.
    usable.sort_by_key(|nic| gateway(topology, nic, None).is_none() && !is_automatic(nic));
    let nic = *usable.first()?;
    let addresses = [&nic.ipv4, &nic.ipv6].into_iter().flat_map(|ip| &ip.addresses);
    let address = if is_automatic(nic) { None } else { addresses.map(|address| address.network).next() };
    let gateway = address.and_then(|address| gateway(topology, nic, Some(Family::of(address.addr()))));
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

fn gateway(topology: &Topology, nic: &Interface, family: Option<Family>) -> Option<IpAddr> {
    let own = topology.routes.iter().filter(|route| route.interface.as_ref() == Some(&nic.name));
    let mut defaults = own.filter(|route| route.destination.prefix_len() == 0).filter_map(|route| route.gateway);
    defaults.find(|gateway| family.is_none_or(|family| Family::of(*gateway) == family))
}
