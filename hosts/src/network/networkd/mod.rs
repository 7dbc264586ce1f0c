//! Converts NMState to units of systemd-networkd, for systems that run it and have no NetworkManager: keyfiles have no
//! effect there.
//!
//! dayone refuses what units cannot express exactly, at its place in the document: `supported` lists the keys that units
//! can express, and the writers refuse the values that they cannot. The checks of [`super::convert`] come first, the
//! nmstate crate among them, so dayone makes keyfiles from every document from which it makes units. Where NMState leaves
//! something open that decides whether a host is reachable (metrics, link monitoring, spanning tree), a unit does what
//! NetworkManager does with nmstate's keyfile.
//!
//! The units are those of systemd 252 (systemd.network(5), systemd.netdev(5), systemd.link(5)) and later. No `.link`
//! is written for a NIC: udev takes the first that matches, and ours would take the place of the system's own, by
//! which the NIC gets its name.

mod bond;
mod bridge;
mod dns;
mod interface;
mod ip;
mod plan;
mod routes;
mod supported;
mod unit;
mod vlan;

use self::plan::Plan;
use self::supported::UNITS;
use super::form::Findings;
use super::{Attempt, ConvertedNetwork, NetworkdUnit};
use crate::model::Topology;
use vocabulary::host::HostSpec;
use vocabulary::report::{DocumentPath, Report};

/// Converts a host's NMState document to units of systemd-networkd. With `no_auto_default`, they leave NICs alone that the
/// document does not mention.
pub(super) fn attempt(host: &HostSpec, no_auto_default: bool) -> (Attempt<ConvertedNetwork>, Report) {
    let (units, mut report) = super::from_nmstate(host, &UNITS, |topology, path, network, findings| {
        let unmentioned = no_auto_default.then(unmentioned).flatten();
        network.networkd_units = write(topology, path, findings).into_iter().chain(unmentioned).collect();
    });
    // There is no NetworkManager. dayone refuses what units cannot express either.
    report.forget("needs-newer-networkmanager");
    (units, report)
}

/// The units of the network that the document at `path` describes.
fn write(topology: &Topology, path: &DocumentPath, findings: &mut Findings<'_>) -> Vec<NetworkdUnit> {
    let Topology { hostname: _, interfaces: _, routes, rules, dns: _ } = topology;
    let entries = topology.entries(path);
    let mut plan = Plan::new(topology, &entries);
    for (index, interface) in entries.iter().enumerate() {
        interface::write(&mut plan, index, interface, findings);
    }
    for route in routes {
        routes::write(&mut plan, route, findings);
    }
    for rule in rules {
        routes::write_rule(&mut plan, rule, topology, findings);
    }
    dns::write(&mut plan, topology, path, findings);
    plan.units(findings)
}

/// A unit by which networkd leaves every NIC alone that the host's document does not mention, as `no-auto-default=*`
/// does in NetworkManager.
///
/// Images often carry a unit that starts DHCP on every NIC (`zz-default.network`). Units are taken in the order of their
/// names, and the first that matches wins: this one comes after those of a host, which begin with `10-`, and before
/// the images' own. Only what networkd takes for a real NIC is meant: a device of type `ether` that no driver of
/// virtual devices made, so containers' interfaces are as free as before.
pub fn unmentioned() -> Option<NetworkdUnit> {
    let content = "[Match]\nType=ether\nKind=!*\n\n[Link]\nUnmanaged=yes\n".to_owned();
    vocabulary::network_files::UNMENTIONED_UNIT.parse().ok().map(|name| NetworkdUnit { name, content })
}
