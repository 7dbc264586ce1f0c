//! What is compared of a host.

use std::net::IpAddr;

use super::{CheckedHost, visible_addresses};
use crate::family::Family;
use crate::model::{Interface, Kind, MAIN_TABLE, Route, RouteKind, Topology};

/// What a host says of itself that others of its kind may say as well.
pub(super) struct Facts<'a> {
    pub(super) host: &'a CheckedHost<'a>,
    /// Its name servers, whatever their order.
    pub(super) servers: Vec<IpAddr>,
    /// The interface by which it leaves its networks.
    pub(super) main: Option<&'a Interface>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(host: &'a CheckedHost<'a>) -> Self {
        let mut servers: Vec<IpAddr> = host.topology.dns.servers.iter().map(|server| server.address).collect();
        servers.sort_unstable();
        servers.dedup();
        let mut defaults = defaults(host.topology);
        let written = defaults.find_map(|route| host.topology.interface(route.interface.as_deref()?));
        let learned = || {
            let mut all = host.topology.interfaces.iter().filter(|interface| interface.active && learns(interface));
            all.next().filter(|_| all.next().is_none())
        };
        Self { host, servers, main: written.or_else(learned) }
    }

    /// The gateways by which it leaves a network, whatever their order, and the route with the first of them.
    pub(super) fn gateways(&self, is_inside: impl Fn(&IpAddr) -> bool) -> Option<(Vec<IpAddr>, &'a Route)> {
        let gateway = |route: &Route| route.gateway.filter(&is_inside);
        let first = defaults(self.host.topology).find(|route| gateway(route).is_some())?;
        let mut all: Vec<IpAddr> = defaults(self.host.topology).filter_map(gateway).collect();
        all.sort_unstable();
        all.dedup();
        Some((all, first))
    }

    /// Whether one of its interfaces has an address.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        let mut own = self.host.topology.interfaces.iter().flat_map(Interface::addresses);
        own.any(|own| own.network.addr() == address)
    }

    /// Whether it has an address that is written down.
    pub(super) fn is_static(&self) -> bool {
        visible_addresses(self.host).next().is_some()
    }
}

/// The default routes that are written down.
fn defaults(topology: &Topology) -> impl Iterator<Item = &Route> {
    let is_up = |route: &&Route| {
        let interface = route.interface.as_deref().and_then(|name| topology.interface(name));
        interface.is_some_and(|interface| interface.active)
    };
    let routes = topology.routes.iter().filter(|route| route.is_default() && route.table == MAIN_TABLE);
    routes.filter(|route| route.kind == RouteKind::Unicast).filter(is_up)
}

/// Whether the network gives the interface a default route.
fn learns(interface: &Interface) -> bool {
    Family::BOTH.into_iter().any(|family| interface.ip(family).learns_gateway(family))
}

/// The VLAN that an interface is, by its identifier.
pub(super) fn vlan(interface: &Interface) -> Option<u16> {
    match &interface.kind {
        Kind::Vlan(vlan) => Some(vlan.id),
        _ => None,
    }
}
