//! What cloud-init makes of `network-config` where it writes no netplan, and what it loses there.
//!
//! For other programs, it translates version 2 to version 1 (`_v2_to_v1_ipcfg` in `cloudinit/net/network_state.py`), and writes that for
//! NetworkManager, systemd-networkd, sysconfig or ifupdown. All routes of an interface go to its first subnet. The acceptance tests ask
//! all its writers.

use std::net::IpAddr;

use crate::model::{Family, Interface, Kind, Route};
use crate::network::devices::{Device, Network};
use crate::network::form::Findings;

/// The key and the value of a default route that all of cloud-init's writers keep in a key of its own, and not among other routes:
/// releases such as 22.4 read the destination `::/0` as `::/64`, and give NetworkManager the route in the section of the first subnet's
/// family. netplan means the same by the key, which it calls deprecated: it stands only for such routes.
pub(super) fn gateway(route: &Route, device: &Device<'_>) -> Option<(&'static str, IpAddr)> {
    let family = route.family();
    let is_plain = route.is_default() && !has_rival(route, device) && route.unusual_metric().is_none();
    let is_kept = family == Family::V4 && first_family(device) == Some(family);
    // cloud-init puts it beside an address of the family.
    let has_address = !device.interface.ip(family).addresses.is_empty();
    let gateway = route.gateway.filter(|gateway| Family::of(*gateway) == family)?;
    let key = match family {
        Family::V4 => "gateway4",
        Family::V6 => "gateway6",
    };
    (is_plain && !is_kept && has_address && !device.has_off_link_gateway(route)).then_some((key, gateway))
}

/// Warns of what only netplan gets as it is in the document.
pub(super) fn warn(network: &Network<'_>, findings: &mut Findings<'_>) {
    for device in &network.devices {
        for route in &device.routes {
            let losses = losses(route, device);
            if !losses.is_empty() {
                let losses = losses.join(", and ");
                let message = format!("is kept where cloud-init writes netplan (Ubuntu); elsewhere {losses}");
                findings.warn("only-with-netplan", &route.path, &message);
            }
        }
        for port in &device.interface.ports {
            let options = network.device(&port.name).map(|port| &port.interface.options.bridge_port);
            if options.is_some_and(|options| options.path_cost.is_some() || options.priority.is_some()) {
                let message = "has this path cost and priority only where cloud-init writes netplan (Ubuntu)";
                findings.warn("only-with-netplan", &port.path, message);
            }
        }
    }
    for device in &network.devices {
        let interface = device.interface.as_ref();
        if interface.kind == Kind::Loopback {
            let message = "has these addresses only where cloud-init writes netplan (Ubuntu); for NetworkManager, cloud-init writes a profile \
                           of type ethernet, which never activates on the loopback";
            findings.warn("only-with-netplan", &interface.path, message);
        } else {
            warn_of_routers(interface, findings);
        }
    }
}

/// cloud-init writes `IPv6AcceptRA` for systemd-networkd only beside `DHCPv6`. For NetworkManager, it writes no section for a family without
/// addresses, and NetworkManager then uses the method `auto`. For ifupdown, it writes `accept_ra` only with the first addresses of a NIC.
fn warn_of_routers(interface: &Interface, findings: &mut Findings<'_>) {
    let Interface { path, controller, ipv6, .. } = interface;
    if controller.is_some() || ipv6.is_automatic() {
        return;
    }
    let message = if ipv6.addresses.is_empty() {
        "ignores routers that advertise IPv6 addresses only where cloud-init writes netplan (Ubuntu); with systemd-networkd, \
         NetworkManager or ifupdown, the host takes addresses from them"
    } else {
        "ignores routers that advertise IPv6 addresses where cloud-init writes netplan (Ubuntu); with systemd-networkd, and in some \
         cases with ifupdown, the host also takes addresses and default routes from them"
    };
    findings.warn("ipv6-not-switched-off", path, message);
}

/// What happens to a route where cloud-init writes no netplan.
fn losses(route: &Route, device: &Device<'_>) -> Vec<&'static str> {
    if gateway(route, device).is_some() {
        return Vec::new();
    }
    let first = first_family(device);
    let is_default_of_ipv6 = route.is_default() && route.family() == Family::V6;
    let losses = [
        (
            route.gateway.is_none(),
            "its writers for sysconfig and ifupdown fail at a route without a next hop, and the host has no network",
        ),
        (first.is_none(), "it drops the routes of an interface without addresses"),
        (device.has_off_link_gateway(route), "it does not say that the next hop is on the link"),
        (route.unusual_metric().is_some(), "releases such as 22.4 drop the metric"),
        (is_default_of_ipv6, "releases such as 22.4 make it a route to ::/64"),
        (
            first.is_some_and(|first| first != route.family()),
            "releases such as 22.4 write it for NetworkManager in the section of the other family",
        ),
        (has_rival(route, device), "its writer for sysconfig keeps only the last default route of the interface"),
    ];
    losses.into_iter().filter(|(happens, _)| *happens).map(|(_, loss)| loss).collect()
}

/// Whether a route is one of several default routes of its family on the interface.
fn has_rival(route: &Route, device: &Device<'_>) -> bool {
    let defaults = device.routes.iter().filter(|other| other.is_default() && other.family() == route.family());
    route.is_default() && defaults.count() > 1
}

/// The family of the first subnet of an interface: cloud-init has DHCP before static addresses.
fn first_family(device: &Device<'_>) -> Option<Family> {
    let ip = |family: Family| device.interface.ip(family);
    let learned = Family::BOTH.into_iter().find(|family| ip(*family).is_automatic());
    learned.or_else(|| Family::BOTH.into_iter().find(|family| !ip(*family).addresses.is_empty()))
}
