//! Name servers of all profiles, in the order in which they are asked.

use std::net::IpAddr;

use super::profile::Profile;
use crate::family::Family;
use crate::model::{Dns, Interface, Method, NameServer};

/// The priority of a profile that says none.
const USUAL_PRIORITY: i32 = 100;

/// What profiles say about names, by the priorities that they give it.
#[derive(Default)]
pub(super) struct Resolver(Vec<((i32, String, Family), Dns)>);

impl Resolver {
    /// Takes what a profile says.
    pub(super) fn read(&mut self, profile: &Profile<'_>, interface: &Interface) {
        for (name, family, ip) in [("ipv4", Family::V4, &interface.ipv4), ("ipv6", Family::V6, &interface.ipv6)] {
            if ip.method == Method::Disabled {
                continue;
            }
            let section = profile.section(name);
            let path = section.at("dns");
            let servers = section.list("dns");
            let servers = servers.iter().filter_map(|server| {
                let (address, interface) = address(server)?;
                Some(NameServer { address, interface, path: path.clone() })
            });
            let servers = servers.collect();
            // With a tilde before it, a domain says only where to ask for its names.
            let search = section.list("dns-search").into_iter().filter(|domain| !domain.starts_with('~')).collect();
            let options = section.list("dns-options");
            let priority = section.parsed("dns-priority").filter(|priority| *priority != 0).unwrap_or(USUAL_PRIORITY);
            self.0.push((
                (priority, interface.name.clone(), family),
                Dns { servers, search, search_path: section.at("dns-search"), options },
            ));
        }
    }

    pub(super) fn into_dns(mut self) -> Dns {
        self.0.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut all = Dns::default();
        for (_, dns) in self.0 {
            for server in dns.servers {
                if !all.servers.iter().any(|there| there.address == server.address) {
                    all.servers.push(server);
                }
            }
            if all.search.is_empty() {
                all.search_path = dns.search_path;
            }
            add(&mut all.search, dns.search);
            add(&mut all.options, dns.options);
        }
        all
    }
}

fn add(all: &mut Vec<String>, new: Vec<String>) {
    for text in new {
        if !all.contains(&text) {
            all.push(text);
        }
    }
}

/// The address, and the interface, in `192.0.2.53`, `fe80::1%eth0`, `192.0.2.53#name` or `dns+tls://[2001:db8::53]:853#name`.
fn address(server: &str) -> Option<(IpAddr, Option<String>)> {
    let server = server.split_once("://").map_or(server, |(_, rest)| rest);
    let server = server.split_once('#').map_or(server, |(address, _)| address);
    let server = match server.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => server,
    };
    let (bare, interface) = server.split_once('%').map_or((server, None), |(bare, name)| (bare, Some(name.to_owned())));
    let address = bare.parse().ok().or_else(|| bare.rsplit_once(':')?.0.parse().ok());
    Some((address?, interface))
}
