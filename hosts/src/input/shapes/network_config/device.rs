//! What all kinds of interfaces of version 2 have: addresses, DHCP, routes, rules and name servers.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_yaml::Value;

use super::addressing::Addressing;
use super::draft::{Draft, Entry};
use super::routes;
use super::settings::{check_rest, refuse, refuse_empty, switch};
use crate::family::Family;
use crate::input::fields::{Fields, refuse_type};
use crate::input::listing::quoted;
use crate::input::shapes::network_data::address::Placed;
use crate::input::shapes::network_data::{address, members, services};
use vocabulary::report::{DocumentPath, Report, Reported};

/// The settings that this module and the writer of an interface read.
pub(super) const KNOWN: [&str; 17] = [
    "macaddress",
    "mtu",
    "dhcp4",
    "dhcp6",
    "dhcp4-overrides",
    "dhcp6-overrides",
    "dhcp-identifier",
    "accept-ra",
    "link-local",
    "addresses",
    "gateway4",
    "gateway6",
    "nameservers",
    "routes",
    "routing-policy",
    "ipv6-address-generation",
    "ipv6-address-token",
];

/// Overrides of DHCP, each with NMState's members for it.
const OVERRIDES: [(&str, &[&str]); 3] = [
    ("use-dns", &["auto-dns"]),
    // Without its routes, the network gives no default route either.
    ("use-routes", &["auto-routes", "auto-gateway"]),
    ("send-hostname", &["dhcp-send-hostname"]),
];

/// netplan's client ids of DHCP for IPv4, each with NMState's.
const CLIENT_IDS: [(&str, &str); 2] = [("mac", "ll"), ("duid", "iaid+duid")];

/// Reads how the interface gets its addresses. `link_local6` is whether it has a link-local address of IPv6 if the document says nothing
/// about it.
pub(super) fn addressing(fields: &Fields<'_>, link_local6: bool, report: &mut Report) -> Result<Addressing, Reported> {
    let placed = |key: &str, report: &mut Report| -> Result<Option<(bool, DocumentPath)>, Reported> {
        Ok(switch(fields, key, report)?.map(|value| (value, fields.path.key(key))))
    };
    let on = |found: Option<(bool, DocumentPath)>| found.filter(|(on, _)| *on).map(|(_, path)| path);
    let routers = placed("accept-ra", report)?;
    let dhcp6 = on(placed("dhcp6", report)?);
    let mut addressing = Addressing {
        addresses: addresses(fields, report)?,
        dhcp4: on(placed("dhcp4", report)?),
        automatic6: dhcp6.or_else(|| on(routers.clone())),
        without_routers: routers.filter(|(on, _)| !on).map(|(_, path)| path),
        link_local6,
        members: Vec::new(),
    };
    if let Some(families) = fields.mapping.get("link-local") {
        link_local(fields, families, &mut addressing, report)?;
    }
    overrides(fields, &mut addressing, report)?;
    if addressing.automatic6.is_none() && fields.mapping.contains_key("ipv6-address-token") {
        let why = "it is the end of an address from router advertisements, which the interface does not use; leave it out, or write \
                   accept-ra: true";
        refuse(fields, "ipv6-address-token", why, report);
    }
    refuse_empty(fields, &["ipv6-address-generation", "ipv6-address-token", "dhcp-identifier"], report);
    let generation = fields.text("ipv6-address-generation", report)?;
    if generation.is_some() && fields.mapping.contains_key("ipv6-address-token") {
        let message = "stands beside ipv6-address-token, and netplan does not accept both; remove it: with a token, addresses are generated \
                       as eui64";
        report.error("network-config-invalid", &fields.path.key("ipv6-address-generation"), message);
    }
    for (key, member) in [("ipv6-address-generation", "addr-gen-mode"), ("ipv6-address-token", "token")] {
        if let Some(text) = fields.text(key, report)? {
            addressing.members.push((Family::V6, member, text.into(), fields.path.key(key)));
        }
    }
    if let Some(identifier) = fields.text("dhcp-identifier", report)? {
        match CLIENT_IDS.into_iter().find(|(netplan, _)| *netplan == identifier) {
            // netplan's default, which asks for nothing where there is no DHCP.
            Some(("duid", _)) if addressing.dhcp4.is_none() => {}
            Some((_, client_id)) => {
                let path = fields.path.key("dhcp-identifier");
                addressing.members.push((Family::V4, "dhcp-client-id", client_id.into(), path));
            }
            None => refuse(fields, "dhcp-identifier", "netplan knows mac and duid", report),
        }
    }
    Ok(addressing)
}

