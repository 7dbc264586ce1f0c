//! The keys of the formats in which users write networks, for the sentences and the places of findings.
//!
//! Only what differs between the formats is here. The fixes are in the catalogue of findings (`fix-in`).

use serde_yaml::Value;

use crate::family::Family;
use crate::model::Interface;
use vocabulary::host::{HostSpec, NetworkDocument, NmstateDocument};
use vocabulary::report::{DocumentPath, NetworkFormat};

/// Returns the place of a member of an interface, which the keys `nmstate` lead to in NMState and `keyfile` in a keyfile. If dayone
/// translated the network, it is what the member was made from.
pub(super) fn place(host: &HostSpec, interface: &Interface, nmstate: &[&str], keyfile: &[&str]) -> DocumentPath {
    let inside = |top: &DocumentPath, keys: &[&str]| keys.iter().fold(top.clone(), |path, key| path.key(key));
    match &host.network {
        NetworkDocument::Keyfiles(_) => inside(&interface.path, keyfile),
        NetworkDocument::Nmstate(document) if document.origins.format().is_none() => inside(&interface.path, nmstate),
        NetworkDocument::Nmstate(document) => {
            let entry = entry(document, &interface.name);
            let made_from = entry.and_then(|entry| document.origins.of(&inside(&entry, nmstate)));
            made_from.unwrap_or_else(|| interface.path.clone())
        }
    }
}

/// Returns the place of an interface's entry in NMState.
fn entry(document: &NmstateDocument, name: &str) -> Option<DocumentPath> {
    let entries = document.value.get("interfaces")?.as_sequence()?;
    let index = entries.iter().position(|entry| entry.get("name").and_then(Value::as_str) == Some(name))?;
    Some(document.path.key("interfaces").index(index))
}

/// The format in which a user wrote a host's network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    Nmstate,
    Keyfiles,
    Netplan,
    CloudInitV1,
    NetworkData,
}

impl Words {
    pub(super) fn of(host: &HostSpec) -> Self {
        match &host.network {
            NetworkDocument::Keyfiles(_) => Self::Keyfiles,
            NetworkDocument::Nmstate(document) => match document.origins.format() {
                None => Self::Nmstate,
                Some(NetworkFormat::Netplan) => Self::Netplan,
                Some(NetworkFormat::CloudInitV1) => Self::CloudInitV1,
                Some(NetworkFormat::NetworkData) => Self::NetworkData,
            },
        }
    }

    /// Returns the place of a route's source address. A keyfile has it inside of the route's own line.
    pub(super) fn route_source(self, route: &DocumentPath) -> DocumentPath {
        match self {
            Self::Nmstate => route.key("source"),
            Self::Netplan => route.key("from"),
            Self::Keyfiles | Self::CloudInitV1 | Self::NetworkData => route.clone(),
        }
    }

    /// Returns how the user writes an interface of NMState's type `kind`.
    pub(super) fn of_type(self, kind: &str) -> String {
        let kind = match (self, kind) {
            (Self::CloudInitV1 | Self::NetworkData, "linux-bridge") => "bridge",
            (Self::Netplan, "linux-bridge") => return "an entry of bridges".to_owned(),
            (Self::Netplan, "dummy") => return "an entry of dummy-devices".to_owned(),
            (Self::Netplan, _) => return format!("an entry of {kind}s"),
            _ => kind,
        };
        format!("type: {kind}")
    }

