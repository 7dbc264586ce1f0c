//! `OpenStack`'s `network_data.json` (the schema is in nova's documentation, "Metadata"):
//! `links`, the `networks` upon them, and `services`.

use serde_json::{Value, json};

use super::duid;
use super::macs::{self, mac_of};
use crate::model::{Bond, Device as FoundBy, Family, Interface, Kind, Route, Vlan};
use crate::network::devices::{Device, Network};
use crate::network::form::Findings;
use crate::network::object::Object;
use crate::nmstate_document::quoted;
use vocabulary::report::DocumentPath;

/// Writes the whole document, as far as the format can express it.
pub(super) fn write(network: &Network<'_>, findings: &mut Findings<'_>) -> String {
    let mut networks = Vec::new();
    // A link comes before those that are made of it: readers take them in order.
    let mut devices: Vec<&Device<'_>> = network.devices.iter().collect();
    devices.sort_by_key(|device| depth(device, network));
    let links: Vec<Value> = devices.iter().filter_map(|device| link(device, network, findings)).collect();
    for device in &devices {
        networks_of(device, &mut networks, findings);
    }
    // The host asks them in this order.
    let services = network.servers.iter().map(|server| json!({"type": "dns", "address": server.address.to_string()}));
    let services: Vec<Value> = services.collect();
    if !network.search.is_empty() {
        findings.refuse(network.search_path, "it has no search domains");
    }
    if !findings.has_errors() {
        warn_of_names(&devices, network, findings);
        warn_of_ipv6(&devices, findings);
        warn_of_metrics(&devices, findings);
        macs::warn(network, findings);
        duid::warn(network, "OpenStack's format", findings);
    }
    json!({"links": links, "networks": networks, "services": services}).to_string()
}

