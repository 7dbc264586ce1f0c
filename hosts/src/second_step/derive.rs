//! Derives the second step from the first: the bridge goes over the interface with the host's default route, and gets its
//! addresses. Everything else stays.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use super::check::first_network;
use super::{BRIDGE, SecondStepDocument, ShortName, Target, default_routes, rules};
use crate::members::mapping;
use crate::model::{Device, Interface, Kind, Rule, Topology, from_nmstate};
use crate::network::ConvertedNetwork;
use crate::nmstate_document::interfaces::{self, Interface as Entry};
use crate::nmstate_document::other_names::name_all;
use crate::nmstate_document::pattern::Searched;
use crate::nmstate_document::references::REFERENCES;
use crate::nmstate_document::{self as nmstate, aliases, elements, index_in, is_true, text};
use crate::yaml_text;
use vocabulary::host::{HostSpec, NetworkDocument, NmstateDocument};
use vocabulary::report::{DocumentPath, Origins, Report};

/// The metric of learned routes through the bridge in `OpenShift`'s documentation. It is lower than that of other interfaces.
const METRIC: u64 = 48;

/// How many levels interfaces can have.
const MAX_DEPTH: usize = 8;

/// Makes documents for the hosts of the first step that have none in `given`. If that is not possible for a host, it reports why
/// and removes the host from the first step, so that no other finding follows from it.
///
/// Open vSwitch finds a NIC by the kernel's name. If the first step finds it by its MAC address, its name there may be another
/// one. `real_names` says that it is the kernel's.
pub fn derive(
    first_step: &mut Vec<HostSpec>,
    given: &[SecondStepDocument],
    real_names: bool,
) -> (Vec<SecondStepDocument>, Report) {
    let mut report = Report::new();
    let mut derived = Vec::new();
    first_step.retain(|host| {
        let Some(name) = ShortName::of(host) else {
            let message = "belongs to a host without a name, which the file on the host needs";
            report.error("second-step-host-unknown", &host.network.path(), message);
            return false;
        };
        let target = Target::Host(name);
        if given.iter().any(|document| document.target == target) {
            return true;
        }
        let Some(network) = document(host, &target, real_names, &mut report) else { return false };
        let content = yaml_text::document(&network.value).into_bytes();
        derived.push(SecondStepDocument { target, role: host.role.clone(), content, network });
        true
    });
    (derived, report)
}

fn document(host: &HostSpec, target: &Target, real_names: bool, report: &mut Report) -> Option<NmstateDocument> {
    let first = match &host.network {
        NetworkDocument::Nmstate(first) => first,
        NetworkDocument::Keyfiles(_) => {
            let message = "is a keyfile; the second step is NMState, and dayone derives it only from NMState";
            report.error("second-step-keyfiles", &host.network.path(), message);
            return None;
        }
    };
    let network = first_network(host, report)?;
    let uplink = uplink(&network.topology, &first.path, report)?;
    if !is_known_by_name(&network.topology, uplink, real_names, report) {
        return None;
    }
    let Some(value) = second(&aliases::resolve(first), &network, uplink) else {
        let message =
            "has the default route, and no entry in the first step; write the document of the second step yourself";
        report.error("derive-uplink", &uplink.path, message);
        return None;
    };
    if let Some(name) = undescribed(&value) {
        let message = format!(
            "needs {}, of which the first step has no entry, so dayone cannot describe it in the second step; add an \
             entry for it, or write the document of the second step yourself",
            nmstate::quoted(&name)
        );
        report.error("derive-uplink", &uplink.path, message);
        return None;
    }
    // The user did not write the derived document, so findings about it point to the first step.
    let path = DocumentPath::document(&target.file_name());
    let mut origins = Origins::default();
    origins.made(path.clone(), first.path.clone());
    Some(NmstateDocument { value: Value::Mapping(value), path, origins })
}

/// Finds the interface with the default route.
fn uplink<'a>(topology: &'a Topology, path: &DocumentPath, report: &mut Report) -> Option<&'a Interface> {
    let names = default_routes::all(topology);
    let [name] = names.as_slice() else {
        let message = if names.is_empty() {
            "has no default route, so dayone cannot tell which interface is the bridge's uplink".to_owned()
        } else {
            format!("has default routes through several interfaces ({}), and br-ex has one uplink", names.join(", "))
        };
        report.error("derive-uplink", path, format!("{message}; write the document of the second step yourself"));
        return None;
    };
    let interface = topology.interface(name)?;
    if !matches!(interface.kind, Kind::Ethernet | Kind::Bond(_) | Kind::Vlan(_)) {
        let message = format!(
            "is of type {} and has the default route; the uplink of an Open vSwitch bridge is a NIC, a bond or a VLAN",
            interface.kind.name()
        );
        report.error("derive-uplink", &interface.path, message);
        return None;
    }
    Some(interface)
}

