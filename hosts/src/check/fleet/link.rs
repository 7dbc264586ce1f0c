//! Which link an address is on, as far as documents say: hosts on different links may have one address.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use super::CheckedHost;
use super::facts::vlan;
use crate::model::{Address, Interface, MAIN_TABLE};

/// VLAN, VRF, and the routers by which the host leaves.
pub(super) type Site<'a> = (Option<u16>, Option<&'a str>, BTreeSet<IpAddr>);

/// What is known of the link of an address.
pub(super) struct Link<'a> {
    host: &'a CheckedHost<'a>,
    network: IpNet,
    /// The VLAN's identifier, where it is one.
    vlan: Option<u16>,
    /// The VRF, whose addresses are its own.
    vrf: Option<&'a str>,
}

impl<'a> Link<'a> {
    pub(super) fn of(host: &'a CheckedHost<'a>, interface: &'a Interface, address: &Address) -> Self {
        Self::with(host, interface, address.network)
    }

    /// The link on which an interface finds a gateway.
    pub(super) fn to_gateway(host: &'a CheckedHost<'a>, interface: &'a Interface, gateway: IpAddr) -> Self {
        let own = interface.addresses();
        let network = own.map(|address| address.network).find(|network| network.contains(&gateway));
        Self::with(host, interface, network.unwrap_or_else(|| gateway.into()))
    }

    /// The link on which an interface asks for addresses.
    pub(super) fn of_automatic(host: &'a CheckedHost<'a>, interface: &'a Interface) -> Self {
        // Its network is unknown. This one is neither narrow nor that of a router.
        let link = Self::with(host, interface, IpAddr::V4(Ipv4Addr::UNSPECIFIED).into());
        let vlan = link.vlan.or_else(|| host.topology.ports(&interface.name).find_map(vlan));
        Self { vlan, ..link }
    }

    fn with(host: &'a CheckedHost<'a>, interface: &'a Interface, network: IpNet) -> Self {
        let vrf = host.topology.vrf_of(interface).map(|vrf| vrf.name.as_str());
        Self { host, network, vlan: vlan(interface), vrf }
    }

    /// What of this and of the host tells whether it is apart from a link of another length.
    pub(super) fn site(&self) -> Site<'a> {
        (self.vlan, self.vrf, routers(self.host))
    }

    /// Whether the two have nothing to do with each other, as far as a careful operator may mean it so.
    pub(super) fn is_apart_from(&self, other: &Self) -> bool {
        self.vlan.zip(other.vlan).is_some_and(|(own, other)| own != other)
            || self.vrf != other.vrf
            || (self.is_narrow() && other.is_narrow())
            || self.is_at_another_site(other)
    }

    /// Whether it is a link between two hosts.
    fn is_narrow(&self) -> bool {
        matches!(self.network.max_prefix_len() - self.network.prefix_len(), 1 | 2)
    }

    /// Whether the hosts leave by different routers, and neither of them by this link: each site may have a network of its
    /// own that goes nowhere, with the same numbers.
    fn is_at_another_site(&self, other: &Self) -> bool {
        let (own, theirs) = (routers(self.host), routers(other.host));
        let leaves_here = |link: &Self, routers: &BTreeSet<IpAddr>| routers.iter().any(|ip| link.network.contains(ip));
        !own.is_empty()
            && !theirs.is_empty()
            && own.is_disjoint(&theirs)
            && !leaves_here(self, &own)
            && !leaves_here(other, &theirs)
    }
}

/// The routers by which a host leaves its networks. Of one that has an address of the link only, it is not known which
/// it is.
fn routers(host: &CheckedHost<'_>) -> BTreeSet<IpAddr> {
    let defaults = host.topology.routes.iter().filter(|route| route.is_default() && route.table == MAIN_TABLE);
    let gateways = defaults.filter_map(|route| route.gateway);
    gateways.filter(|router| !matches!(router, IpAddr::V6(ip) if ip.is_unicast_link_local())).collect()
}