/// cloud-init numbers bonds, and calls a VLAN after the name that its base interface has on the host
/// (`cloudinit/sources/helpers/openstack.py`).
fn warn_of_names(devices: &[&Device<'_>], network: &Network<'_>, findings: &mut Findings<'_>) {
    let mut bonds = 0;
    for device in devices {
        let Interface { label, path, kind, .. } = device.interface.as_ref();
        let (wanted, shown) = match kind {
            Kind::Bond(_) => {
                bonds += 1;
                let name = format!("bond{}", bonds - 1);
                (name.clone(), name)
            }
            Kind::Vlan(Vlan { parent, id, .. }) => {
                (format!("{}.{id}", network.label(parent)), format!("the name of its base interface and .{id}"))
            }
            _ => continue,
        };
        if *label != wanted {
            let message = format!("is not called {} on the host: cloud-init calls it {shown}", quoted(label));
            findings.warn("named-by-cloud-init", path, &message);
        }
    }
}

/// No member of the format says that a link takes nothing from routers. For static addresses, cloud-init 22.4 writes NetworkManager's
/// method `auto`, and systemd-networkd listens to routers unless a setting forbids it.
fn warn_of_ipv6(devices: &[&Device<'_>], findings: &mut Findings<'_>) {
    for device in devices {
        let Interface { path, controller, ipv6, .. } = device.interface.as_ref();
        if controller.is_none() && !ipv6.is_automatic() {
            let message = if ipv6.addresses.is_empty() {
                "has no IPv6, and the format cannot say so: the host takes addresses from routers that advertise some"
            } else {
                "ignores routers that advertise IPv6 addresses, and the format cannot say so: with systemd-networkd, and with \
                 NetworkManager from cloud-init 22.4, the host also takes addresses and default routes from them"
            };
            findings.warn("ipv6-not-switched-off", path, message);
        }
    }
}

/// No member of the format says which of several learned default routes wins. NetworkManager prefers NICs to bonds, and bonds to VLANs;
/// netplan gives all of them one metric.
fn warn_of_metrics(devices: &[&Device<'_>], findings: &mut Findings<'_>) {
    for family in Family::BOTH {
        // The kernel prefers a default route of IPv4 that the document has to all of them.
        let is_preferred = |route: &Route| family == Family::V4 && route.family() == family && route.is_default();
        if devices.iter().any(|device| device.routes.iter().any(|route| is_preferred(route))) {
            continue;
        }
        let interfaces = devices.iter().map(|device| device.interface.as_ref());
        let mut learn: Vec<&Interface> = interfaces
            .filter(|found| found.ip(family).is_automatic() && found.ip(family).learns_gateway(family))
            .collect();
        learn.sort_by_key(|interface| interface.learned_metric(family));
        let Some((best, others)) = learn.split_first() else { continue };
        let metric = best.learned_metric(family);
        if let Some(other) = others.iter().find(|other| other.learned_metric(family) != metric) {
            let message = format!(
                "gets a default route from the network, and so does {}: NetworkManager prefers that of {}, and the format \
                 cannot say so",
                quoted(&other.label),
                quoted(&best.label)
            );
            findings.warn("default-route-not-kept", &best.ip(family).path, &message);
        }
    }
}

fn depth(device: &Device<'_>, network: &Network<'_>) -> usize {
    // An interface cannot be made of itself: nmstate would have refused it.
    let lower = device.lower();
    let lower = lower.iter().filter_map(|(name, _)| network.device(name));
    let kinds = |device: &Device<'_>| usize::from(device.interface.kind != Kind::Ethernet);
    kinds(device) + lower.map(kinds).max().unwrap_or(0)
}

fn link(written: &Device<'_>, network: &Network<'_>, findings: &mut Findings<'_>) -> Option<Value> {
    let mac = mac_of(network, written).map(|mac| mac.address.to_string());
    // Its addresses are networks. The list of keys that can be expressed allows only the defaults of the others.
    let Interface {
        name: _,
        label,
        path,
        device,
        kind,
        active: _,
        mac: _,
        mtu,
        options: _,
        controller: _,
        ports,
        ipv4: _,
        ipv6: _,
    } = written.interface.as_ref();
    let mut link = Object::default();
    link.set("id", label.as_str());
    match kind {
        Kind::Ethernet => {
            // Readers cannot find a NIC by an address that it only gets later.
            link.set("type", "phy");
            if let FoundBy::Mac(mac) = device {
                link.set("ethernet_mac_address", mac.to_string());
            } else {
                let reason = "its readers find a NIC by its MAC address; add mac-address, and identifier: mac-address";
                findings.refuse(path, reason);
            }
        }
        Kind::Bond(bond) => {
            link.set("type", "bond");
            link.set_some("ethernet_mac_address", mac);
            link.set("bond_links", ports.iter().map(|port| network.label(&port.name)).collect::<Value>());
            set_bond(&mut link, bond, path, findings);
        }
        Kind::Vlan(Vlan { parent, id, options: _ }) => {
            if mac.is_none() {
                let reason = "a VLAN needs the MAC address of its base interface, which is not known";
                findings.refuse(path, reason);
            }
            link.set("type", "vlan");
            // What readers call it unless they are told.
            let parent = network.label(parent);
            if *label != format!("{parent}.{id}") {
                link.set("name", label.as_str());
            }
            link.set("vlan_link", parent);
            link.set("vlan_id", *id);
            link.set_some("vlan_mac_address", mac);
        }
        Kind::Loopback => {
            findings.refuse(
                &path.key("type"),
                "its readers find every interface by a MAC address, and the loopback has none",
            );
            return None;
        }
        _ => {
            findings.refuse(&path.key("type"), "its readers create no bridges");
            return None;
        }
    }
    link.set_some("mtu", *mtu);
    Some(link.into())
}

fn set_bond(link: &mut Object, bond: &Bond, path: &DocumentPath, findings: &mut Findings<'_>) {
    if bond.option("primary").is_some() {
        let at = path.key("link-aggregation").key("options").key("primary");
        findings.refuse(&at, "its readers do not know a port's name");
    }
    link.set("bond_mode", bond.mode.as_str());
    link.set("bond_miimon", bond.number("miimon").unwrap_or(Bond::USUAL_MIIMON));
    link.set_some("bond_updelay", bond.number("updelay"));
    link.set_some("bond_downdelay", bond.number("downdelay"));
    link.set_some("bond_lacp_rate", bond.option("lacp_rate"));
    link.set_some("bond_xmit_hash_policy", bond.option("xmit_hash_policy"));
}

/// One network for each address, and for each way to get one. Routes stand with the first of their family. Static addresses come
/// first: cloud-init's writer of netplan reads no routes of others, and the last network of IPv6 decides whether the host listens to
/// routers.
fn networks_of(device: &Device<'_>, networks: &mut Vec<Value>, findings: &mut Findings<'_>) {
    let Interface { label, path, ipv4, ipv6, .. } = device.interface.as_ref();
    for (is_v4, ip) in [(true, ipv4), (false, ipv6)] {
        let routes = device.routes.iter().filter(|route| route.destination.addr().is_ipv4() == is_v4);
        let mut routes: Vec<Value> = routes.filter_map(|route| route_of(route, device, findings)).collect();
        let (kind, automatic) = if is_v4 { ("ipv4", "ipv4_dhcp") } else { ("ipv6", "ipv6_dhcpv6-stateful") };
        let automatic = ip.is_automatic().then_some((automatic, None));
        let addresses = ip.addresses.iter().map(|address| (kind, Some(address.network)));
        let found: Vec<_> = addresses.chain(automatic).collect();
        if found.is_empty() && !routes.is_empty() {
            findings.refuse(path, "a route needs an address of its family on its interface");
        }
        for (kind, address) in found {
            let mut entry = Object::default();
            entry.set("id", format!("network{}", networks.len()));
            entry.set("link", label.as_str());
            entry.set("type", kind);
            entry.set_some("ip_address", address.map(|address| address.addr().to_string()));
            entry.set_some("netmask", address.map(|address| address.netmask().to_string()));
            entry.set("routes", std::mem::take(&mut routes));
            networks.push(entry.into());
        }
    }
}

fn route_of(route: &Route, device: &Device<'_>, findings: &mut Findings<'_>) -> Option<Value> {
    device.refuse_off_link_gateway(route, findings);
    let Some(gateway) = route.gateway else {
        findings.refuse(&route.path, "every route there has a gateway");
        return None;
    };
    if route.metric.is_some() {
        findings.refuse(&route.path.key("metric"), "routes have no metric there; leave it out");
    }
    let network = route.destination;
    Some(json!({
        "network": network.network().to_string(),
        "netmask": network.netmask().to_string(),
        "gateway": gateway.to_string(),
    }))
}
