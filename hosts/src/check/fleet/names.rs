//! Host names.

use std::collections::BTreeMap;

use super::{CheckedHost, Comparison, Holders};
use crate::check::place_of_name;
use vocabulary::report::DocumentPath;

pub(super) fn check(hosts: &[CheckedHost<'_>], found: &mut Comparison) {
    let mut seen = Holders(BTreeMap::new());
    for host in hosts {
        let Some(name) = &host.topology.hostname else { continue };
        // Names differ in case only for people.
        let key = name.to_string().to_ascii_lowercase();
        let says = |other: &str, first: &DocumentPath| format!("has the name {name}, like {other} ({first})");
        seen.add(key, host, place_of_name(host), "hostname-duplicate", says, found);
    }
}
