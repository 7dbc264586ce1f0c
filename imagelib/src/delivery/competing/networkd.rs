//! Units of systemd-networkd in an initramfs itself.

use std::collections::{BTreeMap, BTreeSet};

use super::settings::{matches, settings};
use super::{directories, may_be_nic, netplan, shown, text};
use crate::ignition::Additions;
use crate::initramfs::{FileIn, Tree};
use vocabulary::network_files::UNMENTIONED_UNIT;

const SUFFIX: &str = ".network";
const DROP_IN_SUFFIX: &str = ".conf";
/// Types and kinds of interfaces that dayone's units do not configure (`systemd.network(5)`).
const OTHER_TYPES: [&str; 5] = ["loopback", "wlan", "wwan", "wireguard", "none"];
const OTHER_KINDS: [&str; 5] = ["veth", "tun", "tap", "wireguard", "vxlan"];

/// The units that networkd may use in place of the additions' own, or that change these, and the files that netplan makes such units from.
///
/// networkd reads the units of all directories in the order of their names, and uses the first one that matches. A unit hides those of the
/// same name in the directories behind its own.
pub(super) fn of(tree: &Tree, additions: Option<&Additions>) -> Vec<String> {
    let units = additions.map(|additions| additions.networkd_units.as_slice()).unwrap_or_default();
    let own: BTreeSet<&str> = units.iter().map(|unit| unit.name.as_str()).collect();
    let last = own.iter().copied().rfind(|name| is_network(name));
    let Some(last) = last.or(additions.is_none().then_some(UNMENTIONED_UNIT)) else { return Vec::new() };
    let names: BTreeSet<&str> = units.iter().flat_map(|unit| matched_names(&unit.content)).collect();
    let mut directories = directories(tree, "systemd/network");
    directories.push("lib/systemd/network".to_owned());
    let files: Vec<FileIn<'_>> = directories.iter().flat_map(|directory| tree.files_in(directory)).collect();
    let mut known = own.clone();
    let mut found = Vec::new();
    for file in &files {
        if is_network(&file.name) && file.name.as_str() < last && known.insert(&file.name) {
            found.extend(competing(file, &names));
        }
    }
    // In many systems, one of the directories is a link to another.
    let mut changing = BTreeSet::new();
    for (unit, directory) in own.iter().flat_map(|unit| directories.iter().map(move |directory| (unit, directory))) {
        let drop_ins = tree.files_in(&format!("{directory}/{unit}.d"));
        let drop_ins = drop_ins.iter().filter(|file| file.name.ends_with(DROP_IN_SUFFIX));
        changing.extend(drop_ins.map(|file| shown(file, &format!("changes {unit}"))));
    }
    found.extend(changing);
    if netplan::UNITS < last {
        found.extend(netplan::of(tree));
    }
    found
}

fn is_network(name: &str) -> bool {
    name.ends_with(SUFFIX)
}

/// The names for which a unit is.
fn matched_names(content: &str) -> impl Iterator<Item = &str> {
    let names = settings(content).filter(|(section, key, _)| (*section, *key) == ("Match", "Name"));
    names.flat_map(|(.., value)| value.split_whitespace())
}

/// The unit, for a message, unless it certainly is for other interfaces.
fn competing(file: &FileIn<'_>, names: &BTreeSet<&str>) -> Option<String> {
    let Some(text) = text(file) else { return Some(shown(file, "dayone did not read it")) };
    // Such a file hides another one of its name.
    if text.trim().is_empty() {
        return None;
    }
    // Several lists of one key are one list; an empty one takes back those before it.
    let mut conditions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (section, key, value) in settings(&text) {
        match (section, value) {
            ("Match", "") => drop(conditions.remove(key)),
            ("Match", value) => conditions.entry(key).or_default().extend(value.split_whitespace()),
            _ => {}
        }
    }
    let is_for_others = |(key, words): (&&str, &Vec<&str>)| match *key {
        "Name" => !words.iter().any(|word| may_be_nic(word) || names.iter().any(|name| matches(word, name))),
        "Type" => words.iter().all(|word| OTHER_TYPES.contains(word)),
        "Kind" => words.iter().all(|word| OTHER_KINDS.contains(word)),
        _ => false,
    };
    if conditions.iter().any(is_for_others) {
        return None;
    }
    let shown_conditions: Vec<String> =
        conditions.iter().map(|(key, words)| format!("{key}={}", words.join(" "))).collect();
    let part = if conditions.is_empty() { "matches everything".to_owned() } else { shown_conditions.join(" ") };
    Some(shown(file, &part))
}
