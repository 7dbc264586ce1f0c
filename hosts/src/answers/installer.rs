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
    /// The router of the host, if an installer with this address does not take it.
    pub(super) refused_gateway: Option<IpAddr>,
    pub(super) servers: Vec<IpAddr>,
}

/// Returns the network of the installer, if one NIC alone can have it. That is the NIC that a default route leads to, or else the
/// first one with addresses. Between equals, the order of their names decides.
pub(super) fn network(topology: &Topology) -> Option<InstallerNetwork> {
    let usable: Vec<&Interface> = topology.interfaces.iter().filter(|nic| is_usable(nic)).collect();
    let mut leading = Family::BOTH.into_iter().filter_map(|family| topology.leading_to(family.whole().addr(), &usable));
    let nic = *usable.get(leading.next().unwrap_or_default())?;
    let (address, gateway, refused_gateway) =
        if is_automatic(nic) { (None, None, None) } else { addressed(topology, nic) };
    let servers = topology.dns.servers.iter().map(|server| server.address).collect();
    let name = match nic.device {
        Device::Mac(mac) => mac.to_string(),
        _ => nic.name.clone(),
    };
    Some(InstallerNetwork { nic: name, address, gateway, refused_gateway, servers })
}

fn is_usable(nic: &Interface) -> bool {
    let has_addresses = is_automatic(nic) || !nic.ipv4.addresses.is_empty() || !nic.ipv6.addresses.is_empty();
    nic.kind == Kind::Ethernet && nic.active && nic.controller.is_none() && has_addresses
}

fn is_automatic(nic: &Interface) -> bool {
    nic.ipv4.is_automatic() || (nic.ipv4.addresses.is_empty() && nic.ipv6.is_automatic())
}

/// The static address of an installer, its router, and the router that the installer refuses: it takes only one that the address leads
/// to (`netcfg_gateway_reachable` in `netcfg-common.c`), and asks again and again otherwise.
fn addressed(topology: &Topology, nic: &Interface) -> (Option<IpNet>, Option<IpAddr>, Option<IpAddr>) {
    let families = || Family::BOTH.into_iter().filter(|family| !nic.ip(*family).addresses.is_empty());
    let routed = families().find_map(|family| Some((family, gateway(topology, nic, family)?)));
    let Some((family, gateway)) = routed else {
        let first = families().find_map(|family| nic.ip(family).addresses.first());
        return (first.map(|address| address.network), None, None);
    };
    let ip = nic.ip(family);
    let is_link_local = matches!(gateway, IpAddr::V6(gateway) if gateway.is_unicast_link_local());
    // From an address that is alone in its network, it makes a route to the router.
    let leads_there = |network: &IpNet| is_link_local || network.prefix_len() == network.max_prefix_len();
    let mut addresses = ip.addresses.iter().map(|address| address.network);
    match ip.address_beside(gateway).or_else(|| addresses.clone().find(leads_there)) {
        Some(address) => (Some(address), Some(gateway), None),
        None => (addresses.next(), None, Some(gateway)),
    }
}

fn gateway(topology: &Topology, nic: &Interface, family: Family) -> Option<IpAddr> {
    let defaults = topology.main_routes(nic).filter(|route| route.is_default() && route.family() == family);
    let best = defaults.filter(|route| route.gateway.is_some()).min_by_key(|route| route.known_metric())?;
    best.gateway
}
