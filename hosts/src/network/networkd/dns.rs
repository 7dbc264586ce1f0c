//! Name servers: NMState has them for the whole host, systemd-resolved asks each by way of one interface.
//!
//! A query to a server of an interface goes out through that interface, so each server stands with the interface that
//! the routes lead to it by.

use super::plan::Plan;
use crate::model::{Dns, Interface, NameServer, Topology};
use crate::network::form::Findings;
use crate::nmstate_document::quoted;
use vocabulary::report::DocumentPath;

/// Writes whom to ask for names; `path` is that of the document.
pub(super) fn write(plan: &mut Plan<'_>, topology: &Topology, path: &DocumentPath, findings: &mut Findings<'_>) {
    let Dns { servers, search, search_path, options: _ } = &topology.dns;
    let mut holders: Vec<usize> = Vec::new();
    for NameServer { address, interface, path } in servers {
        if interface.is_some() {
            findings.refuse(path, "it is not an IP address, or names an interface");
            continue;
        }
        let interfaces: Vec<&Interface> = plan.nodes.iter().map(|node| node.interface.as_ref()).collect();
        let holder = topology.leading_to(*address, &interfaces);
        match holder.and_then(|index| Some((index, plan.nodes.get_mut(index)?))) {
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
        // The network may give these interfaces name servers.
        let asks =
            |interface: &Interface| interface.active && (interface.ipv4.automatic_dns || interface.ipv6.automatic_dns);
        holders = (0..).zip(&plan.nodes).filter(|(_, node)| asks(&node.interface)).map(|(index, _)| index).collect();
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
