//! What an interface has of IPv4 or of IPv6.

use ipnet::IpNet;

use super::MAIN_TABLE;
use vocabulary::report::DocumentPath;

/// One family of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ip {
    /// Where addresses come from, besides those written down.
    pub method: Method,
    /// The addresses written down, in their order.
    pub addresses: Vec<Address>,
    /// Whether name servers that the network offers are taken.
    pub automatic_dns: bool,
    /// Whether routes that the network offers are taken.
    pub automatic_routes: bool,
    /// Whether the default route is taken among these.
    pub automatic_gateway: bool,
    /// The metric of routes that the network gives, where it is said.
    pub automatic_metric: Option<u32>,
    /// The table that they are in.
    pub automatic_table: u32,
    /// Where the user's documents say so.
    pub path: DocumentPath,
}

/// Where an interface gets addresses of a family from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The family is off.
    Disabled,
    /// From its profile only.
    Static,
    /// From DHCP.
    Dhcp,
    /// IPv6 only: from router advertisements, and from DHCP where these say so.
    RouterAdvertisements,
    /// IPv6 only: nothing but the address that the kernel makes of itself.
    LinkLocal,
}

/// An address, with the length of its network's prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The address and the prefix's length.
    pub network: IpNet,
    /// Where the user's documents say so.
    pub path: DocumentPath,
}

impl Ip {
    /// Whether addresses come from the network.
    pub fn is_automatic(&self) -> bool {
        matches!(self.method, Method::Dhcp | Method::RouterAdvertisements)
    }

    /// Whether a default route that the network offers is taken.
    pub fn takes_gateway(&self) -> bool {
        self.automatic_routes && self.automatic_gateway
    }

    /// The family is off.
    pub fn disabled(path: DocumentPath) -> Self {
        Self {
            method: Method::Disabled,
            addresses: Vec::new(),
            automatic_dns: false,
            automatic_routes: false,
            automatic_gateway: false,
            automatic_metric: None,
            automatic_table: MAIN_TABLE,
            path,
        }
    }
}
