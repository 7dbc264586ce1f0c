//! What has become of a machine's network, against the topology that dayone said it would have.

use std::collections::{BTreeMap, BTreeSet};

use hosts::model::{Device, Interface, Method, RouteKind, Topology};
use serde_json::{Value, json};

use super::{addresses, is_nic_with, list, text};
use crate::report::Report;

/// Every difference. Both ways: what is in the topology is there, and addresses, ports, routes and rules that are there and
/// that no server offered are in the topology.
pub fn topology_differences(topology: &Topology, report: &Report) -> Vec<String> {
    let links = &report.0["addresses"];
    let mut names = BTreeMap::new();
    let mut found = Vec::new();
    for interface in &topology.interfaces {
        match list(links).find(|link| is_device(interface, link)) {
            Some(link) => drop(names.insert(interface.name.as_str(), link)),
            None => found.push(format!("{}: there is no such interface", interface.name)),
        }
    }
    let mut comparison = Comparison { topology, report: &report.0, names, found };
    comparison.interfaces();
    comparison.routes();
    comparison.rules();
    comparison.names();
    comparison.found
}

fn is_device(interface: &Interface, link: &Value) -> bool {
    match &interface.device {
        Device::Mac(mac) => is_nic_with(link, &mac.to_string()),
        Device::Name | Device::Any | Device::Pci(_) => link["ifname"] == interface.name.as_str(),
    }
}

struct Comparison<'a> {
    topology: &'a Topology,
    report: &'a Value,
    names: BTreeMap<&'a str, &'a Value>,
    found: Vec<String>,
}

