//! Settings of ports that are not found by their names.
//!
//! nmstate looks for the settings of a bridge's or a bond's port by the name of the port's device, which a profile that
//! finds its NIC by another sign does not have: it writes the profile without them. In a profile they are a section like
//! any other. So the document is converted once more with these ports found by their names, and the sections are taken
//! from there.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use crate::nmstate_document::interfaces::Interface;
use crate::nmstate_document::{elements, text};

/// The sections that hold them. They stand behind the first section of a NIC's profile.
const SECTIONS: [&str; 2] = ["[bond-port]", "[bridge-port]"];

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
    for index in lost {
        if let Some(Value::Mapping(entry)) = entries.get_mut(index) {
            for key in ["identifier", "mac-address", "pci-address"] {
                entry.remove(key);
            }
        }
    }
    Some(document)
}

/// `files`, each with the port's settings that the file of the same connection in `named` has.
pub(super) fn complete(files: &mut [(String, String)], named: &[(String, String)]) {
    let sections: BTreeMap<&str, &str> = named.iter().filter_map(|(_, content)| port_section(content)).collect();
    for (_, content) in files {
        if port_section(content).is_none()
            && let Some(section) = uuid(content).and_then(|uuid| sections.get(uuid))
        {
            let mut sections: Vec<&str> = content.trim_end().split("\n\n").collect();
            sections.insert(1, section);
            *content = sections.join("\n\n") + "\n";
        }
    }
}

/// A profile's UUID, and its port's settings.
fn port_section(content: &str) -> Option<(&str, &str)> {
    let section = content.split("\n\n").find(|section| SECTIONS.iter().any(|name| section.starts_with(name)))?;
    Some((uuid(content)?, section.trim_end()))
}

/// The UUID, which nmstate derives from the interface's name and type: it is the same however the NIC is found.
fn uuid(content: &str) -> Option<&str> {
    content.lines().find_map(|line| line.strip_prefix("uuid="))
}
