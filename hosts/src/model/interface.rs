//! Interfaces.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Address, Bridge, BridgePort, Ip, kernel_metric};
use crate::family::Family;
use vocabulary::host::MacAddress;
use vocabulary::report::DocumentPath;

/// An interface of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name where the profile finds it by name; else what the profile is called. All references use it.
    pub name: String,
    /// What the document calls it: its name, unless its profile has one of its own.
    pub label: String,
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
    /// The MTU, if it is set.
    pub mtu: Option<u32>,
    /// The bond, bridge or VRF of which it is a port.
    pub controller: Option<String>,
    /// Settings that few interfaces have.
    pub options: InterfaceOptions,
    /// Its ports, in the document's order.
    pub ports: Vec<Port>,
    /// IPv4.
    pub ipv4: Ip,
    /// IPv6.
    pub ipv6: Ip,
}

/// Settings that few interfaces have, each if it is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterfaceOptions {
    /// What the document says about it.
    pub description: Option<String>,
    /// Whether it accepts frames for every MAC address.
    pub promiscuous: Option<bool>,
    /// Whether it receives LLDP packets.
    pub lldp: Option<bool>,
    /// Which addresses the system waits for when it starts.
    pub wait_ip: Option<WaitIp>,
    /// Its settings as the port of a bridge.
    pub bridge_port: BridgePort,
    /// Whether it authenticates itself to the switch (802.1X).
    pub authenticates: bool,
}

/// A port of a bond, a bridge or a VRF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// The interface's name.
    pub name: String,
    /// Where the user's documents name it.
    pub path: DocumentPath,
}

/// The addresses without which an interface does not count as up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitIp {
    /// One of any family.
    Any,
    /// One of IPv4.
    V4,
    /// One of IPv6.
    V6,
    /// One of each family.
    Both,
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

/// How a MACVLAN or a MACVTAP shares its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MacVlanMode {
    /// With others: `vepa`, `bridge` or `private`.
    Shared,
    /// It has the parent to itself: `passthru`.
    Passthru,
    /// `source`, or none.
    Other,
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
    /// A VXLAN.
    Vxlan(Vxlan),
    /// A MACVLAN or a MACVTAP.
    MacVlan {
        /// The interface that it stands on.
        parent: String,
        /// Whether it is a MACVTAP.
        tap: bool,
        /// How it shares that interface.
        mode: MacVlanMode,
    },
    /// A link that `MACsec` encrypts.
    Macsec {
        /// The interface that it stands on.
        parent: String,
        /// The port in its identifier, by which the kernel tells links on one interface apart.
        port: u16,
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

/// The modes of bonds in the order of the kernel's numbers (`Documentation/networking/bonding.rst`). The first is the default.
pub(crate) const BOND_MODES: [&str; 7] =
    ["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"];

/// A bond.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bond {
    /// Its mode, by the kernel's name: `802.3ad`.
    pub mode: String,
    /// Its options, without the mode.
    pub options: BTreeMap<String, String>,
}

/// A VLAN.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vlan {
    /// The interface that it stands on.
    pub parent: String,
    /// Its identifier.
    pub id: u16,
    /// Its other settings.
    pub options: VlanOptions,
}

/// Settings that few VLANs have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VlanOptions {
    /// The protocol of its tags, `802.1q` or `802.1ad`, if it is set.
    pub protocol: Option<String>,
    /// The protocol that registers it with the switch, if there is one.
    pub registration: Option<Registration>,
    /// Whether it stays up without its parent, if that is set.
    pub loose_binding: Option<bool>,
    /// Whether the kernel reorders the headers of its packets, if that is set. The kernel does it by default.
    pub reorder_headers: Option<bool>,
    /// The kernel's priorities for those of received packets.
    pub ingress_priorities: Vec<PriorityMap>,
    /// The priorities of sent packets for the kernel's.
    pub egress_priorities: Vec<PriorityMap>,
}

/// A protocol by which a VLAN registers itself with the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// GVRP.
    Gvrp,
    /// MVRP.
    Mvrp,
}

/// An entry of a VLAN's priority map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PriorityMap {
    /// This priority becomes the other.
    pub from: u32,
    /// The other.
    pub to: u32,
}

/// A VXLAN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vxlan {
    /// Its identifier.
    pub id: u32,
    /// The interface that it stands on, if it is bound to one.
    pub parent: Option<String>,
    /// The address that it sends its packets to, if it is set.
    pub remote: Option<IpAddr>,
    /// The address that it sends its packets from, if it is set.
    pub local: Option<IpAddr>,
    /// The UDP port as the document has it; see [`Vxlan::udp_port`].
    pub port: u16,
}

