//! Each setting of the good documents, one at a time: unknown ones are refused, and known ones are in the keyfiles or reported.

use std::collections::BTreeSet;

use hosts::network::convert;
use serde_yaml::{Mapping, Value};
use vocabulary::report::DocumentPath;

use crate::network_properties::{Mutation, documents, host, mutate};

/// Calls `each` with the document once for every mapping in it, that mapping changed by `change`.
fn for_each_mapping(document: &Value, change: &dyn Fn(&mut Mapping), each: &mut dyn FnMut(Value)) {
    fn nth(value: &mut Value, place: &mut usize, change: &dyn Fn(&mut Mapping)) -> bool {
        match value {
            Value::Mapping(map) if *place == 0 => {
                change(map);
                true
            }
            Value::Mapping(map) => {
                *place -= 1;
                map.values_mut().any(|value| nth(value, place, change))
            }
            Value::Sequence(list) => list.iter_mut().any(|value| nth(value, place, change)),
            _ => false,
        }
    }
    for place in 0.. {
        let mut changed = document.clone();
        if !nth(&mut changed, &mut place.clone(), change) {
            return;
        }
        each(changed);
    }
}

#[test]
fn an_unknown_key_is_refused_wherever_it_stands() {
    let mut accepted = Vec::new();
    for (name, document) in documents() {
        for_each_mapping(&document, &|map| drop(map.insert("surplus".into(), "x".into())), &mut |changed| {
            let (network, report) = convert(&host(changed.clone()));
            // An interface without a profile may have any keys.
            let left_out = report.findings().iter().any(|finding| finding.code == "interface-left-out");
            if network.is_some() && !left_out {
                accepted.push(format!("{name}: {}\n{report:?}", serde_yaml::to_string(&changed).unwrap()));
            }
        });
    }
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}

/// What says only what is so anyway: the keyfiles are the same without.
const DEFAULTS: &[(&str, &str)] = &[
    ("type", "ethernet"),
    ("type", "veth"),
    ("state", "up"),
    ("enabled", "false"),
    ("dhcp", "false"),
    ("autoconf", "false"),
    ("addr-gen-mode", "eui64"),
    ("auto-routes", "true"),
    ("reorder-headers", "true"),
    ("route-table", "254"),
];

/// What holds anyway beside other settings: what DHCP brings is the default with it, and not there without.
const HOLDS_ANYWAY: &[(&str, &str)] = &[
    ("auto-dns", "false"),
    ("auto-dns", "true"),
    ("auto-gateway", "false"),
    ("auto-gateway", "true"),
    ("auto-routes", "false"),
    ("dhcp-send-hostname", "false"),
];