/// Whether an interface and all interfaces below it have the kernel's names.
fn is_known_by_name(topology: &Topology, interface: &Interface, real_names: bool, report: &mut Report) -> bool {
    let mut good = true;
    for name in below(topology, &interface.name) {
        let Some(interface) = topology.interface(name).filter(|interface| interface.device != Device::Name) else {
            continue;
        };
        if !real_names {
            let message = format!(
                "finds {} by its address, and Open vSwitch needs the name that the kernel gives it; if that is {} as \
                 well, add --real-names",
                interface.label, interface.label
            );
            report.error("derive-nic-by-mac", &interface.path, message);
            good = false;
        }
    }
    good
}

/// Returns an interface and all interfaces below it.
fn below<'a>(topology: &'a Topology, name: &'a str) -> Vec<&'a str> {
    let mut found = vec![name];
    let mut level = vec![name];
    for _ in 0..MAX_DEPTH {
        let lower = level.iter().flat_map(|name| {
            let parent = topology.interface(name).and_then(|interface| interface.kind.parent());
            topology.ports(name).map(|port| port.name.as_str()).chain(parent)
        });
        level = lower.filter(|name| !found.contains(name)).collect();
        found.extend(&level);
    }
    found
}

/// Makes the document. It calls every interface by the name of its entry, because it has none of the other names.
fn second(first: &NmstateDocument, network: &ConvertedNetwork, uplink: &Interface) -> Option<Mapping> {
    let written = first.value.as_mapping()?;
    let mut first = Cow::Borrowed(written);
    name_all(&mut first, &interfaces::read(written, &DocumentPath::root(), &mut Report::new()));
    let first = first.as_ref();
    let entries = interfaces::read(first, &DocumentPath::root(), &mut Report::new());
    let mut document = Mapping::new();
    document.insert("interfaces".into(), interfaces_of(&entries, &network.topology, uplink)?.into());
    for (key, list) in [("routes", moved_routes(first, uplink)), ("route-rules", moved_rules(first, network, uplink))] {
        if !list.is_empty() {
            document.insert(key.into(), config(list.into()).into());
        }
    }
    if let Some(dns) = nmstate::mapping(first, "dns-resolver").and_then(|dns| dns.get("config")) {
        let mut dns = dns.clone();
        let servers = dns.get_mut("server").and_then(Value::as_sequence_mut);
        for server in servers.into_iter().flatten() {
            // A link-local name server names the interface by which the host reaches it.
            if let Some((address, name)) = server.as_str().and_then(|server| server.split_once('%'))
                && name == uplink.label
            {
                *server = format!("{address}%{BRIDGE}").into();
            }
        }
        document.insert("dns-resolver".into(), config(dns).into());
    }
    Some(document)
}

