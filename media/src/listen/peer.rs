//! The client at the other end of a connection.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The client of a connection. Every request has it as an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The client's address.
    pub address: SocketAddr,
    /// The version of TLS: `1.2`, `1.3` or `other`. `None` on plain HTTP.
    pub tls: Option<&'static str>,
}

/// What an answer has as an extension if anybody gets it who asks: it does not show that the client is one that the server is for,
/// so the connection may still be closed to make room for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeedsNoSecret;

/// What counts as one client: an IPv4 address, or the network of an IPv6 address, in which a machine can take any address.
pub fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address @ IpAddr::V4(_) => address,
    }
}
