//! Finds the interfaces, routes and rules of a document that have errors, and makes the document without them.
//!
//! One mistake hides others: nmstate stops at the first, and without keyfiles there is no topology to check. So dayone
//! leaves out what is wrong, or replaces it by something right of the same name, and checks the rest.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::{Mapping, Value};

use crate::members;
use crate::nmstate_document::{elements, index_in, mapping, number, ports, text};
use vocabulary::host::MacAddress;
use vocabulary::report::{DocumentPath, Origins, Report, Severity};

/// The types of controllers that stay such without what is wrong with them.
const CONTROLLERS: [&str; 3] = ["bond", "linux-bridge", "vrf"];

/// The parts of a document that have errors, by their places in its lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bad {
    pub(super) interfaces: BTreeSet<usize>,
    /// The members that the errors of these are in; empty for the interface as such.
    pub(super) members: BTreeMap<usize, BTreeSet<String>>,
    pub(super) routes: BTreeSet<usize>,
    pub(super) rules: BTreeSet<usize>,
    pub(super) dns: bool,
    /// Whether there are errors that are in none of these.
    pub(super) elsewhere: bool,
}

impl Bad {
    /// The parts of the document at `path` that `report` has errors about.
    pub(super) fn of(report: &Report, path: &DocumentPath) -> Self {
        let mut bad = Self::default();
        let list = |key: &str| path.key(key).key("config");
        let (interfaces, routes, rules) = (path.key("interfaces"), list("routes"), list("route-rules"));
        for finding in report.findings().iter().filter(|finding| finding.severity == Severity::Error) {
            if let Some(index) = index_in(&finding.path, &interfaces) {
                bad.interfaces.insert(index);
                bad.members.entry(index).or_default().insert(member_of(&finding.path, &interfaces.index(index)));
            } else if let Some(index) = index_in(&finding.path, &routes) {
                bad.routes.insert(index);
            } else if let Some(index) = index_in(&finding.path, &rules) {
                bad.rules.insert(index);
            } else if finding.path.is_inside(&path.key("dns-resolver")) {
                bad.dns = true;
            } else if !finding.path.is_inside(&path.key("hostname")) {
                bad.elsewhere = true;
            }
        }
        bad
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The member of the mapping at `top` that a path is in; empty where it is not in one.
fn member_of(path: &DocumentPath, top: &DocumentPath) -> String {
    let steps = path.steps_from(top).unwrap_or_default();
    steps.first().and_then(|step| step.as_key()).unwrap_or_default().to_owned()
}

/// The document at `path` without its bad parts, and where those that are left come from. A bad interface becomes one of the
/// same name that asks for DHCP; routes by it, whose gateways its addresses would have to reach, are left out.
pub(super) fn reduced(document: &Mapping, bad: &Bad, path: &DocumentPath) -> (Mapping, Origins) {
    let mut reduced = document.clone();
    let mut origins = Origins::default();
    // A bad controller of another type is no longer one.
    let in_controller = port_names(document, |index, entry| {
        !bad.interfaces.contains(&index) || text(entry, "type").is_some_and(|kind| CONTROLLERS.contains(&kind))
    });
    let mut lost: BTreeSet<String> = BTreeSet::new();
    if let Some(Value::Sequence(entries)) = reduced.get_mut("interfaces") {
        for (_, entry) in entries.iter_mut().enumerate().filter(|(index, _)| bad.interfaces.contains(index)) {
            let name = entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            *entry = Value::Mapping(entry.as_mapping().map(|entry| stub(entry, &in_controller)).unwrap_or_default());
            lost.insert(name);
        }
        let is_left = |_: usize, entry: &Value| entry.as_mapping().is_none_or(|entry| !entry.is_empty());
        keep(entries, &path.key("interfaces"), &mut origins, is_left);
    }
    for (list, wrong, by) in [("routes", &bad.routes, "next-hop-interface"), ("route-rules", &bad.rules, "iif")] {
        let config = reduced.get_mut(list).and_then(|value| value.get_mut("config"));
        if let Some(Value::Sequence(config)) = config {
            let by_lost = |item: &Value| item.get(by).and_then(Value::as_str).is_some_and(|name| lost.contains(name));
            let is_left = |index, item: &Value| !wrong.contains(&index) && !by_lost(item);
            keep(config, &path.key(list).key("config"), &mut origins, is_left);
        }
    }
    if bad.dns {
        reduced.shift_remove("dns-resolver");
    }
    (reduced, origins)
}

/// Keeps some elements of the list at `path`, and notes where they come from.
fn keep(list: &mut Vec<Value>, path: &DocumentPath, origins: &mut Origins, is_left: impl Fn(usize, &Value) -> bool) {
    let all = std::mem::take(list);
    let left = all.into_iter().enumerate().filter(|(index, item)| is_left(*index, item));
    for (index, item) in left {
        if index != list.len() {
            origins.moved(path.index(list.len()), path.index(index));
        }
        list.push(item);
    }
}

/// The names of interfaces that are ports of those controllers that count.
pub(super) fn port_names(document: &Mapping, counts: impl Fn(usize, &Mapping) -> bool) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for (index, entry) in elements(document, &["interfaces"]).iter().enumerate() {
        let Some(entry) = entry.as_mapping() else { continue };
        if counts(index, entry) {
            names.extend(ports::names(entry));
        }
        if text(entry, "controller").is_some_and(|controller| !controller.is_empty()) {
            names.extend(text(entry, "name"));
        }
    }
    names
}

/// An interface of the same name and the same ports that nmstate takes; empty where it has no name.
pub(super) fn stub(entry: &Mapping, in_controller: &BTreeSet<&str>) -> Mapping {
    let mut stub = Mapping::new();
    let Some(name) = text(entry, "name") else { return stub };
    let mut set = |key: &str, value: Value| drop(stub.insert(key.into(), value));
    set("name", name.into());
    set("state", "up".into());
    match text(entry, "type").unwrap_or("ethernet") {
        kind if CONTROLLERS.contains(&kind) => {
            set("type", kind.into());
            let names: Vec<&str> = ports::names(entry).collect();
            let ports: Value = names.iter().map(|name| Value::from(*name)).collect::<Vec<_>>().into();
            let (key, members) = match kind {
                "bond" => ("link-aggregation", members::mapping([("mode", "active-backup".into()), ("port", ports)])),
                "vrf" => {
                    let table = mapping(entry, "vrf").and_then(|vrf| number(vrf.get("route-table-id"))).unwrap_or(1000);
                    ("vrf", members::mapping([("route-table-id", table.into()), ("port", ports)]))
                }
                _ => {
                    let port = |name: &&str| Value::Mapping(members::mapping([("name", (*name).into())]));
                    ("bridge", members::mapping([("port", names.iter().map(port).collect::<Vec<_>>().into())]))
                }
            };
            set(key, members.into());
        }
        "vlan" => {
            let vlan = mapping(entry, "vlan");
            let base = vlan.and_then(|vlan| text(vlan, "base-iface"));
            let id = vlan.and_then(|vlan| number(vlan.get("id"))).filter(|id| *id <= 4094);
            if let (Some(base), Some(id)) = (base, id) {
                set("type", "vlan".into());
                set("vlan", members::mapping([("base-iface", base.into()), ("id", id.into())]).into());
            } else {
                set("type", "dummy".into());
            }
        }
        "ethernet" => {
            set("type", "ethernet".into());
            if let Some(mac) = text(entry, "mac-address").filter(|mac| mac.parse::<MacAddress>().is_ok()) {
                set("mac-address", mac.into());
                if text(entry, "identifier") == Some("mac-address") {
                    set("identifier", "mac-address".into());
                }
            }
        }
        _ => set("type", "dummy".into()),
    }
    if !in_controller.contains(name) {
        let on = || Value::from(true);
        set("ipv4", members::mapping([("enabled", on()), ("dhcp", on())]).into());
        set("ipv6", members::mapping([("enabled", on()), ("dhcp", on()), ("autoconf", on())]).into());
    }
    stub
}
