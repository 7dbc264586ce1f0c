//! Each setting of the good documents, one at a time: unknown ones are refused, and known ones are in the keyfiles or reported.

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

/// A setting that changes nothing in the keyfiles and is not reported is one that got lost without a word.
#[test]
fn every_setting_is_in_the_keyfiles_or_reported() {
    let mut lost = Vec::new();
    for (name, document) in documents() {
        let (network, report) = convert(&host(document.clone()));
        // A finding about a whole entry is one about all that stands in it.
        let told: Vec<String> = report
            .findings()
            .iter()
            .filter(|finding| finding.code != "interface-type-missing")
            .map(|finding| match finding.code {
                "interface-left-out" | "route-left-out" => finding.path.to_string().replace(".state", ""),
                _ => finding.path.to_string(),
            })
            .collect();
        let files: Vec<&str> =
            network.iter().flat_map(|network| &network.keyfiles).map(|file| file.name.as_str()).collect();
        for (place, path, key, value) in settings(&document) {
            let written = serde_yaml::to_string(&value).unwrap();
            let path = path.to_string();
            // The profile of a NIC that is not identified by its name is called by the name anyway.
            let same_as_name =
                key == "profile-name" && files.contains(&format!("{}.nmconnection", written.trim()).as_str());
            let default = DEFAULTS.contains(&(key.as_str(), written.trim()));
            if told.iter().any(|told| path.starts_with(told)) || same_as_name || default {
                continue;
            }
            let mut without = document.clone();
            assert!(mutate(&mut without, &mut place.clone(), &Mutation::Remove));
            if convert(&host(without)).0 == network {
                lost.push(format!("{name}: {path}: {}", written.trim()));
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
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
