//! NMState documents of `fixtures/` against the systemd-networkd units and findings in `fixtures/networkd`.
//! `UPDATE_GOLDEN=1` rewrites those.

use crate::{nics, talos};

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use hosts::network::networkd::unmentioned;
use hosts::network::{self, ConvertedNetwork, NetworkFiles, NetworkdUnit, NetworkdUnitName, Target};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_yaml::{Mapping, Value};
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::{DocumentPath, Report};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

pub(crate) fn host(value: Value, boot_mac: Option<&str>) -> HostSpec {
    HostSpec {
        boot_mac: boot_mac.map(|mac| mac.trim().parse().unwrap()),
        ..HostSpec::with_network(NmstateDocument::new(value, DocumentPath::root()))
    }
}

pub(crate) fn convert(host: &HostSpec) -> (Option<ConvertedNetwork>, Report) {
    network::convert_network(host, Target { files: NetworkFiles::NetworkdUnits, ..Target::default() })
}

/// The good documents of `fixtures/nmstate`, and those of `fixtures/networkd` itself.
static CASES: LazyLock<Vec<(String, HostSpec)>> = LazyLock::new(|| {
    let mut cases = Vec::new();
    for directory in ["nmstate", "networkd"] {
        for entry in fs::read_dir(fixtures().join(directory)).unwrap() {
            let case = entry.unwrap();
            let Ok(text) = fs::read_to_string(case.path().join("nmstate.yaml")) else { continue };
            let boot_mac = fs::read_to_string(case.path().join("boot-mac")).ok();
            let nics = nics::beside(&case.path().join("nmstate.yaml"));
            let host = HostSpec { nics, ..host(serde_yaml::from_str(&text).unwrap(), boot_mac.as_deref()) };
            cases.push((case.file_name().into_string().unwrap(), host));
        }
    }
    cases.sort_by(|(a, _), (b, _)| a.cmp(b));
    assert!(cases.windows(2).all(|pair| pair[0].0 != pair[1].0), "a case has the name of another");
    assert!(cases.len() > 35);
    cases
});

fn lines(report: &Report) -> String {
    report.findings().iter().fold(String::new(), |mut text, finding| {
        writeln!(text, "{} {}: {finding}", finding.severity, finding.code).unwrap();
        text
    })
}

/// What the case gives, as files.
fn files(units: Option<&ConvertedNetwork>, report: &Report) -> BTreeMap<String, String> {
    let units = units.into_iter().flat_map(|units| &units.networkd_units);
    let mut files: BTreeMap<_, _> = units.map(|unit| (unit.name.to_string(), unit.content.clone())).collect();
    if !report.is_empty() {
        files.insert("findings".to_owned(), lines(report));
    }
    files
}

