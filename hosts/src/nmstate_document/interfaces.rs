//! Reads the interfaces of a document, and reports those that cannot work.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::{Mapping, Value};

use super::types::{REFUSED_TYPES, SUPPORTED_TYPES};
use super::{elements, mapping, number, quoted, text};
use crate::members::get;
use vocabulary::host::MacAddress;
use vocabulary::report::{DocumentPath, Origins, Report};

/// How a profile finds its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identifier {
    Name,
    Mac(MacAddress),
    Pci,
}

/// An entry of `interfaces` that nmstate will make a profile of.
#[derive(Debug)]
pub(crate) struct Interface<'a> {
    pub(crate) map: &'a Mapping,
    pub(crate) path: DocumentPath,
    pub(crate) index: usize,
    pub(crate) name: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) identifier: Identifier,
}

impl<'a> Interface<'a> {
    /// All names by which the document may refer to it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        [self.name].into_iter().chain(text(self.map, "profile-name")).chain(alternative_names(self.map))
    }

    /// Whether its name is only what the document calls it: the device has a name of its own, not known yet.
    pub(crate) fn is_alias(&self) -> bool {
        self.identifier != Identifier::Name
    }

    /// Whether it is a bond that has the MAC address of its active port, whatever the document says of one.
    pub(crate) fn has_address_of_port(&self) -> bool {
        let Some(bond) = mapping(self.map, "link-aggregation").filter(|_| self.kind == "bond") else { return false };
        let is = |value: Option<&Value>, name: &str| {
            value.is_some_and(|value| value.as_str() == Some(name)) || number(value) == Some(1)
        };
        is(get(bond, "mode"), "active-backup")
            && mapping(bond, "options").is_some_and(|options| is(get(options, "fail_over_mac"), "active"))
    }
}

/// All names by which the document may refer to its interfaces.
pub(crate) fn known_names<'a>(interfaces: &[Interface<'a>]) -> BTreeSet<&'a str> {
    interfaces.iter().flat_map(Interface::names).collect()
}

/// Reads and checks the entries of `interfaces`. Those that get no profile are left out.
pub(crate) fn read<'a>(document: &'a Mapping, path: &DocumentPath, report: &mut Report) -> Vec<Interface<'a>> {
    let at = path.key("interfaces");
    let entries = match document.get("interfaces") {
        Some(Value::Sequence(entries)) => entries.as_slice(),
        None | Some(Value::Null) => &[],
        Some(_) => {
            report.error("interfaces-not-a-list", &at, "is not a list of interfaces");
            return Vec::new();
        }
    };
    let mut interfaces = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let path = at.index(index);
        match entry {
            Value::Mapping(map) => interfaces.extend(read_one(map, path, index, report)),
            _ => report.error("interface-not-a-mapping", &path, "is not an interface: it has no name and no type"),
        }
    }
    interfaces
}

fn read_one<'a>(map: &'a Mapping, path: DocumentPath, index: usize, report: &mut Report) -> Option<Interface<'a>> {
    let name = match get(map, "name") {
        Some(Value::String(name)) => name.as_str(),
        Some(_) => {
            report.error("interface-name-invalid", &path.key("name"), "is not text; put quotes around it");
            return None;
        }
        None => {
            report.error("interface-name-missing", &path, "has no name");
            return None;
        }
    };
    match get(map, "state").map(Value::as_str) {
        Some(Some(state @ ("absent" | "ignore"))) => {
            let message =
                format!("is {state}: the interface gets no profile, and before the first boot there is none to remove");
            report.warning("interface-left-out", &path.key("state"), message);
            return None;
        }
        Some(Some("down")) => {
            let message = "is down: nothing activates the interface's profile";
            report.warning("interface-down", &path.key("state"), message);
        }
        Some(Some("unknown")) => {
            let message = "is unknown, and nmstate writes no profile for it; write up, or remove state";
            report.error("interface-state-unknown", &path.key("state"), message);
        }
        _ => {}
    }
    let kind = read_kind(map, &path, report)?;
    let interface = Interface { map, index, name, kind, identifier: read_identifier(map, kind, &path, report)?, path };
    check_names(&interface, report);
    check_loopback(&interface, report);
    check_mac(&interface, report);
    Some(interface)
}

/// Reports an interface of another type with the name of the loopback. nmstate also refuses it, but its error is about the running system.
fn check_loopback(Interface { map, path, name, kind, .. }: &Interface<'_>, report: &mut Report) {
    if *name != "lo" || *kind == "loopback" {
        return;
    }
    let fix = if *kind == "ethernet" { "write type: loopback" } else { "choose another name" };
    let message = format!("is {kind}, and lo is the loopback, which every host has; {fix}");
    let place = if get(map, "type").is_some() { path.key("type") } else { path.clone() };
    report.error("type-unlike-name", &place, message);
}

fn read_kind<'a>(map: &'a Mapping, path: &DocumentPath, report: &mut Report) -> Option<&'a str> {
    let at = path.key("type");
    let kind = match get(map, "type") {
        None => {
            report.warning("interface-type-missing", path, "has no type, so nmstate treats it as ethernet");
            return Some("ethernet");
        }
        Some(Value::String(kind)) => kind.as_str(),
        Some(_) => {
            report.error("interface-type-unknown", &at, "is not text");
            return None;
        }
    };
    if let Some((_, code, reason)) = REFUSED_TYPES.iter().find(|(refused, ..)| *refused == kind) {
        report.error(code, &at, format!("is {kind}: {reason}"));
        return None;
    }
    if SUPPORTED_TYPES.contains(&kind) {
        return Some(kind);
    }
    let message = format!(
        "is {}, which is not a type that NMState knows (nmstate would treat it as ethernet); write one of {}",
        quoted(kind),
        SUPPORTED_TYPES.join(", ")
    );
    report.error("interface-type-unknown", &at, message);
    None
}

