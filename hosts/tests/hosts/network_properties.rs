//! What holds of every document, good, bad or mad.

use std::fs;
use std::path::Path;

use hosts::network::{ConvertedNetwork, convert};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_yaml::{Mapping, Value};
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::{DocumentPath, Report};

pub(crate) fn host(value: Value) -> HostSpec {
    HostSpec {
        boot_mac: Some("52:54:00:12:34:56".parse().unwrap()),
        ..HostSpec::with_network(NmstateDocument::new(value, DocumentPath::root()))
    }
}

/// The good documents of `fixtures/nmstate`, by name.
pub(crate) fn documents() -> Vec<(String, Value)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/nmstate");
    let mut documents: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .filter_map(|case| {
            let case = case.unwrap();
            // What needs a list of NICs beside it stands there in NMState's own words, too.
            let by_mac = fs::read_to_string(case.path().join("by-mac.yaml"));
            let text = by_mac.or_else(|_| fs::read_to_string(case.path().join("nmstate.yaml"))).ok()?;
            Some((case.file_name().into_string().unwrap(), serde_yaml::from_str(&text).unwrap()))
        })
        .collect();
    documents.sort_by(|(a, _), (b, _)| a.cmp(b));
    assert!(documents.len() > 20);
    documents
}

/// Reads a keyfile as `GLib` does, strictly; what is wrong with it, if anything.
fn problem_of(content: &str) -> Option<String> {
    let mut groups: Vec<&str> = Vec::new();
    let mut keys: Vec<&str> = Vec::new();
    for line in content.lines() {
        if line.chars().any(char::is_control) {
            return Some(format!("control character in {line:?}"));
        }
        if let Some(group) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            if group.is_empty() || group.contains(['[', ']']) || groups.contains(&group) {
                return Some(format!("group {group:?}"));
            }
            groups.push(group);
            keys.clear();
        } else if let Some((key, value)) = line.split_once('=') {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if groups.is_empty() || key.is_empty() || !key.chars().all(plain) || keys.contains(&key) {
                return Some(format!("key {key:?}"));
            }
            keys.push(key);
            if value.is_empty() || value.starts_with(' ') {
                return Some(format!("value {value:?}"));
            }
            let mut characters = value.chars();
            while let Some(c) = characters.next() {
                if c == '\\' && !matches!(characters.next(), Some('s' | 'n' | 't' | 'r' | '\\' | ';')) {
                    return Some(format!("escape in {value:?}"));
                }
            }
        } else if !line.is_empty() {
            return Some(format!("line {line:?}"));
        }
    }
    groups.is_empty().then(|| "no groups".to_owned())
}

fn check(value: Value) -> Result<(Option<ConvertedNetwork>, Report), TestCaseError> {
    let host = host(value);
    let (network, report) = convert(&host);
    prop_assert_eq!(network.is_some(), !report.has_errors());
    for finding in report.findings() {
        prop_assert!(!finding.to_string().contains(char::is_control), "{}", finding);
    }
    if let Some(network) = &network {
        prop_assert!(!network.keyfiles.is_empty());
        for pair in network.keyfiles.windows(2) {
            prop_assert!(pair[0].name < pair[1].name);
        }
        for keyfile in &network.keyfiles {
            prop_assert_eq!(problem_of(&keyfile.content), None, "{}", keyfile.content);
        }
        let again = convert(&host).0;
        prop_assert_eq!(again.as_ref(), Some(network));
    }
    Ok((network, report))
}