#[test]
fn every_document_gives_its_units_or_the_reasons_why_not() {
    let mut wrong = Vec::new();
    for (name, host) in CASES.iter() {
        let (units, report) = convert(host);
        assert_eq!(units.is_some(), !report.has_errors(), "{name}");
        let found = files(units.as_ref(), &report);
        let directory = fixtures().join("networkd").join(name);
        let golden = |directory: &Path| -> BTreeMap<String, String> {
            let entries = fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap());
            entries
                .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
                .filter(|(name, _)| !matches!(name.as_str(), "nmstate.yaml" | "boot-mac"))
                .collect()
        };
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            for name in golden(&directory).keys() {
                fs::remove_file(directory.join(name)).unwrap();
            }
            fs::create_dir_all(&directory).unwrap();
            for (name, content) in &found {
                fs::write(directory.join(name), content).unwrap();
            }
        }
        if golden(&directory) != found {
            wrong.push(format!("{name}: found\n{found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The two ways begin with the same checks: what is wrong for keyfiles is wrong for units, in the same words.
#[test]
fn findings_about_keyfiles_come_first() {
    let mut documents = CASES.clone();
    for entry in fs::read_dir(fixtures().join("nmstate/invalid")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let value = serde_yaml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            documents.push((path.display().to_string(), host(value, None)));
        }
    }
    for (name, host) in documents {
        let (network, mut keyfiles) = network::convert(&host);
        let (units, report) = convert(&host);
        // Except for findings about releases of NetworkManager, and about what it does when it activates a profile.
        keyfiles.forget("needs-newer-networkmanager");
        let lacks_secret = keyfiles.findings().iter().any(|finding| finding.code == "authentication-secret-missing");
        keyfiles.forget("authentication-secret-missing");
        assert!(report.findings().starts_with(keyfiles.findings()), "{name}: {report:?}");
        assert!(network.is_some() || lacks_secret || report == keyfiles, "{name}");
        if let Some(units) = units {
            assert_eq!(units.hostname, network.unwrap().hostname, "{name}");
        }
    }
}

#[test]
fn nics_that_are_not_mentioned_come_after_ours_and_before_the_images_own() {
    let unit = unmentioned().unwrap();
    assert_eq!(unit.content, "[Match]\nType=ether\nKind=!*\n\n[Link]\nUnmanaged=yes\n");
    assert!(unit.name.as_str() > "10-zzz.network" && unit.name.as_str() < "12");
    assert!(
        CASES.iter().filter_map(|(_, host)| convert(host).0).flat_map(|units| units.networkd_units).all(|u| u < unit)
    );
}

/// Sections that a unit may have, each with where it may be.
const SECTIONS: &[(&str, &[&str])] = &[
    (".link", &["Match", "Link"]),
    (".netdev", &["NetDev", "VLAN", "Bond", "Bridge", "VRF"]),
    (
        ".network",
        &[
            "Match",
            "Link",
            "Network",
            "Address",
            "DHCPv4",
            "IPv6AcceptRA",
            "DHCPv6",
            "Route",
            "RoutingPolicyRule",
            "Bridge",
        ],
    ),
];

/// Reads a unit strictly; what is wrong with it, if anything.
fn problem_of(unit: &NetworkdUnit) -> Option<String> {
    let (_, sections) = SECTIONS.iter().find(|(suffix, _)| unit.name.as_str().ends_with(suffix)).unwrap();
    let mut lines = unit.content.lines().peekable();
    if !matches!(lines.peek(), Some(&("[Match]" | "[NetDev]"))) {
        return Some("does not begin with what it is for".to_owned());
    }
    for line in lines.filter(|line| !line.is_empty()) {
        if line.chars().any(char::is_control) || line.ends_with('\\') || line.trim() != line {
            return Some(format!("line {line:?}"));
        }
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            if !sections.contains(&section) {
                return Some(format!("section {section:?}"));
            }
        } else {
            let (key, value) = line.split_once('=').unwrap_or_default();
            if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric()) || value.is_empty() {
                return Some(format!("line {line:?}"));
            }
        }
    }
    None
}

fn check(value: Value) -> Result<(), TestCaseError> {
    let host = host(value, Some("52:54:00:12:34:56"));
    let (units, report) = convert(&host);
    prop_assert_eq!(units.is_some(), !report.has_errors());
    for finding in report.findings() {
        prop_assert!(!finding.to_string().contains(char::is_control), "{}", finding);
    }
    if let Some(units) = &units {
        prop_assert!(!units.networkd_units.is_empty());
        for pair in units.networkd_units.windows(2) {
            prop_assert!(pair[0].name < pair[1].name);
        }
        for unit in &units.networkd_units {
            prop_assert_eq!(problem_of(unit), None, "{}", &unit.content);
            prop_assert!(unit.name.as_str().parse::<NetworkdUnitName>().is_ok());
        }
        let again = convert(&host).0;
        prop_assert_eq!(again.as_ref(), Some(units));
    }
    prop_assert_eq!(talos::problem_of(&host), None);
    Ok(())
}

/// Every value of the document, in the order of a walk over it.
fn values<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Sequence(list) => list.iter_mut().for_each(|value| values(value, found)),
        Value::Mapping(map) => map.values_mut().for_each(|value| values(value, found)),
        plain => found.push(plain),
    }
}

const TEXTS: &[&str] = &[
    "a\nb=c",
    "a\\",
    " x ",
    "../x",
    "[x]",
    "%i",
    "#",
    "",
    "*",
    "!eth0",
    "eth?",
    "0",
    "all",
    "a b",
    "ä",
    "10.0.0.0/8",
    "::/0",
    "255",
    "-1",
    "true",
    "lo",
    "\u{2028}",
    "x\u{85}y",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_spoiled_document_is_converted_or_refused(
        which in any::<Index>(),
        places in prop::collection::vec((any::<Index>(), select(TEXTS), any::<bool>()), 1..4),
    ) {
        let mut document = which.get(&CASES).1.network.as_nmstate().unwrap().value.clone();
        for (place, text, append) in places {
            let mut found = Vec::new();
            values(&mut document, &mut found);
            let place = place.index(found.len());
            match &mut *found[place] {
                Value::String(old) if append => old.push_str(text),
                value => *value = Value::from(text),
            }
        }
        check(document)?;
    }

    #[test]
    fn any_name_is_one_line_of_its_unit_or_refused(name in "\\PC{1,15}", by_mac in any::<bool>(), about in "\\PC{0,20}") {
        let mut nic: Mapping = serde_yaml::from_str("{type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}").unwrap();
        nic.insert("name".into(), name.into());
        nic.insert("description".into(), about.into());
        if by_mac {
            nic.insert("identifier".into(), "mac-address".into());
            nic.insert("mac-address".into(), "52:54:00:12:34:01".into());
        }
        let interfaces = Value::Sequence(vec![nic.into()]);
        check(Value::Mapping(Mapping::from_iter([("interfaces".into(), interfaces)])))?;
    }
}

