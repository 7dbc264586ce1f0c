//! The same ports by other names: those of their profiles, and under the other keys that NMState has for their lists.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Interface;
use super::addresses::Settings;

/// How an interface is called, and calls others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Naming {
    /// Its controller knows it by its profile's name.
    pub(super) by_profile: bool,
    /// Its ports are listed under other names of the keys.
    pub(super) other_keys: bool,
}

pub(super) fn vary(interfaces: &mut [Interface], settings: &[Settings]) {
    let profile = |interface: &Interface| Some(interface.value.get("profile-name")?.as_str()?.to_owned());
    let taken: Vec<String> = interfaces
        .iter()
        .flat_map(|interface| profile(interface).into_iter().chain([interface.name.clone()]))
        .collect();
    let is_unique = |name: &String| taken.iter().filter(|other| *other == name).count() == 1;
    let by_profile = interfaces.iter().zip(settings).filter(|(_, settings)| settings.naming.by_profile);
    let profiles: BTreeMap<String, String> = by_profile
        .filter_map(|(interface, _)| Some((interface.name.clone(), profile(interface).filter(&is_unique)?)))
        .collect();
    for (interface, settings) in interfaces.iter_mut().zip(settings) {
        for section in ["link-aggregation", "bridge", "vrf"] {
            let Some(Value::Object(controller)) = interface.value.get_mut(section) else { continue };
            for port in controller.get_mut("port").and_then(Value::as_array_mut).into_iter().flatten() {
                let name = if port.is_object() { &mut port["name"] } else { port };
                if let Some(profile) = name.as_str().and_then(|name| profiles.get(name)) {
                    *name = json!(profile);
                }
            }
            if settings.naming.other_keys {
                rename(controller, "port", "ports");
            }
        }
        if settings.naming.other_keys {
            rename(&mut interface.value, "link-aggregation", "bond");
        }
    }
}

fn rename(map: &mut Map<String, Value>, first: &str, other: &str) {
    if let Some(value) = map.remove(first) {
        map.insert(other.to_owned(), value);
    }
}
