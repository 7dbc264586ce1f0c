//! The part of a host's network that its firmware can have: one NIC with one static IPv4 address, perhaps in a VLAN.

use std::net::Ipv4Addr;

use ipnet::{IpNet, Ipv4Net};
use vocabulary::host::MacAddress;

use crate::initramfs_network::NextHop;
use crate::model::{Device, Interface, Kind, Topology};

/// How deep interfaces stand on each other at most: a bridge, a VLAN, a bond and a NIC.
const DEEPEST: usize = 4;

/// A network that a firmware can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirmwareNetwork {
    /// The address, with the length of its prefix.
    pub address: Ipv4Net,
    /// The router, if the server is behind one.
    pub gateway: Option<Ipv4Addr>,
    /// The tag of frames.
    pub vlan: Option<u16>,
    /// The NICs that have the network, as far as the document gives their MAC addresses. A bond has several, and the firmware uses one.
    pub macs: Vec<MacAddress>,
    /// The name servers.
    pub dns: Vec<Ipv4Addr>,
    /// Why this may not work although the document is right.
    pub caution: Option<String>,
}

/// Returns the network that leads to the server, or to the default router if the server's address is not known. An error says why the
/// firmware cannot have it.
pub fn leading_to(server: Option<Ipv4Addr>, topology: &Topology) -> Result<FirmwareNetwork, String> {
    // Only a default route contains this address.
    let destination = server.unwrap_or(Ipv4Addr::UNSPECIFIED);
    let active: Vec<&Interface> = topology.interfaces.iter().filter(|interface| interface.active).collect();
    let interface = topology.leading_to(destination.into(), &active).and_then(|index| active.get(index));
    let where_to = || server.map_or_else(|| "the default router".to_owned(), |server| server.to_string());
    let interface = interface.ok_or_else(|| format!("no interface of the document leads to {}", where_to()))?;
    let addresses = interface.ipv4.addresses.iter().filter_map(|address| match address.network {
        IpNet::V4(network) => Some(network),
        IpNet::V6(_) => None,
    });
    let mut addresses = addresses.peekable();
    let first = addresses.peek().copied();
    let first = first.ok_or_else(|| format!("{} has no static IPv4 address", interface.name))?;
    let hop = NextHop::of(destination, topology, interface);
    let hop = hop.ok_or_else(|| format!("the router to {} comes from DHCP", where_to()))?;
    let next = hop.gateway().unwrap_or(destination);
    // A firmware knows no other way on the link than the network of its address.
    let beside = addresses.find(|network| network.contains(&next));
    let address = beside.unwrap_or(first);
    let mut found = Nics::default();
    found.add(interface, topology, 0)?;
    // A server with an address needs no name server.
    let dns = topology.dns.servers.iter().filter_map(|server| match server.address {
        std::net::IpAddr::V4(address) => Some(address),
        std::net::IpAddr::V6(_) => None,
    });
    let dns = if server.is_none() { dns.take(2).collect() } else { Vec::new() };
    if beside.is_none() {
        found.cautions.push(format!(
            "{next} is in no network of the addresses of {}: the documents have a route to it, and a firmware has none",
            interface.name
        ));
    }
    let Nics { macs, vlan, cautions } = found;
    let caution = (!cautions.is_empty()).then(|| cautions.join("; "));
    Ok(FirmwareNetwork { address, gateway: hop.gateway(), vlan, macs, dns, caution })
}

/// The NICs under an interface.
#[derive(Default)]
struct Nics {
    macs: Vec<MacAddress>,
    vlan: Option<u16>,
    cautions: Vec<String>,
}

impl Nics {
    fn add(&mut self, interface: &Interface, topology: &Topology, depth: usize) -> Result<(), String> {
        let name = &interface.name;
        if depth >= DEEPEST {
            return Err(format!("{name} stands on too many other interfaces"));
        }
        match &interface.kind {
            Kind::Ethernet if interface.options.authenticates => Err(format!("{name} authenticates itself by 802.1X")),
            Kind::Ethernet => {
                match &interface.device {
                    Device::Mac(mac) => self.macs.push(*mac),
                    _ => self.macs.extend(interface.mac),
                }
                Ok(())
            }
            Kind::Vlan(vlan) => {
                let is_ordinary = vlan.options.protocol.as_deref().is_none_or(|protocol| protocol == "802.1q");
                if self.vlan.is_some() || !is_ordinary {
                    return Err(format!("{name} is a VLAN that a firmware does not know"));
                }
                self.vlan = Some(vlan.id);
                let parent = topology.interface(&vlan.parent);
                self.add(parent.ok_or_else(|| format!("{name} stands on an unknown interface"))?, topology, depth + 1)
            }
            Kind::Bond(bond) => {
                if bond.mode == "802.3ad" {
                    self.cautions.push(format!(
                        "{name} is a bond with LACP, and the firmware uses one NIC without LACP: the switch must forward its frames \
                         nevertheless"
                    ));
                }
                let primary = bond.options.get("primary");
                let mut ports: Vec<&Interface> = topology.ports(name).filter(|port| port.active).collect();
                ports.sort_by_key(|port| primary != Some(&port.name));
                ports.into_iter().try_for_each(|port| self.add(port, topology, depth + 1))
            }
            Kind::LinuxBridge(_) => {
                let uplinks: Vec<&Interface> = topology.ports(name).filter(|port| port.active).collect();
                match uplinks.as_slice() {
                    [uplink] => self.add(uplink, topology, depth + 1),
                    _ => Err(format!("{name} is a bridge with {} ports", uplinks.len())),
                }
            }
            kind => Err(format!("{name} is of the type {}", kind.name())),
        }
    }
}

#[cfg(test)]
mod tests;
