//! Name servers and search domains that nmstate puts into a profile where NetworkManager does not take them.
//!
//! nmstate looks for an interface with the server's family enabled, and link-local addresses are enough for it.
//! NetworkManager refuses the whole profile: `libnm-core-impl/nm-setting-ip{4,6}-config.c`, `verify`.

use serde_yaml::{Mapping, Value};

use crate::network::document::mapping;
use crate::report::{DocumentPath, Report};

/// Reports what stands in a family that has no addresses but link-local ones.
pub(super) fn check(keyfiles: &[(String, String)], document: &Mapping, path: &DocumentPath, report: &mut Report) {
    for (_, content) in keyfiles {
        for group in content.split("\n[").filter(|group| group.starts_with("ipv")) {
            let value = |key: &str| group.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            if !matches!(value("method"), Some("link-local" | "disabled")) {
                continue;
            }
            for (key, name) in [("dns", "server"), ("dns-search", "search")] {
                let Some(values) = value(key) else { continue };
                let first = values.split(';').next().unwrap_or_default();
                let message = "is left to an interface that has no address of that family but its link-local one, and \
                               NetworkManager refuses its profile; give one that reaches further, or leave this out";
                report.error("dns-without-address", &place(document, path, name, first), message);
            }
        }
    }
}

/// Where the document says this.
fn place(document: &Mapping, path: &DocumentPath, name: &str, wanted: &str) -> DocumentPath {
    let at = path.key("dns-resolver").key("config").key(name);
    let config = mapping(document, "dns-resolver").and_then(|resolver| mapping(resolver, "config"));
    let list = config.and_then(|config| config.get(name)).and_then(Value::as_sequence);
    let index = list.and_then(|list| list.iter().position(|item| item.as_str() == Some(wanted)));
    index.map_or_else(|| at.clone(), |index| at.index(index))
}