/// Options of bonds that are words, each with its words in the order of the kernel's numbers for them.
const WORDS: &[(&str, &[&str])] = &[
    ("ad_select", &["stable", "bandwidth", "count"]),
    ("all_slaves_active", &["dropped", "delivered"]),
    ("arp_all_targets", &["any", "all"]),
    ("arp_validate", &["none", "active", "backup", "all", "filter", "filter_active", "filter_backup"]),
    ("fail_over_mac", &["none", "active", "follow"]),
    ("lacp_rate", &["slow", "fast"]),
    ("primary_reselect", &["always", "better", "failure"]),
    ("xmit_hash_policy", &["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"]),
];

impl Bond {
    /// The maximum number of targets of a family that a bond can monitor (`BOND_MAX_ARP_TARGETS`, `BOND_MAX_NS_TARGETS`).
    pub const MOST_TARGETS: usize = 16;
    /// How often NetworkManager looks at a bond's links by default, in milliseconds. The kernel would not look at all.
    pub const USUAL_MIIMON: u64 = 100;

    /// Whether the bond finds out by ARP or by neighbour discovery if it has a link. NetworkManager does not do so if miimon is set.
    pub fn asks_for_targets(&self) -> bool {
        let is_positive = |option: &str| self.number(option).is_some_and(|interval| interval > 0);
        is_positive("arp_interval") && !is_positive("miimon")
    }

    /// How often NetworkManager looks at the bond's links, in milliseconds. `None` if it asks for targets instead.
    pub fn miimon(&self) -> Option<u64> {
        self.number("miimon").or_else(|| (!self.asks_for_targets()).then_some(Self::USUAL_MIIMON))
    }

    /// An option's value; the word, where the document has the kernel's number for one.
    pub fn option(&self, name: &str) -> Option<&str> {
        let value = self.options.get(name)?;
        let words = WORDS.iter().find(|(option, _)| *option == name).map_or(&[][..], |(_, words)| words);
        let numbered = value.parse().ok().and_then(|number: usize| words.get(number));
        Some(numbered.copied().unwrap_or(value))
    }

    /// An option that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.options.get(name)?.parse().ok()
    }
}

impl Vxlan {
    /// The default UDP port (`nm-settings(5)`). The kernel also uses it for port 0.
    pub const USUAL_PORT: u16 = 8472;

    /// The UDP port to which the VXLAN sends its packets, and at which it receives packets.
    pub fn udp_port(&self) -> u16 {
        if self.port == 0 { Self::USUAL_PORT } else { self.port }
    }

    /// The family of its packets: that of the one address that it has, and IPv4 if it has none (`vxlan_config_validate`).
    pub fn family(&self) -> Family {
        self.remote.or(self.local).map_or(Family::V4, Family::of)
    }
}

impl Interface {
    /// What it has of a family.
    pub fn ip(&self, family: Family) -> &Ip {
        match family {
            Family::V4 => &self.ipv4,
            Family::V6 => &self.ipv6,
        }
    }

    /// Both families.
    pub(crate) fn families(&self) -> [&Ip; 2] {
        [&self.ipv4, &self.ipv6]
    }

    /// The metric of the routes of a family that the network offers.
    pub(crate) fn learned_metric(&self, family: Family) -> u32 {
        match self.ip(family).metric {
            Some(0) => kernel_metric(family),
            Some(metric) => metric,
            None => self.kind.usual_metric(),
        }
    }

    /// The static addresses of both families.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.ipv4.addresses.iter().chain(&self.ipv6.addresses)
    }

    /// An interface of which only the name is known.
    pub fn bare(name: &str, kind: Kind, path: DocumentPath) -> Self {
        Self {
            name: name.to_owned(),
            label: name.to_owned(),
            device: Device::Name,
            kind,
            active: true,
            mac: None,
            mtu: None,
            controller: None,
            options: InterfaceOptions::default(),
            ports: Vec::new(),
            ipv4: Ip::disabled(path.clone()),
            ipv6: Ip::disabled(path.clone()),
            path,
        }
    }
}

impl Kind {
    /// The default port of a `MACsec` link (`nm-settings(5)`).
    pub(crate) const USUAL_MACSEC_PORT: u16 = 1;

    /// The interface that one of this kind stands on, unless it stands on its ports.
    pub fn parent(&self) -> Option<&str> {
        match self {
            Self::Vlan(vlan) => Some(&vlan.parent),
            Self::MacVlan { parent, .. } | Self::Macsec { parent, .. } => Some(parent),
            Self::Vxlan(Vxlan { parent, .. }) | Self::Infiniband(parent) => parent.as_deref(),
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
            Self::Vxlan(_) => 500,
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
            Self::Vxlan(_) => "vxlan",
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
