//! Routes, routing rules and name servers.

use std::net::IpAddr;

use ipnet::IpNet;

use vocabulary::report::DocumentPath;

/// A route that is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Where it leads.
    pub destination: IpNet,
    /// What becomes of packets that take it.
    pub kind: RouteKind,
    /// The interface whose profile has it; none, where it leads nowhere and is the host's.
    pub interface: Option<String>,
    /// The next hop; none, where the destination is on the link.
    pub gateway: Option<IpAddr>,
    /// Where the user's documents say that.
    pub gateway_path: DocumentPath,
    /// The address that what the host sends by this route comes from, where it is said.
    pub source: Option<IpAddr>,
    /// Its metric, where it is said.
    pub metric: Option<u32>,
    /// The table that it is in.
    pub table: u32,
    /// Where the user's documents say so.
    pub path: DocumentPath,
}

/// What becomes of packets that take a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteKind {
    /// They are sent on.
    Unicast,
    /// They are dropped in silence.
    Blackhole,
    /// They are dropped, and the sender is told that there is no way.
    Unreachable,
    /// They are dropped, and the sender is told that they are not wanted.
    Prohibit,
}

/// A routing rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its priority, where it is said.
    pub priority: Option<u32>,
    /// What it is about, in the words of `ip rule`: `from 192.0.2.0/24 iif eth0`.
    pub selector: String,
    /// The table that it sends to.
    pub table: u32,
    /// Where the user's documents say so.
    pub path: DocumentPath,
}

/// Whom a host asks for names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dns {
    /// The name servers, in the order in which they are asked.
    pub servers: Vec<NameServer>,
    /// The domains in which short names are looked for.
    pub search: Vec<String>,
    /// Where the user's documents list them.
    pub search_path: DocumentPath,
    /// The resolver's options.
    pub options: Vec<String>,
}

/// A name server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameServer {
    /// Its address.
    pub address: IpAddr,
    /// The interface by which it is asked, where it is said.
    pub interface: Option<String>,
    /// Where the user's documents say so.
    pub path: DocumentPath,
}

/// The metric that the kernel gives to IPv6 routes which say none (`IP6_RT_PRIO_USER`).
const IPV6_METRIC: u32 = 1024;

impl Route {
    /// Its metric, unless that is the one which the kernel gives to routes that say none.
    pub fn unusual_metric(&self) -> Option<u32> {
        let is_usual = |metric: u32| metric == 0 || metric == IPV6_METRIC && self.destination.addr().is_ipv6();
        self.metric.filter(|metric| !is_usual(*metric))
    }

    /// Whether it is a default route.
    pub fn is_default(&self) -> bool {
        self.destination.prefix_len() == 0
    }
}
