//! Name servers and search domains that nmstate leaves out, or puts into a profile in which they have no effect.
//!
//! nmstate looks for an interface with the server's family enabled: one that is down will do, and one with link-local
//! addresses alone. In the latter case NetworkManager refuses the whole profile:
//! `libnm-core-impl/nm-setting-ip{4,6}-config.c`, `verify`.

use std::net::Ipv6Addr;

use serde_yaml::Mapping;

use super::profiles::Profile;
use crate::nmstate_document::elements;
use vocabulary::report::{DocumentPath, Report};

/// Reports what stands in a profile that does not come up, and in a family that has no addresses but link-local ones.
pub(super) fn check(profiles: &[Profile], document: &Mapping, path: &DocumentPath, report: &mut Report) {
    check_servers(document, path, report);
    for profile in profiles {
        let is_down = profile.get("connection", "autoconnect") == Some("false");
        for group in profile.groups.iter().filter(|group| matches!(group.name.as_str(), "ipv4" | "ipv6")) {
            let is_local = matches!(group.get("method"), Some("link-local" | "disabled"));
            if !is_local && !is_down {
                continue;
            }
            for (key, name) in [("dns", "server"), ("dns-search", "search")] {
                let Some(values) = group.get(key) else { continue };
                let first = values.split(';').next().unwrap_or_default();
                let at = place(document, path, name, first);
                if is_local {
                    let message = "goes to an interface that has only a link-local address of that family, and \
                                   NetworkManager refuses its profile; give the interface another address of that \
                                   family, or remove the name server";
                    report.error("dns-without-address", &at, message);
                } else {
                    let message = "goes to an interface that is down, so the host does not use it; put an interface \
                                   that is up, with static addresses, before it";
                    report.error("dns-interface-down", &at, message);
                }
            }
        }
    }
}

/// Reports servers that nmstate leaves out without a word: `sanitize` of its `dns.rs` looks at what stands before the `%`, and
/// has no answer to what is no address.
fn check_servers(document: &Mapping, path: &DocumentPath, report: &mut Report) {
    let at = path.key("dns-resolver").key("config").key("server");
    for (index, server) in elements(document, &["dns-resolver", "config", "server"]).iter().enumerate() {
        let address = server.as_str().and_then(|server| server.split_once('%')).map(|(address, _)| address);
        if address.is_some_and(|address| address.parse::<Ipv6Addr>().is_err()) {
            let message =
                "is not an IPv6 address with the interface behind it, such as fe80::1%eth0, and nmstate leaves it out";
            report.error("dns-server-invalid", &at.index(index), message);
        }
    }
}

/// Where the document says this.
fn place(document: &Mapping, path: &DocumentPath, name: &str, wanted: &str) -> DocumentPath {
    let at = path.key("dns-resolver").key("config").key(name);
    let list = elements(document, &["dns-resolver", "config", name]);
    let index = list.iter().position(|item| item.as_str() == Some(wanted));
    index.map_or_else(|| at.clone(), |index| at.index(index))
}
