//! Ports that a document names.

use serde_yaml::{Mapping, Value};

use crate::nmstate_document::{elements, text};
use vocabulary::report::DocumentPath;

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
