//! Converts NMState to the network configuration of Talos Linux on bare metal.
//!
//! Talos reads no files of other systems. Before it has a machine configuration, it takes its network from a document in its META
//! values, under the key 10 (`MetalNetworkPlatformConfig`; "Metal Network Configuration" in Talos' documentation). The document has
//! the specs of Talos' network resources: addresses, links, routes, resolvers, operators, host names. JSON is a subset of the YAML
//! that Talos reads.
//!
//! Talos compares these specs with what the kernel says, again and again, and changes what differs. So they must be what the kernel
//! says once they are applied.
//!
//! It can express less than NMState. dayone refuses the rest, at its place in the document.

mod bond;
mod links;
mod supported;

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use self::supported::TALOS;
use super::devices::{Device, Network};
use super::form::Findings;
use super::object::Object;
use super::{Attempt, ConvertedNetwork};
use crate::model::{Family, Interface, Kind, Method, Route, Topology, kernel_metric};
use vocabulary::host::{HostName, HostSpec};
use vocabulary::report::Report;

/// The layer of every spec: what the platform says. Talos' machine configuration comes above it.
const LAYER: &str = "platform";

/// A host's network as Talos takes it, without the host name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TalosNetwork(Map<String, Value>);

impl TalosNetwork {
    /// The whole document, as JSON, with the host's name if there is one. `None` if it would say nothing.
    pub fn document(&self, hostname: Option<&HostName>) -> Option<String> {
        let mut document = self.0.clone();
        if let Some(hostname) = hostname {
            let (host, domain) = hostname.as_str().split_once('.').unwrap_or((hostname.as_str(), ""));
            let mut spec = Object::default();
            spec.set("hostname", host);
            spec.set_some("domainname", (!domain.is_empty()).then_some(domain));
            document.insert("hostnames".to_owned(), Value::Array(vec![layered(spec)]));
        }
        (!document.is_empty()).then(|| Value::Object(document).to_string())
    }
}

/// Converts a host's NMState document. `no_auto_default` asks for no DHCP on NICs that the document does not mention.
pub(super) fn attempt(host: &HostSpec, no_auto_default: bool) -> (Attempt<ConvertedNetwork>, Report) {
    let (network, mut report) = super::from_nmstate(host, &TALOS, |topology, path, converted, findings| {
        let network = Network::of(topology, path, findings);
        if findings.has_errors() {
            return;
        }
        let document = write(&network, topology, findings);
        if no_auto_default {
            let message = "may not be all NICs of the host: Talos starts DHCP on each other NIC that has a link";
            findings.warn("dhcp-on-other-nics", &path.key("interfaces"), message);
        }
        converted.talos_network = Some(TalosNetwork(document));
    });
    // There is no NetworkManager. dayone refuses what Talos cannot express either.
    report.forget("needs-newer-networkmanager");
    (network, report)
}

fn write(network: &Network<'_>, topology: &Topology, findings: &mut Findings<'_>) -> Map<String, Value> {
    let [mut addresses, mut links, mut routes, mut operators] = [(); 4].map(|()| Vec::new());
    for device in &network.devices {
        links.push(layered(links::link(device, network, findings)));
        addresses.extend(addresses_of(device));
        routes.extend(device.routes.iter().map(|route| route_of(route, device, findings)));
        operators.extend(dhcp_of(device));
        warn_of_ipv6(device, network, findings);
    }
    let mut document = Map::new();
    for (key, specs) in [
        ("addresses", addresses),
        ("links", links),
        ("routes", routes),
        ("resolvers", resolvers(topology, findings)),
        ("operators", operators),
    ] {
        if !specs.is_empty() {
            document.insert(key.to_owned(), Value::Array(specs));
        }
    }
    document
}

/// A spec with its layer.
fn layered(mut spec: Object) -> Value {
    spec.set("layer", LAYER);
    spec.into()
}

fn family_of(address: IpAddr) -> &'static str {
    match Family::of(address) {
        Family::V4 => "inet4",
        Family::V6 => "inet6",
    }
}