impl Comparison<'_> {
    fn interfaces(&mut self) {
        for interface in self.topology.interfaces.iter().filter(|interface| interface.active) {
            let Some(link) = self.names.get(interface.name.as_str()).copied() else { continue };
            let name = &interface.name;
            let controller = interface.controller.as_ref().map(|controller| self.own_name(controller));
            self.expect(&format!("{name}: controller"), &json!(controller), &link["master"]);
            if let Some(parent) = interface.kind.parent() {
                let own = self.own_name(parent);
                let there = link.get("link").unwrap_or(&link["linkinfo"]["info_data"]["link"]);
                self.expect(&format!("{name}: parent"), &json!(own), there);
            }
            if let Some(mtu) = interface.mtu {
                self.expect(&format!("{name}: MTU"), &json!(mtu), &link["mtu"]);
            }
            if let Some(mac) = interface.mac {
                self.expect(&format!("{name}: MAC"), &json!(mac.to_string()), &link["address"]);
            }
            let there = &link["linkinfo"]["info_kind"];
            let kind = interface.kind.name();
            let is_kind =
                *there == kind || (matches!(kind, "ethernet" | "loopback") && (there.is_null() || *there == "veth"));
            if !is_kind {
                self.found.push(format!("{name}: it is a {there} and no {kind}"));
            }
            for (ip, six) in [(&interface.ipv4, false), (&interface.ipv6, true)] {
                let wanted: BTreeSet<_> = ip.addresses.iter().map(|address| address.network.to_string()).collect();
                let there = list(&link["addr_info"]).filter(|address| text(&address["local"]).contains(':') == six);
                let (dynamic, own): (Vec<_>, Vec<_>) = there.partition(|address| address["dynamic"] == true);
                let own =
                    own.into_iter().map(|address| format!("{}/{}", text(&address["local"]), address["prefixlen"]));
                let own: BTreeSet<_> = own.filter(|own| !is_kernels(own) || wanted.contains(own)).collect();
                self.expect(&format!("{name}: addresses"), &json!(wanted), &json!(own));
                if dynamic.is_empty() == matches!(ip.method, Method::Dhcp | Method::RouterAdvertisements) {
                    self.found.push(format!("{name}: {:?}, and from the network came {dynamic:?}", ip.method));
                }
            }
        }
        for link in list(&self.report["addresses"]).filter(|link| link["ifname"] != "lo") {
            let known = self.names.values().any(|known| known["ifname"] == link["ifname"]);
            if !known && !addresses::global(link).is_empty() {
                self.found.push(format!("{} is not in the topology", link["ifname"]));
            }
        }
    }

    fn routes(&mut self) {
        let routes = list(&self.report["routes"]).chain(list(&self.report["routes6"]));
        let mut there: Vec<_> = routes.filter(|route| route["protocol"] == "static").collect();
        for route in &self.topology.routes {
            let host = if route.destination.addr().is_ipv4() { 32 } else { 128 };
            let destination = match route.destination.prefix_len() {
                0 => "default".to_owned(),
                length if length == host => route.destination.addr().to_string(),
                _ => route.destination.to_string(),
            };
            let device = route.interface.as_ref().map(|name| self.own_name(name).to_owned());
            let table = if route.table == 254 { "main".to_owned() } else { route.table.to_string() };
            let kind = format!("{:?}", route.kind).to_lowercase();
            let is_it = |found: &&Value| {
                found["dst"] == destination
                    && found["type"] == kind
                    && found["table"] == table
                    && found["gateway"] == json!(route.gateway)
                    && (route.kind != RouteKind::Unicast || found["dev"] == json!(device))
                    && route.metric.is_none_or(|metric| metric == 0 || found["metric"] == metric)
            };
            match there.iter().position(is_it) {
                Some(position) => drop(there.remove(position)),
                None => self.found.push(format!("there is no {route:?}; there are {}", json!(there))),
            }
        }
        self.found.extend(there.iter().map(|route| format!("not in the topology: {route}")));
    }

    fn rules(&mut self) {
        let rules = list(&self.report["rules"]).chain(list(&self.report["rules6"]));
        let mut there: Vec<_> = rules.filter(|rule| rule["protocol"] == "static").collect();
        for rule in &self.topology.rules {
            let table = if rule.table == 254 { "main".to_owned() } else { rule.table.to_string() };
            let is_it = |found: &&Value| {
                found["table"] == table && rule.priority.is_none_or(|priority| found["priority"] == priority)
            };
            match there.iter().position(is_it) {
                Some(position) => drop(there.remove(position)),
                None => self.found.push(format!("there is no {rule:?}; there are {}", json!(there))),
            }
        }
        self.found.extend(there.iter().map(|rule| format!("not in the topology: {rule}")));
    }

    fn names(&mut self) {
        let words = |keyword: &str| -> Vec<&str> {
            let lines = list(&self.report["resolv.conf"]).map(|line| text(line).split_whitespace().collect::<Vec<_>>());
            lines.filter(|words| words.first() == Some(&keyword)).flat_map(|words| words[1..].to_vec()).collect()
        };
        let dns = &self.topology.dns;
        let offered = ["ipv4", "ipv6"].map(|family| text(&self.report["offered"][family]));
        let mut servers = words("nameserver");
        servers.retain(|server| !offered.contains(server));
        let wanted: Vec<_> = dns.servers.iter().map(|server| server.address.to_string()).collect();
        let mut search = words("search");
        search.retain(|domain| self.report["offered"]["domain"] != *domain);
        let (options, there) = (json!(dns.options), json!(words("options")));
        self.expect("name servers", &json!(wanted), &json!(servers));
        self.expect("search domains", &json!(dns.search), &json!(search));
        self.expect("resolver options", &options, &there);
    }

    fn own_name<'b>(&'b self, name: &'b str) -> &'b str {
        self.names.get(name).map_or(name, |link| text(&link["ifname"]))
    }

    fn expect(&mut self, what: &str, wanted: &Value, have: &Value) {
        if wanted != have {
            self.found.push(format!("{what}: {wanted} is in the topology, {have} is there"));
        }
    }
}

/// An address that the kernel gives itself.
fn is_kernels(address: &str) -> bool {
    address.starts_with("fe80:") || matches!(address, "127.0.0.1/8" | "::1/128")
}
