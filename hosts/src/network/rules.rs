//! Routing rules: which profile holds each, and in which order.
//!
//! A rule belongs to no interface, and a keyfile must be somebody's. nmstate looks for an interface with a route in
//! the rule's table. Where several qualify it takes whichever its hash set names first, another one in the next
//! run; where the first has no address of the rule's family, the rule is lost; and several rules of one interface
//! come out in the order of another hash set. Images must be the same every time, so where nmstate's choice is not
//! certain dayone chooses: the rule goes to nmstate with an `iif` that names the holder, and comes back without. nmstate
//! chooses by the document, disabled families and all, so this reads the document and not the model.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;

use serde_yaml::{Mapping, Value};

use super::profiles::{Group, Profile};
use crate::nmstate_document::interfaces::Interface;
use crate::nmstate_document::routes::network;
use crate::nmstate_document::{elements, is_true, mapping, number, quoted, text};
use vocabulary::report::{DocumentPath, Report};

/// The table that rules and routes are about when they name none (`RT_TABLE_MAIN`).
const MAIN_TABLE: u64 = 254;
const KEY: &str = "routing-rule";

/// Holders that were written into rules, to be taken out again.
#[derive(Debug, Default)]
pub(super) struct Holders {
    /// The holder, and the rule's priority where another rule has the same `iif` by the user's own will.
    assigned: BTreeSet<(String, Option<u64>)>,
    /// How many different rules there are.
    rules: usize,
}

