//! Interfaces of which the kernel creates only one.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Network;
use crate::model::{Family, Interface, Kind, Vxlan};
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    vxlans(network, report);
    macvlans(network, report);
}

/// What tells VXLANs apart. The interface below counts only where the local address means something on one link alone.
type VxlanKey<'a> = (u32, u16, Family, Option<&'a str>);

fn key(vxlan: &Vxlan) -> VxlanKey<'_> {
    let is_of_a_link = matches!(vxlan.local, Some(IpAddr::V6(local)) if local.is_unicast_link_local());
    (vxlan.id, vxlan.port, vxlan.family(), vxlan.parent.as_deref().filter(|_| is_of_a_link))
}

/// Packets of one identifier that come in at one port go to one interface (`vxlan_config_validate`).
fn vxlans(network: &Network<'_>, report: &mut Report) {
    let mut seen: BTreeMap<VxlanKey<'_>, &Interface> = BTreeMap::new();
    for interface in network.active() {
        let Kind::Vxlan(vxlan) = &interface.kind else { continue };
        let first = *seen.entry(key(vxlan)).or_insert(interface);
        if std::ptr::eq(first, interface) {
            continue;
        }
        let message = format!(
            "is VXLAN {} at UDP port {} over {}, like {} ({}): the kernel creates only one of the two",
            vxlan.id,
            vxlan.port,
            vxlan.family().name(),
            first.name,
            first.path
        );
        report.add(network.severity(), "vxlan-twice", &interface.path, message);
    }
}

/// A MACVLAN with mode passthru takes all frames of its parent (`macvlan_common_newlink`).
fn macvlans(network: &Network<'_>, report: &mut Report) {
    let mut seen: BTreeMap<&str, (&Interface, bool)> = BTreeMap::new();
    for interface in network.active() {
        let Kind::MacVlan { parent, passthru, .. } = &interface.kind else { continue };
        let (first, is_alone) = *seen.entry(parent).or_insert((interface, *passthru));
        if std::ptr::eq(first, interface) || !(is_alone || *passthru) {
            continue;
        }
        let one = if *passthru { interface } else { first };
        let message = format!(
            "is on {parent}, like {} ({}), and {} has mode passthru, which allows no other MACVLAN there: the kernel \
             creates only one of the two",
            first.name, first.path, one.name
        );
        report.add(network.severity(), "macvlan-passthru-shared", &interface.path, message);
    }
}
