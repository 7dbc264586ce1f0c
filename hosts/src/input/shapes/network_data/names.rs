//! The names of links on the host. Network data has only ids, which it uses for references.

use std::collections::{BTreeMap, BTreeSet};

use super::links::{Kind, Link, Links};
use crate::nmstate_document::interfaces::kernel_name_problem;

/// The names of links, by id.
pub(super) type Names<'a> = BTreeMap<&'a str, String>;

/// Gives every link a name: its `name`, if it has one. Otherwise, a NIC or bond gets its id, if that is a valid name of an
/// interface, or `nic0`, `bond0`, …; a VLAN gets a name such as `bond0.110` or `vlan110`.
pub(super) fn assign<'a>(links: &Links<'a>) -> Names<'a> {
    let mut names = Names::new();
    let mut taken: BTreeSet<String> = links.iter().filter_map(|link| link.name.map(str::to_owned)).collect();
    names.extend(links.iter().filter_map(|link| Some((link.id, link.name?.to_owned()))));
    // Valid ids come before generated names, so that no generated name takes an id.
    for link in links.iter().filter(|link| !matches!(link.kind, Kind::Vlan { .. })) {
        if link.name.is_none() && is_free(link.id, &taken) {
            taken.insert(link.id.to_owned());
            names.insert(link.id, link.id.to_owned());
        }
    }
    let (mut nics, mut bonds) = (0, 0);
    for link in links.iter() {
        let (stem, number) = match link.kind {
            Kind::Nic => ("nic", &mut nics),
            Kind::Bond(_) => ("bond", &mut bonds),
            Kind::Vlan { .. } => continue,
        };
        if !names.contains_key(link.id) {
            let name = numbered(stem, *number, &taken);
            taken.insert(name.clone());
            names.insert(link.id, name);
        }
        *number += 1;
    }
    name_vlans(links, &mut names, &mut taken);
    names
}

fn is_free(name: &str, taken: &BTreeSet<String>) -> bool {
    kernel_name_problem(name).is_none() && !taken.contains(name)
}

/// Returns `stem` with the first free number from `first` on.
fn numbered(stem: &str, first: u64, taken: &BTreeSet<String>) -> String {
    let mut number = first;
    loop {
        let name = format!("{stem}{number}");
        if !taken.contains(&name) {
            return name;
        }
        number += 1;
    }
}

/// Names VLANs. A VLAN on a VLAN waits for the name of the lower one. There are no cycles.
fn name_vlans<'a>(links: &Links<'a>, names: &mut Names<'a>, taken: &mut BTreeSet<String>) {
    let mut waiting: Vec<(&Link<'a>, &'a str, u64)> = Vec::new();
    for link in links.iter() {
        if let Kind::Vlan { lower, id } = link.kind
            && link.name.is_none()
        {
            waiting.push((link, lower, id));
        }
    }
    while !waiting.is_empty() {
        let before = waiting.len();
        waiting.retain(|(link, lower, id)| {
            let Some(lower) = names.get(lower) else { return true };
            let name = format!("{lower}.{id}");
            let free = [name, format!("vlan{id}")].into_iter().find(|name| is_free(name, taken));
            let name = free.unwrap_or_else(|| numbered(&format!("vlan{id}-"), 2, taken));
            taken.insert(name.clone());
            names.insert(link.id, name);
            false
        });
        if waiting.len() == before {
            return;
        }
    }
}
