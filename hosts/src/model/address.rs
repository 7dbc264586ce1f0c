//! What an interface has of IPv4 or of IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::MAIN_TABLE;
use crate::family::Family;
use vocabulary::report::DocumentPath;

/// One family of an interface.
#[allow(clippy::struct_excessive_bools, reason = "settings that are independent of each other")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ip {
    /// Where addresses come from, besides the static ones.
    pub method: Method,
    /// The static addresses, in their order.
    pub addresses: Vec<Address>,
    /// Whether name servers that the network offers are taken.
    pub automatic_dns: bool,
    /// Whether routes that the network offers are taken.
    pub automatic_routes: bool,
    /// Whether the default route is taken among these.
    pub automatic_gateway: bool,
    /// The metric of the routes that come with addresses, if it is set.
    pub metric: Option<u32>,
    /// The table of the routes that the network offers.
    pub automatic_table: u32,
    /// IPv4 only: whether the DHCP client calls itself by an IAID and a DUID (RFC 4361).
    pub dhcp_duid: bool,
    /// Whether the DHCP client sends a host name.
    pub sends_hostname: bool,
    /// The host name that the DHCP client sends in place of the host's own.
    pub dhcp_hostname: Option<String>,
    /// IPv6 only: the interface identifier of the addresses that router advertisements give (`ip token`).
    pub token: Option<Ipv6Addr>,
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

impl Address {
    /// Whether the loopback has it on every host.
    pub(super) fn is_usual_of_loopback(&self) -> bool {
        let address = self.network.addr();
        address == Ipv4Addr::LOCALHOST || address == Ipv6Addr::LOCALHOST
    }

    /// Whether only the host itself reaches it.
    pub(crate) fn is_of_loopback(&self) -> bool {
        self.network.addr().is_loopback()
    }
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

    /// Whether the network offers a default route of this family that is taken. `DHCPv6` by itself knows no routers.
    pub(crate) fn learns_gateway(&self, family: Family) -> bool {
        self.takes_gateway() && (family == Family::V4 || self.method == Method::RouterAdvertisements)
    }

    /// Whether the network may tell it name servers, which are used.
    pub(crate) fn learns_name_servers(&self) -> bool {
        self.is_automatic() && self.automatic_dns
    }

    /// Whether the kernel finds a gateway on the link without being told so.
    pub(crate) fn finds_on_link(&self, gateway: IpAddr) -> bool {
        let is_link_local = matches!(gateway, IpAddr::V6(gateway) if gateway.is_unicast_link_local());
        is_link_local || self.is_automatic() || self.addresses.iter().any(|address| address.network.contains(&gateway))
    }

    /// The first static address in whose network another one is, such as that of a router.
    pub(crate) fn address_beside(&self, other: IpAddr) -> Option<IpNet> {
        self.addresses.iter().map(|own| own.network).find(|network| network.contains(&other))
    }

    /// A family that is off.
    pub fn disabled(path: DocumentPath) -> Self {
        Self {
            method: Method::Disabled,
            addresses: Vec::new(),
            automatic_dns: false,
            automatic_routes: false,
            automatic_gateway: false,
            metric: None,
            automatic_table: MAIN_TABLE,
            dhcp_duid: false,
            sends_hostname: false,
            dhcp_hostname: None,
            token: None,
            path,
        }
    }
}