const WORDS: &[&str] = &[
    "interfaces",
    "name",
    "type",
    "state",
    "up",
    "absent",
    "ethernet",
    "bond",
    "vlan",
    "linux-bridge",
    "eth0",
    "ipv4",
    "ipv6",
    "enabled",
    "dhcp",
    "autoconf",
    "address",
    "ip",
    "prefix-length",
    "192.0.2.1",
    "2001:db8::1",
    "routes",
    "route-rules",
    "dns-resolver",
    "config",
    "server",
    "search",
    "destination",
    "0.0.0.0/0",
    "next-hop-interface",
    "next-hop-address",
    "identifier",
    "mac-address",
    "52:54:00:12:34:56",
    "profile-name",
    "link-aggregation",
    "mode",
    "port",
    "options",
    "802.1x",
    "hostname",
    "vlan",
    "base-iface",
    "id",
    "mtu",
    "copy-mac-from",
    "description",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(WORDS).prop_map(str::to_owned),
        1 => "[ -~]{0,12}",
        1 => "\\PC{0,6}",
        1 => select(vec!["a\nb=c", "\\", " x", "a;b", "../x", "[x]", "\u{7f}", "=", "%s", "#", ""]).prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        2 => any::<bool>().prop_map(Value::from),
        2 => (-2_i64..5000).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        6 => text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Sequence),
            prop::collection::vec((text().prop_map(Value::from), inner), 0..6)
                .prop_map(|pairs| Value::Mapping(pairs.into_iter().collect())),
        ]
    })
}

#[derive(Debug, Clone)]
pub(crate) enum Mutation {
    Replace(Value),
    Remove,
    Repeat,
    Append(String),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        value().prop_map(Mutation::Replace),
        Just(Mutation::Remove),
        Just(Mutation::Repeat),
        text().prop_map(Mutation::Append),
    ]
}

/// Changes the one value of `document` that comes as number `place` in a walk over all of them.
pub(crate) fn mutate(document: &mut Value, place: &mut usize, mutation: &Mutation) -> bool {
    match document {
        Value::Sequence(list) => {
            for index in 0..list.len() {
                if *place == 0 {
                    match mutation {
                        Mutation::Remove => drop(list.remove(index)),
                        Mutation::Repeat => list.push(list[index].clone()),
                        _ => change(&mut list[index], mutation),
                    }
                    return true;
                }
                *place -= 1;
                if mutate(&mut list[index], place, mutation) {
                    return true;
                }
            }
        }
        Value::Mapping(map) => {
            for key in map.keys().cloned().collect::<Vec<_>>() {
                if *place == 0 {
                    match mutation {
                        Mutation::Remove => drop(map.remove(&key)),
                        _ => change(&mut map[&key], mutation),
                    }
                    return true;
                }
                *place -= 1;
                if mutate(&mut map[&key], place, mutation) {
                    return true;
                }
            }
        }
        _ => {}
    }
    false
}

fn change(value: &mut Value, mutation: &Mutation) {
    match (mutation, &mut *value) {
        (Mutation::Replace(new), _) => *value = new.clone(),
        (Mutation::Append(more), Value::String(text)) => text.push_str(more),
        (Mutation::Append(more), Value::Mapping(map)) => drop(map.insert(more.as_str().into(), Value::from(1))),
        _ => {}
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Sequence(list) => list.iter().map(|value| 1 + count(value)).sum(),
        Value::Mapping(map) => map.values().map(|value| 1 + count(value)).sum(),
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_document_is_converted_or_refused(value in value()) {
        check(value)?;
    }

    #[test]
    fn any_list_of_interfaces_is_converted_or_refused(list in prop::collection::vec(value(), 1..4)) {
        check(Value::Mapping(Mapping::from_iter([("interfaces".into(), Value::Sequence(list))])))?;
    }

    #[test]
    fn a_spoiled_document_is_converted_or_refused(
        which in any::<Index>(),
        places in prop::collection::vec((any::<Index>(), mutation()), 1..3),
    ) {
        let documents = documents();
        let mut document = which.get(&documents).1.clone();
        for (place, mutation) in places {
            let count = count(&document);
            if count > 0 {
                mutate(&mut document, &mut place.index(count), &mutation);
            }
        }
        check(document)?;
    }
}

/// nmstate's time grows with the square of a list's length.
#[test]
fn endless_lists_are_refused_before_they_cost_anything() {
    for list in ["routes", "route-rules"] {
        let entries: Value = vec![Value::Mapping(Mapping::new()); 20_000].into();
        let config = Value::Mapping(Mapping::from_iter([("config".into(), entries)]));
        let (network, report) = convert(&host(Value::Mapping(Mapping::from_iter([(list.into(), config)]))));
        assert!(network.is_none());
        // Each empty entry is a mistake, too. That none is reported shows that dayone has not looked at them.
        let codes: Vec<_> = report.findings().iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["list-too-long"], "{list}");
    }
}

