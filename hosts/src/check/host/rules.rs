//! Routing rules: which tables a host looks in.

use std::net::IpAddr;

use super::Network;
use crate::model::{MAIN_TABLE, RouteKind, Rule};

/// Whether packets to an address that have no source yet, as what the host itself sends, are looked up in a table.
pub(super) fn lead_to(network: &Network<'_>, table: u32, destination: IpAddr) -> bool {
    let is_for_any = |rule: &&Rule| {
        // The loopback is where what the host itself sends comes in.
        let is_elsewhere = rule.iif.as_ref().is_some_and(|interface| interface != "lo");
        let leads_there = rule.to.is_none_or(|to| to.contains(&destination));
        let is_unicast = rule.kind == RouteKind::Unicast;
        leads_there && rule.from.is_none() && !is_elsewhere && rule.mark.is_none() && is_unicast
    };
    // The rules that every host has lead to main, default and local.
    matches!(table, 253..=255) || network.topology.rules.iter().filter(is_for_any).any(|rule| rule.table == table)
}

/// The table of its own that packets from an address are looked up in first.
pub(super) fn table_from(network: &Network<'_>, source: IpAddr) -> Option<u32> {
    let is_from = |rule: &&Rule| rule.from.is_some_and(|from| from.contains(&source));
    let first = network.topology.rules.iter().filter(is_from).min_by_key(|rule| rule.priority)?;
    Some(first.table).filter(|table| *table != MAIN_TABLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckedHost;
    use crate::model::Topology;
    use vocabulary::host::{HostSpec, NmstateDocument};
    use vocabulary::report::DocumentPath;

    fn with<T>(selectors: &[&str], ask: impl FnOnce(&Network<'_>) -> T) -> T {
        let rules = (0..).zip(selectors).map(|(number, selector)| {
            let table = 100 + number;
            format!("routing-rule{number}=priority {number} {selector} table {table}\n")
        });
        let profile = format!("[connection]\nid=eth0\ntype=ethernet\n[ipv4]\n{}", rules.collect::<String>());
        let topology = Topology::from_profiles([(DocumentPath::root(), profile.as_str())], None);
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
