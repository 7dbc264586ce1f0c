//! MTUs of interfaces that stand on each other.

use std::collections::BTreeMap;

use super::Network;
use crate::model::{Family, Interface, Kind};
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::{DocumentPath, Report};

/// The MTU of a NIC by default.
const USUAL: u32 = 1500;
/// What a VXLAN adds to a packet: an Ethernet header, its own, and those of UDP and of IPv4 or IPv6.
const VXLAN_OVER_IPV4: u32 = 50;
const VXLAN_OVER_IPV6: u32 = 70;
/// What `MACsec` adds to a packet: its tag with an identifier, and a checksum of the usual length (`macsec_change_mtu`).
const MACSEC: u32 = 32;
/// How many interfaces that stand on each other are looked through for an MTU.
const DEPTH: usize = 32;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    let mut mtus = Mtus { network, known: BTreeMap::new() };
    for interface in &network.topology.interfaces {
        by_itself(network, interface, report);
        if let (Kind::Vlan(_) | Kind::MacVlan { .. } | Kind::Macsec { .. } | Kind::Vxlan(_), Some(mtu), Some(parent)) =
            (&interface.kind, interface.mtu, interface.kind.parent().filter(|parent| !parent.is_empty()))
        {
            match network.interface(parent) {
                Some(parent) => on_parent(network, interface, mtu, parent, mtus.of(parent, 0), report),
                None => on_unlisted(network, interface, mtu, parent, report),
            }
        }
        let controller = interface.controller.as_deref().and_then(|name| network.interface(name));
        if let Some(controller) = controller {
            on_port(interface, controller, &mut mtus, report);
        }
    }
}

/// What no interface of its kind can have, whatever it stands on: `ETH_MIN_MTU`, `ETH_MAX_MTU` and `IPOIB_CM_MTU`. The kernel
/// does not bound the MTU of a dummy, and NetworkManager leaves that of a VRF as it is.
fn by_itself(network: &Network<'_>, interface: &Interface, report: &mut Report) {
    let most = match interface.kind {
        Kind::Infiniband(_) => 65_520,
        Kind::Vrf(_) if network.files == NetworkFiles::Keyfiles => {
            // `nmstatectl show` prints the kernel's default.
            if interface.mtu.is_some_and(|mtu| mtu != 0 && mtu != 65_575) {
                let message = "has no effect: NetworkManager does not set the MTU of a VRF";
                report.warning("vrf-mtu-unused", &place(network, interface), message);
            }
            return;
        }
        Kind::Dummy | Kind::Vrf(_) | Kind::Loopback | Kind::Other(_) => return,
        _ => 65_535,
    };
    // NetworkManager takes 0 for an MTU that nobody says.
    let Some(mtu) = interface.mtu.filter(|mtu| *mtu != 0) else { return };
    if !(68..=most).contains(&mtu) {
        let message = format!("is {mtu}, and the kernel accepts 68 to {most} for an interface of this type");
        report.error("mtu-unusable", &place(network, interface), message);
    }
}

/// How much larger the packets are that an interface sends through the one below it.
fn header(kind: &Kind) -> u32 {
    match kind {
        Kind::Vxlan(vxlan) => match vxlan.family() {
            Family::V4 => VXLAN_OVER_IPV4,
            Family::V6 => VXLAN_OVER_IPV6,
        },
        Kind::Macsec { .. } => MACSEC,
        _ => 0,
    }
}

/// The MTU that an interface gets.
#[derive(Debug, Clone, Copy)]
struct Mtu<'a> {
    bytes: u32,
    /// The interface for which it is said; none, where nobody says it.
    said_of: Option<&'a Interface>,
}

/// The MTUs of interfaces, each found once.
struct Mtus<'n, 'a> {
    network: &'n Network<'a>,
    known: BTreeMap<&'a str, Mtu<'a>>,
}

impl<'a> Mtus<'_, 'a> {
    /// What an interface has that is given none, it takes from below.
    fn of(&mut self, interface: &'a Interface, depth: usize) -> Mtu<'a> {
        let usual = Mtu { bytes: USUAL, said_of: None };
        if let Some(mtu) = self.known.get(interface.name.as_str()) {
            return *mtu;
        }
        if depth == DEPTH {
            return usual;
        }
        // Interfaces that depend on themselves.
        self.known.insert(&interface.name, usual);
        let network = self.network;
        let parent = interface.kind.parent().and_then(|parent| network.interface(parent));
        let mtu = match (interface.mtu, &interface.kind) {
            (Some(bytes), _) => Mtu { bytes, said_of: Some(interface) },
            // A VXLAN without a base interface has the usual MTU.
            (None, Kind::Vlan(_) | Kind::MacVlan { .. } | Kind::Macsec { .. } | Kind::Vxlan(_))
                if interface.kind.parent().is_some() =>
            {
                let below = parent.map_or(usual, |parent| self.of(parent, depth + 1));
                Mtu { bytes: below.bytes.saturating_sub(header(&interface.kind)), ..below }
            }
            (None, Kind::LinuxBridge(_)) => {
                let ports = network.ports(&interface.name).iter().map(|port| self.of(port, depth + 1));
                ports.min_by_key(|mtu| (mtu.bytes, mtu.said_of.is_none())).unwrap_or(usual)
            }
            _ => usual,
        };
        self.known.insert(&interface.name, mtu);
        mtu
    }
}

