//! The networks that a host is on, with the gateways in them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::card::{Card, Shape};
use super::colours;
use super::graph::{Graph, MAX_DRAWN};
use crate::model::{Interface, MAIN_TABLE, Route, RouteKind, Topology};

const ACCENT: &str = "#2f6f44";

/// A network: those of different VRFs have nothing to do with each other.
type Key<'a> = (Option<&'a str>, IpNet);

/// What a network's box says.
#[derive(Default)]
struct Network {
    from: BTreeSet<usize>,
    /// The routes by each gateway; without one, those on the link.
    gateways: BTreeMap<Option<IpAddr>, Vec<String>>,
}

/// Adds networks, and what is offered on others, as the last column.
pub(super) fn add(topology: &Topology, graph: &mut Graph) {
    let vrf = |interface: &Interface| topology.vrf_of(interface).map(|vrf| vrf.name.as_str());
    let mut networks: BTreeMap<Key<'_>, Network> = BTreeMap::new();
    for interface in &topology.interfaces {
        let Some(node) = graph.by_name.get(&interface.name).copied() else { continue };
        let addresses = interface.addresses();
        for network in addresses.map(|address| address.network.trunc()).filter(is_network) {
            networks.entry((vrf(interface), network)).or_default().from.insert(node);
        }
    }
    let mut elsewhere: BTreeMap<Elsewhere, Network> = BTreeMap::new();
    for route in topology.routes.iter().filter(|route| route.kind == RouteKind::Unicast) {
        let Some(interface) = route.interface.as_deref().and_then(|name| topology.interface(name)) else { continue };
        let Some(node) = graph.by_name.get(&interface.name).copied() else { continue };
        let vrf = vrf(interface);
        let on = |gateway: &IpAddr| {
            let same = networks
                .iter()
                .filter(|((of, net), network)| *of == vrf && net.contains(gateway) && network.from.contains(&node));
            same.max_by_key(|((_, net), _)| net.prefix_len()).map(|(key, _)| *key)
        };
        let network = match route.gateway {
            None => networks.entry((vrf, route.destination)).or_default(),
            Some(gateway) => match on(&gateway) {
                Some(key) => networks.entry(key).or_default(),
                None => elsewhere.entry(Elsewhere::of(topology, interface, node, gateway)).or_default(),
            },
        };
        network.from.insert(node);
        network.gateways.entry(route.gateway).or_default().push(described(route));
    }
    let mut cards: Vec<(Card, BTreeSet<usize>)> = Vec::new();
    for ((_, net), network) in networks {
        let mut card = Card::new(&net.to_string(), ACCENT, Shape::Tinted);
        network.tell(&mut card);
        cards.push((card, network.from));
    }
    for (gateway, network) in elsewhere {
        let mut card = gateway.card();
        for routes in network.gateways.values().flatten() {
            card.fact(routes);
        }
        cards.push((card, network.from));
    }
    for interface in &topology.interfaces {
        if let (Some(card), Some(node)) = (offered(interface), graph.by_name.get(&interface.name)) {
            cards.push((card, BTreeSet::from([*node])));
        }
    }
    cards.truncate(MAX_DRAWN);
    graph.add_last(cards);
}

/// A gateway that is in no network of its interface.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Elsewhere {
    /// It is on the interface's link even so, and others on other links are other ones.
    OnLink(usize, IpAddr),
    Unreached(IpAddr),
}

impl Elsewhere {
    fn of(topology: &Topology, interface: &Interface, node: usize, gateway: IpAddr) -> Self {
        if topology.may_reach(interface, gateway) { Self::OnLink(node, gateway) } else { Self::Unreached(gateway) }
    }

    fn card(&self) -> Card {
        match self {
            Self::OnLink(_, gateway) => {
                let is_link_local = matches!(gateway, IpAddr::V6(address) if address.is_unicast_link_local());
                let mut card = Card::new(&gateway.to_string(), colours::QUIET, Shape::Tinted);
                card.kind(if is_link_local { "link-local gateway" } else { "gateway on the link" });
                card
            }
            Self::Unreached(gateway) => {
                let mut card = Card::new(&gateway.to_string(), colours::WARNING, Shape::Dashed);
                card.kind("gateway on no network of its interface");
                card
            }
        }
    }
}

impl Network {
    fn tell(&self, card: &mut Card) {
        for (gateway, routes) in &self.gateways {
            match gateway {
                Some(gateway) => card.kind(&format!("gateway {gateway}")),
                None => card.kind("on the link"),
            }
            for route in routes {
                card.fact(route);
            }
        }
    }
}

/// `default`, `10.0.0.0/8, metric 50, table 100`.
fn described(route: &Route) -> String {
    let mut text = route.describe_destination();
    if let Some(metric) = route.unusual_metric() {
        text = format!("{text}, metric {metric}");
    }
    if route.table != MAIN_TABLE {
        text = format!("{text}, table {}", route.table);
    }
    text
}

/// What an interface takes of what the network offers.
fn offered(interface: &Interface) -> Option<Card> {
    let mut card: Option<Card> = None;
    for (family, by) in interface.offers() {
        let ip = interface.ip(family);
        let card = card.get_or_insert_with(|| Card::new("what is offered", colours::QUIET, Shape::Dashed));
        card.kind(&format!("from {by}"));
        let is_way_out = ip.learns_gateway(family);
        let taken = [("addresses", true), ("default route", is_way_out), ("name servers", ip.automatic_dns)];
        let taken: Vec<&str> = taken.into_iter().filter(|(_, taken)| *taken).map(|(name, _)| name).collect();
        card.fact(&taken.join(", "));
        if let Some(place) = Interface::describe_automatic(ip) {
            card.fact(&format!("routes with {place}"));
        }
    }
    card
}

/// Whether others can be on it: it is no single address, and leads beyond the link.
fn is_network(network: &IpNet) -> bool {
    let link_local = match network.addr() {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    network.prefix_len() < network.max_prefix_len() && !link_local && !network.addr().is_loopback()
}
