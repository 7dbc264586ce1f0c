//! Names by which one part of a document refers to an interface.

use std::collections::BTreeSet;

use serde_yaml::Mapping;

use super::document::{descend, quoted, text};
use super::features::{Pattern, visit};
use super::interfaces::{Interface, kernel_name_problem, known_names};
use crate::report::{DocumentPath, Report};

/// Where a name may stand for any interface of the document, one with a name of the document's own included.
const REFERENCES: &[Pattern] = &[
    &["interfaces", "*", "link-aggregation", "port", "*"],
    &["interfaces", "*", "link-aggregation", "slaves", "*"],
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

/// Ports with settings of their own, which nmstate finds by the device's name only.
const PORT_SETTINGS: &[Pattern] =
    &[&["interfaces", "*", "bridge", "port", "*"], &["interfaces", "*", "link-aggregation", "ports-config", "*"]];

/// Checks every reference.
pub(super) fn check(document: &Mapping, interfaces: &[Interface<'_>], path: &DocumentPath, report: &mut Report) {
    let known = known_names(interfaces);
    let aliases: BTreeSet<&str> = interfaces.iter().filter(|i| i.is_alias()).map(|i| i.name).collect();
    for (at, kernel) in REFERENCES.iter().map(|at| (at, false)).chain(KERNEL_NAMES.iter().map(|at| (at, true))) {
        visit(document, at, &mut |steps, value| {
            let Some(name) = value.as_str() else { return };
            if kernel && aliases.contains(name) {
                let message = format!(
                    "is {}, which is the document's name for a NIC that is identified otherwise; the kernel needs the \
                     NIC's own name here: identify the NIC by name",
                    quoted(name)
                );
                report.error("alias-as-kernel-name", &descend(path, steps), message);
            } else if let Some(problem) =
                kernel_name_problem(name).filter(|_| !name.is_empty() && !known.contains(name))
            {
                let message = format!("is {}, which cannot be an interface's name: {problem}", quoted(name));
                report.error("interface-name-invalid", &descend(path, steps), message);
            }
        });
    }
    for at in PORT_SETTINGS {
        visit(document, at, &mut |steps, value| {
            let Some(port) = value.as_mapping() else { return };
            if port.len() > 1 && text(port, "name").is_some_and(|name| aliases.contains(name)) {
                let message = "has settings for a port that is not identified by its name, and nmstate would drop them; \
                               identify the NIC by name";
                report.error("port-settings-lost", &descend(path, steps), message);
            }
        });
    }
}
