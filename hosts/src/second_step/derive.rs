//! Derives the second step from the first: the bridge goes over the interface with the host's default route, and gets its
//! addresses. Everything else stays.

use serde_yaml::{Mapping, Value};

use super::check::first_network;
use super::{BRIDGE, SecondStepDocument, ShortName, Target};
use crate::members::mapping;
use crate::model::{Device, Interface, Ip, Kind, MAIN_TABLE, Topology};
use crate::nmstate_document::{self as nmstate, elements, is_true, number, text};
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
    let topology = first_network(host, report)?.topology;
    let uplink = uplink(&topology, &first.path, report)?;
    if !is_known_by_name(&topology, uplink, real_names, report) {
        return None;
    }
    let value = Value::Mapping(second(first.value.as_mapping()?, &topology, &uplink.name)?);
    // The user did not write the derived document, so findings about it point to the first step.
    let path = DocumentPath::document(&target.file_name());
    let mut origins = Origins::default();
    origins.made(path.clone(), first.path.clone());
    Some(NmstateDocument { value, path, origins })
}

/// Finds the interface with the default route.
fn uplink<'a>(topology: &'a Topology, path: &DocumentPath, report: &mut Report) -> Option<&'a Interface> {
    let routes = topology.routes.iter().filter(|route| route.is_default() && route.table == MAIN_TABLE);
    let mut names: Vec<&str> = routes.filter_map(|route| route.interface.as_deref()).collect();
    let offered = topology
        .interfaces
        .iter()
        .filter(|interface| [&interface.ipv4, &interface.ipv6].into_iter().any(Ip::takes_gateway));
    names.extend(offered.map(|interface| interface.name.as_str()));
    names.sort_unstable();
    names.dedup();
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
                interface.name, interface.name
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

fn second(first: &Mapping, topology: &Topology, uplink: &str) -> Option<Mapping> {
    let kept = below(topology, uplink);
    let entries: Vec<&Mapping> = elements(first, &["interfaces"]).iter().filter_map(Value::as_mapping).collect();
    let named = |name: &str| entries.iter().copied().find(|entry| text(entry, "name") == Some(name));
    let above = named(uplink)?;
    let mut interfaces: Vec<Value> = Vec::new();
    for entry in entries.iter().filter(|entry| text(entry, "name").is_some_and(|name| kept.contains(&name))) {
        let mut entry = (*entry).clone();
        if text(&entry, "identifier") == Some("mac-address") {
            entry.remove("mac-address");
        }
        for key in ["identifier", "pci-address", "profile-name"] {
            entry.remove(key);
        }
        if text(&entry, "name") == Some(uplink) {
            entry.remove("wait-ip");
            entry.insert("ipv4".into(), disabled());
            entry.insert("ipv6".into(), disabled());
        }
        interfaces.push(entry.into());
    }
    interfaces.push(bridge(uplink).into());
    interfaces.push(interface(above, uplink).into());
    let mut document = Mapping::new();
    document.insert("interfaces".into(), interfaces.into());
    let routes = moved(first, "routes", "next-hop-interface", uplink, |_| false);
    let tables: Vec<u64> = routes.iter().filter_map(|route| number(route.get("table-id"))).collect();
    let rules = moved(first, "route-rules", "iif", uplink, |rule| {
        number(rule.get("route-table")).is_some_and(|table| tables.contains(&table))
    });
    for (key, list) in [("routes", routes), ("route-rules", rules)] {
        if !list.is_empty() {
            document.insert(key.into(), config(list.into()).into());
        }
    }
    if let Some(dns) = nmstate::mapping(first, "dns-resolver").and_then(|dns| dns.get("config")) {
        document.insert("dns-resolver".into(), config(dns.clone()).into());
    }
    Some(document)
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

/// Returns the elements of a list that name the uplink, with the bridge instead, and those that `also` accepts.
fn moved(first: &Mapping, list: &str, key: &str, uplink: &str, also: impl Fn(&Mapping) -> bool) -> Vec<Value> {
    let elements = elements(first, &[list, "config"]).iter().filter_map(Value::as_mapping);
    let moved = elements.filter_map(|element| {
        let about = text(element, key) == Some(uplink);
        (about || also(element)).then(|| {
            let mut element = element.clone();
            if about {
                element.insert(key.into(), BRIDGE.into());
            }
            Value::Mapping(element)
        })
    });
    moved.collect()
}
