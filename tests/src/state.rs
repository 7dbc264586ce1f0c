//! What has become of a machine's network, against what its NMState asks for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::report::Report;

/// Every difference. Only what a document says is compared, apart from addresses and default routes: there must be no
/// others than the document's.
pub fn differences(document: &Value, report: &Report) -> Vec<String> {
    let mut comparison = Comparison { links: &report.0["addresses"], names: BTreeMap::new(), found: Vec::new() };
    comparison.interfaces(&document["interfaces"]);
    comparison.routes(&document["routes"]["config"], &report.0);
    comparison.name_servers(&document["dns-resolver"]["config"], &report.0["resolv.conf"]);
    comparison.found
}

struct Comparison<'a> {
    /// What `ip -details -json address` said.
    links: &'a Value,
    /// What the machine calls the document's interfaces.
    names: BTreeMap<String, String>,
    found: Vec<String>,
}

impl Comparison<'_> {
    fn interfaces(&mut self, interfaces: &Value) {
        for interface in list(interfaces) {
            let name = text(&interface["name"]);
            let link = list(self.links).find(|link| match text(&interface["identifier"]) {
                "mac-address" => is_nic_with(link, text(&interface["mac-address"])),
                _ => link["ifname"] == name,
            });
            if let Some(link) = link {
                self.names.insert(name.to_owned(), text(&link["ifname"]).to_owned());
            } else {
                self.found.push(format!("{name}: there is no such interface"));
            }
        }
        for interface in list(interfaces) {
            let name = text(&interface["name"]);
            if let Some(link) = self.names.get(name).and_then(|own| link(self.links, own)) {
                self.interface(name, interface, link);
            }
        }
        for link in list(self.links).filter(|link| link["ifname"] != "lo") {
            let addresses = addresses(link);
            if !self.names.values().any(|name| link["ifname"] == name.as_str()) && !addresses.is_empty() {
                self.found.push(format!("{}, of which nothing is said, has {addresses:?}", link["ifname"]));
            }
        }
    }

    fn interface(&mut self, name: &str, wanted: &Value, link: &Value) {
        self.expect(&format!("{name}: state"), &json!("UP"), &link["operstate"]);
        self.expect(&format!("{name}: addresses"), &json!(wanted_addresses(wanted)), &json!(addresses(link)));
        for address in list(&link["addr_info"]).filter(|address| address["dynamic"] == true) {
            self.found.push(format!("{name}: {} did not come from the document", address["local"]));
        }
        if let Some(mtu) = wanted.get("mtu") {
            self.expect(&format!("{name}: MTU"), mtu, &link["mtu"]);
        }
        let (kind, data) = (&link["linkinfo"]["info_kind"], &link["linkinfo"]["info_data"]);
        match text(&wanted["type"]) {
            "bond" => {
                self.expect(&format!("{name}: type"), &json!("bond"), kind);
                let aggregation = &wanted["link-aggregation"];
                self.expect(&format!("{name}: mode"), &aggregation["mode"], &data["mode"]);
                self.ports(name, list(&aggregation["port"]).map(text).collect(), link);
                for (option, value) in aggregation["options"].as_object().into_iter().flatten() {
                    let field = if option == "lacp_rate" { "ad_lacp_rate" } else { option };
                    self.expect(&format!("{name}: {option}"), &json!(plain(value)), &json!(plain(&data[field])));
                }
            }
            "linux-bridge" => {
                self.expect(&format!("{name}: type"), &json!("bridge"), kind);
                let bridge = &wanted["bridge"];
                self.ports(name, list(&bridge["port"]).map(|port| text(&port["name"])).collect(), link);
                if let Some(enabled) = bridge["options"]["stp"]["enabled"].as_bool() {
                    self.expect(&format!("{name}: STP"), &json!(u8::from(enabled)), &data["stp_state"]);
                }
            }
            "vlan" => {
                self.expect(&format!("{name}: type"), &json!("vlan"), kind);
                self.expect(&format!("{name}: VLAN"), &wanted["vlan"]["id"], &data["id"]);
                let base = json!(self.own_name(text(&wanted["vlan"]["base-iface"])));
                self.expect(&format!("{name}: base"), &base, &link["link"]);
            }
            _ => {}
        }
    }

    fn ports(&mut self, name: &str, wanted: BTreeSet<&str>, link: &Value) {
        let wanted: BTreeSet<_> = wanted.iter().map(|port| self.own_name(port)).collect();
        let ports = list(self.links).filter(|port| port["master"] == link["ifname"]);
        let ports: BTreeSet<_> = ports.map(|port| text(&port["ifname"])).collect();
        self.expect(&format!("{name}: ports"), &json!(wanted), &json!(ports));
    }

    fn routes(&mut self, wanted: &Value, report: &Value) {
        let have: Vec<_> = list(&report["routes"]).chain(list(&report["routes6"])).collect();
        let mut defaults = 0;
        for route in list(wanted) {
            let destination = match text(&route["destination"]) {
                "0.0.0.0/0" | "::/0" => "default",
                other => other,
            };
            defaults += usize::from(destination == "default");
            let device = self.own_name(text(&route["next-hop-interface"]));
            let is_it = |found: &&&Value| {
                found["dst"] == destination
                    && found["gateway"] == route["next-hop-address"]
                    && found["dev"] == device
                    && route.get("metric").is_none_or(|metric| found["metric"] == *metric)
            };
            if have.iter().find(is_it).is_none() {
                self.found.push(format!("there is no route {route}; there are {}", json!(have)));
            }
        }
        let found = have.iter().filter(|route| route["dst"] == "default").count();
        self.expect("number of default routes", &json!(defaults), &json!(found));
    }

    fn name_servers(&mut self, wanted: &Value, lines: &Value) {
        let words = |keyword: &str| -> Vec<&str> {
            let words = list(lines).map(|line| text(line).split_whitespace().collect::<Vec<_>>());
            words.filter(|words| words.first() == Some(&keyword)).flat_map(|words| words[1..].to_vec()).collect()
        };
        let wanted = |name: &str| list(&wanted[name]).map(text).collect::<Vec<_>>();
        self.expect("name servers", &json!(wanted("server")), &json!(words("nameserver")));
        self.expect("search domains", &json!(wanted("search")), &json!(words("search")));
    }

    /// What the machine calls an interface. A document may name one, as a port, of which it says nothing else.
    fn own_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.names.get(name).map_or(name, String::as_str)
    }

    fn expect(&mut self, what: &str, wanted: &Value, have: &Value) {
        if wanted != have {
            self.found.push(format!("{what}: {wanted} is wanted, {have} is there"));
        }
    }
}