fn addresses_of(device: &Device<'_>) -> impl Iterator<Item = Value> {
    let Interface { label, ipv4, ipv6, .. } = device.interface.as_ref();
    ipv4.addresses.iter().chain(&ipv6.addresses).map(move |address| {
        let mut spec = Object::default();
        spec.set("address", address.network.to_string());
        spec.set("linkName", label.as_str());
        spec.set("family", family_of(address.network.addr()));
        spec.set("scope", "global");
        spec.set("flags", "permanent");
        layered(spec)
    })
}

fn route_of(route: &Route, device: &Device<'_>, findings: &mut Findings<'_>) -> Value {
    device.refuse_off_link_gateway(route, findings);
    // The list of keys that can be expressed allows only the defaults of the others.
    let Route {
        destination,
        kind: _,
        interface: _,
        gateway,
        gateway_path: _,
        source,
        metric,
        table: _,
        options: _,
        path: _,
    } = route;
    let mut spec = Object::default();
    spec.set("family", family_of(destination.addr()));
    // Talos knows a default route by its lack of a destination.
    spec.set_some("dst", (!route.is_default()).then(|| destination.trunc().to_string()));
    spec.set_some("gateway", gateway.map(|gateway| gateway.to_string()));
    spec.set_some("src", source.map(|source| source.to_string()));
    spec.set("outLinkName", device.interface.label.as_str());
    spec.set("table", "main");
    // nmstate gives NetworkManager a metric of 0 for a route without one, so that the kernel's own applies. Talos gets that one: the
    // kernel has no 0 for IPv6.
    let metric = metric.filter(|metric| *metric != 0).unwrap_or(kernel_metric(route.family()));
    spec.set("priority", metric);
    // All routes of IPv6 have this scope.
    let is_on_link = gateway.is_none() && route.family() == Family::V4;
    spec.set("scope", if is_on_link { "link" } else { "global" });
    spec.set("type", "unicast");
    spec.set("protocol", "static");
    layered(spec)
}

/// The DHCP client of IPv4.
fn dhcp_of(device: &Device<'_>) -> Option<Value> {
    let Interface { label, kind, ipv4, .. } = device.interface.as_ref();
    if !ipv4.is_automatic() {
        return None;
    }
    let mut spec = Object::default();
    spec.set("operator", "dhcp4");
    spec.set("linkName", label.as_str());
    spec.set("requireUp", true);
    spec.set("dhcp4", json!({"routeMetric": kind.usual_metric()}));
    Some(layered(spec))
}

/// The name servers of the whole host, in their order.
fn resolvers(topology: &Topology, findings: &mut Findings<'_>) -> Vec<Value> {
    let dns = &topology.dns;
    if dns.servers.is_empty() && dns.search.is_empty() {
        return Vec::new();
    }
    let mut spec = Object::default();
    spec.set("dnsServers", dns.servers.iter().map(|server| server.address.to_string()).collect::<Value>());
    if !dns.search.is_empty() {
        spec.set("searchDomains", dns.search.as_slice());
        supported::warn_of_releases(&dns.search_path, findings);
    }
    vec![layered(spec)]
}

/// No spec says anything about router advertisements: Talos leaves them to the kernel.
fn warn_of_ipv6(device: &Device<'_>, network: &Network<'_>, findings: &mut Findings<'_>) {
    let Interface { name, kind, ipv6, path, .. } = device.interface.as_ref();
    // The loopback is on no link with routers.
    if *kind == Kind::Loopback {
        return;
    }
    if ipv6.method == Method::RouterAdvertisements {
        let message =
            "is left to Talos' kernel: it takes addresses from router advertisements, and no DHCPv6 client runs";
        findings.warn("ipv6-from-routers-only", &ipv6.path, message);
    } else if ipv6.addresses.is_empty() && links::controller_of(name, network).is_none() {
        let message = "has no IPv6, and Talos' network configuration cannot say so: the host takes addresses from routers that \
                       advertise some";
        findings.warn("ipv6-not-switched-off", path, message);
    }
}
