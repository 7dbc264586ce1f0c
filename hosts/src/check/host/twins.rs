//! Interfaces that the kernel or NetworkManager does not create, most often because of another one: of the two, there is only one.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Network;
use crate::model::{Device, Family, Interface, Kind, MacVlanMode, Vxlan};
use vocabulary::host::MacAddress;
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    vxlans(network, report);
    macvlans(network, report);
    macs_of_macvlans(network, report);
    modes_of_macvlans(network, report);
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
        if let Some(remote) = vxlan.remote.filter(|remote| remote.is_multicast() && vxlan.parent.is_none()) {
            let message = format!(
                "has the multicast address {remote} as remote and no interface below, by which the kernel would join \
                 the group: the kernel does not create the VXLAN"
            );
            report.add(network.severity(), "vxlan-without-base", &interface.path, message);
        }
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
        let Kind::MacVlan { parent, mode, .. } = &interface.kind else { continue };
        let takes_all = *mode == MacVlanMode::Passthru;
        let (first, is_alone) = *seen.entry(parent).or_insert((interface, takes_all));
        if std::ptr::eq(first, interface) || !(is_alone || takes_all) {
            continue;
        }
        let one = if takes_all { interface } else { first };
        let message = format!(
            "is on {parent}, like {} ({}), and {} has mode passthru, which allows no other MACVLAN there: the kernel \
             creates only one of the two",
            first.name, first.path, one.name
        );
        report.add(network.severity(), "macvlan-passthru-shared", &interface.path, message);
    }
}

/// MACVLANs on one interface have MAC addresses of their own (`macvlan_addr_busy`). With mode passthru, one may have that of
/// the interface.
fn macs_of_macvlans(network: &Network<'_>, report: &mut Report) {
    let mut seen: BTreeMap<(&str, MacAddress), &Interface> = BTreeMap::new();
    for interface in network.active() {
        let Kind::MacVlan { parent, mode: MacVlanMode::Shared | MacVlanMode::Other, .. } = &interface.kind else {
            continue;
        };
        let Some(mac) = interface.mac else { continue };
        let below = network.interface(parent).filter(|below| address_of(below) == Some(mac));
        let first = *seen.entry((parent.as_str(), mac)).or_insert(interface);
        if let Some(other) = below.or_else(|| Some(first).filter(|first| !std::ptr::eq(*first, interface))) {
            let message = format!(
                "sets the MAC address {mac}, like {} ({}): a MACVLAN needs an address that neither {parent} nor another \
                 MACVLAN on it has",
                other.name, other.path
            );
            report.add(network.severity(), "macvlan-mac-shared", &interface.path, message);
        }
    }
}

/// NetworkManager takes a profile with another mode than its four, and does not create the interface (`setting_mode_to_platform` in
/// `nm-device-macvlan.c`).
fn modes_of_macvlans(network: &Network<'_>, report: &mut Report) {
    if network.files != NetworkFiles::Keyfiles {
        return;
    }
    for interface in network.active() {
        if matches!(interface.kind, Kind::MacVlan { mode: MacVlanMode::Other, .. }) {
            let message = "has the mode source, or none: NetworkManager creates MACVLANs with vepa, bridge, private and \
                           passthru only";
            report.add(network.severity(), "macvlan-mode-unsupported", &interface.path, message);
        }
    }
}

/// The MAC address of an interface, if the documents have it.
fn address_of(interface: &Interface) -> Option<MacAddress> {
    interface.mac.or(match interface.device {
        Device::Mac(mac) => Some(mac),
        Device::Name | Device::Pci(_) | Device::Any => None,
    })
}
