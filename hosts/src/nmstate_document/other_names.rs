//! Names of interfaces besides those of their entries: of their profiles, and alternative ones.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::Mapping;

use super::interfaces::{Interface, alternative_names};
use super::pattern::{Pattern, visit_mut};
use super::references::REFERENCES;
use super::text;

/// What each name of the document stands for.
pub(crate) struct Names<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Names<'a> {
    /// As in nmstate, an interface's name is found before another name of one, and that before a profile's.
    pub(crate) fn of(entries: &[Interface<'a>]) -> Self {
        let profile_of = |entry: &Interface<'a>| text(entry.map, "profile-name").filter(|_| entry.is_alias());
        // A profile's name stands for an interface only if nothing else has it.
        let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
        for name in entries.iter().map(|entry| entry.name).chain(entries.iter().filter_map(profile_of)) {
            *taken.entry(name).or_default() += 1;
        }
        let is_own = |entry: &Interface<'a>, profile: &str| {
            !profile.is_empty() && taken.get(profile) == Some(&(1 + usize::from(profile == entry.name)))
        };
        let called =
            |entry: &Interface<'a>| profile_of(entry).filter(|profile| is_own(entry, profile)).unwrap_or(entry.name);
        let profiles = entries.iter().filter_map(|entry| Some((text(entry.map, "profile-name")?, called(entry))));
        let others = entries.iter().flat_map(|entry| alternative_names(entry.map).map(|name| (name, called(entry))));
        let own = entries.iter().map(|entry| (entry.name, called(entry)));
        Self(profiles.chain(others).chain(own).collect())
    }

    /// The name that [`crate::model::Interface::name`] has for what the document calls `name`.
    pub(crate) fn name<'n>(&self, name: &'n str) -> &'n str
    where
        'a: 'n,
    {
        self.0.get(name).copied().unwrap_or(name)
    }
}

/// Where ports are named.
const PORTS: &[Pattern] = &[
    &["interfaces", "*", "link-aggregation", "port", "*"],
    &["interfaces", "*", "link-aggregation", "ports-config", "*", "name"],
    &["interfaces", "*", "bridge", "port", "*", "name"],
    &["interfaces", "*", "vrf", "port", "*"],
    &["interfaces", "*", "controller"],
];

/// Where interfaces are named besides [`PORTS`], in ways that nmstate follows.
const OTHERS: &[Pattern] = &[&["interfaces", "*", "copy-mac-from"], &["routes", "config", "*", "next-hop-interface"]];

/// Names ports, and their controllers, by the names of their entries. nmstate follows the name of a profile, and an alternative
/// name, everywhere but here, where it makes a NIC of its own for them.
pub(crate) fn name_ports(document: &mut Cow<'_, Mapping>, interfaces: &[Interface<'_>]) {
    rename(document, interfaces, PORTS.iter());
}

/// Names interfaces by the names of their entries wherever nmstate follows another name, so that the document means the same
/// without the other names. What the kernel reads stays as it is.
pub(crate) fn name_all(document: &mut Cow<'_, Mapping>, interfaces: &[Interface<'_>]) {
    let below = REFERENCES.iter().filter(|at| !PORTS.contains(at));
    rename(document, interfaces, PORTS.iter().chain(OTHERS).chain(below));
}

fn rename<'p>(
    document: &mut Cow<'_, Mapping>,
    interfaces: &[Interface<'_>],
    places: impl Iterator<Item = &'p Pattern>,
) {
    let own: BTreeSet<&str> = interfaces.iter().map(|interface| interface.name).collect();
    let mut others: BTreeMap<&str, &str> = BTreeMap::new();
    for interface in interfaces {
        let profile = text(interface.map, "profile-name");
        let all = alternative_names(interface.map).chain(profile).filter(|other| !own.contains(other));
        others.extend(all.map(|other| (other, interface.name)));
    }
    if others.is_empty() {
        return;
    }
    for at in places {
        visit_mut(document.to_mut(), at, &mut |value| {
            if let Some(name) = value.as_str().and_then(|name| others.get(name)) {
                *value = (*name).into();
            }
        });
    }
}
