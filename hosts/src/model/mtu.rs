//! The MTU that an interface gets, where the documents and the kernel's defaults tell.

use super::{Interface, Kind, Topology};

/// The default MTU of a NIC.
const USUAL_MTU: u32 = 1500;
/// How many interfaces that stand on each other are looked through for an MTU.
const DEPTH: usize = 8;

impl Topology {
    /// Returns the MTU that an interface gets: its own, or the one that the kernel gives it because of what it stands on.
    pub(crate) fn mtu(&self, interface: &Interface) -> Option<u32> {
        self.mtu_within(interface, DEPTH)
    }

    fn mtu_within(&self, interface: &Interface, depth: usize) -> Option<u32> {
        let below = |name: &str| match self.interface(name) {
            Some(parent) => self.mtu_within(parent, depth.checked_sub(1)?),
            None => Some(USUAL_MTU),
        };
        match (interface.mtu.filter(|mtu| *mtu != 0), &interface.kind) {
            (Some(mtu), _) => Some(mtu),
            (None, Kind::Vlan(vlan)) => below(&vlan.parent),
            (None, Kind::MacVlan { parent, .. }) => below(parent),
            (None, Kind::LinuxBridge(_)) => self
                .ports(&interface.name)
                .map(|port| self.mtu_within(port, depth.checked_sub(1)?))
                .min()
                .unwrap_or(Some(USUAL_MTU)),
            // A bond takes the MTU of its first port if that is not an Ethernet device (`bond_setup_by_slave`). The MTU of
            // InfiniBand depends on the fabric.
            (None, Kind::Bond(_)) => {
                let is_foreign = |port: &Interface| matches!(port.kind, Kind::Infiniband(_));
                (!self.ports(&interface.name).any(is_foreign)).then_some(USUAL_MTU)
            }
            (None, Kind::Ethernet) => Some(USUAL_MTU),
            (None, _) => None,
        }
    }
}
