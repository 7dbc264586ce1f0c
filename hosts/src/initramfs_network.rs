//! The part of a host's network by which an initramfs fetches its root file system, if the initramfs configures one NIC with static
//! IPv4 addresses and nothing else, as live-boot's does.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::family::Family;
use crate::model::{Bond, Device, Interface, Kind, Method, RouteKind, Topology};
use vocabulary::network_files::{InitramfsNetwork, InitramfsNic, Ipv4Address, NicName};
use vocabulary::report::{DocumentPath, Report, Reported};

/// What such an initramfs can do, for messages.
const LIMITS: &str =
    "the initramfs of this live system configures one NIC with static IPv4 addresses, and nothing else";
/// The modes of bonds that need nothing from the switch: each of their NICs alone reaches what the bond reaches.
const MODES_WITHOUT_SWITCH: [&str; 3] = ["active-backup", "balance-tlb", "balance-alb"];

/// Warns about a server that nothing in a host's network leads to, for an initramfs that has the whole network. What the network itself
/// tells the host may lead there.
pub fn check_reachable(server: IpAddr, topology: &Topology, report: &mut Report) {
    let family = Family::of(server);
    let mut active =
        topology.interfaces.iter().filter(|interface| interface.active).map(|interface| interface.ip(family));
    let leads_there =
        active.any(|ip| ip.is_automatic() || ip.addresses.iter().any(|own| own.network.contains(&server)));
    let mut routes = topology.routes.iter().filter(|route| route.kind == RouteKind::Unicast);
    if leads_there || routes.any(|route| route.destination.contains(&server)) {
        return;
    }
    let message = format!(
        "does not reach {server}, which has the root file system: no active interface has a network or a route that leads there"
    );
    report.warning("root-server-unreachable", &DocumentPath::document("the host's network"), message);
}

/// Returns the NIC that leads to the server, with its addresses and its router. For a bond that needs nothing from the switch, returns
/// all NICs of the bond; the initramfs uses one of them. Reports an error if no NIC leads to the server, or the initramfs cannot
/// configure it.
pub fn leading_to(server: Ipv4Addr, topology: &Topology, report: &mut Report) -> Result<InitramfsNetwork, Reported> {
    let active: Vec<&Interface> = topology.interfaces.iter().filter(|interface| interface.active).collect();
    let leading = topology.leading_to(server.into(), &active).and_then(|index| active.get(index));
    let Some(interface) = leading else {
        return Err(unreachable(server, topology, report));
    };
    let nics = match nics(interface, topology) {
        Ok(nics) => nics,
        Err(reason) => {
            let message = format!("leads to {server}, which has the root file system, and {reason}: {LIMITS}");
            return Err(report.refuse("initramfs-network-unsupported", &interface.path, message));
        }
    };
    let Some(hop) = NextHop::of(server, topology, interface) else {
        return Err(unreachable(server, topology, report));
    };
    let addresses = interface.ipv4.addresses.iter().filter_map(|address| match address.network {
        IpNet::V4(network) => Some(Ipv4Address::from(network)),
        IpNet::V6(_) => None,
    });
    let (addresses, gateway) = (addresses.collect(), hop.gateway());
    Ok(InitramfsNetwork { nics, mac: interface.mac, mtu: interface.mtu, addresses, gateway, server })
}

fn unreachable(server: Ipv4Addr, topology: &Topology, report: &mut Report) -> Reported {
    let has_addresses = topology.interfaces.iter().any(|interface| !interface.ipv4.addresses.is_empty());
    let reason = if has_addresses {
        "no active interface has a network or a route that leads there"
    } else {
        "no interface has a static IPv4 address"
    };
    let message = format!("does not reach {server}, which has the root file system: {reason}. {LIMITS}");
    report.refuse("root-server-unreachable", &DocumentPath::document("the host's network"), message)
}

/// The NICs of which an initramfs can give one the addresses of an interface, or why there are none.
fn nics(interface: &Interface, topology: &Topology) -> Result<Vec<InitramfsNic>, String> {
    if interface.ipv4.addresses.is_empty() {
        let is_dhcp = interface.ipv4.method == Method::Dhcp;
        return Err(if is_dhcp { "gets its address from DHCP" } else { "has no static IPv4 address" }.to_owned());
    }
    match &interface.kind {
        Kind::Ethernet => nic(interface).map(|nic| vec![nic]),
        Kind::Bond(bond) if MODES_WITHOUT_SWITCH.contains(&bond.mode.as_str()) => {
            ports(bond, interface, topology).into_iter().map(nic).collect()
        }
        Kind::Bond(bond) => Err(format!("is a bond of the mode {}, which the switch must take part in", bond.mode)),
        kind => Err(format!("is of the type {}", kind.name())),
    }
}

/// The ports of a bond, the primary one first.
fn ports<'a>(bond: &Bond, interface: &'a Interface, topology: &'a Topology) -> Vec<&'a Interface> {
    let mut ports: Vec<&Interface> = topology.ports(&interface.name).filter(|port| port.active).collect();
    ports.sort_by_key(|port| bond.option("primary") != Some(&port.name));
    ports
}

/// How an initramfs finds a NIC, or why it does not.
fn nic(interface: &Interface) -> Result<InitramfsNic, String> {
    let name = || interface.name.parse::<NicName>();
    let of = |what: &str| format!("{} {what}", interface.name);
    if interface.kind != Kind::Ethernet {
        return Err(of(&format!("is of the type {}", interface.kind.name())));
    }
    if interface.options.authenticates {
        return Err(of("authenticates itself by 802.1X"));
    }
    match &interface.device {
        Device::Mac(mac) => Ok(InitramfsNic { mac: Some(*mac), name: None }),
        Device::Name => match name() {
            Ok(name) => Ok(InitramfsNic { mac: interface.mac, name: Some(name) }),
            Err(error) => Err(of(&format!("has an unusual name: {error}"))),
        },
        Device::Pci(_) => Err(of("is found by its PCI address, and not by a MAC address or a name")),
        Device::Any => Err(of("names no NIC")),
    }
}

/// The next hop on the way to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextHop {
    /// The server itself.
    Server,
    /// This router.
    Gateway(Ipv4Addr),
}

impl NextHop {
    /// The next hop from an interface to the server. Only static routes count.
    pub(crate) fn of(server: Ipv4Addr, topology: &Topology, interface: &Interface) -> Option<Self> {
        let address = IpAddr::from(server);
        let links = interface.ipv4.addresses.iter().filter(|own| own.network.contains(&address));
        let links = links.map(|own| (u8::MAX - own.network.prefix_len(), 0, Self::Server));
        let routes = topology.main_routes(interface).filter(|route| route.destination.contains(&address));
        let routes = routes.filter_map(|route| {
            let hop = match route.gateway {
                Some(IpAddr::V4(gateway)) => Self::Gateway(gateway),
                None => Self::Server,
                Some(IpAddr::V6(_)) => return None,
            };
            Some((u8::MAX - route.destination.prefix_len(), route.known_metric(), hop))
        });
        links.chain(routes).min_by_key(|(length, metric, _)| (*length, *metric)).map(|(_, _, hop)| hop)
    }

    pub(crate) fn gateway(self) -> Option<Ipv4Addr> {
        match self {
            Self::Server => None,
            Self::Gateway(gateway) => Some(gateway),
        }
    }
}

#[cfg(test)]
mod tests;
