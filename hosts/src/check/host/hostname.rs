//! The host name: that it is one host's.

use super::Network;
use crate::check::{CheckedHost, place_of_name};
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    let Some(name) = network.topology.hostname.as_ref().map(ToString::to_string) else { return };
    if stands_for_any_host(&name.to_ascii_lowercase()) {
        let host = CheckedHost { host: network.host, topology: network.topology };
        let message = format!("is {name}, which NetworkManager and clusters treat as no name");
        report.error("hostname-localhost", &place_of_name(&host), message);
    }
}

/// As in systemd (`is_localhost`) and NetworkManager (`nm_utils_is_specific_hostname`).
fn stands_for_any_host(name: &str) -> bool {
    let names = ["localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6"];
    names.contains(&name)
        || name == "localhost6.localdomain6"
        || name.ends_with(".localhost")
        || name.ends_with(".localhost.localdomain")
}
