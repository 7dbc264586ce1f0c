//! Routing rules: which tables a host looks in.

use std::net::IpAddr;

use ipnet::IpNet;

use super::Network;
use crate::model::{MAIN_TABLE, Rule};

/// Whether packets to an address that have no source yet, as what the host itself sends, are looked up in a table.
pub(super) fn lead_to(network: &Network<'_>, table: u32, destination: IpAddr) -> bool {
    let is_for_any = |rule: &&Rule| {
        // The loopback is where what the host itself sends comes in.
        let is_elsewhere = behind(rule, "iif").is_some_and(|interface| interface != "lo");
        let is_marked = behind(rule, "fwmark").is_some();
        let drops = behind(rule, "type").is_some();
        let leads_there = behind(rule, "to").and_then(parsed).is_none_or(|to| to.contains(&destination));
        let has_source = behind(rule, "from").and_then(parsed).is_some_and(|from| from.prefix_len() > 0);
        leads_there && !has_source && !is_elsewhere && !is_marked && !drops
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckedHost;
    use crate::model::Topology;
    use vocabulary::host::{HostSpec, NmstateDocument};
    use vocabulary::report::DocumentPath;

    fn with<T>(selectors: &[&str], ask: impl FnOnce(&Network<'_>) -> T) -> T {
        let rule = |(number, selector): (u32, &&str)| Rule {
            priority: Some(number),
            selector: (*selector).to_owned(),
            table: 100 + number,
            path: DocumentPath::root(),
        };
        let topology = Topology { rules: (0..).zip(selectors).map(rule).collect(), ..Topology::default() };
        let host = HostSpec::with_network(NmstateDocument::new(serde_yaml::Value::Null, DocumentPath::root()));
        ask(&Network::of(CheckedHost { host: &host, topology: &topology }))
    }

    #[test]
    fn only_rules_that_fit_what_the_host_sends_lead_to_a_table() {
        let server = "198.51.100.53".parse().unwrap();
        let leads = |selector: &str| with(&[selector], |network| lead_to(network, 100, server));
        for selector in [
            "from all",
            "from 0.0.0.0/0",
            "to 198.51.100.0/24",
            "from all iif lo",
            "to 198.51.100.53 suppress_prefixlength 0",
        ] {
            assert!(leads(selector), "{selector}");
        }
        for selector in [
            "from 192.0.2.0/24",
            "to 203.0.113.0/24",
            "from all iif eth0",
            "from all fwmark 0x1",
            "from all type prohibit",
        ] {
            assert!(!leads(selector), "{selector}");
        }
        assert!(with(&[], |network| lead_to(network, MAIN_TABLE, server) && !lead_to(network, 100, server)));
    }

    #[test]
    fn the_first_rule_from_an_address_says_its_table() {
        let own = "192.0.2.10".parse().unwrap();
        let table = |selectors: &[&str]| with(selectors, |network| table_from(network, own));
        assert_eq!(table(&["from all", "from 192.0.2.10", "from 192.0.2.0/24"]), Some(101));
        assert_eq!(table(&["from 198.51.100.0/24"]), None);
    }
}
