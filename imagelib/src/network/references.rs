//! Names by which one part of a document refers to an interface.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::{Mapping, Value};

use super::document::{descend, elements, quoted, text};
use super::interfaces::{Interface, kernel_name_problem, known_names};
use super::pattern::{Pattern, Searched, visit_mut};
use crate::host::NamedNic;
use crate::report::{DocumentPath, Report};

/// What each name of the document stands for.
pub(crate) struct Names<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Names<'a> {
    /// As in nmstate, an interface's name is found before another name of one, and that before a profile's.
    pub(crate) fn of(entries: &[Interface<'a>]) -> Self {
        let called = |entry: &Interface<'a>| {
            let profile = text(entry.map, "profile-name").filter(|profile| entry.is_alias() && !profile.is_empty());
            profile.unwrap_or(entry.name)
        };
        let profiles = entries.iter().filter_map(|entry| Some((text(entry.map, "profile-name")?, called(entry))));
        let others = entries.iter().flat_map(|entry| alternative(entry.map).map(|name| (name, called(entry))));
        let own = entries.iter().map(|entry| (entry.name, called(entry)));
        Self(profiles.chain(others).chain(own).collect())
    }

    /// The name that [`crate::topology::Interface::name`] has for what the document calls `name`.
    pub(crate) fn name<'n>(&self, name: &'n str) -> &'n str
    where
        'a: 'n,
    {
        self.0.get(name).copied().unwrap_or(name)
    }
}

/// Other names of an interface, by which nmstate finds it as well.
pub(super) fn alternative(interface: &Mapping) -> impl Iterator<Item = &str> {
    let names = elements(interface, &["alt-names"]).iter().filter_map(Value::as_mapping);
    names.filter(|name| text(name, "state") != Some("absent")).filter_map(|name| text(name, "name"))
}

/// Where ports are named.
const PORTS: &[Pattern] = &[
    &["interfaces", "*", "link-aggregation", "port", "*"],
    &["interfaces", "*", "link-aggregation", "ports-config", "*", "name"],
    &["interfaces", "*", "bridge", "port", "*", "name"],
    &["interfaces", "*", "vrf", "port", "*"],
    &["interfaces", "*", "controller"],
];

/// Names ports, and their controllers, by the names of their entries. nmstate follows the name of a profile, and an alternative
/// name, everywhere but here, where it makes a NIC of its own for them.
pub(super) fn name_ports(document: &mut Cow<'_, Mapping>, interfaces: &[Interface<'_>]) {
    let own: BTreeSet<&str> = interfaces.iter().map(|interface| interface.name).collect();
    let mut others: BTreeMap<&str, &str> = BTreeMap::new();
    for interface in interfaces {
        let profile = text(interface.map, "profile-name");
        let all = alternative(interface.map).chain(profile).filter(|other| !own.contains(other));
        others.extend(all.map(|other| (other, interface.name)));
    }
    if others.is_empty() {
        return;
    }
    for at in PORTS {
        visit_mut(document.to_mut(), at, &mut |value| {
            if let Some(name) = value.as_str().and_then(|name| others.get(name)) {
                *value = (*name).into();
            }
        });
    }
}

/// Where a name may stand for any interface of the document, one with a name of the document's own included.
pub(super) const REFERENCES: &[Pattern] = &[
    &["interfaces", "*", "link-aggregation", "port", "*"],
    &["interfaces", "*", "bridge", "port", "*", "name"],
    &["interfaces", "*", "vrf", "port", "*"],
    &["interfaces", "*", "controller"],
    &["interfaces", "*", "vlan", "base-iface"],
    &["interfaces", "*", "vxlan", "base-iface"],
    &["interfaces", "*", "mac-vlan", "base-iface"],
    &["interfaces", "*", "mac-vtap", "base-iface"],
    &["interfaces", "*", "macsec", "base-iface"],
    &["interfaces", "*", "infiniband", "base-iface"],
];

/// Where the kernel reads the name, which has to be the device's.
const KERNEL_NAMES: &[Pattern] = &[
    &["interfaces", "*", "link-aggregation", "options", "primary"],
    &["interfaces", "*", "veth", "peer"],
    &["route-rules", "config", "*", "iif"],
];

/// Checks every reference.
pub(super) fn check(
    document: &Searched<'_>,
    interfaces: &[Interface<'_>],
    nics: &[NamedNic],
    path: &DocumentPath,
    report: &mut Report,
) {
    let known = known_names(interfaces);
    let aliases: BTreeSet<&str> = interfaces.iter().filter(|i| i.is_alias()).map(|i| i.name).collect();
    for (at, kernel) in REFERENCES.iter().map(|at| (at, false)).chain(KERNEL_NAMES.iter().map(|at| (at, true))) {
        document.each(at, &mut |steps, value| {
            let Some(name) = value.as_str() else { return };
            if kernel && aliases.contains(name) {
                let message = match nics.iter().find(|nic| nic.name == name) {
                    Some(nic) => format!(
                        "is {}, which {} says is the NIC {}, whatever the kernel calls it; here the kernel needs its own \
                         name: if this is it, take the NIC out of the list",
                        quoted(name),
                        nic.path,
                        nic.mac
                    ),
                    None => format!(
                        "is {}, which is the document's name for a NIC that is identified otherwise; the kernel needs the \
                         NIC's own name here: identify the NIC by name",
                        quoted(name)
                    ),
                };
                report.error("alias-as-kernel-name", &descend(path, steps), message);
            } else if let Some(problem) =
                kernel_name_problem(name).filter(|_| !name.is_empty() && !known.contains(name))
            {
                let message = format!("is {}, which cannot be an interface's name: {problem}", quoted(name));
                report.error("interface-name-invalid", &descend(path, steps), message);
            }
        });
    }
}
