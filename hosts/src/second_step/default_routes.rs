//! The interfaces by whose default routes a host leaves its networks.

use crate::family::Family;
use crate::model::{Interface, MAIN_TABLE, Route, Topology};

/// Returns the names of the interfaces to which the documents give a default route of the main table.
pub(super) fn written(topology: &Topology, family: Family) -> impl Iterator<Item = &str> {
    let routes = topology.routes.iter().filter(move |route| is_main_default(route) && route.family() == family);
    routes.filter_map(|route| route.interface.as_deref())
}

/// Returns the interfaces that get a default route of the main table from the network.
pub(super) fn learned(topology: &Topology, family: Family) -> impl Iterator<Item = &Interface> {
    topology.interfaces.iter().filter(move |interface| {
        let ip = interface.ip(family);
        let learns = interface.active && ip.learns_gateway(family) && ip.automatic_table == MAIN_TABLE;
        // NetworkManager puts the routes of a VRF's port into the table of the VRF.
        learns && topology.vrf_of(interface).is_none()
    })
}

/// Returns the names of the interfaces with a default route of the main table of either family, each once.
pub(super) fn all(topology: &Topology) -> Vec<&str> {
    let of = |family| written(topology, family).chain(learned(topology, family).map(|found| found.name.as_str()));
    let mut names: Vec<&str> = Family::BOTH.into_iter().flat_map(of).collect();
    names.sort_unstable();
    names.dedup();
    names
}

pub(super) fn is_main_default(route: &Route) -> bool {
    route.is_default() && route.table == MAIN_TABLE
}
