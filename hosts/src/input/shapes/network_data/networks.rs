//! `networks`: addresses, how to get them, and their routes.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::address;
use super::links::Links;
use super::members;
use super::routes::{self, Route, Routes};
use super::services;
use crate::family::Family;
use crate::input::fields::Fields;
use crate::input::listing::quoted;
use vocabulary::report::{DocumentPath, Report, Reported};

/// The types, the family of each, and whether the addresses come from the network. Only cloud-init knows the last four.
///
/// If NetworkManager listens to routers at all, it does what they announce, including `DHCPv6`. So all automatic types for IPv6
/// mean the same.
const TYPES: [(&str, Family, bool); 9] = [
    ("ipv4", Family::V4, false),
    ("ipv4_dhcp", Family::V4, true),
    ("ipv6", Family::V6, false),
    ("ipv6_dhcp", Family::V6, true),
    ("ipv6_slaac", Family::V6, true),
    ("ipv6_dhcpv6-stateless", Family::V6, true),
    ("ipv6_dhcpv6-stateful", Family::V6, true),
    ("static", Family::V4, false),
    ("static6", Family::V6, false),
];

/// A network on a link.
#[derive(Debug)]
pub(super) struct Network<'a> {
    pub(super) path: DocumentPath,
    /// The id of the link.
    pub(super) link: &'a str,
    pub(super) family: Family,
    /// The address, unless it comes from the network.
    pub(super) address: Option<address::Placed>,
    pub(super) routes: Vec<Route>,
    pub(super) servers: Vec<(IpAddr, DocumentPath)>,
    pub(super) search: Vec<(&'a str, DocumentPath)>,
}

const KNOWN: [&str; 11] = [
    "id",
    "type",
    "link",
    "network_id",
    "ip_address",
    "netmask",
    "gateway",
    "routes",
    "services",
    "dns_nameservers",
    "dns_search",
];

/// Reads `networks`.
pub(super) fn read<'a>(top: &Fields<'a>, links: &Links<'a>, report: &mut Report) -> Vec<Network<'a>> {
    // If the links could not be read, it is unknown whether a reference is valid.
    let known_links = !report.has_errors();
    let mut networks = Vec::new();
    let mut ids: BTreeMap<&str, DocumentPath> = BTreeMap::new();
    for fields in members::mappings(top, "networks", report) {
        if let Ok(Some(id)) = fields.text("id", report)
            && let Some(first) = ids.insert(id, fields.path.clone())
        {
            let message = format!("is {id:?}, like the id of {first}; dayone reads both");
            report.warning("network-id-duplicate", &fields.path.key("id"), message);
        }
        networks.extend(read_one(&fields, known_links.then_some(links), report));
    }
    networks
}

fn read_one<'a>(fields: &Fields<'a>, links: Option<&Links<'a>>, report: &mut Report) -> Result<Network<'a>, Reported> {
    let link = fields.required_text("link", "the id of the link that the network is on", report);
    let found = fields.required_text("type", "ipv4, ipv4_dhcp, ipv6, ipv6_dhcp or ipv6_slaac", report)?;
    let Some((_, family, automatic)) = TYPES.into_iter().find(|(name, ..)| *name == found) else {
        let known = TYPES.map(|(name, ..)| name).join(", ");
        let message = format!("is {found:?}, which is not a network type; write one of {known}");
        return Err(fields.wrong("type", "network-type-unknown", message, report));
    };
    members::report_unknown(fields, &KNOWN, report);
    // Nova writes the address that the network will give. The host must not set it.
    let address = if automatic { Ok(None) } else { address::network(fields, "ip_address", family, report).map(Some) };
    let mut network = Network {
        path: fields.path.clone(),
        link: link?,
        family,
        address: address?,
        routes: Vec::new(),
        servers: services::read(fields, report),
        search: members::words(fields, "dns_search", report),
    };
    network.servers.extend(services::name_servers(fields, "dns_nameservers", report));
    let Routes { routes, servers } = routes::read(fields, family, report)?;
    network.routes = routes;
    network.servers.extend(servers);
    if let Some(links) = links {
        check_link(&network, links, report);
    }
    Ok(network)
}

fn check_link(network: &Network<'_>, links: &Links<'_>, report: &mut Report) {
    let path = network.path.key("link");
    let link = quoted(network.link);
    if links.get(network.link).is_none() {
        let message = format!("is {link}, and no link has that id; the ids are {}", links.ids());
        report.error("link-not-found", &path, message);
    } else if let Some(bond) = links.bond_of(network.link) {
        let bond = quoted(bond);
        let message = format!("is {link}, which is a link of the bond {bond} and can have no addresses; use the bond");
        report.error("network-on-port", &path, message);
    }
}
