//! Names by which the document refers to interfaces.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use crate::network::document::{elements, text};
use crate::network::interfaces::Interface as Entry;
use crate::report::DocumentPath;

/// What each name of the document stands for.
pub(super) struct Names<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Names<'a> {
    /// As in nmstate, an interface's name is found before a profile's.
    pub(super) fn of(entries: &[Entry<'a>]) -> Self {
        let called = |entry: &Entry<'a>| {
            let profile = text(entry.map, "profile-name").filter(|profile| entry.is_alias() && !profile.is_empty());
            profile.unwrap_or(entry.name)
        };
        let profiles = entries.iter().filter_map(|entry| Some((text(entry.map, "profile-name")?, called(entry))));
        let own = entries.iter().map(|entry| (entry.name, called(entry)));
        Self(profiles.chain(own).collect())
    }

    /// The name that [`crate::topology::Interface::name`] has for what the document calls `name`.
    pub(super) fn name<'n>(&self, name: &'n str) -> &'n str
    where
        'a: 'n,
    {
        self.0.get(name).copied().unwrap_or(name)
    }
}

/// The sections in which a controller lists its ports.
const CONTROLLERS: &[&str] = &["link-aggregation", "vrf", "bridge"];

/// The ports of an interface, each with its place.
pub(super) fn ports<'a>(map: &'a Mapping, path: &DocumentPath) -> Vec<(&'a str, DocumentPath)> {
    let mut ports = Vec::new();
    for section in CONTROLLERS {
        for (index, port) in elements(map, &[section, "port"]).iter().enumerate() {
            let at = || path.key(section).key("port").index(index);
            match port {
                Value::String(name) => ports.push((name.as_str(), at())),
                Value::Mapping(port) => ports.extend(text(port, "name").map(|name| (name, at().key("name")))),
                _ => {}
            }
        }
    }
    ports
}