/// Names the holder in each rule of `document` for which nmstate's own choice is not certain.
pub(super) fn assign(
    document: &mut Mapping,
    interfaces: &[Interface<'_>],
    path: &DocumentPath,
    report: &mut Report,
) -> Holders {
    let path = path.key("route-rules").key("config");
    let mut holders = Holders::default();
    let present = |rule: &&Value| text_of(rule, "state") != Some("absent");
    let rules: Vec<Value> = elements(document, &["route-rules", "config"]).to_vec();
    if rules.is_empty() {
        return holders;
    }
    let wanted: BTreeSet<&str> = rules.iter().filter(present).filter_map(|rule| text_of(rule, "iif")).collect();
    let routes = Routes::of(elements(document, &["routes", "config"]));
    let mut distinct = BTreeSet::new();
    for (index, rule) in rules.iter().enumerate().filter(|(_, rule)| present(rule)) {
        distinct.insert(RuleKey::of(rule));
        // Of any type: nmstate refuses what is no text.
        if rule.get("iif").is_some_and(|iif| !iif.is_null()) {
            continue;
        }
        let rule = Rule::of(rule);
        let holder = match rule.holder(interfaces, &routes) {
            Holder::Certain => continue,
            Holder::Chosen(holder) => holder,
            Holder::Nobody => {
                let message = format!("belongs to no interface: no interface that is up has {} enabled", rule.family);
                report.error("route-rule-without-interface", &path.index(index), message);
                continue;
            }
        };
        let shared = wanted.contains(holder);
        if shared && rule.priority.is_none() {
            let message =
                format!("has no priority, and could be mistaken for another rule with iif {}", quoted(holder));
            report.error("route-rule-without-priority", &path.index(index), message + "; add a priority");
            continue;
        }
        holders.assigned.insert((holder.to_owned(), rule.priority.filter(|_| shared)));
        let config = document.get_mut("route-rules").and_then(|rules| rules.get_mut("config"));
        if let Some(Value::Mapping(rule)) = config.and_then(|config| config.get_mut(index)) {
            rule.insert("iif".into(), holder.into());
        }
    }
    holders.rules = distinct.len();
    holders
}

/// What tells rules apart, however they are written: of two that are the same, nmstate writes one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RuleKey<'a> {
    family: &'static str,
    networks: [Option<IpNet>; 2],
    words: [Option<&'a str>; 2],
    numbers: [Option<u64>; 5],
}

impl<'a> RuleKey<'a> {
    fn of(rule: &'a Value) -> Self {
        Self {
            family: Rule::of(rule).family,
            networks: ["ip-from", "ip-to"]
                .map(|key| text_of(rule, key).and_then(network).map(|network| network.trunc())),
            words: ["action", "iif"].map(|key| text_of(rule, key)),
            numbers: ["priority", "route-table", "fwmark", "fwmask", "suppress-prefix-length"]
                .map(|key| number(rule.get(key))),
        }
    }
}

/// Which families and tables each interface has routes in.
struct Routes(BTreeMap<String, BTreeSet<(&'static str, u64)>>);

impl Routes {
    fn of(routes: &[Value]) -> Self {
        let mut of: BTreeMap<String, BTreeSet<(&'static str, u64)>> = BTreeMap::new();
        for route in routes.iter().filter(|route| text_of(route, "state") != Some("absent")) {
            if let Some(via) = text_of(route, "next-hop-interface") {
                let is_v6 = text_of(route, "destination").is_some_and(|destination| destination.contains(':'));
                let family = if is_v6 { "ipv6" } else { "ipv4" };
                of.entry(via.to_owned()).or_default().insert((family, table(route.get("table-id"))));
            }
        }
        Self(of)
    }

    fn of_interface(&self, name: &str) -> Option<&BTreeSet<(&'static str, u64)>> {
        self.0.get(name)
    }
}

/// Who holds a rule.
enum Holder<'a> {
    /// The interface that nmstate finds, which is the same every time.
    Certain,
    /// This one.
    Chosen(&'a str),
    /// None can.
    Nobody,
}

struct Rule {
    family: &'static str,
    table: u64,
    priority: Option<u64>,
}

impl Rule {
    fn of(rule: &Value) -> Self {
        let is_v6 = text_of(rule, "family") == Some("ipv6")
            || ["ip-from", "ip-to"].iter().any(|key| text_of(rule, key).is_some_and(|ip| ip.contains(':')));
        Self {
            family: if is_v6 { "ipv6" } else { "ipv4" },
            table: table(rule.get("route-table")),
            priority: number(rule.get("priority")),
        }
    }

    /// The interface that shall hold the rule.
    fn holder<'a>(&self, interfaces: &[Interface<'a>], routes: &Routes) -> Holder<'a> {
        // What nmstate chooses from, in its order.
        let first: Vec<_> = interfaces
            .iter()
            .filter(|interface| routes.of_interface(interface.name).is_some())
            .filter(|interface| self.in_table(interface, routes) || self.automatic(interface))
            .collect();
        let certain = match first.as_slice() {
            [] => {
                let mut enabled = interfaces.iter().filter(|i| self.enabled(i)).peekable();
                !interfaces.iter().any(|i| self.automatic(i)) && enabled.peek().is_some() && enabled.all(is_up)
            }
            [only] => self.holds(only),
            _ => false,
        };
        if certain {
            return Holder::Certain;
        }
        self.preferred(interfaces, routes).map_or(Holder::Nobody, Holder::Chosen)
    }

    /// The first interface with a route in the rule's table, else the first of that table, else the first.
    fn preferred<'a>(&self, interfaces: &[Interface<'a>], routes: &Routes) -> Option<&'a str> {
        let holds = |condition: &dyn Fn(&Interface<'a>) -> bool| {
            interfaces.iter().find(|i| self.holds(i) && condition(i)).map(|found| found.name)
        };
        holds(&|i| self.in_table(i, routes)).or_else(|| holds(&|i| self.automatic(i))).or_else(|| holds(&|_| true))
    }

    /// Whether a rule in the interface's profile is set on the host: nmstate does not ask whether the profile comes up.
    fn holds(&self, interface: &Interface<'_>) -> bool {
        self.enabled(interface) && is_up(interface)
    }

    fn enabled(&self, interface: &Interface<'_>) -> bool {
        is_true(ip(interface, self.family).and_then(|ip| ip.get("enabled")))
    }

    /// Whether the interface's automatic routes are in the rule's table.
    fn automatic(&self, interface: &Interface<'_>) -> bool {
        table(ip(interface, self.family).and_then(|ip| ip.get("auto-route-table-id"))) == self.table
    }

    fn in_table(&self, interface: &Interface<'_>, routes: &Routes) -> bool {
        routes.of_interface(interface.name).is_some_and(|of| of.contains(&(self.family, self.table)))
    }
}