/// A NIC with this address of its own, whatever address it has now.
fn is_nic_with(link: &Value, mac: &str) -> bool {
    let own = link.get("permaddr").unwrap_or(&link["address"]);
    link["linkinfo"].get("info_kind").is_none() && text(own).eq_ignore_ascii_case(mac)
}

fn link<'a>(links: &'a Value, name: &str) -> Option<&'a Value> {
    list(links).find(|link| link["ifname"] == name)
}

/// The addresses of an interface that reach further than its link.
fn addresses(link: &Value) -> BTreeSet<String> {
    let addresses = list(&link["addr_info"]).filter(|address| address["scope"] == "global");
    addresses.map(|address| format!("{}/{}", text(&address["local"]), address["prefixlen"])).collect()
}

fn wanted_addresses(interface: &Value) -> BTreeSet<String> {
    let families = ["ipv4", "ipv6"].map(|family| &interface[family]);
    let addresses =
        families.into_iter().filter(|family| family["enabled"] == true).flat_map(|family| list(&family["address"]));
    addresses.map(|address| format!("{}/{}", text(&address["ip"]), address["prefix-length"])).collect()
}

/// A scalar without quotes: documents have numbers as texts.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "
interfaces:
- {name: uplink-a, type: ethernet, state: up, identifier: mac-address, mac-address: 52:54:00:12:34:01}
- name: bond0
  type: bond
  mtu: 9000
  link-aggregation: {mode: 802.3ad, options: {miimon: '100', lacp_rate: fast}, port: [uplink-a, eth1]}
- name: bond0.20
  type: vlan
  vlan: {base-iface: bond0, id: 20}
  ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}
