//! Keys for which NMState accepts several names: each gets its first name, so that no other code needs to know the others.
//!
//! If a document lists a bond's ports only by their settings, dayone adds them to the list of ports.
//!
//! Source: the `alias` attributes in the schema of nmstate 2.2.62, and `BondInterface::ports`. Aliases of values are not here:
//! they are read where the values are.

use std::borrow::Cow;

use serde_yaml::{Mapping, Value};

use super::pattern::Pattern;
use super::{elements, text};
use crate::members::get;
use vocabulary::host::NmstateDocument;
use vocabulary::report::{DocumentPath, Origins};

/// Where there is a key with other names, these, and its first. What is inside a section comes after the section.
#[rustfmt::skip]
const ALIASES: &[(Pattern, &[&str], &str)] = &[
    (&["interfaces", "*"], &["bond"], "link-aggregation"),
    (&["interfaces", "*", "link-aggregation"], &["ports"], "port"),
    (&["interfaces", "*", "link-aggregation", "options"], &["balance-slb"], "balance_slb"),
    (&["interfaces", "*", "bridge"], &["ports"], "port"),
    (&["interfaces", "*", "bridge", "port", "*"], &["bond"], "link-aggregation"),
    (&["interfaces", "*", "bridge", "port", "*", "link-aggregation"], &["ports"], "port"),
    (&["interfaces", "*", "vrf"], &["ports"], "port"),
    (&["interfaces", "*", "mac-vlan"], &["accept-all-mac"], "promiscuous"),
    (&["interfaces", "*", "mac-vtap"], &["accept-all-mac"], "promiscuous"),
    (&["interfaces", "*", "ipv4", "address", "*"], &["valid-left", "valid-lft"], "valid-life-time"),
    (&["interfaces", "*", "ipv6", "address", "*"], &["valid-left", "valid-lft"], "valid-life-time"),
    (&["interfaces", "*", "ipv4", "address", "*"], &["preferred-left", "preferred-lft"], "preferred-life-time"),
    (&["interfaces", "*", "ipv6", "address", "*"], &["preferred-left", "preferred-lft"], "preferred-life-time"),
    (&["route-rules", "config", "*"], &["suppress_prefixlength"], "suppress-prefix-length"),
];

/// The document in which every key has its first name. Where a key is there by two of its names, both stay, and nmstate
/// refuses it.
pub(crate) fn resolve(document: &NmstateDocument) -> Cow<'_, NmstateDocument> {
    let mut resolved = Cow::Borrowed(document);
    for (at, others, name) in ALIASES {
        if any(&resolved.value, at, others) {
            let NmstateDocument { value, path, origins } = resolved.to_mut();
            rename(value, at, &path.clone(), &mut |map, path| rename_in(map, others, name, path, origins));
        }
    }
    if any(&resolved.value, BONDS, &["ports-config"]) {
        let NmstateDocument { value, path, origins } = resolved.to_mut();
        rename(value, BONDS, &path.clone(), &mut |map, path| list_ports(map, path, origins));
    }
    resolved
}

const BONDS: Pattern = &["interfaces", "*", "link-aggregation"];

/// Lists the ports that have settings, where no list says which ports there are. nmstate refuses lists that differ.
fn list_ports(bond: &mut Mapping, path: &DocumentPath, origins: &mut Origins) {
    let settings = elements(bond, &["ports-config"]).iter().enumerate();
    let names: Vec<(usize, Value)> =
        settings.filter_map(|(index, port)| Some((index, text(port.as_mapping()?, "name")?.into()))).collect();
    if !names.is_empty() && get(bond, "port").is_none_or(Value::is_null) {
        for (position, (index, _)) in names.iter().enumerate() {
            let was = path.key("ports-config").index(*index).key("name");
            origins.renamed(path.key("port").index(position), &was);
        }
        origins.renamed(path.key("port"), &path.key("ports-config"));
        bond.insert("port".into(), names.into_iter().map(|(_, name)| name).collect());
    }
}

/// Whether any mapping that the pattern leads to has one of the keys.
fn any(value: &Value, at: &[&str], keys: &[&str]) -> bool {
    match (at, value) {
        ([], Value::Mapping(map)) => keys.iter().any(|key| get(map, key).is_some()),
        (["*", rest @ ..], Value::Sequence(list)) => list.iter().any(|value| any(value, rest, keys)),
        ([key, rest @ ..], Value::Mapping(map)) => get(map, key).is_some_and(|value| any(value, rest, keys)),
        _ => false,
    }
}