/// Warns about an interface that gets its default route of IPv6 from router advertisements with netplan and systemd-networkd only because
/// the document leaves `accept-ra` out. netplan's profiles for `NetworkManager` ignore the advertisements there, like dayone's.
pub(super) fn check_routers(fields: &Fields<'_>, addressing: &Addressing, report: &mut Report) {
    let is_routed = |placed: &&Placed| match placed.network.addr() {
        IpAddr::V6(address) => !address.is_unicast_link_local(),
        IpAddr::V4(_) => false,
    };
    let leaves_open = addressing.automatic6.is_none() && addressing.without_routers.is_none();
    // systemd-networkd listens to routers only on an interface with a link-local address.
    if !leaves_open || !addressing.link_local6 || routes::has_default_of_ipv6(fields) {
        return;
    }
    if let Some(address) = addressing.addresses.iter().find(is_routed) {
        let message = "has no default route of IPv6 beside it, and the interface has no accept-ra: with netplan, systemd-networkd takes a \
                       default route and another address from router advertisements, and the host of this image does not; write \
                       accept-ra: true or accept-ra: false";
        report.warning("accept-ra-unset", &address.path, message);
    }
}

/// netplan gives every interface a link-local address of IPv6, unless `link-local` leaves `ipv6` out.
fn link_local(
    fields: &Fields<'_>,
    families: &Value,
    addressing: &mut Addressing,
    report: &mut Report,
) -> Result<(), Reported> {
    let found = if families.is_null() { Vec::new() } else { fields.texts("link-local", report)? };
    // netplan reads these words in any case.
    let has = |family: &str| found.iter().any(|(text, _)| text.eq_ignore_ascii_case(family));
    addressing.link_local6 &= has("ipv6");
    let uses_v6 = addressing.automatic6.is_some()
        || addressing.addresses.iter().any(|placed| Family::of(placed.network.addr()) == Family::V6);
    let path = fields.path.key("link-local");
    let is_known = |text: &str| ["ipv4", "ipv6"].iter().any(|known| text.eq_ignore_ascii_case(known));
    for (other, path) in found.iter().filter(|(text, _)| !is_known(text)) {
        let message = format!("is {}, and netplan knows ipv4 and ipv6", quoted(other));
        report.error("network-config-invalid", path, message);
    }
    if has("ipv4") {
        refuse(fields, "link-local", "NMState has no link-local addresses of IPv4", report);
    }
    if uses_v6 && !has("ipv6") {
        let message = "is not used: an interface with other addresses of IPv6 has a link-local address as well";
        report.warning("network-config-ignored", &path, message);
    }
    Ok(())
}

/// Reads the overrides of DHCP, which count only if DHCP is on.
fn overrides(fields: &Fields<'_>, addressing: &mut Addressing, report: &mut Report) -> Result<(), Reported> {
    for (key, family) in [("dhcp4-overrides", Family::V4), ("dhcp6-overrides", Family::V6)] {
        let Some(overrides) = fields.mapping(key, report)? else { continue };
        let is_on = match family {
            Family::V4 => addressing.dhcp4.is_some(),
            Family::V6 => addressing.automatic6.is_some(),
        };
        if !is_on {
            let message = "is not used: the interface gets no addresses of this family from the network";
            report.warning("network-config-ignored", &overrides.path, message);
            continue;
        }
        check_rest(&overrides, &["use-dns", "use-routes", "send-hostname", "hostname", "route-metric"], report);
        let mut set = |member: &'static str, value: Value, path| addressing.members.push((family, member, value, path));
        for (key, members) in OVERRIDES {
            if let Some(value) = switch(&overrides, key, report)? {
                for member in members {
                    set(member, value.into(), overrides.path.key(key));
                }
            }
        }
        if let Some(name) = overrides.text("hostname", report)? {
            set("dhcp-custom-hostname", name.into(), overrides.path.key("hostname"));
        }
        if let Some(metric) = members::number(&overrides, "route-metric", 0..=u64::from(u32::MAX), report)? {
            set("auto-route-metric", metric.into(), overrides.path.key("route-metric"));
        }
    }
    Ok(())
}

