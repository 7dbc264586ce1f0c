//! Name servers: NMState has them for the whole host, systemd-resolved asks each by way of one interface.
//!
//! A query to a server of an interface goes out through that interface, so each server stands with the interface that
//! the routes lead to it by.

use std::net::IpAddr;

use super::plan::{Node, Plan};
use super::routes::Way;
use crate::model::{Dns, NameServer};
use crate::network::form::Findings;
use crate::nmstate_document::quoted;
use vocabulary::report::DocumentPath;

/// Writes whom to ask for names; `path` is that of the document.
pub(super) fn write<'a>(
    plan: &mut Plan<'a>,
    ways: &[Way<'a>],
    dns: &Dns,
    path: &DocumentPath,
    findings: &mut Findings<'_>,
) {
    let Dns { servers, search, search_path, options: _ } = dns;
    let mut holders: Vec<usize> = Vec::new();
    for NameServer { address, interface, path } in servers {
        if interface.is_some() {
            findings.refuse(path, "it is not an IP address, or names an interface");
            continue;
        }
        match holder(plan, ways, *address) {
            Some((index, node)) => {
                node.network.set("Network", "DNS", address.to_string());
                if !holders.contains(&index) {
                    holders.push(index);
                }
            }
            None => findings.refuse(path, "no interface of the document has a route to it"),
        }
    }
    for (index, domain) in search.iter().enumerate().filter(|(_, domain)| !is_domain(domain)) {
        findings.refuse(&search_path.index(index), &format!("{} is not a domain name", quoted(domain)));
    }
    let search: Vec<&str> = search.iter().map(String::as_str).filter(|domain| is_domain(domain)).collect();
    if holders.is_empty() {
        holders = (0..plan.nodes.len()).filter(|index| plan.nodes.get(*index).is_some_and(asks)).collect();
    }
    if !search.is_empty() && holders.is_empty() && servers.is_empty() {
        findings.refuse(search_path, "no interface has a name server to ask");
    }
    for index in holders {
        if let Some(node) = plan.nodes.get_mut(index).filter(|_| !search.is_empty()) {
            node.network.set("Network", "Domains", search.join(" "));
        }
    }
    if !servers.is_empty() || !search.is_empty() {
        let message = "takes effect where systemd-resolved runs: networkd itself writes no resolv.conf";
        findings.warn("needs-systemd-resolved", &path.key("dns-resolver").key("config"), message);
    }
}

/// Whether it is a domain's name and nothing else: `~` would make it a route for queries, `%` is a specifier, and blanks
/// separate domains.
fn is_domain(domain: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    domain.chars().all(plain) && !domain.trim_matches('.').is_empty()
}

/// Whether the network gives an interface name servers.
fn asks(node: &Node<'_>) -> bool {
    [&node.ip.v4, &node.ip.v6].iter().any(|family| family.automatic.as_ref().is_some_and(|automatic| automatic.dns))
}

/// The interface by which an address is reached: the longest prefix, then the least metric, then the first.
fn holder<'p, 'a>(plan: &'p mut Plan<'a>, ways: &[Way<'a>], address: IpAddr) -> Option<(usize, &'p mut Node<'a>)> {
    let routed = |node: &Node<'_>| {
        let connected = node.ip.family(address).addresses.iter().filter(|network| network.contains(&address));
        let connected = connected.map(|network| (network.prefix_len(), 0));
        let through = ways
            .iter()
            .filter(|way| way.interface == node.name && way.destination.contains(&address))
            .map(|way| (way.destination.prefix_len(), way.metric));
        let family = node.ip.family(address);
        // What the network says has no say against what the document says.
        let automatic = family.automatic.as_ref().filter(|automatic| automatic.gateway).map(|_| (0, u64::MAX));
        connected.chain(through).chain(automatic).min_by_key(|(length, metric)| (u8::MAX - length, *metric))
    };
    let best = plan
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| !node.in_vrf())
        .filter_map(|(index, node)| Some((index, routed(node)?)))
        .min_by_key(|(index, (length, metric))| (u8::MAX - length, *metric, *index))?;
    plan.nodes.get_mut(best.0).map(|node| (best.0, node))
}
