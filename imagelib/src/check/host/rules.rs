//! Routing rules: which tables a host looks in.

use std::net::IpAddr;

use ipnet::IpNet;

use super::Network;
use crate::topology::{MAIN_TABLE, Rule};

/// Whether packets to an address that have no source yet, as what the host itself sends, are looked up in a table.
pub(super) fn lead_to(network: &Network<'_>, table: u32, destination: IpAddr) -> bool {
    let is_for_any = |rule: &&Rule| {
        // The loopback is where what the host itself sends comes in.
        let is_elsewhere = behind(rule, "iif").is_some_and(|interface| interface != "lo");
        let is_marked = behind(rule, "fwmark").is_some() || behind(rule, "type").is_some();
        let leads_there = behind(rule, "to").and_then(parsed).is_none_or(|to| to.contains(&destination));
        let has_source = behind(rule, "from").and_then(parsed).is_some_and(|from| from.prefix_len() > 0);
        leads_there && !has_source && !is_elsewhere && !is_marked
    };
    // The rules that every host has lead to main, default and local.
    matches!(table, 253..=255) || network.topology.rules.iter().filter(is_for_any).any(|rule| rule.table == table)
}

/// The table of its own that packets from an address are looked up in first.
pub(super) fn table_from(network: &Network<'_>, source: IpAddr) -> Option<u32> {
    let is_from = |rule: &&Rule| {
        let from = behind(rule, "from").and_then(parsed);
        from.is_some_and(|from| from.prefix_len() > 0 && from.contains(&source))
    };
    let first = network.topology.rules.iter().filter(is_from).min_by_key(|rule| rule.priority)?;
    Some(first.table).filter(|table| *table != MAIN_TABLE)
}

/// What follows a word of a rule.
fn behind<'a>(rule: &'a Rule, word: &str) -> Option<&'a str> {
    let mut words = rule.selector.split_whitespace();
    words.find(|found| *found == word)?;
    words.next()
}

/// A network; none, where it is `all`.
fn parsed(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}