/// Every setting either changes the keyfiles, or has a finding. A setting with the finding that it is missing from them does not
/// change them.
#[test]
fn every_setting_is_in_the_keyfiles_or_reported() {
    let lost: Vec<String> = documents()
        .iter()
        .flat_map(|(name, document)| wrongly_reported(name, document, &DocumentPath::root(), &[]))
        .collect();
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

/// Options of bonds, bridges and ethtool are independent numbers. To leave out each beside all others would take a minute.
const MANY: usize = 16;

/// Many settings have an effect only beside another one: `auto-route-metric` beside `dhcp: true`.
#[test]
fn a_setting_that_another_one_takes_the_effect_from_is_reported() {
    let mut lost = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut look_at = |name: &str, changed: &Value, around: &DocumentPath| {
        lost.extend(wrongly_reported(name, changed, around, HOLDS_ANYWAY));
    };
    for (name, document) in documents() {
        let settings = settings(&document);
        for (index, (place, path, key, value)) in settings.iter().enumerate() {
            let around = path.tops().nth(1).unwrap();
            // Once for each setting in each company.
            let beside = settings.iter().filter(|(_, path, ..)| path.is_inside(around)).map(|(.., key, _)| key.clone());
            let beside: Vec<_> = beside.collect();
            let is_long = beside.len() > MANY;
            if !seen.insert((key.clone(), beside)) {
                continue;
            }
            if !is_long {
                look_at(&format!("{name} without {path}"), &mutated(&document, *place, &Mutation::Remove), around);
            }
            let Value::Bool(value) = value else { continue };
            let changed = mutated(&document, *place, &Mutation::Replace((!value).into()));
            look_at(&format!("{name} with {path}: {}", !value), &changed, around);
            for (second, second_path, _, value) in &settings[index + 1..] {
                if let (Value::Bool(value), true) = (value, second_path.is_inside(around)) {
                    let changed = mutated(&changed, *second, &Mutation::Replace((!value).into()));
                    look_at(&format!("{name} with other {path}, {second_path}: {}", !value), &changed, around);
                }
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.into_iter().collect::<Vec<_>>().join("\n"));
}

fn mutated(document: &Value, place: usize, mutation: &Mutation) -> Value {
    let mut changed = document.clone();
    assert!(mutate(&mut changed, &mut place.clone(), mutation));
    changed
}

/// Settings below `around` that are neither in the keyfiles of `document` nor in a finding, or in both.
fn wrongly_reported(name: &str, document: &Value, around: &DocumentPath, defaults: &[(&str, &str)]) -> Vec<String> {
    let (network, report) = convert(&host(document.clone()));
    if network.is_none() {
        return Vec::new();
    }
    // A finding about a whole entry is one about all that stands in it.
    let reported: Vec<&DocumentPath> = report
        .findings()
        .iter()
        .filter(|finding| finding.code != "interface-type-missing")
        .map(|finding| match finding.code {
            // They stand at the state of the entry, if it has one.
            "interface-left-out" | "route-left-out" => {
                let entry = finding.path.tops().nth(1).unwrap();
                if entry.key("state") == finding.path { entry } else { &finding.path }
            }
            _ => &finding.path,
        })
        .collect();
    let files: Vec<&str> =
        network.iter().flat_map(|network| &network.keyfiles).map(|file| file.name.as_str()).collect();
    let mut lost = Vec::new();
    for (place, path, key, value) in settings(document) {
        let written = serde_yaml::to_string(&value).unwrap();
        // The profile of a NIC that is not identified by its name is called by the name anyway.
        let same_as_name =
            key == "profile-name" && files.contains(&format!("{}.nmconnection", written.trim()).as_str());
        let default = [DEFAULTS, defaults].concat().contains(&(key.as_str(), written.trim()));
        let said_to_be_lost = report.findings().iter().any(|one| one.code == "not-in-keyfiles" && one.path == path);
        let known = same_as_name || default || reported.iter().any(|reported| path.is_inside(reported));
        if !path.is_inside(around) || (known && !said_to_be_lost) {
            continue;
        }
        let without = convert(&host(mutated(document, place, &Mutation::Remove))).0;
        // Certificates are files beside the keyfiles that name them. An address without its IP is refused.
        let cannot_tell = without.is_none() || ["ca-cert", "client-cert", "private-key"].contains(&key.as_str());
        let is_lost = without == network;
        if is_lost != said_to_be_lost && !(said_to_be_lost && cannot_tell) {
            lost.push(format!("{name}: {path}: {}: {is_lost}, reported {said_to_be_lost}", written.trim()));
        }
    }
    lost
}

/// Every plain value that is a member of a mapping, in the order of [`mutate`]: its number, its path and itself.
fn settings(document: &Value) -> Vec<(usize, DocumentPath, String, Value)> {
    fn walk(
        value: &Value,
        path: &DocumentPath,
        place: &mut usize,
        found: &mut Vec<(usize, DocumentPath, String, Value)>,
    ) {
        match value {
            Value::Sequence(list) => {
                for (index, value) in list.iter().enumerate() {
                    *place += 1;
                    walk(value, &path.index(index), place, found);
                }
            }
            Value::Mapping(map) => {
                for (key, value) in map {
                    let key = key.as_str().unwrap();
                    let path = path.key(key);
                    if !matches!(value, Value::Sequence(_) | Value::Mapping(_)) {
                        found.push((*place, path.clone(), key.to_owned(), value.clone()));
                    }
                    *place += 1;
                    walk(value, &path, place, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(document, &DocumentPath::root(), &mut 0, &mut found);
    found
}
