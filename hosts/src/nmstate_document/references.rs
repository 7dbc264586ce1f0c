//! Names by which one part of a document refers to an interface.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use serde_yaml::Value;

use super::interfaces::{Interface, kernel_name_problem, known_names};
use super::misspelt::{is_usual, may_mean};
use super::pattern::{Pattern, Searched};
use super::{descend, is_true, mapping, quoted};
use vocabulary::host::NamedNic;
use vocabulary::report::{DocumentPath, Report, Severity};

/// Where a name may stand for any interface of the document, one with a name of the document's own included.
pub(crate) const REFERENCES: &[Pattern] = &[
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
pub(crate) fn check(
    document: &Searched<'_>,
    interfaces: &[Interface<'_>],
    nics: &[NamedNic],
    path: &DocumentPath,
    report: &mut Report,
) {
    let known = known_names(interfaces);
    let uses = OnceCell::new();
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
                        "is {}, which {} uses for the NIC {}; here only the kernel's own name for the NIC works, so {}",
                        quoted(name),
                        nic.path,
                        nic.mac,
                        without(at)
                    ),
                    None => format!(
                        "is {}, which is the document's name for a NIC that it identifies in another way; here only \
                         the kernel's own name for the NIC works, so {}",
                        quoted(name),
                        without(at)
                    ),
                };
                report.add(severity, "alias-as-kernel-name", &descend(path, steps), message);
            } else if name.is_empty() && at.contains(&"port") {
                // nmstate writes a profile without a name of its device.
                let message = "is empty, so the profile of the port would match any NIC; write the name of the port, or \
                               remove it";
                report.error("interface-name-missing", &descend(path, steps), message);
            } else if let Some(problem) =
                kernel_name_problem(name).filter(|_| !name.is_empty() && !known.contains(name))
            {
                let message = format!("is {}, which cannot be an interface's name: {problem}", quoted(name));
                report.error("interface-name-invalid", &descend(path, steps), message);
            } else if !kernel
                && !name.is_empty()
                && !known.contains(name)
                && let Some(message) = mistaken(name, &known, &aliases).or_else(|| {
                    let uses = uses.get_or_init(|| Uses::of(document, interfaces, &known));
                    uses.meant_by(name, at.last() == Some(&"base-iface"))
                })
            {
                report.warning("reference-unknown", &descend(path, steps), message);
            }
        });
    }
}

/// The names of interfaces that others stand on, such as a NIC below VLANs.
pub(crate) fn carriers<'a>(document: &Searched<'a>) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for at in REFERENCES.iter().filter(|at| at.last() == Some(&"base-iface")) {
        document.each(at, &mut |_, value| names.extend(value.as_str()));
    }
    names
}

/// What happens where the kernel calls the NIC otherwise.
fn without(at: &Pattern) -> &'static str {
    match at.last() {
        Some(&"primary") => "if the kernel uses another name, the bond comes up without a primary port",
        Some(&"iif") => "if the kernel uses another name, the rule matches nothing",
        _ => "if the kernel uses another name, the profile fails",
    }
}

/// What speaks against it that a name which the document says nothing else about is a NIC's.
fn mistaken(name: &str, known: &BTreeSet<&str>, aliases: &BTreeSet<&str>) -> Option<String> {
    let plain = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
    let letters = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
    // A host may have NICs of both names.
    let may_be = |other: &&&str| !(is_usual(name) && is_usual(other));
    let similar = known.iter().filter(may_be).find(|known| plain(known) == plain(name)).or_else(|| {
        // The document's own names are words. Those that differ in digits alone are of things beside each other.
        let words = aliases.iter().filter(may_be).filter(|alias| letters(alias) != letters(name) && name.len() > 3);
        words.min_by_key(|alias| strsim::damerau_levenshtein(alias, name)).filter(|alias| is_near(alias, name))
    });
    let reason = match similar {
        Some(similar) => format!("did you mean {}?", quoted(similar)),
        None if made_by(name).is_some() => "only a profile creates an interface with such a name".to_owned(),
        None => return None,
    };
    Some(unknown(name, &reason))
}

fn unknown(name: &str, reason: &str) -> String {
    format!("is {}, which the document does not describe, so it would be a NIC: {reason}", quoted(name))
}

/// Where the document uses an interface beside [`REFERENCES`].
const NEXT_HOP: Pattern = &["routes", "config", "*", "next-hop-interface"];

/// What the document's interfaces are there for.
struct Uses<'a> {
    /// Names that need no entry: the other ends of pairs.
    made: BTreeSet<&'a str>,
    /// The interfaces, each with whether it has a use.
    interfaces: Vec<(&'a str, bool)>,
}

impl<'a> Uses<'a> {
    fn of(document: &Searched<'a>, interfaces: &[Interface<'a>], known: &BTreeSet<&str>) -> Self {
        let (mut made, mut used) = (BTreeSet::new(), BTreeSet::new());
        document.each(&["interfaces", "*", "veth", "peer"], &mut |_, value| made.extend(value.as_str()));
        // The controller of a port is not used by it.
        for at in REFERENCES.iter().filter(|at| at.last() != Some(&"controller")).chain([&NEXT_HOP]) {
            document.each(at, &mut |_, value| used.extend(value.as_str()));
        }
        let is_used = |interface: &Interface<'_>| {
            let has = |family| mapping(interface.map, family).is_some_and(|family| is_true(family.get("enabled")));
            let controller = interface.map.get("controller").and_then(Value::as_str);
            used.contains(interface.name)
                || has("ipv4")
                || has("ipv6")
                || controller.is_some_and(|controller| known.contains(controller))
        };
        let interfaces = interfaces.iter().map(|interface| (interface.name, is_used(interface)));
        Self { interfaces: interfaces.collect(), made }
    }

    /// What speaks for it that a name which no entry has is meant for an entry's. What others stand on may be used besides; a
    /// port may not.
    fn meant_by(&self, name: &str, as_base: bool) -> Option<String> {
        let may_be = |(other, used): &&(&str, bool)| (as_base || !used) && may_mean(name, other);
        let (meant, used) = self.interfaces.iter().find(may_be).filter(|_| !self.made.contains(name))?;
        let unused = if *used { "" } else { ", which is unused" };
        Some(unknown(name, &format!("did you mean {}{unused}?", quoted(meant))))
    }
}

fn is_near(one: &str, other: &str) -> bool {
    strsim::damerau_levenshtein(one, other) <= 2
}

/// What people call interfaces that no kernel has by itself, and their types.
const MADE: [(&str, &str); 7] = [
    ("bond", "bond"),
    ("br", "linux-bridge"),
    ("bridge", "linux-bridge"),
    ("dummy", "dummy"),
    ("team", "bond"),
    ("vlan", "vlan"),
    ("vrf", "vrf"),
];

/// Whether the kernel or udev gives a NIC such a name.
pub(crate) fn is_of_a_nic(name: &str) -> bool {
    is_usual(name) && !name.starts_with("veth")
}

/// The type of interface that a name is one of, where only a profile makes an interface of such a name.
pub(crate) fn made_by(name: &str) -> Option<&'static str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = |kind: &str| name.strip_prefix(kind).map(|rest| rest.trim_start_matches(['-', '_']));
    let made = MADE.iter().find(|(kind, _)| numbered(kind).is_some_and(is_number));
    let of_a_vlan = || name.rsplit_once('.').is_some_and(|(parent, id)| !parent.is_empty() && is_number(id));
    made.map(|(_, of)| *of).or_else(|| of_a_vlan().then_some("vlan"))
}