/// None where the profile would match devices that are not meant.
fn read_identifier(map: &Mapping, kind: &str, path: &DocumentPath, report: &mut Report) -> Option<Identifier> {
    let at = path.key("identifier");
    match text(map, "identifier") {
        Some("mac-address") if kind != "ethernet" => {
            let message = format!(
                "is mac-address, which works for ethernet only: a profile of type {kind} would lose the address and \
                 match any device"
            );
            report.error("identifier-type", &at, message);
            None
        }
        Some("mac-address") => {
            let Some(mac) = text(map, "mac-address") else {
                let message =
                    "is mac-address and there is no mac-address: the profile would match any NIC; add mac-address";
                report.error("mac-address-missing", &at, message);
                return None;
            };
            if let Ok(mac) = mac.parse() {
                return Some(Identifier::Mac(mac));
            }
            report.error("mac-address-invalid", &path.key("mac-address"), not_a_mac(mac));
            None
        }
        Some("pci-address") if !matches!(kind, "ethernet" | "infiniband") => {
            let message = format!("is pci-address, and an interface of type {kind} has none");
            report.error("identifier-type", &at, message);
            None
        }
        Some("pci-address") if text(map, "pci-address").is_none() => {
            let message =
                "is pci-address and there is no pci-address: the profile would match any NIC; add pci-address";
            report.error("pci-address-missing", &at, message);
            None
        }
        Some("pci-address") => Some(Identifier::Pci),
        _ => Some(Identifier::Name),
    }
}

fn not_a_mac(found: &str) -> String {
    format!("is {}, which is not a MAC address such as 52:54:00:12:34:56", quoted(found))
}

fn check_mac(interface: &Interface<'_>, report: &mut Report) {
    let Some(mac) = text(interface.map, "mac-address") else { return };
    if interface.identifier != Identifier::Name && interface.identifier != Identifier::Pci {
        return;
    }
    let at = interface.path.key("mac-address");
    if matches!(interface.kind, "infiniband" | "loopback" | "vrf") {
        let message = format!("is missing from the keyfiles for an interface of type {}", interface.kind);
        report.warning("not-in-keyfiles", &at, message);
    } else if interface.has_address_of_port() {
        let message = "is missing from the keyfiles: with fail_over_mac active, the bond has the address of the \
                       active port";
        report.warning("not-in-keyfiles", &at, message);
    } else if mac.parse::<MacAddress>().is_err() {
        report.error("mac-address-invalid", &at, not_a_mac(mac));
    }
}

fn check_names(interface: &Interface<'_>, report: &mut Report) {
    let at = interface.path.key("name");
    if !interface.is_alias()
        && let Some(problem) = kernel_name_problem(interface.name)
    {
        let message =
            format!("is {}, which the kernel refuses as an interface name: {problem}", quoted(interface.name));
        report.error("interface-name-invalid", &at, message);
    }
    if interface.name.is_empty() && interface.is_alias() {
        report.error("interface-name-missing", &at, "is empty");
    }
    // What becomes the profile's id and, made safe, its file's name.
    let id = match text(interface.map, "profile-name") {
        Some(id) => Some((id, interface.path.key("profile-name"))),
        None if interface.is_alias() => Some((interface.name, at)),
        None => None,
    };
    if let Some((id, at)) = id {
        if id.contains('/') || matches!(id, "." | "..") {
            let message =
                format!("is {}, which looks like a path; it is the name of a profile and its file", quoted(id));
            report.error("profile-name-path", &at, message);
        } else if id.trim().is_empty() {
            report.error("profile-name-empty", &at, "is blank; it is the name of a profile and its file");
        }
    }
}

/// Why the kernel (`dev_valid_name`) or NetworkManager (`nm_utils_ifname_valid_kernel`) refuses a name.
pub(crate) fn kernel_name_problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > 15 {
        Some("it is longer than 15 bytes")
    } else if matches!(name, "." | ".." | "all" | "default" | "bonding_masters") {
        Some("it is reserved")
    } else if name.contains(['/', ':', '%']) {
        Some("it contains '/', ':' or '%'")
    } else if name.contains(|c: char| c.is_ascii_whitespace()) {
        Some("it contains a blank")
    } else {
        None
    }
}

/// Reports names that two interfaces have, and NICs that two profiles would match.
pub(crate) fn check_duplicates(interfaces: &[Interface<'_>], origins: &Origins, report: &mut Report) {
    let place = |first: &Interface<'_>| origins.of(&first.path).unwrap_or_else(|| first.path.clone());
    let mut names: BTreeMap<&str, &Interface<'_>> = BTreeMap::new();
    let mut macs: BTreeMap<MacAddress, &Interface<'_>> = BTreeMap::new();
    for interface in interfaces {
        if let Some(first) = names.insert(interface.name, interface) {
            let message = format!(
                "is {}, like the name of {}: nmstate would keep only one of the two; merge them",
                quoted(interface.name),
                place(first)
            );
            report.error("interface-duplicate", &interface.path.key("name"), message);
        }
        if let Identifier::Mac(mac) = interface.identifier
            && let Some(first) = macs.insert(mac, interface)
        {
            let message =
                format!("is {mac}, like the address of {}: both profiles would match the same NIC", place(first));
            report.error("mac-address-duplicate", &interface.path.key("mac-address"), message);
        }
    }
}

/// Other names of an interface, by which nmstate finds it as well.
pub(crate) fn alternative_names(interface: &Mapping) -> impl Iterator<Item = &str> {
    let names = elements(interface, &["alt-names"]).iter().filter_map(Value::as_mapping);
    names.filter(|name| text(name, "state") != Some("absent")).filter_map(|name| text(name, "name"))
}
