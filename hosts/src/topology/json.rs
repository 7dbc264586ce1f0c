//! A topology as JSON; `docs/commands.md` says what stands where.
//!
//! What does not apply to something is absent. Places are as findings have them.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::model::{Device, Dns, Interface, Ip, Kind, MAIN_TABLE, Method, Route, Rule, Topology};

impl Serialize for Topology {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = json!({
            "hostname": self.hostname,
            "interfaces": self.interfaces.iter().map(|interface| self.interface_json(interface)).collect::<Vec<_>>(),
            "routes": self.routes.iter().map(route).collect::<Vec<_>>(),
            "rules": self.rules.iter().map(rule).collect::<Vec<_>>(),
            "dns": dns(&self.dns),
        });
        value.serialize(serializer)
    }
}

impl Topology {
    fn interface_json(&self, interface: &Interface) -> Value {
        let ports: Vec<&str> = self.ports(&interface.name).map(|port| port.name.as_str()).collect();
        let mut object = present([
            ("name", json!(interface.name)),
            ("type", json!(interface.kind.name())),
            ("found_by", device(&interface.device)),
            ("active", json!(interface.active)),
            ("mac", json!(interface.mac.map(|mac| mac.to_string()))),
            ("mtu", json!(interface.mtu)),
            ("controller", json!(interface.controller)),
            ("parent", json!(interface.kind.parent())),
            ("ports", if ports.is_empty() { Value::Null } else { json!(ports) }),
        ]);
        object.append(&mut kind(&interface.kind));
        object.insert("ipv4".to_owned(), ip(&interface.ipv4));
        object.insert("ipv6".to_owned(), ip(&interface.ipv6));
        object.insert("path".to_owned(), json!(interface.path));
        object.into()
    }
}

/// An object without what is null.
fn present<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    let present = members.into_iter().filter(|(_, value)| !value.is_null());
    present.map(|(key, value)| (key.to_owned(), value)).collect()
}

fn device(device: &Device) -> Value {
    match device {
        Device::Name => json!({"name": true}),
        Device::Mac(mac) => json!({"mac": mac.to_string()}),
        Device::Pci(address) => json!({"pci": address}),
        Device::Any => json!({"any": true}),
    }
}

/// What interfaces of its kind have beside others.
fn kind(kind: &Kind) -> Map<String, Value> {
    match kind {
        Kind::Bond(bond) => present([("mode", json!(bond.mode)), ("options", json!(bond.options))]),
        Kind::Vlan(vlan) => present([("id", json!(vlan.id))]),
        Kind::Vxlan { id, .. } => present([("id", json!(id))]),
        Kind::LinuxBridge(bridge) => {
            present([("stp", json!(bridge.stp)), ("vlan_filtering", json!(bridge.vlan_filtering))])
        }
        Kind::Vrf(table) => present([("table", json!(table))]),
        Kind::Veth(peer) => present([("peer", json!(peer))]),
        _ => Map::new(),
    }
}

fn ip(ip: &Ip) -> Value {
    let method = match ip.method {
        Method::Disabled => "disabled",
        Method::Static => "static",
        Method::Dhcp => "dhcp",
        Method::RouterAdvertisements => "router-advertisements",
        Method::LinkLocal => "link-local",
    };
    let addresses = ip.addresses.iter();
    let addresses = addresses.map(|address| json!({"address": address.network.to_string(), "path": address.path}));
    let mut object = present([
        ("method", json!(method)),
        ("addresses", json!(addresses.collect::<Vec<_>>())),
        ("automatic_dns", json!(ip.automatic_dns)),
        ("automatic_gateway", json!(ip.automatic_gateway)),
        ("automatic_metric", json!(ip.automatic_metric)),
    ]);
    if ip.automatic_table != MAIN_TABLE {
        object.insert("automatic_table".to_owned(), json!(ip.automatic_table));
    }
    object.into()
}

fn route(route: &Route) -> Value {
    let object = present([
        ("destination", json!(route.destination.to_string())),
        ("type", json!(route.kind.name())),
        ("gateway", json!(route.gateway)),
        ("interface", json!(route.interface)),
        ("metric", json!(route.metric)),
        ("table", json!(route.table)),
        ("path", json!(route.path)),
    ]);
    object.into()
}

fn rule(rule: &Rule) -> Value {
    let object = present([
        ("priority", json!(rule.priority)),
        ("packets", json!(rule.selector)),
        ("table", json!(rule.table)),
        ("path", json!(rule.path)),
    ]);
    object.into()
}

fn dns(dns: &Dns) -> Value {
    let servers = dns.servers.iter().map(|server| json!({"address": server.address, "path": server.path}));
    json!({"servers": servers.collect::<Vec<_>>(), "search": dns.search, "options": dns.options})
}
