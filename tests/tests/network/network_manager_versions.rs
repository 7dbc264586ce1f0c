//! What a release of NetworkManager lacks: what is said of it is what libnm of that release does.
//!
//! A key is lacked by a release that reads the same settings without it, where the newest release here reads others; of
//! lists, an item of it. So is a key that it complains of, where the newest does not. A profile is refused that has no
//! settings at all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use acceptance::golden::{cases, host};
use acceptance::libnm::{libnm_of, release_of};
use hosts::network::{NetworkManagerVersion, convert, convert_for};
use serde_json::Value;
use vocabulary::host::{HostSpec, KeyfileDocument, NetworkDocument, NmstateDocument};
use vocabulary::report::{DocumentPath, Report, Severity};

const NEEDS_NEWER: &str = "needs-newer-networkmanager";

/// Each Debian, and the series of NetworkManager that it has.
const DEBIANS: [(&str, &str); 3] = [("bullseye", "1.30."), ("bookworm", "1.42."), ("trixie", "1.52.")];
const NEWEST: &str = "trixie";

/// What the older releases do not read and do anyway, and what is said in the newest by another property, too.
const DEFAULTS: [&str; 4] =
    ["vlan.protocol=802.1Q", "ipv6.addr-gen-mode=0", "ipv4.dhcp-send-hostname=true", "ipv6.dhcp-send-hostname=true"];

/// NMState's places, and the keys of the profiles that they become (as [`plain`] has them).
const PLACES: [(&str, &[&str]); 19] = [
    ("interfaces.type", &["connection.type"]),
    ("interfaces.accept-all-mac-addresses", &["ethernet.accept-all-mac-addresses"]),
    ("interfaces.ipv4.forwarding", &["ipv4.forwarding"]),
    ("interfaces.ethtool.fec", &["ethtool.fec"]),
    ("interfaces.ethtool.pause.autoneg", &["ethtool.pause"]),
    ("interfaces.macsec.mka-ckn", &["macsec.mka-ckn"]),
    ("interfaces.macsec.offload", &["macsec.offload"]),
    ("interfaces.link-aggregation.ports-config.priority", &["bond-port"]),
    ("interfaces.link-aggregation.ports-config.queue-id", &["bond-port"]),
    ("interfaces.link-aggregation.options.lacp_active", &["bond.lacp_active"]),
    ("interfaces.link-aggregation.options.arp_missed_max", &["bond.arp_missed_max"]),
    ("interfaces.link-aggregation.options.balance_slb", &["bond.balance-slb"]),
    ("interfaces.link-aggregation.options.ns_ip6_target", &["bond.ns_ip6_target"]),
    ("interfaces.vlan.protocol", &["vlan.protocol"]),
    ("routes.config.route-type", &["connection.type", "route_options"]),
    ("routes.config.weight", &["route_options"]),
    ("routes.config.quickack", &["route_options"]),
    ("routes.config.advmss", &["route_options"]),
    ("route-rules.config.action", &["routing-rule"]),
];

/// What is new and in no document of the fixtures.
const DOCUMENTS: [(&str, &str); 4] = [
    (
        "target",
        "interfaces:\n- {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, port: [], options: \
        {arp_interval: 100, ns_ip6_target: ['2001:db8::1']}}}\n",
    ),
    (
        "targets",
        "interfaces:\n- {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, port: [], options: \
        {arp_interval: 100, arp_ip_target: 192.0.2.1, ns_ip6_target: ['2001:db8::1']}}}\n",
    ),
    (
        "short-name",
        "interfaces:\n- {name: eth0, type: ethernet, state: up}\n- {name: macsec0, type: macsec, state: up, macsec: \
        {base-iface: eth0, encrypt: true, mka-cak: 50b71a8ef0bd5751ea76de6d6c98c03a, mka-ckn: f2b4297d, port: 0, \
        validation: strict, send-sci: true}}\n",
    ),
    (
        "routes",
        "interfaces:\n- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: \
        192.0.2.5, prefix-length: 24}]}}\nroutes:\n  config:\n  - {destination: 198.51.100.0/24, next-hop-interface: eth0, \
        next-hop-address: 192.0.2.1, quickack: true}\n  - {destination: 203.0.113.0/24, next-hop-interface: eth0, \
        next-hop-address: 192.0.2.1, advmss: 1400}\n",
    ),
];

/// Hosts by name: of the fixtures, and of [`DOCUMENTS`].
fn hosts() -> Vec<(String, HostSpec)> {
    let own = DOCUMENTS.iter().map(|(name, yaml)| {
        let document = NmstateDocument::new(serde_yaml::from_str(yaml).unwrap(), DocumentPath::root());
        ((*name).to_owned(), HostSpec::with_network(document))
    });
    cases().into_iter().map(|(name, path)| (name, host(&path))).chain(own).collect()
}

