//! Interfaces.

use std::collections::BTreeMap;

use super::Ip;
use vocabulary::host::MacAddress;
use vocabulary::report::DocumentPath;

/// An interface of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name where the profile finds it by name; else what the profile is called. All references use it.
    pub name: String,
    /// Where the user's documents describe it.
    pub path: DocumentPath,
    /// How the profile finds its device.
    pub device: Device,
    /// What it is.
    pub kind: Kind,
    /// Whether it comes up by itself.
    pub active: bool,
    /// The MAC address that it gets, where that is not its own.
    pub mac: Option<MacAddress>,
    /// The MTU, where it is said.
    pub mtu: Option<u32>,
    /// The bond, bridge or VRF of which it is a port.
    pub controller: Option<String>,
    /// IPv4.
    pub ipv4: Ip,
    /// IPv6.
    pub ipv6: Ip,
}

/// How a profile finds its device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Device {
    /// By the interface's name.
    Name,
    /// By the NIC's permanent MAC address.
    Mac(MacAddress),
    /// By its PCI address.
    Pci(String),
    /// It takes any: the profile says nothing.
    Any,
}

/// What an interface is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A NIC.
    Ethernet,
    /// A bond of its ports.
    Bond(Bond),
    /// A VLAN.
    Vlan(Vlan),
    /// A bridge of the kernel.
    LinuxBridge(Bridge),
    /// A VRF, with the number of its table.
    Vrf(u32),
    /// A VXLAN: its identifier, and the interface that it stands on.
    Vxlan {
        /// The identifier.
        id: u32,
        /// The interface that it stands on, if it is bound to one.
        parent: Option<String>,
    },
    /// A MACVLAN or a MACVTAP.
    MacVlan {
        /// The interface that it stands on.
        parent: String,
        /// Whether it is a MACVTAP.
        tap: bool,
    },
    /// A link that `MACsec` encrypts.
    Macsec {
        /// The interface that it stands on.
        parent: String,
    },
    /// An end of a pair, with the name of the other.
    Veth(String),
    /// An interface that leads nowhere.
    Dummy,
    /// `InfiniBand`, and the interface that it is a partition of.
    Infiniband(Option<String>),
    /// The loopback.
    Loopback,
    /// Something else, by its name in NetworkManager.
    Other(String),
}

/// A bond.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bond {
    /// Its mode, by the kernel's name: `802.3ad`.
    pub mode: String,
    /// Its options, without the mode.
    pub options: BTreeMap<String, String>,
}

/// A VLAN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vlan {
    /// The interface that it stands on.
    pub parent: String,
    /// Its identifier.
    pub id: u16,
}

/// A bridge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bridge {
    /// Whether it speaks the spanning tree protocol.
    pub stp: bool,
    /// Whether it keeps VLANs apart.
    pub vlan_filtering: bool,
}

impl Kind {
    /// The interface that one of this kind stands on, unless it stands on its ports.
    pub fn parent(&self) -> Option<&str> {
        match self {
            Self::Vlan(vlan) => Some(&vlan.parent),
            Self::MacVlan { parent, .. } | Self::Macsec { parent } => Some(parent),
            Self::Vxlan { parent, .. } | Self::Infiniband(parent) => parent.as_deref(),
            _ => None,
        }
    }

    /// The metric that NetworkManager gives to routes by such a device which say none
    /// (`nm_device_get_route_metric_default`).
    pub fn usual_metric(&self) -> u32 {
        match self {
            Self::Ethernet | Self::Veth(_) => 100,
            Self::Macsec { .. } => 125,
            Self::Infiniband(_) => 150,
            Self::Bond(_) => 300,
            Self::Vlan(_) => 400,
            Self::MacVlan { .. } => 410,
            Self::LinuxBridge(_) => 425,
            Self::Vrf(_) => 470,
            Self::Vxlan { .. } => 500,
            Self::Dummy => 550,
            Self::Loopback | Self::Other(_) => 950,
        }
    }

    /// What people call it.
    pub fn name(&self) -> &str {
        match self {
            Self::Ethernet => "ethernet",
            Self::Bond(_) => "bond",
            Self::Vlan(_) => "vlan",
            Self::LinuxBridge(_) => "bridge",
            Self::Vrf(_) => "vrf",
            Self::Vxlan { .. } => "vxlan",
            Self::MacVlan { tap: false, .. } => "macvlan",
            Self::MacVlan { tap: true, .. } => "macvtap",
            Self::Macsec { .. } => "macsec",
            Self::Veth(_) => "veth",
            Self::Dummy => "dummy",
            Self::Infiniband(_) => "infiniband",
            Self::Loopback => "loopback",
            Self::Other(name) => name,
        }
    }
}
