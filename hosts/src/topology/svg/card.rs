//! Boxes with text.

use super::colours;
use super::text::{Font, limited, shortened};
use crate::model::{Device, Interface, Kind, Topology};
use vocabulary::host::MacAddress;

/// How many lines a box has at most.
const LINES: usize = 16;
/// From a box's edge to its text.
pub(super) const PADDING: i64 = 14;

/// A box.
#[derive(Debug, Clone)]
pub(super) struct Card {
    pub(super) lines: Vec<CardLine>,
    /// The colour that tells its kind.
    pub(super) accent: &'static str,
    pub(super) shape: Shape,
    pub(super) width: i64,
    pub(super) height: i64,
}

/// How a box looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Something that comes up.
    Solid,
    /// Something that does not, or that somebody else decides.
    Dashed,
    /// A place outside of the host.
    Tinted,
}

/// A line of text in a box.
#[derive(Debug, Clone)]
pub(super) struct CardLine {
    pub(super) text: String,
    pub(super) font: Font,
    pub(super) colour: &'static str,
}

impl Card {
    /// A box under a name.
    pub(super) fn new(name: &str, accent: &'static str, shape: Shape) -> Self {
        let mut card = Self { lines: Vec::new(), accent, shape, width: 0, height: 2 * PADDING - 6 };
        card.push(shortened(name), Font::NAME, colours::INK);
        card
    }

    /// Adds what it is.
    pub(super) fn kind(&mut self, text: &str) {
        self.push(limited(text, 60), Font::KIND, self.accent);
    }

    /// Adds an address, or something else that is written like one.
    pub(super) fn address(&mut self, text: &str) {
        self.push(limited(text, 60), Font::ADDRESS, colours::INK);
    }

    /// Adds something to know.
    pub(super) fn fact(&mut self, text: &str) {
        self.push(limited(text, 80), Font::FACT, colours::QUIET);
    }

    fn push(&mut self, text: String, font: Font, colour: &'static str) {
        let line = match self.lines.len() {
            ..LINES => CardLine { text, font, colour },
            LINES => CardLine { text: "…".to_owned(), font: Font::ADDRESS, colour: colours::QUIET },
            _ => return,
        };
        self.height += line.height();
        self.width = self.width.max(2 * PADDING + line.font.width(&line.text));
        self.lines.push(line);
    }
}

impl CardLine {
    /// How much of the box it takes.
    pub(super) fn height(&self) -> i64 {
        self.font.size + 5
    }
}

/// The box of an interface.
pub(super) fn interface(topology: &Topology, interface: &Interface, boot_mac: Option<MacAddress>) -> Card {
    let shape = if interface.active { Shape::Solid } else { Shape::Dashed };
    let mut card = Card::new(&interface.name, accent(&interface.kind), shape);
    card.kind(&kind(&interface.kind));
    match &interface.device {
        Device::Name => {}
        Device::Any => card.fact("takes any device"),
        found => card.fact(&format!("found by {}", found.describe())),
    }
    if let Some(mac) = interface.mac {
        card.fact(&format!("gets MAC {mac}"));
    }
    if let Some(mtu) = interface.mtu {
        card.fact(&format!("MTU {mtu}"));
    }
    if !interface.active {
        card.fact("stays down");
    }
    if boot_mac.is_some_and(|mac| boots_from(interface, mac)) {
        card.kind("boots from this NIC");
    }
    if matches!(interface.kind, Kind::Bond(_)) && topology.ports(&interface.name).next().is_none() {
        card.fact("without ports");
    }
    for address in interface.describe_addresses() {
        card.address(&address);
    }
    card
}

/// Whether an interface is known to be the NIC of this address.
pub(super) fn boots_from(interface: &Interface, mac: MacAddress) -> bool {
    interface.device == Device::Mac(mac) || interface.kind == Kind::Ethernet && interface.mac == Some(mac)
}

/// What an interface is, without what lines show.
fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Ethernet => "NIC".to_owned(),
        Kind::Bond(bond) => format!("bond {}", bond.mode),
        Kind::Vlan(vlan) => format!("VLAN {}", vlan.id),
        Kind::LinuxBridge(bridge) if bridge.vlan_filtering => "bridge that filters VLANs".to_owned(),
        Kind::Vrf(table) => format!("VRF, table {table}"),
        Kind::Vxlan(vxlan) => format!("VXLAN {}", vxlan.id),
        Kind::MacVlan { tap: false, .. } => "MACVLAN".to_owned(),
        Kind::MacVlan { tap: true, .. } => "MACVTAP".to_owned(),
        Kind::Macsec { .. } => "MACsec".to_owned(),
        Kind::Veth(peer) => format!("veth, its other end is {}", shortened(peer)),
        Kind::Infiniband(_) => "InfiniBand".to_owned(),
        other => other.name().to_owned(),
    }
}

fn accent(kind: &Kind) -> &'static str {
    match kind {
        Kind::Ethernet | Kind::Infiniband(_) => "#334e68",
        Kind::Bond(_) => "#0b5394",
        Kind::Vlan(_) => "#0f6b6b",
        Kind::LinuxBridge(_) => "#8a4b08",
        Kind::Vrf(_) => "#6b2fa0",
        Kind::Vxlan(_) | Kind::MacVlan { .. } | Kind::Macsec { .. } | Kind::Veth(_) => "#9c1f5c",
        Kind::Dummy | Kind::Loopback | Kind::Other(_) => "#52606d",
    }
}
