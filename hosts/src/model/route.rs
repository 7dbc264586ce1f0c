//! Routes, routing rules and name servers.

use std::net::IpAddr;

use ipnet::IpNet;

use super::MAIN_TABLE;
use crate::family::Family;
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
    /// The source address of what the host sends by this route, if it is set.
    pub source: Option<IpAddr>,
    /// Its metric, if it is set.
    pub metric: Option<u32>,
    /// The table that it is in.
    pub table: u32,
    /// Its other settings.
    pub options: RouteOptions,
    /// Where the user's documents say so.
    pub path: DocumentPath,
}

/// Settings that few routes have, each if it is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RouteOptions {
    /// The path's MTU.
    pub mtu: Option<u32>,
    /// Whether the kernel must not lower that MTU.
    pub lock_mtu: Option<bool>,
    /// The segment size that TCP advertises.
    pub advmss: Option<u32>,
    /// The greatest congestion window of TCP.
    pub cwnd: Option<u32>,
    /// The first congestion window of TCP.
    pub initcwnd: Option<u32>,
    /// The first receive window of TCP.
    pub initrwnd: Option<u32>,
    /// Whether TCP acknowledges at once.
    pub quickack: Option<bool>,
    /// The route's share of the traffic among equal routes.
    pub weight: Option<u32>,
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
    /// Its priority, if it is set.
    pub priority: Option<u32>,
    /// The family of the packets.
    pub family: Family,
    /// The network that the packets come from; none, if they come from any.
    pub from: Option<IpNet>,
    /// The network that the packets go to; none, if they go to any.
    pub to: Option<IpNet>,
    /// The interface that the packets come in by, if it matters.
    pub iif: Option<String>,
    /// The firewall mark of the packets, if it matters.
    pub mark: Option<u32>,
    /// The bits of the mark that count, if not all do.
    pub mask: Option<u32>,
    /// The longest prefix for which routes of the table are ignored, if it is set.
    pub suppress_prefix_length: Option<u32>,
    /// Other conditions, which NMState does not have, in the words of `ip rule`.
    pub others: Vec<String>,
    /// What becomes of the packets: only unicast ones are looked up in the table.
    pub kind: RouteKind,
    /// The table that the packets are looked up in.
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

/// The metric that the kernel gives to routes without a metric (`IP6_RT_PRIO_USER`).
pub(crate) fn kernel_metric(family: Family) -> u32 {
    match family {
        Family::V4 => 0,
        Family::V6 => 1024,
    }
}

impl Rule {
    /// A rule about all packets of a family, which are looked up in the main table.
    pub(super) fn of_all(family: Family, path: DocumentPath) -> Self {
        Self {
            priority: None,
            family,
            from: None,
            to: None,
            iif: None,
            mark: None,
            mask: None,
            suppress_prefix_length: None,
            others: Vec::new(),
            kind: RouteKind::Unicast,
            table: MAIN_TABLE,
            path,
        }
    }

    /// What it is about, in the words of `ip rule`: `from 192.0.2.0/24 iif eth0`.
    pub fn selector(&self) -> String {
        let Self {
            priority: _,
            family,
            from,
            to,
            iif,
            mark,
            mask,
            suppress_prefix_length,
            others,
            kind,
            table: _,
            path: _,
        } = self;
        let mut words: Vec<String> = others.clone();
        words.extend(to.map(|to| format!("to {to}")));
        words.extend(from.map(|from| format!("from {from}")));
        if to.is_none() && from.is_none() {
            words.push(format!("from {}", family.whole()));
        }
        words.extend(iif.as_ref().map(|name| format!("iif {name}")));
        words.extend(suppress_prefix_length.map(|length| format!("suppress_prefixlength {length}")));
        if *kind != RouteKind::Unicast {
            words.push(format!("type {}", kind.name()));
        }
        words.extend(mark.map(|mark| match mask {
            Some(mask) => format!("fwmark {mark:#x}/{mask:#x}"),
            None => format!("fwmark {mark:#x}"),
        }));
        words.join(" ")
    }
}

impl Route {
    /// Its metric, unless that is the one that the kernel gives to routes without a metric.
    pub fn unusual_metric(&self) -> Option<u32> {
        self.metric.filter(|metric| *metric != 0 && *metric != kernel_metric(self.family()))
    }

    /// Its metric, or the one that the kernel gives to routes without a metric.
    pub(crate) fn known_metric(&self) -> u32 {
        self.metric.unwrap_or(kernel_metric(self.family()))
    }

    /// Its family.
    pub fn family(&self) -> Family {
        Family::of(self.destination.addr())
    }

    /// Whether it is a default route.
    pub fn is_default(&self) -> bool {
        self.destination.prefix_len() == 0
    }
}
