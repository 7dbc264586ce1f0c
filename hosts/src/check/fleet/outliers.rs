//! One host that is unlike all others of its network, or of its role: in MTU, VLAN, gateway or name servers.
//!
//! One host may well differ by intent, so these are warnings, and there must be several others that all say the same. What
//! the host is explains a difference: the only one of its role in a network, the router of the others, their name server. So
//! does where it is: of hosts in several networks only those are compared that have a neighbour which is like the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::net::IpAddr;

use ipnet::IpNet;

use super::facts::{Facts, vlan};
use super::link::Link;
use super::tally::{Outlier, Tally};
use super::{CheckedHost, name_of, visible_addresses};
use crate::check::words;
use crate::model::{Interface, Route};
use vocabulary::report::{DocumentPath, Report};

/// A network on one link, as far as documents tell: with the VRF, and the routers of those who do not leave by this link.
type Place<'a> = (IpNet, Option<&'a str>, BTreeSet<IpAddr>);

/// Hosts that should be alike: those with an address in a network, or those of a role. What is not compared is empty.
#[derive(Default)]
struct Group<'f, 'a> {
    hosts: Vec<usize>,
    mtus: Tally<u32, &'a Interface>,
    vlans: Tally<u16, &'a Interface>,
    gateways: Tally<Vec<IpAddr>, &'a Route>,
    servers: Tally<&'f [IpAddr], ()>,
}

impl<'f, 'a> Group<'f, 'a> {
    /// Adds a host by the interface that it is in the group with.
    fn add_interface(&mut self, number: usize, of: &Facts<'a>, interface: &'a Interface) {
        if let Some(mtu) = of.host.topology.mtu(interface) {
            self.mtus.add(mtu, number, interface);
        }
        if let Some(vlan) = vlan(interface) {
            self.vlans.add(vlan, number, interface);
        }
    }

    fn add_servers(&mut self, number: usize, of: &'f Facts<'a>) {
        if !of.servers.is_empty() {
            self.servers.add(&of.servers, number, ());
        }
    }
}

pub(super) fn check(hosts: &[CheckedHost<'_>], report: &mut Report) {
    let facts: Vec<Facts<'_>> = hosts.iter().map(Facts::of).collect();
    let networks = networks(&facts);
    let mut findings = Findings { facts: &facts, reported: BTreeSet::new(), report };
    for ((network, ..), members) in &networks {
        let is_comparable = |host: usize| !is_alone_in_role(&facts, &members.hosts, host);
        findings.outliers(members, &format!("in {network}"), is_comparable);
    }
    roles(&facts, &networks, &mut findings);
}

/// The members of each network.
fn networks<'f, 'a>(facts: &'f [Facts<'a>]) -> BTreeMap<Place<'a>, Group<'f, 'a>> {
    let mut networks: BTreeMap<Place<'a>, Group<'f, 'a>> = BTreeMap::new();
    for (number, of) in facts.iter().enumerate() {
        let mut seen: Vec<Place<'a>> = Vec::new();
        for (interface, address) in visible_addresses(of.host) {
            let network = address.network.trunc();
            if network.prefix_len() == network.max_prefix_len() {
                continue;
            }
            let (_, vrf, routers) = Link::of(of.host, interface, address).site();
            let leaves_here = routers.iter().any(|router| network.contains(router));
            let place = (network, vrf, if leaves_here { BTreeSet::new() } else { routers });
            if seen.contains(&place) {
                continue;
            }
            let members = networks.entry(place.clone()).or_default();
            seen.push(place);
            members.hosts.push(number);
            members.add_interface(number, of, interface);
            if let Some((gateways, route)) = of.gateways(|gateway| network.contains(gateway)) {
                members.gateways.add(gateways, number, route);
            }
            members.add_servers(number, of);
        }
    }
    networks
}

/// Whether a host is the only one of its role among others of which each has one, too.
fn is_alone_in_role(facts: &[Facts<'_>], hosts: &[usize], host: usize) -> bool {
    let role = |number: usize| facts.get(number).and_then(|of| of.host.host.role.as_deref());
    let own = role(host);
    own.is_some() && hosts.iter().all(|other| *other == host || role(*other) != own)
}

/// Hosts of one role in many small networks, or without addresses in their documents.
fn roles<'a>(facts: &[Facts<'a>], networks: &BTreeMap<Place<'a>, Group<'_, 'a>>, findings: &mut Findings<'_, '_, 'a>) {
    let mut clients: BTreeMap<&str, Group<'_, 'a>> = BTreeMap::new();
    let mut peers: BTreeMap<(&str, &str), Group<'_, 'a>> = BTreeMap::new();
    for (number, of) in facts.iter().enumerate() {
        let Some(role) = of.host.host.role.as_deref() else { continue };
        if !of.servers.is_empty() {
            let clients = clients.entry(role).or_default();
            clients.hosts.push(number);
            clients.add_servers(number, of);
        }
        if let Some(main) = of.main {
            // By the interface by which they leave.
            let peers = peers.entry((role, &main.name)).or_default();
            peers.hosts.push(number);
            peers.add_interface(number, of, main);
        }
    }
    let is_comparable = |hosts: &[usize], host: usize| {
        let peers: BTreeSet<usize> = hosts.iter().copied().collect();
        // All peers but the host itself are like each other.
        let mut around = networks.values().filter(|members| members.hosts.contains(&host));
        around.any(|members| members.hosts.iter().any(|other| *other != host && peers.contains(other)))
            || hosts.iter().all(|host| facts.get(*host).is_some_and(|of| !of.is_static()))
    };
    let peers = peers.iter().map(|((role, _), peers)| (role, peers));
    for (role, group) in clients.iter().chain(peers) {
        let is_comparable = |host: usize| is_comparable(&group.hosts, host);
        findings.outliers(group, &format!("of the role {role}"), is_comparable);
    }
}