/// Returns the uplink and everything below it, and the bridge over it.
fn interfaces_of(entries: &[Entry<'_>], topology: &Topology, uplink: &Interface) -> Option<Vec<Value>> {
    let above = entries.iter().find(|entry| entry.name == uplink.label)?.map;
    let mut kept: BTreeMap<&str, bool> = BTreeMap::new();
    for name in below(topology, &uplink.name) {
        match topology.interface(name) {
            Some(interface) => kept.insert(&interface.label, interface.kind == Kind::Ethernet),
            None => kept.insert(name, true),
        };
    }
    let mut interfaces: Vec<Value> = Vec::new();
    for entry in entries {
        if kept.remove(entry.name).is_none() {
            continue;
        }
        let mut kept = entry.map.clone();
        if text(&kept, "identifier") == Some("mac-address") {
            kept.remove("mac-address");
        }
        for key in ["identifier", "pci-address", "profile-name"] {
            kept.remove(key);
        }
        if entry.name == uplink.label {
            kept.remove("wait-ip");
            kept.insert("ipv4".into(), disabled());
            kept.insert("ipv6".into(), disabled());
        }
        interfaces.push(kept.into());
    }
    // nmstate treats what the first step only names as a NIC. The second step describes it, so that nmstate looks for it.
    for (name, _) in kept.into_iter().filter(|(_, is_nic)| *is_nic) {
        interfaces.push(mapping([("name", name.into()), ("type", "ethernet".into()), ("state", "up".into())]).into());
    }
    interfaces.push(bridge(&uplink.label).into());
    interfaces.push(interface(above, &uplink.label).into());
    Some(interfaces)
}

/// Returns the name of a port or a base interface that the document does not describe.
fn undescribed(document: &Mapping) -> Option<String> {
    let described = elements(document, &["interfaces"]).iter().filter_map(|entry| text(entry.as_mapping()?, "name"));
    let known: Vec<&str> = described.collect();
    let mut found = None;
    for at in REFERENCES.iter().filter(|at| at.last() != Some(&"controller")) {
        Searched::of(document).each(at, &mut |_, value| {
            found = found.take().or_else(|| value.as_str().filter(|name| !known.contains(name)).map(str::to_owned));
        });
    }
    found
}

/// Returns the routes through the uplink, with the bridge instead.
fn moved_routes(first: &Mapping, uplink: &Interface) -> Vec<Value> {
    let routes = elements(first, &["routes", "config"]).iter().filter_map(Value::as_mapping);
    let own = routes.filter(|route| {
        let is_there = !matches!(text(route, "state"), Some("absent" | "ignore"));
        is_there && text(route, "next-hop-interface") == Some(&uplink.label)
    });
    let moved = own.map(|route| {
        let mut route = route.clone();
        route.insert("next-hop-interface".into(), BRIDGE.into());
        Value::Mapping(route)
    });
    moved.collect()
}

/// Returns the routing rules in the profile of the uplink. Each has the priority that nmstate gave it, so that all rules of the
/// host stay in order.
fn moved_rules(first: &Mapping, network: &ConvertedNetwork, uplink: &Interface) -> Vec<Value> {
    let list = DocumentPath::root();
    let entries = interfaces::read(first, &list, &mut Report::new());
    let held = rules::held_by(uplink, network);
    let read = from_nmstate::read(first, &entries, None, &list).rules;
    let list = list.key("route-rules").key("config");
    let own = read.iter().filter(|rule| held.contains(&rules::without_place(rule)));
    let own: BTreeMap<usize, &Rule> = own.filter_map(|rule| Some((index_in(&rule.path, &list)?, rule))).collect();
    let written = elements(first, &["route-rules", "config"]);
    let moved = own.into_iter().filter_map(|(index, rule)| {
        let mut moved = written.get(index)?.as_mapping()?.clone();
        if let Some(priority) = rule.priority {
            moved.insert("priority".into(), priority.into());
        }
        if rule.iif.as_ref() == Some(&uplink.label) {
            moved.insert("iif".into(), BRIDGE.into());
        }
        Some(Value::Mapping(moved))
    });
    moved.collect()
}

fn disabled() -> Value {
    mapping([("enabled", false.into())]).into()
}

fn config(inside: Value) -> Mapping {
    mapping([("config", inside)])
}

/// Makes an interface that is up.
fn up(kind: &str) -> Mapping {
    mapping([("name", BRIDGE.into()), ("type", kind.into()), ("state", "up".into())])
}

fn bridge(uplink: &str) -> Mapping {
    let mut bridge = up("ovs-bridge");
    bridge.insert("ipv4".into(), disabled());
    bridge.insert("ipv6".into(), disabled());
    let ports = [uplink, BRIDGE].map(|name| Value::Mapping(mapping([("name", name.into())])));
    bridge.insert("bridge".into(), mapping([("port", ports.to_vec().into())]).into());
    bridge
}

/// Makes the interface that gets the addresses of the uplink.
fn interface(above: &Mapping, uplink: &str) -> Mapping {
    let mut interface = up("ovs-interface");
    interface.insert("copy-mac-from".into(), uplink.into());
    for key in ["mtu", "wait-ip"] {
        if let Some(value) = above.get(key) {
            interface.insert(key.into(), value.clone());
        }
    }
    for family in ["ipv4", "ipv6"] {
        let mut ip = nmstate::mapping(above, family).cloned().unwrap_or_default();
        ip.entry("enabled".into()).or_insert(false.into());
        if is_true(ip.get("enabled")) && (is_true(ip.get("dhcp")) || is_true(ip.get("autoconf"))) {
            ip.entry("auto-route-metric".into()).or_insert(METRIC.into());
        }
        interface.insert(family.into(), ip.into());
    }
    interface
}
