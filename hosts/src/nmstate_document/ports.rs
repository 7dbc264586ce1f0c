//! Ports that a document names.

use serde_yaml::{Mapping, Value};

use super::{elements, text};
use vocabulary::report::DocumentPath;

/// The sections in which a controller lists its ports.
const CONTROLLERS: &[&str] = &["link-aggregation", "vrf", "bridge"];

/// The ports of an interface, whatever controller it is, each with its place.
pub(crate) fn with_places<'a>(map: &'a Mapping, path: &DocumentPath) -> Vec<(&'a str, DocumentPath)> {
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

/// The names of an interface's ports, whatever controller it is.
pub(crate) fn names(map: &Mapping) -> impl Iterator<Item = &str> {
    with_places(map, &DocumentPath::root()).into_iter().map(|(name, _)| name)
}
