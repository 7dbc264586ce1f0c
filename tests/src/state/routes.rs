//! Routes: those of the document, and those that come of addresses and of what was offered.

use serde_json::{Value, json};

use super::addresses::{is_automatic, network};
use super::{Comparison, is_up, list, text};

/// What routes can say beside where they lead: NMState's name and the kernel's.
const METRICS: &[(&str, &str)] = &[
    ("mtu", "mtu"),
    ("cwnd", "cwnd"),
    ("initcwnd", "initcwnd"),
    ("initrwnd", "initrwnd"),
    ("advmss", "advmss"),
    ("quickack", "quickack"),
];

impl<'a> Comparison<'a> {
    pub(super) fn routes(&mut self) {
        let have: Vec<_> = list(&self.report["routes"]).chain(list(&self.report["routes6"])).collect();
        let mut defaults = 0;
        for route in self.wanted_routes() {
            defaults += usize::from(destination(route) == "default");
            if !have.iter().any(|found| self.is_route(route, found)) {
                self.found.push(format!("there is no route {route}; there are {}", json!(have)));
            }
        }
        let found = have.iter().filter(|route| route["dst"] == "default").count();
        self.expect("number of default routes", &json!(defaults), &json!(found));
    }

    /// Of all tables: each is the document's, or there for a reason.
    pub(super) fn every_route(&mut self) {
        let kernels = |route: &&Value| {
            route["table"] == "local" || matches!(text(&route["type"]), "local" | "broadcast" | "anycast" | "multicast")
        };
        let have = list(&self.report["routes"]).chain(list(&self.report["routes6"]));
        let mut have: Vec<_> = have.filter(|route| !kernels(route)).collect();
        for route in self.wanted_routes() {
            match have.iter().position(|found| self.is_route(route, found) && found["table"] == self.table(route)) {
                Some(position) => drop(have.remove(position)),
                None => self.found.push(format!("there is no route {route}; there are {}", json!(have))),
            }
        }
        for route in have {
            if !self.is_implied(route) {
                self.found.push(format!("nobody asked for the route {route}"));
            }
        }
        for link in list(self.links) {
            let Some(interface) = self.interface_of(text(&link["ifname"])).filter(|interface| is_up(interface)) else {
                continue;
            };
            let routes = list(&self.report["routes"]).chain(list(&self.report["routes6"]));
            let routes: Vec<_> =
                routes.filter(|route| route["dev"] == link["ifname"]).map(|route| text(&route["dst"])).collect();
            for address in ["ipv4", "ipv6"].iter().flat_map(|family| super::addresses::written(&interface[family])) {
                if !routes.contains(&network(&address).as_str()) {
                    self.found.push(format!("there is no route to the network of {address}"));
                }
            }
        }
    }

    fn wanted_routes(&self) -> Vec<&'a Value> {
        list(&self.document["routes"]["config"]).filter(|route| route["state"] != "absent").collect()
    }

    fn is_route(&self, wanted: &Value, found: &Value) -> bool {
        let gateway = wanted.get("next-hop-address").filter(|gateway| **gateway != "").unwrap_or(&Value::Null);
        let kind = wanted["route-type"].as_str().unwrap_or("unicast");
        let device = wanted["next-hop-interface"].as_str().map(|name| self.own_name(name));
        let metrics = &found["metrics"][0];
        found["dst"] == destination(wanted)
            && found["gateway"] == *gateway
            && (found["type"].is_null() || found["type"] == kind)
            && device.is_none_or(|device| found["dev"] == device || kind != "unicast")
            && wanted.get("metric").is_none_or(|metric| found["metric"] == *metric)
            && wanted.get("source").is_none_or(|source| found["prefsrc"] == *source)
            && METRICS.iter().all(|(name, own)| match &wanted[name] {
                Value::Null => metrics[own].is_null(),
                Value::Bool(on) => metrics[own] == u8::from(*on),
                value => metrics[own] == *value,
            })
    }

    /// The table of a route: its own, or that of its VRF.
    fn table(&self, route: &Value) -> String {
        let vrf = route["vrf-name"].as_str().map(str::to_owned).or_else(|| {
            let link = self.link_of(text(&route["next-hop-interface"]))?;
            Some(text(&link["master"]).to_owned())
        });
        let of_vrf = vrf.and_then(|vrf| self.interface_of(&vrf)).map(|vrf| &vrf["vrf"]["route-table-id"]);
        let id = route["table-id"].as_u64().filter(|id| *id != 0).or(of_vrf.and_then(Value::as_u64)).unwrap_or(254);
        if id == 254 { "main".to_owned() } else { id.to_string() }
    }

    /// Whether a route comes of an address, or was offered to an interface that takes offers.
    fn is_implied(&self, route: &Value) -> bool {
        let device = text(&route["dev"]);
        if device == "lo" {
            return route["protocol"] == "kernel";
        }
        let Some(interface) = self.interface_of(device).filter(|interface| is_up(interface)) else { return false };
        let link = self.link_of(text(&interface["name"])).unwrap_or(&Value::Null);
        let family = &interface
            [if text(&route["dst"]).contains(':') || text(&route["gateway"]).contains(':') { "ipv6" } else { "ipv4" }];
        // The kernel takes a token only while it listens to routers itself, so NetworkManager has it listen for a moment.
        if family.get("token").is_some() && route.get("expires").is_some() && is_automatic(family) {
            return matches!(text(&route["protocol"]), "kernel" | "ra");
        }
        let of_vrf = link["linkinfo"]["info_slave_data"]["table"].as_u64();
        let table = family["auto-route-table-id"].as_u64().or(of_vrf).map_or("main".to_owned(), |id| id.to_string());
        // nmstate leaves out the metric of offered routes where nothing is taken.
        let of_offers = family.get("auto-route-metric").filter(|_| is_automatic(family));
        let metric = of_offers.or(family.get("prefix-route-metric"));
        let is_local = route["dst"] == "fe80::/64";
        if route["table"] != table || metric.is_some_and(|metric| route["metric"] != *metric && !is_local) {
            return false;
        }
        match text(&route["protocol"]) {
            "kernel" => {
                let mut addresses = list(&link["addr_info"])
                    .map(|address| format!("{}/{}", text(&address["local"]), address["prefixlen"]));
                addresses.any(|address| route["dst"] == network(&address))
            }
            "dhcp" | "ra" => {
                let is_default = route["dst"] == "default";
                let taken = family["auto-routes"] != false && (!is_default || family["auto-gateway"] != false);
                is_automatic(family) && taken
            }
            _ => false,
        }
    }
}

fn destination(route: &Value) -> String {
    match text(&route["destination"]) {
        "0.0.0.0/0" | "::/0" => "default".to_owned(),
        other => network(other),
    }
}
