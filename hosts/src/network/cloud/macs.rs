//! The MAC addresses of bonds and bridges. With keyfiles, these have the address of a port; systemd-networkd makes one up.

use crate::model::{Device as FoundBy, Interface, Ip, Kind};
use crate::network::devices::{Device, Network};
use crate::network::form::Findings;
use vocabulary::host::MacAddress;

/// The MAC address of an interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mac {
    pub(super) address: MacAddress,
    /// Whether keyfiles may give a bond the address of another of its ports.
    is_guess: bool,
}

/// Returns the MAC address of an interface, if it is known: its own, the one that it is given, or that of an interface that it is made of.
pub(super) fn mac_of(network: &Network<'_>, device: &Device<'_>) -> Option<Mac> {
    // A VLAN on a bridge of VLANs on a bond of NICs: there are no more levels.
    mac_within(network, device, 4)
}

fn mac_within(network: &Network<'_>, device: &Device<'_>, levels: u8) -> Option<Mac> {
    let own = match device.interface.device {
        FoundBy::Mac(mac) => Some(mac),
        _ => device.interface.mac,
    };
    if let Some(address) = own {
        return Some(Mac { address, is_guess: false });
    }
    let levels = levels.checked_sub(1)?;
    let lower = device.lower();
    let below: Vec<&Device<'_>> = lower.iter().map(|(name, _)| network.device(name)).collect::<Option<_>>()?;
    match device.interface.kind {
        // The kernel gives a bridge the lowest address of its ports.
        Kind::LinuxBridge(_) => {
            let macs = below.into_iter().map(|port| mac_within(network, port, levels));
            let macs = macs.collect::<Option<Vec<Mac>>>()?;
            let is_guess = macs.iter().any(|mac| mac.is_guess);
            macs.into_iter().min().map(|lowest| Mac { is_guess, ..lowest })
        }
        // NetworkManager attaches ports in the order of their kernel names (`slaves-order`), and the first one gives the bond its address.
        Kind::Bond(_) if below.iter().all(|port| port.interface.device == FoundBy::Name) => {
            let first = below.into_iter().min_by(|a, b| a.interface.name.cmp(&b.interface.name))?;
            mac_within(network, first, levels)
        }
        // The document does not have the kernel names of ports that the host finds by their MAC addresses.
        _ => {
            let mac = mac_within(network, below.first()?, levels)?;
            Some(Mac { is_guess: mac.is_guess || below.len() > 1, ..mac })
        }
    }
}

/// Whether an interface has the MAC address of a port unless the document has one.
pub(super) fn is_made_of_ports(kind: &Kind) -> bool {
    matches!(kind, Kind::Bond(_) | Kind::LinuxBridge(_))
}

/// Warns about addresses that may not be those of keyfiles, which the DHCP server may know. A VLAN has that of its base interface.
pub(super) fn warn(network: &Network<'_>, findings: &mut Findings<'_>) {
    let asks = |device: &Device<'_>| device.interface.families().into_iter().any(Ip::is_automatic);
    for device in &network.devices {
        let Interface { name, path, kind, ports, .. } = device.interface.as_ref();
        let has_address = |other: &Device<'_>| match &other.interface.kind {
            Kind::Vlan(vlan) => vlan.parent == *name,
            _ => other.interface.name == *name,
        };
        let may_matter = is_made_of_ports(kind) && !ports.is_empty();
        if !may_matter || !network.devices.iter().any(|other| has_address(other) && asks(other)) {
            continue;
        }
        let message = match mac_of(network, device) {
            None => {
                "gets a MAC address that systemd-networkd makes up, because the addresses of its ports are not known: the \
                 network may give the host other IP addresses than with keyfiles"
            }
            Some(Mac { is_guess: true, .. }) => {
                "gets a MAC address that follows from the order of ports in the document, and with keyfiles from the order of \
                 their kernel names, which the document does not have: the network may give the host other IP addresses than \
                 with keyfiles"
            }
            Some(_) => continue,
        };
        findings.warn("mac-address-made-up", path, message);
    }
}
