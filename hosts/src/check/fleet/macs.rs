//! MAC addresses.

use std::collections::{BTreeMap, BTreeSet};

use super::{CheckedHost, Comparison, Holders};
use crate::model::{Device, Kind};
use vocabulary::host::MacAddress;
use vocabulary::report::DocumentPath;

pub(super) fn check(hosts: &[CheckedHost<'_>], found: &mut Comparison) {
    let mut seen = Holders(BTreeMap::new());
    for host in hosts {
        // A host says of one NIC at several places which it is, and a bond may have the address of its port.
        for (mac, path) in macs(host) {
            let says = |other: &str, first: &DocumentPath| {
                format!("has the MAC address {mac}, which {other} has as well ({first})")
            };
            seen.add(mac, host, path, "mac-address-of-two-hosts", says, found);
        }
    }
}

/// The addresses of a host that others can see, each once.
fn macs(host: &CheckedHost<'_>) -> Vec<(MacAddress, DocumentPath)> {
    let spec = host.host;
    let mut macs: Vec<(MacAddress, DocumentPath)> =
        spec.boot_mac.into_iter().map(|mac| (mac, spec.paths.boot_mac.clone())).collect();
    macs.extend(spec.nics.iter().map(|nic| (nic.mac, nic.path.clone())));
    for interface in &host.topology.interfaces {
        if let Device::Mac(mac) = interface.device {
            macs.push((mac, interface.path.clone()));
        }
        let leads = match interface.kind {
            Kind::Ethernet | Kind::Bond(_) | Kind::Vlan(_) => true,
            Kind::LinuxBridge(_) => host.topology.ports(&interface.name).next().is_some(),
            _ => false,
        };
        macs.extend(interface.mac.filter(|_| leads).map(|mac| (mac, interface.path.clone())));
    }
    let mut seen = BTreeSet::new();
    macs.retain(|(mac, _)| seen.insert(*mac));
    macs
}
