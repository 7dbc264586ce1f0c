//! Interfaces that the kernel or NetworkManager does not create, most often because of another one: of the two, there is only one.

use std::collections::BTreeMap;

use super::Network;
use crate::model::{Device, Interface, Kind, MacVlanMode};
use vocabulary::host::MacAddress;
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::Report;

/// The maximum number of stacked MACVLANs that dayone follows. Rings have a finding of their own.
const DEPTH: usize = 32;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    macvlans(network, report);
    macsecs(network, report);
    macs_of_macvlans(network, report);
    modes_of_macvlans(network, report);
}

/// The interface on which the kernel puts a MACVLAN: the interface below all MACVLANs (`macvlan_common_newlink`).
fn base<'a>(network: &Network<'a>, parent: &'a str) -> &'a str {
    let mut base = parent;
    for _ in 0..DEPTH {
        match network.interface(base).map(|below| &below.kind) {
            Some(Kind::MacVlan { parent, .. }) => base = parent,
            _ => break,
        }
    }
    base
}

/// A MACVLAN with mode passthru takes all frames of its parent (`macvlan_common_newlink`).
fn macvlans(network: &Network<'_>, report: &mut Report) {
    let mut seen: BTreeMap<&str, (&Interface, bool)> = BTreeMap::new();
    for interface in network.active() {
        let Kind::MacVlan { parent, mode, .. } = &interface.kind else { continue };
        let takes_all = *mode == MacVlanMode::Passthru;
        let base = base(network, parent);
        let (first, is_alone) = *seen.entry(base).or_insert((interface, takes_all));
        if std::ptr::eq(first, interface) || !(is_alone || takes_all) {
            continue;
        }
        let one = if takes_all { interface } else { first };
        let on = if base == parent { base.to_owned() } else { format!("{base}, which is below {parent}") };
        let message = format!(
            "is on {on}, like {} ({}), and {} has mode passthru, which allows no other MACVLAN there: the kernel \
             creates only one of the two",
            first.name, first.path, one.name
        );
        report.add(network.severity(), "macvlan-passthru-shared", &interface.path, message);
    }
}

/// The kernel gives the frames of an interface to its MACVLANs or to its `MACsec` links (`netdev_rx_handler_register`). It
/// tells these links apart by their ports (`sci_exists`).
fn macsecs(network: &Network<'_>, report: &mut Report) {
    let mut macvlans: BTreeMap<&str, &Interface> = BTreeMap::new();
    for interface in network.active() {
        if let Kind::MacVlan { parent, .. } = &interface.kind {
            macvlans.entry(base(network, parent)).or_insert(interface);
        }
    }
    let mut seen: BTreeMap<(&str, u16), &Interface> = BTreeMap::new();
    for interface in network.active() {
        let Kind::Macsec { parent, port } = &interface.kind else { continue };
        if let Some(macvlan) = macvlans.get(parent.as_str()) {
            let message = format!(
                "is on {parent}, like the MACVLAN {} ({}): the kernel creates only one of the two",
                macvlan.name, macvlan.path
            );
            report.add(network.severity(), "macsec-parent-shared", &interface.path, message);
        }
        let first = *seen.entry((parent.as_str(), *port)).or_insert(interface);
        if !std::ptr::eq(first, interface) {
            let message = format!(
                "is on {parent} with port {port}, like {} ({}): the kernel creates only one of the two",
                first.name, first.path
            );
            report.add(network.severity(), "macsec-parent-shared", &interface.path, message);
        }
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
        let base = base(network, parent);
        let below = network.interface(base).filter(|below| address_of(below) == Some(mac));
        let first = *seen.entry((base, mac)).or_insert(interface);
        if let Some(other) = below.or_else(|| Some(first).filter(|first| !std::ptr::eq(*first, interface))) {
            let message = format!(
                "sets the MAC address {mac}, like {} ({}): a MACVLAN needs an address that neither {base} nor another \
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
