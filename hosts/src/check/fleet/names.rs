//! Host names.

use std::collections::BTreeMap;

use super::{CheckedHost, Holders};
use crate::check::place_of_name;
use vocabulary::report::{DocumentPath, Report, Severity};

pub(super) fn check(hosts: &[CheckedHost<'_>], report: &mut Report) {
    let mut seen: BTreeMap<String, Holders<'_, DocumentPath>> = BTreeMap::new();
    for host in hosts {
        let Some(name) = &host.topology.hostname else { continue };
        let path = place_of_name(host);
        // Names differ in case only for people.
        let key = name.to_string().to_ascii_lowercase();
        match seen.get_mut(&key) {
            None => drop(seen.insert(key, Holders::new(host, path))),
            Some(holders) => {
                let says = |other: &str, first: &DocumentPath| format!("has the name {name}, like {other} ({first})");
                holders.shared(Severity::Error, "hostname-duplicate", &path, says, report);
            }
        }
    }
}
