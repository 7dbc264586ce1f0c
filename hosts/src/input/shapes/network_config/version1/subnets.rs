//! `subnets` of an interface of version 1: addresses, and the routes and name servers that go with them.

use serde_yaml::Value;

use super::super::addressing::Addressing;
use super::super::draft::{Draft, Entry};
use super::super::routes::any_address;
use super::super::settings::{check_rest, refuse, switch};
use crate::family::Family;
use crate::input::fields::Fields;
use crate::input::listing::quoted;
use crate::input::shapes::network_data::{address, members, services};
use vocabulary::report::{Report, Reported};

const KNOWN: [&str; 11] = [
    "type",
    "address",
    "netmask",
    "prefix",
    "gateway",
    "metric",
    "routes",
    "dns_nameservers",
    "dns_search",
    "control",
    "scope",
];

/// Reads the subnets of the interface `name`.
pub(super) fn read(
    fields: &Fields<'_>,
    name: &str,
    draft: &mut Draft,
    report: &mut Report,
) -> Result<Addressing, Reported> {
    let mut addressing = Addressing::default();
    if let Some(routers) = switch(fields, "accept-ra", report)? {
        let path = fields.path.key("accept-ra");
        let place = if routers { &mut addressing.automatic6 } else { &mut addressing.without_routers };
        *place = Some(path);
    }
    let mut all_read = Ok(());
    for subnet in members::mappings(fields, "subnets", report) {
        if let Err(reported) = read_one(&subnet, name, &mut addressing, draft, report) {
            all_read = Err(reported);
        }
    }
    all_read.map(|()| addressing)
}

fn read_one(
    subnet: &Fields<'_>,
    name: &str,
    addressing: &mut Addressing,
    draft: &mut Draft,
    report: &mut Report,
) -> Result<(), Reported> {
    check_rest(subnet, &KNOWN, report);
    let kind = subnet.required_text("type", "static, static6, dhcp4, dhcp6 or manual", report)?;
    let metric = members::number(subnet, "metric", 0..=u64::from(u32::MAX), report)?;
    let automatic = match kind {
        "dhcp" | "dhcp4" => {
            addressing.dhcp4 = Some(subnet.path.clone());
            Some(Family::V4)
        }
        "dhcp6" | "ipv6_dhcpv6-stateful" | "ipv6_dhcpv6-stateless" | "ipv6_slaac" => {
            addressing.automatic6 = Some(subnet.path.clone());
            Some(Family::V6)
        }
        "static" | "static6" => {
            addressing.addresses.push(network(subnet, "address", report)?);
            None
        }
        "manual" => None,
        other => {
            let message =
                format!("is {}, which is not a type; write static, static6, dhcp4, dhcp6 or manual", quoted(other));
            return Err(subnet.wrong("type", "network-config-unknown", message, report));
        }
    };
    if !matches!(subnet.text("control", report)?, None | Some("auto" | "hotplug")) {
        refuse(subnet, "control", "dayone's profiles come up at boot; leave the subnet out", report);
    }
    if !matches!(subnet.text("scope", report)?, None | Some("global")) {
        refuse(subnet, "scope", "NMState has only addresses of the scope global", report);
    }
    match automatic {
        // The address that a cloud adds is what the network will give.
        Some(family) => {
            let at = subnet.path.key("metric");
            addressing.members.extend(metric.map(|metric| (family, "auto-route-metric", metric.into(), at)));
        }
        None if kind == "manual" && is_set(subnet.mapping.get("address")) => {
            let message = "is not used: a subnet of the type manual has no address";
            report.warning("network-config-ignored", &subnet.path.key("address"), message);
        }
        None => {}
    }
    if let Some(gateway) = any_address(subnet, "gateway", report)? {
        let path = subnet.path.key("gateway");
        let mut route = Entry::new(&path);
        route.set_unplaced(&["destination"], Family::of(gateway).whole().to_string());
        route.set_unplaced(&["next-hop-interface"], name);
        route.set(&["next-hop-address"], gateway.to_string(), &path);
        if let Some(metric) = metric {
            route.set(&["metric"], metric, &subnet.path.key("metric"));
        }
        draft.add_route(route);
    }
    for fields in members::mappings(subnet, "routes", report) {
        check_rest(&fields, &["network", "destination", "netmask", "prefix", "gateway", "metric"], report);
        if let Ok(mut route) = route(&fields, report) {
            route.set_unplaced(&["next-hop-interface"], name);
            draft.add_route(route);
        }
    }
    read_servers(subnet, draft, report);
    Ok(())
}

fn read_servers(subnet: &Fields<'_>, draft: &mut Draft, report: &mut Report) {
    draft.servers.extend(services::name_servers(subnet, "dns_nameservers", report));
    let search = members::words(subnet, "dns_search", report).into_iter();
    draft.search.extend(search.map(|(domain, path)| (domain.to_owned(), path)));
}

/// Reads a route, without its interface.
pub(super) fn route(fields: &Fields<'_>, report: &mut Report) -> Result<Entry, Reported> {
    let key = if is_set(fields.mapping.get("network")) { "network" } else { "destination" };
    let mut entry = Entry::new(&fields.path);
    let destination = match fields.text(key, report)? {
        Some("default") => {
            let gateway = fields.text("gateway", report)?.unwrap_or_default();
            family(gateway).whole()
        }
        _ => network(fields, key, report)?.network.trunc(),
    };
    entry.set(&["destination"], destination.to_string(), &fields.path.key(key));
    if let Some(gateway) = any_address(fields, "gateway", report)?.filter(|gateway| !gateway.is_unspecified()) {
        entry.set(&["next-hop-address"], gateway.to_string(), &fields.path.key("gateway"));
    }
    if let Some(metric) = members::number(fields, "metric", 0..=u64::from(u32::MAX), report)? {
        entry.set(&["metric"], metric, &fields.path.key("metric"));
    }
    Ok(entry)
}

/// Reads the loopback interface, which every system has. Clouds hang name servers on it.
pub(super) fn loopback(fields: &Fields<'_>, draft: &mut Draft, report: &mut Report) {
    check_rest(fields, &["type", "name", "subnets"], report);
    for subnet in members::mappings(fields, "subnets", report) {
        check_rest(&subnet, &["type", "dns_nameservers", "dns_search", "control", "address"], report);
        if subnet.mapping.get("address").is_some_and(|address| !is_loopback(address)) {
            let why = "dayone reads addresses of the loopback interface only from version 2 and from NMState; use one of these";
            refuse(&subnet, "address", why, report);
        }
        read_servers(&subnet, draft, report);
    }
}

/// Whether it is an address that the kernel gives the interface anyway.
fn is_loopback(address: &Value) -> bool {
    let text = address.as_str().and_then(|text| text.split('/').next()).unwrap_or_default();
    matches!(text, "127.0.0.1" | "::1")
}

/// Returns the family of an address that is written as text.
fn family(text: &str) -> Family {
    if text.contains(':') { Family::V6 } else { Family::V4 }
}

/// Returns the network at `key`, whose mask may be at `netmask` or `prefix`.
fn network(fields: &Fields<'_>, key: &str, report: &mut Report) -> Result<address::Placed, Reported> {
    let text = fields.text(key, report)?.unwrap_or_default();
    address::network_with_prefix(fields, key, family(text), report)
}

/// Whether a value is neither missing nor empty.
fn is_set(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
}
