//! Version 2 of cloud-init's `network-config`, which is netplan's YAML.

use serde_json::{Map, Value, json};

use super::interface::Interface;
use super::ip::Automatic;
use super::kind::{BondOptions, Kind, SpanningTree};
use super::object::Object;
use super::{Network, Route};
use crate::network::fields::Findings;

/// Writes the whole document, as far as it can be said.
pub(super) fn write(network: &Network<'_>, findings: &mut Findings<'_>) -> String {
    for interface in &network.interfaces {
        if !interface.name.bytes().all(|byte| byte.is_ascii_graphic()) {
            findings.refuse(&interface.path.key("name"), "netplan takes letters, digits and punctuation of ASCII only");
        }
    }
    let mut document = Object::default();
    document.set("version", 2);
    for section in ["ethernets", "bonds", "bridges", "vlans"] {
        let members: Map<String, Value> = network
            .interfaces
            .iter()
            .filter(|interface| section_of(&interface.kind) == section)
            .map(|interface| (interface.name.to_owned(), device(interface, network).into()))
            .collect();
        document.set_some(section, (!members.is_empty()).then_some(members));
    }
    // Texts, numbers and mappings: there is nothing that YAML could not say.
    serde_yaml::to_string(&Value::from(document)).unwrap_or_default()
}

fn section_of(kind: &Kind<'_>) -> &'static str {
    match kind {
        Kind::Ethernet => "ethernets",
        Kind::Bond { .. } => "bonds",
        Kind::Bridge { .. } => "bridges",
        Kind::Vlan { .. } => "vlans",
    }
}

fn device(interface: &Interface<'_>, network: &Network<'_>) -> Object {
    let mut device = Object::default();
    device.set_some("match", interface.own_mac.map(|mac| json!({"macaddress": mac.to_string()})));
    match &interface.kind {
        Kind::Ethernet => {}
        Kind::Bond { options, .. } => {
            device.set("interfaces", interface.kind.ports().collect::<Value>());
            device.set("parameters", bond(options));
        }
        Kind::Bridge { stp, .. } => {
            device.set("interfaces", interface.kind.ports().collect::<Value>());
            device.set("parameters", bridge(stp));
        }
        Kind::Vlan { lower: (lower, _), id } => {
            device.set("id", *id);
            device.set("link", *lower);
        }
    }
    device.set_some("macaddress", interface.new_mac.map(|mac| mac.to_string()));
    device.set_some("mtu", interface.mtu);
    let (v4, v6) = (&interface.ip.v4, &interface.ip.v6);
    device.set("dhcp4", v4.automatic == Automatic::Dhcp);
    device.set("dhcp6", v6.automatic == Automatic::Dhcp);
    device.set("accept-ra", v6.automatic != Automatic::None);
    // By itself netplan gives every interface a link-local address of IPv6.
    device.set_some("link-local", (!v6.enabled).then_some(json!([])));
    let addresses: Vec<String> = interface.ip.addresses().map(ToString::to_string).collect();
    device.set_some("addresses", (!addresses.is_empty()).then_some(addresses));
    let routes: Vec<Value> = interface.routes.iter().map(|route| route_of(route).into()).collect();
    device.set_some("routes", (!routes.is_empty()).then_some(routes));
    let servers: Vec<String> = interface.servers.iter().map(ToString::to_string).collect();
    let nameservers = json!({"addresses": servers, "search": network.search});
    device.set_some("nameservers", (!servers.is_empty()).then_some(nameservers));
    device
}

fn route_of(route: &Route) -> Object {
    let mut entry = Object::default();
    entry.set("to", route.destination.to_string());
    match route.gateway {
        Some(gateway) => entry.set("via", gateway.to_string()),
        None => entry.set("scope", "link"),
    }
    entry.set_some("metric", route.metric);
    entry
}

fn bond(options: &BondOptions<'_>) -> Object {
    let mut parameters = Object::default();
    parameters.set("mode", options.mode);
    parameters.set("mii-monitor-interval", options.miimon);
    parameters.set_some("up-delay", options.updelay);
    parameters.set_some("down-delay", options.downdelay);
    parameters.set_some("lacp-rate", options.lacp_rate);
    parameters.set_some("transmit-hash-policy", options.hash_policy);
    parameters.set_some("primary", options.primary.as_ref().map(|(name, _)| *name));
    parameters
}

fn bridge(stp: &SpanningTree) -> Object {
    let mut parameters = Object::default();
    parameters.set("stp", stp.enabled);
    parameters.set_some("forward-delay", stp.forward_delay);
    parameters.set_some("hello-time", stp.hello_time);
    parameters.set_some("max-age", stp.max_age);
    parameters.set_some("priority", stp.priority);
    parameters
}