/// The kernel refuses an MTU above that of the parent (`vlan_dev_change_mtu`, `macvlan_change_mtu`,
/// `macsec_change_mtu`, `vxlan_change_mtu`).
fn on_parent(
    network: &Network<'_>,
    interface: &Interface,
    mtu: u32,
    parent: &Interface,
    below: Mtu<'_>,
    report: &mut Report,
) {
    let header = header(&interface.kind);
    let header_said = match header {
        0 => String::new(),
        MACSEC => format!(", of which MACsec needs {header}"),
        VXLAN_OVER_IPV6 => format!(", of which VXLAN over IPv6 needs {header}"),
        _ => format!(", of which VXLAN needs {header}"),
    };
    if mtu <= below.bytes.saturating_sub(header) {
        return;
    }
    let (own, name, path, bytes) = (&interface.name, &parent.name, &parent.path, below.bytes);
    if let Some(said_of) = below.said_of {
        let of = if said_of.name == parent.name { String::new() } else { format!(" from {}", said_of.name) };
        let message = format!(
            "is {mtu}, and {name}, the base interface of {own}, has {bytes}{of} ({}){header_said}: the kernel refuses \
             more than that",
            said_of.path
        );
        report.error("mtu-above-parent", &place(network, interface), message);
    } else {
        let needed = mtu.saturating_add(header);
        let given = if needed == mtu { "as well" } else { "at least" };
        let message = format!(
            "is {mtu}, and {name}, the base interface of {own}, sets no MTU ({path}), so it usually has \
             {bytes}{header_said}; give it {needed} {given}"
        );
        report.warning("mtu-above-parent", &place(network, interface), message);
    }
}

/// A NIC that has no entry of its own keeps the MTU that its driver gives it.
fn on_unlisted(network: &Network<'_>, interface: &Interface, mtu: u32, parent: &str, report: &mut Report) {
    let needed = mtu.saturating_add(header(&interface.kind));
    if needed > USUAL {
        let message = format!(
            "is {mtu}, and {parent}, the base interface of {}, has no entry with an MTU, so it usually has {USUAL}; \
             add an entry for {parent} with mtu: {needed}",
            interface.name
        );
        report.warning("mtu-above-parent", &place(network, interface), message);
    }
}

fn on_port<'a>(port: &'a Interface, controller: &Interface, mtus: &mut Mtus<'_, 'a>, report: &mut Report) {
    match (&controller.kind, controller.mtu) {
        // A bond sets its own MTU on its ports.
        (Kind::Bond(_), bond) if port.mtu.is_some_and(|own| own != bond.unwrap_or(USUAL)) => {
            let own = port.mtu.unwrap_or(USUAL);
            let bond = bond.map_or_else(|| format!("{USUAL} by default"), |mtu| mtu.to_string());
            let message = format!(
                "is {own}, and as a port {} gets the MTU of {}, which is {bond} ({})",
                port.name, controller.name, controller.path
            );
            report.warning("mtu-of-port", &place(mtus.network, port), message);
        }
        (Kind::LinuxBridge(_), Some(bridge)) => {
            let own = mtus.of(port, 0);
            if bridge <= own.bytes {
                return;
            }
            let says = if port.mtu.is_some() { "is" } else { "has MTU" };
            let own = match own.said_of {
                None => format!("{} by default", own.bytes),
                Some(said_of) if said_of.name == port.name => own.bytes.to_string(),
                Some(said_of) => format!("{} from {} ({})", own.bytes, said_of.name, said_of.path),
            };
            let message = format!(
                "{says} {own}, and {}, of which {} is a port, has {bridge} ({}): the port drops larger packets",
                controller.name, port.name, controller.path
            );
            report.warning("mtu-of-port", &place(mtus.network, port), message);
        }
        _ => {}
    }
}

/// Where an interface is given its MTU; where it is described, if it is given none.
fn place(network: &Network<'_>, interface: &Interface) -> DocumentPath {
    match interface.mtu {
        None => interface.path.clone(),
        Some(_) => network.place(interface, &["mtu"], &["ethernet", "mtu"]),
    }
}