/// Calls `found` for every mapping that the pattern leads to, with its place.
fn rename(value: &mut Value, at: &[&str], path: &DocumentPath, found: &mut dyn FnMut(&mut Mapping, &DocumentPath)) {
    match (at, value) {
        ([], Value::Mapping(map)) => found(map, path),
        (["*", rest @ ..], Value::Sequence(list)) => {
            for (index, value) in list.iter_mut().enumerate() {
                rename(value, rest, &path.index(index), found);
            }
        }
        ([key, rest @ ..], Value::Mapping(map)) => {
            if let Some(value) = map.get_mut(*key) {
                rename(value, rest, &path.key(key), found);
            }
        }
        _ => {}
    }
}

fn rename_in(map: &mut Mapping, others: &[&str], name: &str, path: &DocumentPath, origins: &mut Origins) {
    let mut present = others.iter().filter(|other| map.contains_key(**other));
    if let (Some(other), None, false) = (present.next(), present.next(), map.contains_key(name))
        && let Some(value) = map.shift_remove(*other)
    {
        map.insert(name.into(), value);
        origins.renamed(path.key(name), &path.key(other));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(yaml: &str) -> NmstateDocument {
        let document = NmstateDocument::new(serde_yaml::from_str(yaml).unwrap(), DocumentPath::document("d"));
        resolve(&document).into_owned()
    }

    #[test]
    fn keys_get_their_first_names_and_keep_their_places() {
        let document = resolved(
            "interfaces:\n- {name: bond0, type: bond, bond: {mode: lacp, ports: [eth0], options: {balance-slb: true}}}\n\
             - {name: br0, bridge: {ports: [{name: eth1, bond: {ports: [{name: eth2}]}}]}}\n\
             - {name: vrf0, vrf: {ports: [eth3]}}\n\
             - {name: eth0, ipv4: {address: [{ip: 192.0.2.1, valid-lft: 9sec, preferred-left: 9sec}]}}\n\
             route-rules: {config: [{suppress_prefixlength: 0}]}\n",
        );
        let expected: Value = serde_yaml::from_str(
            "interfaces:\n- {name: bond0, type: bond, link-aggregation: {mode: lacp, port: [eth0], options: {balance_slb: true}}}\n\
             - {name: br0, bridge: {port: [{name: eth1, link-aggregation: {port: [{name: eth2}]}}]}}\n\
             - {name: vrf0, vrf: {port: [eth3]}}\n\
             - {name: eth0, ipv4: {address: [{ip: 192.0.2.1, valid-life-time: 9sec, preferred-life-time: 9sec}]}}\n\
             route-rules: {config: [{suppress-prefix-length: 0}]}\n",
        )
        .unwrap();
        assert_eq!(document.value, expected);
        let interface = |index| DocumentPath::document("d").key("interfaces").index(index);
        let of = |path: DocumentPath| document.origins.of(&path).map(|path| path.to_string());
        let bond = interface(0).key("link-aggregation");
        assert_eq!(of(bond.key("mode")).as_deref(), Some("d: interfaces[0].bond.mode"));
        assert_eq!(of(bond.key("port").index(0)).as_deref(), Some("d: interfaces[0].bond.ports[0]"));
        let member = interface(1).key("bridge").key("port").index(0).key("link-aggregation").key("port");
        assert_eq!(of(member.index(0)).as_deref(), Some("d: interfaces[1].bridge.ports[0].bond.ports[0]"));
        assert_eq!(of(interface(2).key("name")), None);
    }

    #[test]
    fn two_names_of_one_key_stay_and_nmstate_refuses_them() {
        for yaml in [
            "interfaces: [{name: b, type: bond, bond: {mode: lacp, port: [eth0]}, link-aggregation: {mode: lacp}}]",
            "interfaces: [{name: b, type: bond, bond: {mode: lacp, port: [eth0], ports: []}}]",
            "interfaces: [{name: e, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24, \
             valid-lft: forever, valid-left: forever}]}}]",
        ] {
            let host = vocabulary::host::HostSpec::with_network(resolved(yaml));
            let (network, report) = crate::network::convert(&host);
            assert!(network.is_none(), "{yaml}");
            assert!(report.findings().iter().any(|finding| finding.code == "nmstate-schema"), "{yaml}: {report:?}");
        }
    }

    #[test]
    fn a_document_without_other_names_is_not_copied() {
        let yaml = "interfaces: [{name: b, type: bond, link-aggregation: {mode: lacp, port: [eth0]}}]";
        let document = NmstateDocument::new(serde_yaml::from_str(yaml).unwrap(), DocumentPath::root());
        assert!(matches!(resolve(&document), Cow::Borrowed(_)));
    }
}
