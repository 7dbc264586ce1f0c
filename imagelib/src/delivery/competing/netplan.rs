//! Files of netplan in an initramfs itself.
//!
//! When systemd starts, netplan's generator makes units of systemd-networkd from them (`/run/systemd/network/10-netplan-*`). These sort behind
//! `10-eth0.network`, but before `10-uplink.network` and before dayone's unit for the NICs that the documents do not mention. It also makes rules
//! of udev by which NetworkManager leaves the interfaces alone. With `renderer: NetworkManager`, it makes profiles of NetworkManager instead.

use std::collections::BTreeSet;

use super::{DIRECTORIES, shown, text};
use crate::delivery::signs::has_file;
use crate::initramfs::Tree;

/// How the names of the units that netplan makes for systemd-networkd begin.
pub(super) const UNITS: &str = "10-netplan-";
const SUFFIX: &str = ".yaml";
const GENERATORS: [&str; 2] = ["usr/lib/systemd/system-generators/netplan", "lib/systemd/system-generators/netplan"];
/// The keys of interfaces that may be those of a server's network.
const INTERFACES: [&str; 4] = ["ethernets", "bonds", "bridges", "vlans"];

/// The files that describe interfaces. A file hides those of the same name in the directories behind its own.
pub(super) fn of(tree: &Tree) -> Vec<String> {
    if !GENERATORS.iter().any(|path| has_file(tree, path)) {
        return Vec::new();
    }
    let directories = DIRECTORIES.into_iter().filter(|directory| directory.ends_with("/netplan"));
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for file in directories.flat_map(|directory| tree.files_in(directory)) {
        if !file.name.ends_with(SUFFIX) || !known.insert(file.name.clone()) {
            continue;
        }
        match text(&file) {
            Some(text) if !describes_interfaces(&text) => {}
            Some(_) => found.push(shown(&file, "read by netplan")),
            None => found.push(shown(&file, "dayone did not read it")),
        }
    }
    found
}

/// Whether a file has more than a version and a renderer, as Ubuntu's `01-network-manager-all.yaml` has.
fn describes_interfaces(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.any(|line| INTERFACES.iter().any(|key| line.contains(key)))
}