- {name: br0, type: linux-bridge, bridge: {options: {stp: {enabled: false}}, port: [{name: eth2}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: bond0.20, metric: 50}]}
dns-resolver: {config: {server: [192.0.2.53], search: [example.com]}}
";

    fn report() -> Value {
        json!({
            "addresses": [
                {"ifname": "lo", "operstate": "UNKNOWN", "addr_info": [{"local": "127.0.0.1", "scope": "host"}]},
                {"ifname": "enp1s0", "operstate": "UP", "master": "bond0", "address": "52:54:00:00:00:99",
                    "permaddr": "52:54:00:12:34:01"},
                {"ifname": "eth1", "operstate": "UP", "master": "bond0", "address": "52:54:00:00:00:99"},
                {"ifname": "eth2", "operstate": "UP", "master": "br0"},
                {"ifname": "bond0", "operstate": "UP", "mtu": 9000, "linkinfo": {"info_kind": "bond",
                    "info_data": {"mode": "802.3ad", "miimon": 100, "ad_lacp_rate": "fast"}}},
                {"ifname": "bond0.20", "link": "bond0", "operstate": "UP",
                    "linkinfo": {"info_kind": "vlan", "info_data": {"id": 20}},
                    "addr_info": [{"local": "192.0.2.10", "prefixlen": 24, "scope": "global"},
                        {"local": "fe80::1", "prefixlen": 64, "scope": "link"}]},
                {"ifname": "br0", "operstate": "UP", "linkinfo": {"info_kind": "bridge", "info_data": {"stp_state": 0}}},
            ],
            "routes": [{"dst": "default", "gateway": "192.0.2.1", "dev": "bond0.20", "metric": 50}],
            "routes6": [],
            "resolv.conf": ["# Generated", "search example.com", "nameserver 192.0.2.53"],
        })
    }

    #[test]
    fn every_difference_is_said() {
        let document: Value = serde_yaml::from_str(DOCUMENT).unwrap();
        assert_eq!(differences(&document, &Report(report())), [""; 0]);
        let address = json!({"local": "192.0.2.99", "prefixlen": 24, "scope": "global"});
        for (pointer, value, said) in [
            ("/addresses/1/permaddr", json!("52:54:00:12:34:09"), "uplink-a: there is no such interface"),
            ("/addresses/1/master", json!("br0"), "bond0: ports"),
            (
                "/addresses/3",
                json!({"ifname": "eth2", "master": "br0", "addr_info": [address]}),
                "\"eth2\", of which nothing is said",
            ),
            ("/addresses/3/master", json!(null), "br0: ports"),
            ("/addresses/4/operstate", json!("DOWN"), "bond0: state"),
            ("/addresses/4/mtu", json!(1500), "bond0: MTU"),
            ("/addresses/4/linkinfo/info_data/mode", json!("active-backup"), "bond0: mode"),
            ("/addresses/4/linkinfo/info_data/ad_lacp_rate", json!("slow"), "bond0: lacp_rate"),
            ("/addresses/4/linkinfo/info_kind", json!("team"), "bond0: type"),
            ("/addresses/5/link", json!("eth2"), "bond0.20: base"),
            ("/addresses/5/linkinfo/info_data/id", json!(21), "bond0.20: VLAN"),
            ("/addresses/5/addr_info/0/local", json!("192.0.2.11"), "bond0.20: addresses"),
            ("/addresses/5/addr_info/0/prefixlen", json!(25), "bond0.20: addresses"),
            (
                "/addresses/5/addr_info/0",
                json!({"local": "192.0.2.10", "prefixlen": 24, "scope": "global", "dynamic": true}),
                "did not come from the document",
            ),
            ("/addresses/6/linkinfo/info_data/stp_state", json!(1), "br0: STP"),
            ("/routes/0/gateway", json!("192.0.2.2"), "there is no route"),
            ("/routes/0/metric", json!(51), "there is no route"),
            ("/routes6", json!([{"dst": "default"}]), "number of default routes"),
            ("/resolv.conf/2", json!("nameserver 192.0.2.54"), "name servers"),
            ("/resolv.conf/1", json!("search example.org"), "search domains"),
        ] {
            let mut spoiled = report();
            *spoiled.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
            let found = differences(&document, &Report(spoiled));
            assert!(found.iter().any(|difference| difference.contains(said)), "{pointer}: {found:?}");
        }
    }
}