/// Reads `addresses`: texts, or mappings of one address to its settings.
fn addresses(fields: &Fields<'_>, report: &mut Report) -> Result<Vec<Placed>, Reported> {
    let list = match fields.mapping.get("addresses") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Sequence(list)) => list,
        Some(other) => return Err(refuse_type(other, &fields.path.key("addresses"), "a list", report)),
    };
    let mut all = Ok(Vec::new());
    for (index, item) in list.iter().enumerate() {
        let path = fields.path.key("addresses").index(index);
        let found = match item {
            Value::String(text) => address(text, &path, report),
            Value::Mapping(mapping) => with_settings(&Fields::new(mapping, path), report),
            other => Err(refuse_type(other, &path, "an address with its prefix length", report)),
        };
        match (found, &mut all) {
            (Ok(found), Ok(all)) => all.push(found),
            (Err(reported), _) => all = Err(reported),
            (Ok(_), Err(_)) => {}
        }
    }
    all
}

fn with_settings(item: &Fields<'_>, report: &mut Report) -> Result<Placed, Reported> {
    let mut entries = item.mapping.iter();
    let (Some((Value::String(text), settings)), None) = (entries.next(), entries.next()) else {
        let message = "is not an address with its settings";
        return Err(report.refuse("network-config-invalid", &item.path, message));
    };
    let path = item.path.key(text);
    if let Value::Mapping(settings) = settings {
        let mut settings = settings.clone();
        // An address that never expires is any other address.
        settings.retain(|key, value| key.as_str() != Some("lifetime") || value.as_str() != Some("forever"));
        check_rest(&Fields::new(&settings, path.clone()), &[], report);
    }
    address(text, &path, report)
}

fn address(text: &str, path: &DocumentPath, report: &mut Report) -> Result<Placed, Reported> {
    let network: Option<IpNet> = text.parse().ok();
    let Some(network) = network else {
        let message =
            format!("is {}, which is not an address with its prefix length, such as 192.0.2.5/24", quoted(text));
        return Err(report.refuse("ip-address-invalid", path, message));
    };
    Ok(Placed { network, path: path.clone(), length_path: path.clone() })
}

/// Reads what NMState has outside of interfaces: routes, rules and name servers.
pub(super) fn read_shared(fields: &Fields<'_>, name: &str, draft: &mut Draft, report: &mut Report) {
    refuse_empty(fields, &["gateway4", "gateway6"], report);
    for (key, family) in [("gateway4", Family::V4), ("gateway6", Family::V6)] {
        if let Ok(Some(gateway)) = address::address(fields, key, family, "gateway-invalid", report) {
            let path = fields.path.key(key);
            let mut route = Entry::new(&path);
            route.set_unplaced(&["destination"], family.whole().to_string());
            route.set_unplaced(&["next-hop-interface"], name);
            route.set(&["next-hop-address"], gateway.to_string(), &path);
            draft.add_route(route);
        }
    }
    routes::read(fields, name, draft, report);
    routes::read_rules(fields, draft, report);
    if let Ok(Some(resolver)) = fields.mapping("nameservers", report) {
        check_rest(&resolver, &["addresses", "search"], report);
        refuse_empty(&resolver, &["addresses", "search"], report);
        draft.servers.extend(services::name_servers(&resolver, "addresses", report));
        let search = members::texts(&resolver, "search", report).into_iter();
        draft.search.extend(search.map(|(domain, path)| (domain.to_owned(), path)));
    }
}
