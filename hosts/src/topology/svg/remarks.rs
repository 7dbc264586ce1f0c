//! What is not an interface's: the BMC, name servers, rules, and what is dropped.

use super::card::{Card, Shape, boots_from};
use super::picture::Picture;
use crate::model::{MAIN_TABLE, RouteKind};

const BMC: &str = "#8c2f2f";
const DNS: &str = "#4b3f8f";
const RULES: &str = "#52606d";

/// A box for each, where there is something to say.
pub(super) fn cards(picture: &Picture<'_>) -> Vec<Card> {
    [bmc(picture), dns(picture), rules(picture), dropped(picture)].into_iter().flatten().collect()
}

fn bmc(picture: &Picture<'_>) -> Option<Card> {
    let unseen =
        picture.boot_mac.filter(|mac| !picture.topology.interfaces.iter().any(|interface| boots_from(interface, *mac)));
    if picture.bmc.is_none() && unseen.is_none() {
        return None;
    }
    let mut card = Card::new(if picture.bmc.is_some() { "BMC" } else { "Boot" }, BMC, Shape::Solid);
    if let Some(address) = picture.bmc {
        card.address(address);
    }
    if let Some(mac) = unseen {
        card.fact(&format!("boots from the NIC with MAC {mac}"));
    }
    Some(card)
}

fn dns(picture: &Picture<'_>) -> Option<Card> {
    let dns = &picture.topology.dns;
    if dns.servers.is_empty() && dns.search.is_empty() && dns.options.is_empty() {
        return None;
    }
    let mut card = Card::new("Name servers", DNS, Shape::Solid);
    for server in &dns.servers {
        card.address(&server.address.to_string());
    }
    for domain in &dns.search {
        card.fact(&format!("search {domain}"));
    }
    for option in &dns.options {
        card.fact(&format!("option {option}"));
    }
    Some(card)
}

fn rules(picture: &Picture<'_>) -> Option<Card> {
    let mut rules: Vec<_> = picture.topology.rules.iter().collect();
    rules.sort_by_key(|rule| rule.priority);
    if rules.is_empty() {
        return None;
    }
    let mut card = Card::new("Routing rules", RULES, Shape::Solid);
    for rule in rules {
        let priority = rule.priority.map(|priority| format!("{priority}: ")).unwrap_or_default();
        let table = if rule.table == MAIN_TABLE { "main".to_owned() } else { rule.table.to_string() };
        card.address(&format!("{priority}{} → {table}", rule.selector()));
    }
    Some(card)
}

fn dropped(picture: &Picture<'_>) -> Option<Card> {
    let dropped = picture.topology.routes.iter().filter(|route| route.kind != RouteKind::Unicast);
    let mut lines: Vec<String> =
        dropped.map(|route| format!("{} {}", route.kind.name(), route.describe_destination())).collect();
    lines.sort();
    if lines.is_empty() {
        return None;
    }
    let mut card = Card::new("Dropped", RULES, Shape::Solid);
    for line in &lines {
        card.address(line);
    }
    Some(card)
}