/// Keyfiles by name: those that nmstate writes, and those that have all that is new.
fn keyfiles() -> BTreeMap<String, String> {
    let mut keyfiles = BTreeMap::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/keyfiles")).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        keyfiles.insert(format!("keyfiles/{file}"), fs::read_to_string(&path).unwrap());
    }
    for (name, host) in hosts() {
        let (network, report) = convert(&host);
        let network = network.unwrap_or_else(|| panic!("{name}: {:?}", report.findings()));
        keyfiles.extend(network.keyfiles.into_iter().map(|file| (format!("{name}/{}", file.name), file.content)));
    }
    keyfiles
}

/// A keyfile without a key, or without an item of its list.
struct Without {
    /// `group.key`
    key: String,
    /// `group.key=value`
    line: String,
    content: String,
}

fn without_each(content: &str) -> Vec<Without> {
    let lines: Vec<&str> = content.lines().collect();
    let mut group = "";
    let mut all = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if let Some(name) = line.strip_prefix('[') {
            group = name.trim_end_matches(']');
        }
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('[')) else { continue };
        let mut with = |replaced: Option<String>| {
            let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            match replaced {
                Some(replaced) => lines[index] = format!("{key}={replaced}"),
                None => drop(lines.remove(index)),
            }
            let (key, line) = (format!("{group}.{key}"), format!("{group}.{line}"));
            all.push(Without { key, line, content: lines.join("\n") + "\n" });
        };
        let separator = if key.ends_with("_options") { ',' } else { ';' };
        let items: Vec<&str> = value.split(separator).filter(|item| !item.is_empty()).collect();
        if items.len() > 1 && (key == "dns" || separator == ',') {
            for left_out in 0..items.len() {
                let kept = items.iter().enumerate().filter(|(item, _)| *item != left_out).map(|(_, item)| *item);
                with(Some(kept.collect::<Vec<_>>().join(&separator.to_string())));
            }
        } else {
            with(None);
        }
    }
    all
}

/// What a release makes of the keyfiles, and of each without each of its keys.
struct Readings(BTreeMap<String, Value>);

impl Readings {
    fn of(debian: &str, keyfiles: &BTreeMap<String, String>) -> Self {
        let mut all = keyfiles.clone();
        for (name, content) in keyfiles {
            let spoiled = without_each(content).into_iter().enumerate();
            all.extend(spoiled.map(|(number, without)| (format!("{name}#{number}"), without.content)));
        }
        Self(serde_json::from_value(libnm_of(debian, &all)).unwrap())
    }

    fn settings(&self, name: &str) -> &Value {
        &self.0[name]["settings"]
    }

    fn refuses(&self, name: &str) -> bool {
        self.settings(name).as_object().unwrap().is_empty()
    }

    /// Whether the key (or item) of this number makes a difference, and no complaint.
    fn heeds(&self, name: &str, number: usize) -> bool {
        let without = format!("{name}#{number}");
        let complaints = |name: &str| self.0[name]["problems"].as_array().unwrap().len();
        self.settings(name) != self.settings(&without) && complaints(name) <= complaints(&without)
    }
}

/// What is said of keyfiles for a release.
fn said(name: &str, content: &str, release: NetworkManagerVersion) -> Report {
    let file = name.rsplit('/').next().unwrap();
    let path = DocumentPath::document(file);
    let document = KeyfileDocument { name: file.to_owned(), content: content.to_owned(), path };
    convert_for(&HostSpec::with_network(NetworkDocument::Keyfiles(vec![document])), Some(release)).1
}

/// The findings of a report that are about a release: place without the file, the series needed, whether it is an error.
fn needs(report: &Report) -> Vec<(String, String, bool)> {
    let findings = report.findings().iter().filter(|finding| finding.code == NEEDS_NEWER);
    let need = |finding: &vocabulary::report::Finding| {
        let path = finding.path.to_string();
        let place = path.split_once(": ").map_or(path.as_str(), |(_, place)| place).to_owned();
        let series = finding.message.strip_prefix("needs NetworkManager ")?.split_whitespace().next()?.to_owned();
        Some((place, series, finding.severity == Severity::Error))
    };
    findings.filter_map(need).collect()
}