fn is_up(interface: &Interface<'_>) -> bool {
    text(interface.map, "state") != Some("down")
}

fn ip<'a>(interface: &Interface<'a>, family: &str) -> Option<&'a Mapping> {
    mapping(interface.map, family)
}

fn text_of<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.as_mapping().and_then(|map| text(map, key))
}

fn table(value: Option<&Value>) -> u64 {
    number(value).filter(|table| *table != 0).unwrap_or(MAIN_TABLE)
}

impl Holders {
    /// Takes the holders out of the profiles' rules, and puts these into the order of their priorities.
    pub(super) fn settle(&self, profiles: &mut [Profile]) {
        for group in profiles.iter_mut().flat_map(|profile| &mut profile.groups) {
            let mut rules: Vec<(u64, String)> = rules(group).map(|rule| self.without_holder(rule)).collect();
            rules.sort();
            for (key, value) in &mut group.entries {
                let index = key.strip_prefix(KEY).and_then(|index| index.parse::<usize>().ok());
                if let Some((_, rule)) = index.and_then(|index| rules.get(index)) {
                    value.clone_from(rule);
                }
            }
        }
    }

    /// A rule's priority, and the rule as the user wrote it.
    fn without_holder(&self, rule: &str) -> (u64, String) {
        let priority = rule.split(' ').nth(1).and_then(|priority| priority.parse().ok()).unwrap_or_default();
        let assigned = self.assigned.iter().find_map(|(holder, only)| {
            let iif = format!(" iif {holder} ");
            (only.is_none_or(|only| only == priority) && rule.contains(&iif)).then_some(iif)
        });
        (priority, assigned.map_or_else(|| rule.to_owned(), |iif| rule.replacen(&iif, " ", 1)))
    }

    /// Whether all rules of the document are in the profiles.
    pub(super) fn check(&self, profiles: &[Profile], path: &DocumentPath, report: &mut Report) {
        let found = profiles.iter().flat_map(|profile| &profile.groups).flat_map(rules).count();
        if found < self.rules {
            let message = format!(
                "has {} rules, and nmstate wrote {found}: check that from and to of each are of one family",
                self.rules
            );
            report.error("route-rule-lost", &path.key("route-rules").key("config"), message);
        }
    }
}

fn rules(group: &Group) -> impl Iterator<Item = &str> {
    group.entries.iter().filter(|(key, _)| key.starts_with(KEY)).map(|(_, rule)| rule.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(holders: &Holders, content: &str) -> String {
        let mut profiles = [Profile::read((String::new(), content.to_owned()))];
        holders.settle(&mut profiles);
        profiles[0].render()
    }

    #[test]
    fn rules_come_without_the_holder_and_in_the_order_of_their_priorities() {
        let holders = Holders { assigned: [("eth0".to_owned(), None), ("eth1".to_owned(), Some(7))].into(), rules: 12 };
        let content = "[ipv4]\nmethod=manual\nrouting-rule0=priority 300 iif eth0 table 1\n\
                       routing-rule1=priority 9 iif eth1 table 1\nrouting-rule2=priority 7 iif eth1 table 1\n\n\
                       [ipv6]\nrouting-rule0=priority 5 from ::/0 iif eth0 table 2 fwmark 1\n";
        assert_eq!(
            settled(&holders, content),
            "[ipv4]\nmethod=manual\nrouting-rule0=priority 7 table 1\n\
             routing-rule1=priority 9 iif eth1 table 1\nrouting-rule2=priority 300 table 1\n\n\
             [ipv6]\nrouting-rule0=priority 5 from ::/0 table 2 fwmark 1\n"
        );
    }

    #[test]
    fn eleven_rules_keep_their_numbers() {
        let line = |index: usize| format!("routing-rule{index}=priority {} from 10.0.0.0/8 table 1\n", 100 - index);
        let rules: String = [0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9].into_iter().map(line).collect();
        let content = format!("[ipv4]\n{rules}");
        let settled = settled(&Holders::default(), &content);
        assert!(settled.starts_with("[ipv4]\nrouting-rule0=priority 90 "), "{settled}");
        assert!(settled.contains("\nrouting-rule10=priority 100 "), "{settled}");
        assert_eq!(settled.len(), content.len());
    }
}