/// What says only what is so anyway, or names what has no name in units: the units are the same without.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("type", "ethernet"),
    ("state", "up"),
    ("state", "down"),
    ("enabled", "false"),
    ("dhcp", "false"),
    ("autoconf", "false"),
    ("auto-dns", "true"),
    ("auto-gateway", "true"),
    ("auto-routes", "true"),
    ("auto-route-table-id", "0"),
    ("auto-negotiation", "true"),
    ("addr-gen-mode", "eui64"),
    ("dhcp-client-id", "ll"),
    ("dhcp-duid", "ll"),
    ("dhcp-send-hostname", "true"),
    ("use_carrier", "true"),
    ("num_grat_arp", "3"),
    ("num_unsol_na", "3"),
    ("miimon", "'100'"),
    ("miimon", "100"),
    ("enabled", "true"),
    ("route-table", "254"),
    ("vlan-default-pvid", "1"),
    ("controller", "''"),
    ("registration-protocol", "none"),
    ("controller", "bond0"),
    ("vrf-name", "vrf0"),
];

/// A setting that changes nothing in the units and is not reported is one that got lost without a word.
#[test]
fn every_setting_is_in_the_units_or_reported() {
    let mut lost = Vec::new();
    let mut tried = 0;
    for (name, host) in CASES.iter() {
        let (units, report) = convert(host);
        let Some(units) = units else { continue };
        let told: Vec<String> =
            report.findings().iter().map(|finding| finding.path.to_string().replace(".state", "")).collect();
        let mut settings = Vec::new();
        members(&host.network.as_nmstate().unwrap().value, &DocumentPath::root(), &mut Vec::new(), &mut settings);
        for (path, way, key, value) in settings {
            // The list of NICs says so already.
            let listed = !host.nics.is_empty() && matches!(key.as_str(), "identifier" | "mac-address");
            let without_effect =
                listed || key == "profile-name" || WITHOUT_EFFECT.contains(&(key.as_str(), value.trim()));
            let path = path.to_string();
            if without_effect || told.iter().any(|told| path.starts_with(told)) && key != "server" && key != "search" {
                continue;
            }
            tried += 1;
            let mut changed = host.clone();
            remove(&mut changed.network.as_nmstate_mut().unwrap().value, &way);
            let files = |network: &ConvertedNetwork| (network.networkd_units.clone(), network.hostname.clone());
            if convert(&changed).0.is_some_and(|changed| files(&changed) == files(&units)) {
                lost.push(format!("{name}: {path}: {value}"));
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
    assert!(tried > 200, "{tried}");
}

type Member = (DocumentPath, Vec<usize>, String, String);

/// Every plain value that is a member of a mapping: its path, the way to it, its key and itself.
fn members(value: &Value, path: &DocumentPath, way: &mut Vec<usize>, found: &mut Vec<Member>) {
    match value {
        Value::Sequence(list) => {
            for (index, value) in list.iter().enumerate() {
                way.push(index);
                members(value, &path.index(index), way, found);
                way.pop();
            }
        }
        Value::Mapping(map) => {
            for (index, (key, value)) in map.iter().enumerate() {
                let key = key.as_str().unwrap();
                way.push(index);
                if !matches!(value, Value::Sequence(_) | Value::Mapping(_)) {
                    let text = serde_yaml::to_string(value).unwrap().trim().to_owned();
                    found.push((path.key(key), way.clone(), key.to_owned(), text));
                }
                members(value, &path.key(key), way, found);
                way.pop();
            }
        }
        _ => {}
    }
}

fn remove(value: &mut Value, way: &[usize]) {
    let (first, rest) = way.split_first().unwrap();
    match value {
        Value::Mapping(map) if rest.is_empty() => {
            let key = map.keys().nth(*first).unwrap().clone();
            map.remove(&key);
        }
        Value::Mapping(map) => remove(map.values_mut().nth(*first).unwrap(), rest),
        Value::Sequence(list) => remove(&mut list[*first], rest),
        _ => unreachable!(),
    }
}
