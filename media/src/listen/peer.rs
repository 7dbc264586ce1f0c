//! The client at the other end of a connection.

use std::net::SocketAddr;

/// The client of a connection. Every request has it as an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The client's address.
    pub address: SocketAddr,
    /// The version of TLS: `1.2`, `1.3` or `other`. `None` on plain HTTP.
    pub tls: Option<&'static str>,
}