    /// Returns what lets an interface get addresses of a family from the network.
    pub(super) fn automatic_addresses(self, family: Family) -> &'static str {
        match (self, family) {
            (Self::Nmstate | Self::Keyfiles, _) => "dhcp: true",
            (Self::Netplan, Family::V4) => "dhcp4: true",
            (Self::Netplan, Family::V6) => "dhcp6: true",
            (Self::CloudInitV1, Family::V4) => "a subnet of type dhcp4",
            (Self::CloudInitV1, Family::V6) => "a subnet of type dhcp6",
            (Self::NetworkData, Family::V4) => "a network of type ipv4_dhcp",
            (Self::NetworkData, Family::V6) => "a network of type ipv6_dhcp",
        }
    }

    /// Returns what keeps an interface from learning a default route; none if the format cannot say it.
    pub(super) fn without_learned_gateway(self, family: Family) -> Option<&'static str> {
        match (self, family) {
            (Self::Nmstate, _) => Some("auto-gateway: false"),
            (Self::Keyfiles, _) => Some("never-default=true"),
            (Self::Netplan, Family::V4) => Some("dhcp4-overrides: {use-routes: false}"),
            (Self::Netplan, Family::V6) => Some("dhcp6-overrides: {use-routes: false}"),
            (Self::CloudInitV1 | Self::NetworkData, _) => None,
        }
    }

    /// Returns what makes the host use the routes of a table, or puts a route into the main table.
    pub(super) fn rule_or_main_table(self, table: u32) -> String {
        match self {
            Self::Netplan => {
                format!("add an entry to routing-policy with table: {table}, or remove table from the route")
            }
            Self::Nmstate | Self::Keyfiles | Self::CloudInitV1 | Self::NetworkData => {
                format!("add a rule with route-table: {table}, or remove table-id")
            }
        }
    }

    /// Returns what makes the host use a table of automatic routes, or puts these into the main table.
    pub(super) fn rule_or_main_table_of_automatic(self, table: u32) -> String {
        match self {
            Self::Keyfiles => format!("add a routing-rule with table {table}, or remove route-table"),
            Self::Nmstate | Self::Netplan | Self::CloudInitV1 | Self::NetworkData => {
                format!("add a rule with route-table: {table}, or remove auto-route-table-id")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::input;
    use crate::network::convert;

    /// The findings about a document, each with its code and its fix.
    fn findings(document: &str) -> Vec<(&'static str, String, &'static str)> {
        let read = input::read(document.as_bytes());
        let mut report = read.report;
        for host in &read.hosts {
            report.append(convert(host).1);
        }
        report.findings().iter().map(|finding| (finding.code, finding.to_string(), finding.fix())).collect()
    }

    /// Asserts that a document has a finding of this code at this place in the document, whose sentence and fix have these words.
    fn assert_found(document: &str, code: &str, place: &str, words: &[&str]) {
        let all = findings(document);
        let found = all.iter().find(|(found, ..)| *found == code);
        let (_, sentence, fix) = found.unwrap_or_else(|| panic!("{document} has no {code}: {all:#?}"));
        let in_document = sentence.strip_prefix("document 1: ").unwrap_or(sentence);
        assert!(in_document.starts_with(&format!("{place} ")), "{document}: {sentence}");
        for word in words {
            assert!(sentence.contains(word) || fix.contains(word), "{document}: {sentence}: {fix} lacks {word}");
        }
        for word in [
            "base-iface",
            "next-hop",
            "link-aggregation",
            "auto-gateway",
            "prefix-length",
            "min_links",
            "route-table",
            " dhcp: ",
            ".source",
            "vlan.id",
        ] {
            assert!(!sentence.contains(word) && !fix.contains(word), "{document}: {sentence}: {fix} has {word}");
        }
    }

    #[test]
    fn findings_about_netplan_have_its_words_and_places() {
        let with = |rest: &str| format!("network: {{version: 2, {rest}}}");
        let nic = "addresses: [192.0.2.5/24]";
        for (rest, code, place, word) in [
            ("ethernets: {a: {}}".to_owned(), "no-address", "gives", "dhcp4: true"),
            (
                "ethernets: {a: {dhcp4: true}, b: {dhcp4: true}}".to_owned(),
                "default-routes-learned",
                "ethernets.a",
                "set dhcp4-overrides: {use-routes: false}",
            ),
            (
                format!("ethernets: {{a: {{{nic}, routes: [{{to: default, via: 192.0.2.1, metric: 500}}]}}, b: {{dhcp4: true}}}}"),
                "default-route-unused",
                "ethernets.a.routes[0]",
                "write dhcp4-overrides: {use-routes: false} there",
            ),
            (
                format!("ethernets: {{a: {{{nic}, routes: [{{to: default, via: 198.51.100.1}}]}}}}"),
                "gateway-off-link",
                "ethernets.a.routes[0].via",
                "on-link: true",
            ),
            (
                format!("ethernets: {{a: {{{nic}, routes: [{{to: default, via: 192.0.2.1, table: 100}}]}}}}"),
                "route-table-without-rule",
                "ethernets.a.routes[0]",
                "add an entry to routing-policy with table: 100",
            ),
            (
                format!("ethernets: {{a: {{{nic}, routes: [{{to: 10.0.0.0/8, via: 192.0.2.1, from: 192.0.2.9}}]}}}}"),
                "route-source-not-own",
                "ethernets.a.routes[0].from",
                "Set from",
            ),
            (
                "ethernets: {a: {}}, bonds: {bond0: {interfaces: [a], dhcp4: true, parameters: {mode: 802.3ad, min-links: 2}}}"
                    .to_owned(),
                "bond-min-links",
                "bonds.bond0.parameters.min-links",
                "Set min-links",
            ),
            (
                "ethernets: {a: {}}, bonds: {bond0: {interfaces: [a], macaddress: '02:00:00:00:00:01', dhcp4: true, parameters: \
                 {mode: active-backup, fail-over-mac-policy: follow}}}"
                    .to_owned(),
                "bond-mac-refused",
                "bonds.bond0",
                "Remove macaddress",
            ),
            (
                format!("ethernets: {{a: {{{nic}, routes: [{{to: 10.0.0.0/8, via: 192.0.2.1, from: 198.51.100.5}}]}}, b: {{addresses: [198.51.100.5/24]}}}}"),
                "route-source-elsewhere",
                "ethernets.a.routes[0].from",
                "remove from",
            ),
            (
                "ethernets: {a: {}}, bonds: {bond0: {interfaces: [a], dhcp4: true, parameters: {mode: 802.3ad}}}".to_owned(),
                "bond-of-one-port",
                "bonds.bond0",
                "in interfaces",
            ),
            (
                "ethernets: {bond0.20: {dhcp4: true}}".to_owned(),
                "type-unlike-name",
                "ethernets[\"bond0.20\"]",
                "did you mean an entry of vlans?",
            ),
            (
                "ethernets: {a: {dhcp4: true}}, vlans: {a.20: {id: 30, link: a, dhcp6: true}}".to_owned(),
                "vlan-unlike-name",
                "vlans[\"a.20\"].id",
                "Correct id, link or the name",
            ),
            (
                "ethernets: {a: {mtu: 1500, dhcp4: true}}, vlans: {v: {id: 30, link: a, mtu: 9000, dhcp6: true}}".to_owned(),
                "mtu-above-parent",
                "vlans.v.mtu",
                "mtu",
            ),
        ] {
            let place = if code == "no-address" { place.to_owned() } else { format!("network.{place}") };
            assert_found(&with(&rest), code, &place, &[word]);
        }
    }

    #[test]
    fn findings_about_version_1_and_network_data_have_their_words_and_places() {
        let v1 = |rest: &str| format!("{{version: 1, config: [{rest}]}}");
        let learned = v1(
            "{type: physical, name: a, subnets: [{type: dhcp}]}, {type: physical, name: b, subnets: [{type: dhcp}]}",
        );
        let words = ["give each of these subnets a metric of its own"];
        assert_found(&learned, "default-routes-learned", "config[0]", &words);
        let vlan = v1(
            "{type: physical, name: a, subnets: [{type: dhcp}]}, {type: vlan, name: a.20, vlan_id: 30, vlan_link: a}",
        );
        assert_found(&vlan, "vlan-unlike-name", "config[1].vlan_id", &["vlan_link"]);
        let bond = v1(
            "{type: physical, name: a}, {type: bond, name: bond0, bond_interfaces: [a], params: {bond-mode: 802.3ad, \
                       bond-min-links: 2}, subnets: [{type: dhcp}]}",
        );
        assert_found(&bond, "bond-min-links", "config[1].params.bond-min-links", &["bond-min-links"]);
        let gateway = "links: [{id: a, type: phy, ethernet_mac_address: '52:54:00:00:00:01'}]\nnetworks: [{id: n, type: ipv4, \
                       link: a, ip_address: 192.0.2.5, netmask: 255.255.255.0, routes: [{network: 0.0.0.0, netmask: 0.0.0.0, \
                       gateway: 192.0.2.5}]}]\n";
        assert_found(gateway, "gateway-is-host", "networks[0].routes[0].gateway", &["as gateway"]);
    }

    #[test]
    fn findings_about_nmstate_have_nmstates_words() {
        let document = "interfaces: [{name: a, type: ethernet}]";
        let found = findings(document);
        assert!(found.iter().any(|(code, _, fix)| *code == "no-address" && fix.contains("dhcp: true")), "{found:?}");
    }
}
