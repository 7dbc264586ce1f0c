//! Parts of a topology in words, for tables and pictures.

use crate::family::Family;
use crate::model::{Device, Interface, Ip, Kind, MAIN_TABLE, Method, Route, RouteKind, Topology, Vxlan};

/// How many ports are named one by one.
const PORTS_NAMED: usize = 8;

impl Topology {
    /// What an interface is: `bond 802.3ad of eno1, eno2`, `vlan 20 on bond0`.
    pub fn describe(&self, interface: &Interface) -> String {
        let kind = &interface.kind;
        let mut text = match kind {
            Kind::Bond(bond) => format!("bond {}{}", bond.mode, self.of_ports(interface)),
            Kind::LinuxBridge(bridge) => {
                let filtering = if bridge.vlan_filtering { ", filters VLANs" } else { "" };
                format!("bridge{}{filtering}", self.of_ports(interface))
            }
            Kind::Vrf(table) => format!("vrf, table {table},{}", self.of_ports(interface)),
            Kind::Vlan(vlan) => format!("vlan {} on {}", vlan.id, vlan.parent),
            Kind::Vxlan(Vxlan { id, parent: Some(parent), .. }) => format!("vxlan {id} on {parent}"),
            Kind::Vxlan(Vxlan { id, parent: None, .. }) => format!("vxlan {id}"),
            Kind::MacVlan { parent, .. } | Kind::Macsec { parent, .. } => format!("{} on {parent}", kind.name()),
            Kind::Infiniband(Some(parent)) => format!("infiniband partition of {parent}"),
            Kind::Veth(peer) => format!("veth, the other end is {peer}"),
            _ => kind.name().to_owned(),
        };
        if let Some(controller) = &interface.controller {
            text.push_str(", port of ");
            text.push_str(controller);
        }
        if !interface.active {
            text.push_str(", stays down");
        }
        text
    }

    fn of_ports(&self, interface: &Interface) -> String {
        let ports: Vec<&str> = self.ports(&interface.name).map(|port| port.name.as_str()).collect();
        let more = ports.len().saturating_sub(PORTS_NAMED);
        let named = ports.iter().take(PORTS_NAMED).copied().collect::<Vec<_>>().join(", ");
        match (ports.is_empty(), more) {
            (true, _) => " without ports".to_owned(),
            (_, 0) => format!(" of {named}"),
            _ => format!(" of {named} and {more} more"),
        }
    }
}

impl Device {
    /// How the profile finds it: `name`, `MAC 52:54:00:12:34:56`.
    pub fn describe(&self) -> String {
        match self {
            Self::Name => "name".to_owned(),
            Self::Mac(mac) => format!("MAC {mac}"),
            Self::Pci(address) => format!("PCI {address}"),
            Self::Any => "nothing: any device".to_owned(),
        }
    }
}

impl Interface {
    /// Its addresses, and who offers it others.
    pub fn describe_addresses(&self) -> Vec<String> {
        let mut all = Vec::new();
        for family in Family::BOTH {
            all.extend(self.ip(family).addresses.iter().map(|address| address.network.to_string()));
            all.extend(self.offers().filter(|(offered, _)| *offered == family).map(|(_, by)| by.to_owned()));
        }
        // What every interface with IPv6 has is worth a word only where there is nothing else.
        if all.is_empty() && [&self.ipv4, &self.ipv6].iter().any(|ip| ip.method == Method::LinkLocal) {
            all.push("link-local".to_owned());
        }
        all
    }

    /// Where the routes go that the network offers, if not where they usually go: `metric 50, table 100`.
    pub(super) fn describe_automatic(ip: &Ip) -> Option<String> {
        let metric = ip.metric.map(|metric| format!("metric {metric}"));
        let table = Some(ip.automatic_table).filter(|table| *table != MAIN_TABLE).map(|table| format!("table {table}"));
        let said: Vec<String> = metric.into_iter().chain(table).collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    /// The families that get addresses from the network, and who offers them.
    pub(super) fn offers(&self) -> impl Iterator<Item = (Family, &'static str)> {
        Family::BOTH.into_iter().filter_map(move |family| match (self.ip(family).method, family) {
            (Method::Disabled | Method::Static | Method::LinkLocal, _) => None,
            (Method::Dhcp, Family::V4) => Some((family, "DHCPv4")),
            (Method::Dhcp, Family::V6) => Some((family, "DHCPv6")),
            (Method::RouterAdvertisements, _) => Some((family, "router advertisements")),
        })
    }
}

impl Route {
    /// Where it leads: `default`, `10.0.0.0/8`.
    pub fn describe_destination(&self) -> String {
        if self.is_default() { "default".to_owned() } else { self.destination.to_string() }
    }
}

impl RouteKind {
    /// What becomes of packets, as `ip route` says it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unicast => "unicast",
            Self::Blackhole => "blackhole",
            Self::Unreachable => "unreachable",
            Self::Prohibit => "prohibit",
        }
    }
}