#[test]
fn ports_are_counted_over_all_controllers() {
    let bonds = |bonds: usize, ports: usize| {
        let of_bond = |bond: usize| {
            let ports: Vec<String> = (0..ports).map(|port| format!("p{}", bond * ports + port)).collect();
            format!(
                "{{name: b{bond}, type: bond, state: up, link-aggregation: {{mode: 802.3ad, port: [{}]}}}}",
                ports.join(", ")
            )
        };
        let bonds: Vec<String> = (0..bonds).map(of_bond).collect();
        convert(&host(serde_yaml::from_str(&format!("interfaces: [{}]", bonds.join(", "))).unwrap())).1
    };
    let refusal = |report: &Report| {
        let found = report.findings().iter().find(|finding| finding.code == "list-too-long");
        found.map(ToString::to_string)
    };
    assert_eq!(refusal(&bonds(10, 20)), None);
    let refused = refusal(&bonds(100, 21)).unwrap();
    assert!(refused.contains("has 2100 ports of bonds, bridges and VRFs; dayone accepts at most 2000"), "{refused}");
}

/// Of these bonds, nmstate names other ones in each run. The message of the whole document must not differ from that without a part.
#[test]
fn a_port_of_several_bonds_is_no_mistake_of_the_routes() {
    let bond = |name: &str| {
        format!("{{name: {name}, type: bond, state: up, link-aggregation: {{mode: 802.3ad, port: [p1]}}}}")
    };
    let document = format!(
        "routes: {{config: [{{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: e0}}]}}\ninterfaces: \
         [{{name: e0, type: ethernet, state: up, ipv4: {{enabled: true, address: [{{ip: 192.0.2.2, prefix-length: 24}}]}}}}, {}]",
        ["b1", "b2", "b3", "b4"].map(bond).join(", ")
    );
    for _ in 0..10 {
        let report = convert(&host(serde_yaml::from_str(&document).unwrap())).1;
        let found: Vec<String> = report.findings().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["interfaces is refused by nmstate: Port p1 is overbooked by two controller: b2, b1"]);
    }
}

/// nmstate makes a list of the VLANs of every range of a bridge port, which takes a MiB of memory.
#[test]
fn ranges_of_vlans_are_counted_over_all_ports() {
    let bridge = |ports: usize| {
        let vlan = "vlan: {mode: trunk, trunk-tags: [{id-range: {min: 1, max: 4094}}]}";
        let ports = (0..ports).map(|port| format!("{{name: eth{port}, {vlan}}}")).collect::<Vec<_>>().join(", ");
        let text = format!("interfaces: [{{name: br0, type: linux-bridge, state: up, bridge: {{port: [{ports}]}}}}]");
        convert(&host(serde_yaml::from_str(&text).unwrap())).1
    };
    let refusal = |report: &Report| {
        let found = report.findings().iter().find(|finding| finding.code == "list-too-long");
        found.map(ToString::to_string)
    };
    assert_eq!(refusal(&bridge(24)), None);
    let refused = refusal(&bridge(25)).unwrap();
    assert!(
        refused.contains("has 102350 VLANs in the ranges of its bridge ports; dayone accepts at most 100000"),
        "{refused}"
    );
    assert!(refusal(&bridge(10_000)).is_some());
}