/// What is found, each thing of a host once: a host has most things in two networks, one of each family.
struct Findings<'r, 'f, 'a> {
    facts: &'f [Facts<'a>],
    reported: BTreeSet<(usize, &'static str, String)>,
    report: &'r mut Report,
}

impl<'a> Findings<'_, '_, 'a> {
    fn outliers(&mut self, of: &Group<'_, 'a>, group: &str, is_comparable: impl Fn(usize) -> bool) {
        if let Some(odd) = of.mtus.outlier().filter(|odd| is_comparable(odd.host)) {
            self.mtu(&odd, group);
        }
        if let Some(odd) = of.vlans.outlier().filter(|odd| is_comparable(odd.host)) {
            self.vlan(&odd, group);
        }
        if let Some(odd) = of.gateways.outlier().filter(|odd| is_comparable(odd.host)) {
            self.gateways(&odd, group);
        }
        if let Some(odd) = of.servers.outlier().filter(|odd| is_comparable(odd.host)) {
            self.servers(&odd, group);
        }
    }

    fn mtu(&mut self, odd: &Outlier<'_, u32, &'a Interface>, group: &str) {
        let stated = odd.place.mtu.is_some_and(|mtu| mtu != 0);
        let path = if stated {
            self.place(odd.host, odd.place, &["mtu"], &["ethernet", "mtu"])
        } else {
            odd.place.path.clone()
        };
        let message = |name: &str| {
            format!(
                "gives {name} an MTU of {} on {}, and all {} other hosts {group} have {}",
                odd.own, odd.place.name, odd.others, odd.common
            )
        };
        self.add(odd.host, "mtu-unlike-others", &path, &odd.place.name, message);
    }

    fn vlan(&mut self, odd: &Outlier<'_, u16, &'a Interface>, group: &str) {
        let message = |name: &str| {
            format!(
                "puts {name} into VLAN {}, and all {} other hosts {group} into VLAN {}",
                odd.own, odd.others, odd.common
            )
        };
        let path = self.place(odd.host, odd.place, &["vlan", "id"], &["vlan", "id"]);
        self.add(odd.host, "vlan-unlike-others", &path, &odd.place.name, message);
    }

    fn gateways(&mut self, odd: &Outlier<'_, Vec<IpAddr>, &'a Route>, group: &str) {
        // The router of the others leaves by another one.
        if odd.common.iter().any(|gateway| self.has(odd.host, *gateway)) {
            return;
        }
        let message = |name: &str| addresses_differ(name, "gateway", odd.own, odd.common, odd.others, group);
        self.add(odd.host, "gateway-unlike-others", &odd.place.gateway_path, &listed(odd.own), message);
    }

    fn servers(&mut self, odd: &Outlier<'_, &[IpAddr], ()>, group: &str) {
        let Some(of) = self.facts.get(odd.host) else { return };
        // The name server of the others asks another one.
        if odd.common.iter().any(|server| of.has(*server)) {
            return;
        }
        let servers = &of.host.topology.dns.servers;
        let own = servers.iter().find(|server| !odd.common.contains(&server.address)).or(servers.first());
        let Some(path) = own.map(|server| &server.path) else { return };
        let message = |name: &str| addresses_differ(name, "name server", odd.own, odd.common, odd.others, group);
        self.add(odd.host, "name-servers-unlike-others", path, "", message);
    }

    fn has(&self, host: usize, address: IpAddr) -> bool {
        self.facts.get(host).is_some_and(|of| of.has(address))
    }

    fn place(&self, host: usize, interface: &Interface, nmstate: &[&str], keyfile: &[&str]) -> DocumentPath {
        let host = self.facts.get(host).map(|of| of.host.host);
        host.map_or_else(|| interface.path.clone(), |host| words::place(host, interface, nmstate, keyfile))
    }

    fn add(
        &mut self,
        host: usize,
        code: &'static str,
        path: &DocumentPath,
        what: &str,
        message: impl FnOnce(&str) -> String,
    ) {
        if let Some(of) = self.facts.get(host)
            && self.reported.insert((host, code, what.to_owned()))
        {
            self.report.warning(code, path, message(&name_of(of.host)));
        }
    }
}

fn addresses_differ(name: &str, what: &str, own: &[IpAddr], common: &[IpAddr], others: usize, group: &str) -> String {
    let (plural, own, common) = (if own.len() == 1 { "" } else { "s" }, listed(own), listed(common));
    format!("gives {name} the {what}{plural} {own}, and all {others} other hosts {group} have {common}")
}

/// A few addresses in a row.
fn listed(all: &[impl Display]) -> String {
    let some: Vec<String> = all.iter().take(4).map(ToString::to_string).collect();
    some.join(", ")
}
