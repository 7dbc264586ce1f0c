//! Addresses that a host cannot use in their network.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

/// Why a host cannot use an address, or had better not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unusable {
    Unspecified,
    Loopback,
    Multicast,
    Broadcast,
    Network,
    Anycast,
    Reserved,
    Mapped,
    NoPrefix,
}

impl Unusable {
    /// Whether nothing works with such an address.
    pub(super) fn is_certain(self) -> bool {
        !matches!(self, Self::Anycast | Self::Reserved)
    }
}

impl fmt::Display for Unusable {
    /// The end of a sentence that has said the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "which is the unspecified address",
            Self::Loopback => "which is a loopback address: it reaches only the host itself",
            Self::Multicast => "which is a multicast address: it belongs to a group, not to a host",
            Self::Broadcast => "which is the broadcast address of its network; no host can have it",
            Self::Network => "which is the address of the network itself; no host can have it",
            Self::Anycast => "which is the anycast address of the network's routers, and not meant for a host",
            Self::Reserved => "which is in a reserved range that routers drop",
            Self::Mapped => "which is an IPv4 address in IPv6 notation, and not an address of a network",
            Self::NoPrefix => "whose prefix length is 0: every address would be on its link",
        })
    }
}

/// Why a host cannot have this address with this prefix; none where it can.
pub(super) fn unusable(network: IpNet) -> Option<Unusable> {
    let by_itself = match network.addr() {
        IpAddr::V4(ip) if ip == Ipv4Addr::BROADCAST => Some(Unusable::Broadcast),
        IpAddr::V4(ip) if ip.octets().first() == Some(&0) => Some(Unusable::Unspecified),
        IpAddr::V4(ip) if ip.octets().first().is_some_and(|first| *first >= 240) => Some(Unusable::Reserved),
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => Some(Unusable::Mapped),
        ip if ip.is_unspecified() => Some(Unusable::Unspecified),
        ip if ip.is_loopback() => Some(Unusable::Loopback),
        ip if ip.is_multicast() => Some(Unusable::Multicast),
        _ => None,
    };
    by_itself.or_else(|| in_network(network))
}

/// Why no host can have an address in this network.
pub(super) fn in_network(network: IpNet) -> Option<Unusable> {
    match network {
        _ if network.prefix_len() == 0 => Some(Unusable::NoPrefix),
        // In a network of one or two addresses, a host can have each of them (RFC 3021, RFC 6164).
        _ if network.max_prefix_len() - network.prefix_len() < 2 => None,
        IpNet::V4(net) if net.addr() == net.network() => Some(Unusable::Network),
        IpNet::V4(net) if net.addr() == net.broadcast() => Some(Unusable::Broadcast),
        IpNet::V6(net) if net.addr() == net.network() => Some(Unusable::Anycast),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_can_have_depends_on_the_prefix() {
        for good in ["192.0.2.1/24", "192.0.2.0/31", "192.0.2.1/31", "192.0.2.255/32", "10.0.0.0/32", "10.0.1.0/16"] {
            assert_eq!(unusable(good.parse().unwrap()), None, "{good}");
        }
        for good in ["2001:db8::1/64", "2001:db8::/127", "2001:db8::/128", "fe80::1/64", "2001:db8::ffff/112"] {
            assert_eq!(unusable(good.parse().unwrap()), None, "{good}");
        }
        for (bad, why) in [
            ("192.0.2.0/24", Unusable::Network),
            ("192.0.2.255/24", Unusable::Broadcast),
            ("192.0.2.3/30", Unusable::Broadcast),
            ("255.255.255.255/32", Unusable::Broadcast),
            ("0.0.0.0/0", Unusable::Unspecified),
            ("0.1.2.3/8", Unusable::Unspecified),
            ("127.0.0.1/8", Unusable::Loopback),
            ("224.0.0.1/24", Unusable::Multicast),
            ("240.0.0.1/24", Unusable::Reserved),
            ("192.0.2.1/0", Unusable::NoPrefix),
            ("::/64", Unusable::Unspecified),
            ("::1/128", Unusable::Loopback),
            ("ff02::1/64", Unusable::Multicast),
            ("2001:db8::/64", Unusable::Anycast),
            ("::ffff:192.0.2.1/120", Unusable::Mapped),
        ] {
            assert_eq!(unusable(bad.parse().unwrap()), Some(why), "{bad}");
        }
    }
}