#[test]
fn what_a_release_lacks_is_what_its_libnm_refuses_and_ignores() {
    let keyfiles = keyfiles();
    assert!(keyfiles.len() > 100, "{}", keyfiles.len());
    let newest = Readings::of(NEWEST, &keyfiles);
    let (mut wrong, mut refused, mut ignored) = (Vec::new(), 0, 0);
    for (debian, series) in DEBIANS {
        let release = release_of(debian);
        assert!(release.starts_with(series), "{debian} has {release}");
        let release: NetworkManagerVersion = release.parse().unwrap();
        let readings = Readings::of(debian, &keyfiles);
        for (name, content) in &keyfiles {
            let needs = needs(&said(name, content, release));
            let is_error = needs.iter().any(|(.., error)| *error);
            if is_error || readings.refuses(name) {
                refused += 1;
                if is_error != readings.refuses(name) {
                    wrong.push(format!("{release} {name}: {needs:?}, libnm: {}", readings.0[name]["problems"]));
                }
                continue;
            }
            let without = without_each(content);
            // A group that is ignored is ignored with all its keys.
            let is_said = |key: &str, later: bool| {
                needs.iter().any(|(place, needed, _)| {
                    let needed: NetworkManagerVersion = needed.parse().unwrap();
                    let is_place = key == place || key.strip_prefix(place.as_str()).is_some_and(|k| k.starts_with('.'));
                    is_place && later == (needed > release_of_newest())
                })
            };
            let mut lacked = BTreeSet::new();
            for (number, Without { key, line, .. }) in without.iter().enumerate() {
                if readings.heeds(name, number) || DEFAULTS.contains(&line.as_str()) {
                    continue;
                }
                if newest.heeds(name, number) {
                    lacked.insert(key.as_str());
                }
            }
            let found: BTreeSet<&str> =
                without.iter().map(|without| without.key.as_str()).filter(|key| is_said(key, false)).collect();
            ignored += found.len();
            if found != lacked {
                wrong.push(format!("{release} {name}: said {found:?}, libnm ignores {lacked:?}"));
            }
            // What came after the newest release here has no effect in any.
            for (number, Without { key, .. }) in without.iter().enumerate().filter(|(_, w)| is_said(&w.key, true)) {
                if readings.heeds(name, number) && !lacked.contains(key.as_str()) {
                    wrong.push(format!("{release} {name}: {key} is read"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refused > 20 && ignored > 100, "{refused} {ignored}");
}

fn release_of_newest() -> NetworkManagerVersion {
    // Of a series, all releases know the same.
    let (_, series) = DEBIANS.iter().find(|(debian, _)| *debian == NEWEST).unwrap();
    format!("{series}99").parse().unwrap()
}

/// A place without its numbers, and without the parts that NMState has in one and profiles have in several.
fn plain(place: &str) -> String {
    let mut plain = String::new();
    let mut in_brackets = false;
    for c in place.chars() {
        match c {
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ if in_brackets => {}
            c => plain.push(c),
        }
    }
    let (group, key) = plain.split_once('.').unwrap_or((&plain, ""));
    match (group, key) {
        ("bond-port", _) => "bond-port".to_owned(),
        ("ethtool", key) if key.starts_with("pause-") => "ethtool.pause".to_owned(),
        ("ethtool", "fec-mode") => "ethtool.fec".to_owned(),
        ("ipv4" | "ipv6", key) if key.ends_with("_options") => "route_options".to_owned(),
        ("ipv4" | "ipv6", key) if key.starts_with("routing-rule") => "routing-rule".to_owned(),
        _ => plain,
    }
}

#[test]
fn of_a_document_the_same_is_said_as_of_its_profiles() {
    let mut compared = 0;
    for release in ["1.30.6", "1.34.0", "1.42.4", "1.42.8", "1.44.0", "1.52.1", "1.58.1"] {
        let release: NetworkManagerVersion = release.parse().unwrap();
        for (name, host) in hosts() {
            let report = convert_for(&host, Some(release)).1;
            let mut wanted = BTreeSet::new();
            let mut errors = false;
            for keyfile in convert(&host).0.unwrap().keyfiles {
                for (place, _, error) in needs(&said(&keyfile.name.to_string(), &keyfile.content, release)) {
                    errors |= error;
                    wanted.insert(plain(&place));
                }
            }
            let found: Vec<(String, bool)> =
                needs(&report).into_iter().map(|(place, _, error)| (plain(&place), error)).collect();
            for (place, _) in &found {
                let (_, keys) = PLACES.iter().find(|(known, _)| known == place).unwrap_or_else(|| panic!("{place}"));
                assert!(
                    keys.iter().any(|key| wanted.contains(*key)),
                    "{release} {name}: {place}, and of profiles {wanted:?}"
                );
            }
            for key in &wanted {
                let is_said = |(place, _): &(String, bool)| {
                    PLACES.iter().any(|(known, keys)| known == place && keys.contains(&key.as_str()))
                };
                assert!(found.iter().any(is_said), "{release} {name}: {key}, and of the document {found:?}");
            }
            assert_eq!(errors, found.iter().any(|(_, error)| *error), "{release} {name}");
            compared += found.len();
        }
    }
    assert!(compared > 20, "{compared}");
}
