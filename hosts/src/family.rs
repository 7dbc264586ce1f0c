//! The two families of addresses.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    pub(crate) const BOTH: [Self; 2] = [Self::V4, Self::V6];

    /// The family of an address.
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }

    /// What NMState and NetworkManager call it.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::V4 => "ipv4",
            Self::V6 => "ipv6",
        }
    }

    /// What people call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    /// How many bits an address has.
    pub(crate) fn length(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }

    /// The network of all its addresses.
    pub(crate) fn whole(self) -> IpNet {
        match self {
            Self::V4 => IpNet::V4(Ipv4Net::default()),
            Self::V6 => IpNet::V6(Ipv6Net::default()),
        }
    }

    /// The address that a text is, if it is one of this family.
    pub(crate) fn parse(self, text: &str) -> Option<IpAddr> {
        text.parse().ok().filter(|address| Self::of(*address) == self)
    }
}
