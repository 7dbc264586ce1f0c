//! Settings of ports that are not found by their names.
//!
//! nmstate looks for the settings of a bridge's or a bond's port by the name of the port's device, which a profile that
//! finds its NIC by another sign does not have: it writes the profile without them. In a profile they are a group like
//! any other. So dayone converts the document once more with these ports found by their names, and takes the groups
//! from there. No other part of those profiles counts.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use super::profiles::{Group, Profile};
use crate::nmstate_document::interfaces::Interface;
use crate::nmstate_document::{elements, text};

/// The groups that hold them. They stand behind the first group of a NIC's profile.
const GROUPS: [&str; 2] = ["bond-port", "bridge-port"];

/// The document with every port found by its name that has settings; none, where nmstate loses nothing.
pub(super) fn by_name(document: &Mapping, interfaces: &[Interface<'_>]) -> Option<Mapping> {
    let lists = [["bridge", "port"], ["link-aggregation", "ports-config"]];
    let ports = interfaces.iter().flat_map(|interface| lists.iter().flat_map(|keys| elements(interface.map, keys)));
    let with_settings = ports.filter_map(Value::as_mapping).filter(|port| port.len() > 1);
    let names: Vec<&str> = with_settings.filter_map(|port| text(port, "name")).collect();
    let lost = |interface: &&Interface<'_>| {
        let profile = text(interface.map, "profile-name");
        interface.is_alias() && (names.contains(&interface.name) || profile.is_some_and(|name| names.contains(&name)))
    };
    let lost: Vec<usize> = interfaces.iter().filter(lost).map(|interface| interface.index).collect();
    let mut document = (!lost.is_empty()).then(|| document.clone())?;
    let entries = document.get_mut("interfaces").and_then(Value::as_sequence_mut)?;
    for (index, entry) in entries.iter_mut().enumerate() {
        let Value::Mapping(entry) = entry else { continue };
        // nmstate refuses to copy from a port that has no address any more.
        entry.remove("copy-mac-from");
        if lost.contains(&index) {
            for key in ["identifier", "mac-address", "pci-address"] {
                entry.remove(key);
            }
        }
    }
    Some(document)
}

/// Gives each of `profiles` the port's settings of the profile of the same connection in `named`.
pub(super) fn complete(profiles: &mut [Profile], named: &[Profile]) {
    // nmstate derives the UUID from the interface's name and type: it is the same however the NIC is found.
    let uuid = |profile: &Profile| profile.get("connection", "uuid").map(str::to_owned);
    let by_uuid: BTreeMap<_, _> = named.iter().filter_map(|other| Some((uuid(other)?, settings(other)?))).collect();
    for profile in profiles.iter_mut().filter(|profile| settings(profile).is_none()) {
        if let Some(settings) = uuid(profile).and_then(|uuid| by_uuid.get(&uuid)) {
            profile.groups.insert(1, (*settings).clone());
        }
    }
}

fn settings(profile: &Profile) -> Option<&Group> {
    profile.groups.iter().find(|group| GROUPS.contains(&group.name.as_str()))
}
