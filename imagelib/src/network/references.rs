//! Names by which one part of a document refers to an interface.

use std::collections::BTreeSet;

use super::document::{descend, quoted};
use super::interfaces::{Interface, kernel_name_problem, known_names};
use super::pattern::{Pattern, Searched};
use crate::host::NamedNic;
use crate::report::{DocumentPath, Report, Severity};

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
                // Without its primary port, a bond comes up and chooses another. In the lists of agent-config and
                // NMStateConfig, names are nearly always those of the kernel.
                let severity = match at.last() {
                    Some(&"primary") => Severity::Warning,
                    Some(&"iif") if nics.iter().any(|nic| nic.name == name) => Severity::Warning,
                    _ => Severity::Error,
                };
                let message = match nics.iter().find(|nic| nic.name == name) {
                    Some(nic) => format!(
                        "is {}, by which {} means the NIC {}; here only the kernel's own name for the NIC works, so {}",
                        quoted(name),
                        nic.path,
                        nic.mac,
                        without(at)
                    ),
                    None => format!(
                        "is {}, which is the document's name for a NIC that is identified otherwise; here only the kernel's own \
                         name for the NIC works, so {}",
                        quoted(name),
                        without(at)
                    ),
                };
                report.add(severity, "alias-as-kernel-name", &descend(path, steps), message);
            } else if let Some(problem) =
                kernel_name_problem(name).filter(|_| !name.is_empty() && !known.contains(name))
            {
                let message = format!("is {}, which cannot be an interface's name: {problem}", quoted(name));
                report.error("interface-name-invalid", &descend(path, steps), message);
            } else if !kernel
                && let Some(message) = mistaken(name, &known, &aliases)
            {
                report.warning("reference-unknown", &descend(path, steps), message);
            }
        });
    }
}

/// The names of interfaces that others stand on, such as a NIC below VLANs.
pub(super) fn carriers<'a>(document: &Searched<'a>) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for at in REFERENCES.iter().filter(|at| at.last() == Some(&"base-iface")) {
        document.each(at, &mut |_, value| names.extend(value.as_str()));
    }
    names
}

/// What happens where the kernel calls the NIC otherwise.
fn without(at: &Pattern) -> &'static str {
    match at.last() {
        Some(&"primary") => "where the kernel calls it otherwise, the bond comes up without a primary port",
        Some(&"iif") => "where the kernel calls it otherwise, the rule matches nothing",
        _ => "where the kernel calls it otherwise, the profile fails",
    }
}

/// What speaks against it that a name which the document says nothing else about is a NIC's.
fn mistaken(name: &str, known: &BTreeSet<&str>, aliases: &BTreeSet<&str>) -> Option<String> {
    if name.is_empty() || known.contains(name) {
        return None;
    }
    let plain = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
    let letters = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
    let similar = known.iter().find(|known| plain(known) == plain(name)).or_else(|| {
        // The document's own names are words. Those that differ in digits alone are of things beside each other.
        let words = aliases.iter().filter(|alias| letters(alias) != letters(name) && name.len() > 3);
        words.min_by_key(|alias| strsim::damerau_levenshtein(alias, name)).filter(|alias| is_near(alias, name))
    });
    let of_a_profile = MADE.iter().any(|kind| {
        let number = name.strip_prefix(kind).map(|rest| rest.trim_start_matches(['-', '_']));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let of_a_vlan = name.rsplit_once('.').is_some_and(|(parent, id)| {
        !parent.is_empty() && !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())
    });
    let reason = match similar {
        Some(similar) => format!("is it {}?", quoted(similar)),
        None if of_a_profile || of_a_vlan => "only a profile makes an interface of such a name".to_owned(),
        None => return None,
    };
    Some(format!("is {}, which the document says nothing else about, and would be a NIC: {reason}", quoted(name)))
}

fn is_near(one: &str, other: &str) -> bool {
    strsim::damerau_levenshtein(one, other) <= 2
}

/// What people call interfaces that no kernel has by itself.
const MADE: [&str; 7] = ["bond", "br", "bridge", "dummy", "team", "vlan", "vrf"];
