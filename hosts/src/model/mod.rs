//! A host's network as it will be: interfaces and what they stand on, addresses, routes, name servers.
//!
//! dayone reads NMState and keyfiles into these structures once ([`from_nmstate`], [`Topology::from_keyfiles`]). Checks,
//! tables, JSON, pictures, networkd units and cloud-init's files are made from them. They describe what a system with these
//! profiles does. Of the document they keep only where each part comes from.

mod address;
mod bridge;
mod from_keyfiles;
pub(crate) mod from_nmstate;
mod interface;
mod mtu;
mod route;

pub use crate::family::Family;
pub use address::{Address, Ip, Method};
pub use bridge::{Bridge, BridgeOptions, BridgePort, BridgeVlans};
pub(crate) use interface::BOND_MODES;
pub use interface::{
    Bond, Device, Interface, InterfaceOptions, Kind, MacVlanMode, Port, PriorityMap, Registration, Vlan, VlanOptions,
    Vxlan, WaitIp,
};
pub(crate) use route::kernel_metric;
pub use route::{Dns, NameServer, Route, RouteKind, RouteOptions, Rule};

use std::net::IpAddr;

use vocabulary::host::HostName;
use vocabulary::report::{DocumentPath, Origins};

/// The table that routes are in which name none (`RT_TABLE_MAIN`).
pub const MAIN_TABLE: u32 = 254;

/// A host's network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// The host name.
    pub hostname: Option<HostName>,
    /// The interfaces, ordered by name, no two of one name.
    pub interfaces: Vec<Interface>,
    /// The static routes, without those that come with addresses.
    pub routes: Vec<Route>,
    /// The routing rules.
    pub rules: Vec<Rule>,
    /// The name servers.
    pub dns: Dns,
}

impl Topology {
    /// The interface of this name.
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.name == name)
    }

    /// The interfaces that the document at `path` has entries of, in its order.
    pub(crate) fn entries(&self, path: &DocumentPath) -> Vec<&Interface> {
        let list = path.key("interfaces");
        let index = |interface: &Interface| match interface.path.steps_from(&list)?.as_slice() {
            [step] => step.as_index(),
            _ => None,
        };
        let mut entries: Vec<_> =
            self.interfaces.iter().filter_map(|interface| Some((index(interface)?, interface))).collect();
        entries.sort_by_key(|(index, _)| *index);
        entries.into_iter().map(|(_, interface)| interface).collect()
    }

    /// The ports of an interface, in the order of their names.
    pub fn ports<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Interface> {
        self.interfaces.iter().filter(move |interface| interface.controller.as_deref() == Some(name))
    }

    /// What stands on an interface without being its controller: VLANs, VXLANs, MACVLANs, …
    pub fn children<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Interface> {
        self.interfaces.iter().filter(move |interface| interface.kind.parent() == Some(name))
    }

    /// Whether a gateway is on the link of an interface, or may be although none of its networks says so: the link's own
    /// addresses are, the network may give others, and NetworkManager adds a route to the gateway itself where every
    /// address is alone in its network.
    pub fn may_reach(&self, interface: &Interface, gateway: IpAddr) -> bool {
        let ip = interface.ip(Family::of(gateway));
        let is_alone = |address: &Address| address.network.prefix_len() == address.network.max_prefix_len();
        let leads_there = |route: &Route| {
            route.gateway.is_none()
                && route.interface.as_ref() == Some(&interface.name)
                && route.destination.contains(&gateway)
        };
        ip.finds_on_link(gateway) || ip.addresses.iter().all(is_alone) || self.routes.iter().any(leads_there)
    }

    /// The VRF that an interface is a port of.
    pub(crate) fn vrf_of(&self, interface: &Interface) -> Option<&Interface> {
        let controller = self.interface(interface.controller.as_deref()?)?;
        matches!(controller.kind, Kind::Vrf(_)).then_some(controller)
    }

    /// Which of the interfaces in `among` leads to an address: the one with the longest prefix, then with the least metric,
    /// then the first. A default route that the network offers comes after those that the documents have.
    pub(crate) fn leading_to(&self, address: IpAddr, among: &[&Interface]) -> Option<usize> {
        let family = Family::of(address);
        let reach = |interface: &Interface| {
            let ip = interface.ip(family);
            let networks = ip.addresses.iter().map(|address| (address.network, 0));
            let routes = self.main_routes(interface).map(|route| (route.destination, u64::from(route.known_metric())));
            let offered = ip.learns_gateway(family).then_some((family.whole(), u64::MAX));
            let all = networks.chain(routes).chain(offered).filter(|(network, _)| network.contains(&address));
            all.map(|(network, metric)| (u8::MAX - network.prefix_len(), metric)).min()
        };
        let outside = among.iter().enumerate().filter(|(_, interface)| self.vrf_of(interface).is_none());
        let best = outside.filter_map(|(index, interface)| Some((reach(interface)?, index))).min();
        best.map(|(_, index)| index)
    }

    /// The static routes by which packets leave through an interface, unless a rule leads to another table.
    pub fn main_routes<'t>(&'t self, interface: &'t Interface) -> impl Iterator<Item = &'t Route> {
        self.routes.iter().filter(|route| {
            route.kind == RouteKind::Unicast
                && route.table == MAIN_TABLE
                && route.interface.as_deref() == Some(&interface.name)
        })
    }

    /// Returns the same network with the paths of the documents that its parts come from.
    #[must_use]
    pub(crate) fn at_origins(mut self, origins: &Origins) -> Self {
        if !origins.is_empty() {
            self.visit_paths(&mut |path| {
                if let Some(origin) = origins.of(path) {
                    *path = origin;
                }
            });
        }
        self
    }

    /// Calls `visit` for the place of each thing.
    fn visit_paths(&mut self, visit: &mut dyn FnMut(&mut DocumentPath)) {
        for interface in &mut self.interfaces {
            visit(&mut interface.path);
            interface.ports.iter_mut().for_each(|port| visit(&mut port.path));
            for ip in [&mut interface.ipv4, &mut interface.ipv6] {
                visit(&mut ip.path);
                ip.addresses.iter_mut().for_each(|address| visit(&mut address.path));
            }
        }
        self.routes.iter_mut().for_each(|route| {
            visit(&mut route.path);
            visit(&mut route.gateway_path);
        });
        self.rules.iter_mut().for_each(|rule| visit(&mut rule.path));
        visit(&mut self.dns.search_path);
        self.dns.servers.iter_mut().for_each(|server| visit(&mut server.path));
    }
}
