//! A topology as JSON; `docs/commands.md` says what stands where.
//!
//! Structures are taken apart without `..`: the compiler asks here about every new field.
//! What does not apply to something is absent. Places are as findings have them.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::model::{
    Address, Bond, Bridge, Device, Dns, Interface, Ip, Kind, MAIN_TABLE, Method, NameServer, Route, Rule, Topology,
    Vlan, Vxlan,
};

impl Serialize for Topology {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { hostname, interfaces, routes, rules, dns: resolver } = self;
        let value = json!({
            "hostname": hostname,
            "interfaces": interfaces.iter().map(|interface| self.interface_json(interface)).collect::<Vec<_>>(),
            "routes": routes.iter().map(route).collect::<Vec<_>>(),
            "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            "dns": dns(resolver),
        });
        value.serialize(serializer)
    }
}

impl Topology {
    fn interface_json(&self, interface: &Interface) -> Value {
        let Interface {
            name,
            label: _,
            path,
            device: found_by,
            kind: what,
            active,
            mac,
            mtu,
            options: _,
            controller,
            ports: _,
            ipv4,
            ipv6,
        } = interface;
        // By their names, whatever order the document has.
        let ports: Vec<&str> = self.ports(name).map(|port| port.name.as_str()).collect();
        let mut object = present([
            ("name", json!(name)),
            ("type", json!(what.name())),
            ("found_by", device(found_by)),
            ("active", json!(active)),
            ("mac", json!(mac.map(|mac| mac.to_string()))),
            ("mtu", json!(mtu)),
            ("controller", json!(controller)),
            ("parent", json!(what.parent())),
            ("ports", if ports.is_empty() { Value::Null } else { json!(ports) }),
        ]);
        object.append(&mut kind(what));
        object.insert("ipv4".to_owned(), ip(ipv4));
        object.insert("ipv6".to_owned(), ip(ipv6));
        object.insert("path".to_owned(), json!(path));
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

/// What interfaces of its kind have beside others. Parents stand with what all interfaces have.
fn kind(kind: &Kind) -> Map<String, Value> {
    match kind {
        Kind::Bond(Bond { mode, options }) => present([("mode", json!(mode)), ("options", json!(options))]),
        Kind::Vlan(Vlan { parent: _, id, options: _ }) => present([("id", json!(id))]),
        Kind::Vxlan(Vxlan { id, parent: _, remote: _, local: _, port: _ }) => present([("id", json!(id))]),
        Kind::LinuxBridge(Bridge {
            stp,
            forward_delay: _,
            hello_time: _,
            max_age: _,
            priority: _,
            vlan_filtering,
            options: _,
        }) => present([("stp", json!(stp)), ("vlan_filtering", json!(vlan_filtering))]),
        Kind::Vrf(table) => present([("table", json!(table))]),
        Kind::Veth(peer) => present([("peer", json!(peer))]),
        Kind::MacVlan { parent: _, tap: _, mode: _ }
        | Kind::Macsec { parent: _, port: _ }
        | Kind::Infiniband(_)
        | Kind::Ethernet
        | Kind::Dummy
        | Kind::Loopback
        | Kind::Other(_) => Map::new(),
    }
}

fn ip(ip: &Ip) -> Value {
    // Its path is in no member: the addresses have theirs.
    let Ip {
        method,
        addresses,
        automatic_dns,
        automatic_routes: _,
        automatic_gateway: _,
        metric,
        automatic_table,
        dhcp_duid: _,
        sends_hostname: _,
        dhcp_hostname: _,
        token: _,
        path: _,
    } = ip;
    let method = match method {
        Method::Disabled => "disabled",
        Method::Static => "static",
        Method::Dhcp => "dhcp",
        Method::RouterAdvertisements => "router-advertisements",
        Method::LinkLocal => "link-local",
    };
    let addresses =
        addresses.iter().map(|Address { network, path }| json!({"address": network.to_string(), "path": path}));
    let mut object = present([
        ("method", json!(method)),
        ("addresses", json!(addresses.collect::<Vec<_>>())),
        ("automatic_dns", json!(automatic_dns)),
        ("automatic_gateway", json!(ip.takes_gateway())),
        ("automatic_metric", json!(metric.filter(|_| ip.is_automatic()))),
    ]);
    if *automatic_table != MAIN_TABLE {
        object.insert("automatic_table".to_owned(), json!(automatic_table));
    }
    object.into()
}

fn route(route: &Route) -> Value {
    let Route { destination, kind, interface, gateway, gateway_path: _, source: _, metric: _, table, options: _, path } =
        route;
    let object = present([
        ("destination", json!(destination.to_string())),
        ("type", json!(kind.name())),
        ("gateway", json!(gateway)),
        ("interface", json!(interface)),
        ("metric", json!(route.unusual_metric())),
        ("table", json!(table)),
        ("path", json!(path)),
    ]);
    object.into()
}

fn rule(rule: &Rule) -> Value {
    let object = present([
        ("priority", json!(rule.priority)),
        ("packets", json!(rule.selector())),
        ("table", json!(rule.table)),
        ("path", json!(rule.path)),
    ]);
    object.into()
}

fn dns(dns: &Dns) -> Value {
    let Dns { servers, search, search_path: _, options } = dns;
    let servers =
        servers.iter().map(|NameServer { address, interface: _, path }| json!({"address": address, "path": path}));
    json!({"servers": servers.collect::<Vec<_>>(), "search": search, "options": options})
}
