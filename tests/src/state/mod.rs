//! What has become of a machine's network, against what its NMState asks for.

mod addresses;
mod links;
mod names;
mod routes;
mod rules;
mod topology;
mod vlans;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::report::Report;

pub use topology::topology_differences;

/// Every difference. Only what a document says is compared, apart from addresses and default routes: there must be no
/// others than the document's.
pub fn differences(document: &Value, report: &Report) -> Vec<String> {
    let mut comparison = Comparison::new(document, &report.0);
    comparison.interfaces();
    comparison.routes();
    comparison.name_servers();
    comparison.found
}

/// [`differences`] of a machine that said all that it has: there may be no route, rule, name server or link-local address
/// either that does not come of the document.
pub fn all_differences(document: &Value, report: &Report) -> Vec<String> {
    let mut comparison = Comparison::new(document, &report.0);
    comparison.interfaces();
    comparison.link_local_addresses();
    comparison.links_made_by_nobody();
    comparison.bridge_vlans();
    comparison.every_route();
    comparison.rules();
    comparison.every_name_server();
    comparison.found
}

struct Comparison<'a> {
    document: &'a Value,
    report: &'a Value,
    /// What `ip -details -json address` said.
    links: &'a Value,
    /// What the machine calls the document's interfaces.
    names: BTreeMap<String, String>,
    found: Vec<String>,
}

impl<'a> Comparison<'a> {
    fn new(document: &'a Value, report: &'a Value) -> Self {
        let links = &report["addresses"];
        let mut names = BTreeMap::new();
        for interface in list(&document["interfaces"]) {
            let name = text(&interface["name"]);
            let link = list(links).find(|link| match text(&interface["identifier"]) {
                "mac-address" => is_nic_with(link, text(&interface["mac-address"])),
                _ => link["ifname"] == name,
            });
            if let Some(link) = link {
                names.insert(name.to_owned(), text(&link["ifname"]).to_owned());
            }
        }
        Self { document, report, links, names, found: Vec::new() }
    }

    fn interfaces(&mut self) {
        for interface in list(&self.document["interfaces"]) {
            let name = text(&interface["name"]);
            match self.link_of(name) {
                Some(link) => self.interface(name, interface, link),
                None if matches!(text(&interface["state"]), "absent" | "ignore") => {}
                None => self.found.push(format!("{name}: there is no such interface")),
            }
        }
        for link in list(self.links).filter(|link| link["ifname"] != "lo") {
            let addresses = addresses::global(link);
            if !self.names.values().any(|name| link["ifname"] == name.as_str()) && !addresses.is_empty() {
                self.found.push(format!("{}, of which nothing is said, has {addresses:?}", link["ifname"]));
            }
        }
    }

    fn interface(&mut self, name: &str, wanted: &Value, link: &Value) {
        if !is_up(wanted) {
            let addresses = addresses::global(link);
            if !addresses.is_empty() {
                self.found.push(format!("{name}, which is to be down, has {addresses:?}"));
            }
            return;
        }
        // Tunnels and dummies do not say.
        let up = if link["operstate"] == "UNKNOWN" { "UNKNOWN" } else { "UP" };
        self.expect(&format!("{name}: state"), &json!(up), &link["operstate"]);
        self.addresses(name, wanted, link);
        if let Some(mtu) = wanted.get("mtu") {
            self.expect(&format!("{name}: MTU"), mtu, &link["mtu"]);
        }
        self.mac_address(name, wanted, link);
        self.kind(name, wanted, link);
    }

    /// What the machine calls an interface. A document may name one, as a port, of which it says nothing else.
    fn own_name<'b>(&'b self, name: &'b str) -> &'b str {
        self.names.get(name).map_or(name, String::as_str)
    }

    /// The link of an interface of the document.
    fn link_of(&self, name: &str) -> Option<&'a Value> {
        let own = self.own_name(name);
        list(self.links).find(|link| link["ifname"] == own)
    }

    /// The document's interface that is this link.
    fn interface_of(&self, link: &str) -> Option<&'a Value> {
        let name = self.names.iter().find(|(_, own)| *own == link)?.0;
        list(&self.document["interfaces"]).find(|interface| interface["name"] == name.as_str())
    }

    fn expect(&mut self, what: &str, wanted: &Value, have: &Value) {
        if wanted != have {
            self.found.push(format!("{what}: {wanted} is wanted, {have} is there"));
        }
    }
}

fn is_up(interface: &Value) -> bool {
    !matches!(text(&interface["state"]), "down" | "absent" | "ignore")
}

/// A NIC with this address of its own, whatever address it has now.
fn is_nic_with(link: &Value, mac: &str) -> bool {
    matches!(text(&link["linkinfo"]["info_kind"]), "" | "veth")
        && own_mac_address(link).eq_ignore_ascii_case(&mac.replace('-', ":"))
}

/// The address that a NIC has when nobody has given it another. Only its bond remembers that of a stand-in.
fn own_mac_address(link: &Value) -> &str {
    let remembered = &link["linkinfo"]["info_slave_data"]["perm_hwaddr"];
    text(link.get("permaddr").unwrap_or(if remembered.is_null() { &link["address"] } else { remembered }))
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
mod tests;
