//! Routes and routing rules of version 2, which are netplan's.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_yaml::Value;

use super::draft::{Draft, Entry};
use super::settings::{check_rest, refuse, refuse_empty, switch};
use crate::family::Family;
use crate::input::fields::Fields;
use crate::input::listing::quoted;
use crate::input::shapes::network_data::{address, members};
use vocabulary::report::{DocumentPath, Report, Reported};

/// The main table, which a route is in unless it names another.
const MAIN_TABLE: u64 = 254;

/// netplan's types of routes, each with NMState's.
const TYPES: [(&str, Option<&str>); 4] = [
    ("unicast", None),
    ("blackhole", Some("blackhole")),
    ("prohibit", Some("prohibit")),
    ("unreachable", Some("unreachable")),
];

/// Numbers of a route that have other names in NMState.
const NUMBERS: [(&str, &str); 4] = [
    ("metric", "metric"),
    ("mtu", "mtu"),
    ("congestion-window", "initcwnd"),
    ("advertised-receive-window", "initrwnd"),
];

/// Reads `routes` of the interface `name`.
pub(super) fn read(device: &Fields<'_>, name: &str, draft: &mut Draft, report: &mut Report) {
    let mut stated = BTreeSet::new();
    for fields in members::mappings(device, "routes", report) {
        let Ok(Read { entry, gateway_on_link }) = route(&fields, name, report) else { continue };
        draft.add_route(entry);
        // Each gateway once in each table.
        if let Some((gateway, table)) =
            gateway_on_link.filter(|found| is_outside(found.0, device) && stated.insert(*found))
        {
            draft.add_route(route_to_gateway(gateway, table, name, &fields.path.key("on-link")));
        }
    }
}

/// A route of NMState. It has no member `on-link`.
struct Read {
    entry: Entry,
    /// The gateway and the table, if the document says that the gateway is on the link.
    gateway_on_link: Option<(IpAddr, u64)>,
}

/// Whether an interface has networks of the gateway's family, and none of them contains it. Where every network is that of the
/// interface alone (a /32), a gateway cannot be anywhere else.
fn is_outside(gateway: IpAddr, device: &Fields<'_>) -> bool {
    let addresses = device.mapping.get("addresses").and_then(Value::as_sequence);
    let text = |item: &Value| match item {
        Value::Mapping(mapping) => mapping.keys().next().and_then(Value::as_str).map(str::to_owned),
        other => other.as_str().map(str::to_owned),
    };
    let networks = addresses.into_iter().flatten().filter_map(|item| text(item)?.parse::<IpNet>().ok());
    let networks: Vec<_> = networks.filter(|network| Family::of(network.addr()) == Family::of(gateway)).collect();
    let is_alone = |network: &IpNet| network.prefix_len() == network.max_prefix_len();
    !networks.iter().all(is_alone) && !networks.iter().any(|network| network.contains(&gateway))
}

/// Whether the interface has a default route of IPv6 of its own.
pub(super) fn has_default_of_ipv6(device: &Fields<'_>) -> bool {
    let is_default = |route: &Fields<'_>| {
        let text = |key: &str| route.mapping.get(key).and_then(Value::as_str);
        let table = members::number(route, "table", 0..=u64::from(u32::MAX), &mut Report::new());
        let is_main = table.is_ok_and(|table| table.is_none_or(|table| table == MAIN_TABLE));
        let is_whole = match text("to") {
            Some("default") => text("via").is_some_and(|via| via.contains(':')),
            Some(to) => network(to) == Some(Family::V6.whole()),
            None => false,
        };
        is_main && is_whole
    };
    device.mapping.get("gateway6").is_some_and(|gateway| !gateway.is_null())
        || members::mappings(device, "routes", &mut Report::new()).iter().any(is_default)
}

/// The route that says in NMState what `on-link` says in netplan. NetworkManager makes it by itself, too.
fn route_to_gateway(gateway: IpAddr, table: u64, interface: &str, path: &DocumentPath) -> Entry {
    let mut entry = Entry::new(path);
    entry.set_unplaced(&["destination"], IpNet::from(gateway).to_string());
    entry.set_unplaced(&["next-hop-interface"], interface);
    if table != MAIN_TABLE {
        entry.set_unplaced(&["table-id"], table);
    }
    entry
}

fn route(fields: &Fields<'_>, name: &str, report: &mut Report) -> Result<Read, Reported> {
    let known = [
        "to",
        "via",
        "from",
        "metric",
        "mtu",
        "congestion-window",
        "advertised-receive-window",
        "table",
        "type",
        "scope",
        "on-link",
    ];
    check_rest(fields, &known, report);
    refuse_empty(fields, &["via", "from", "type", "scope"], report);
    let on_link = switch(fields, "on-link", report);
    let via = any_address(fields, "via", report);
    let source = any_address(fields, "from", report);
    let table = members::number(fields, "table", 0..=u64::from(u32::MAX), report);
    let kind = kind(fields, report);
    let (via, source, table, kind, on_link) = (via?, source?, table?, kind?, on_link?);
    let destination = destination(fields, via, report)?;
    let mut entry = Entry::new(&fields.path);
    entry.set(&["destination"], destination.to_string(), &fields.path.key("to"));
    if let Some(kind) = kind {
        entry.set(&["route-type"], kind, &fields.path.key("type"));
    } else {
        entry.set_unplaced(&["next-hop-interface"], name);
    }
    check_scope(fields, via, report)?;
    if let Some(via) = via {
        entry.set(&["next-hop-address"], via.to_string(), &fields.path.key("via"));
    }
    if let Some(source) = source {
        entry.set(&["source"], source.to_string(), &fields.path.key("from"));
    }
    if let Some(table) = table.filter(|table| *table != MAIN_TABLE) {
        entry.set(&["table-id"], table, &fields.path.key("table"));
    }
    for (key, member) in NUMBERS {
        if let Some(number) = members::number(fields, key, 0..=u64::from(u32::MAX), report)? {
            entry.set(&[member], number, &fields.path.key(key));
        }
    }
    let gateway = via.filter(|_| on_link == Some(true) && kind.is_none());
    Ok(Read { entry, gateway_on_link: gateway.map(|gateway| (gateway, table.unwrap_or(MAIN_TABLE))) })
}

fn kind(fields: &Fields<'_>, report: &mut Report) -> Result<Option<&'static str>, Reported> {
    let Some(found) = fields.text("type", report)? else { return Ok(None) };
    let known = TYPES.into_iter().find(|(name, _)| *name == found).map(|(_, kind)| kind);
    known.ok_or_else(|| {
        let names = TYPES.map(|(name, _)| name).join(", ");
        refuse(fields, "type", &format!("NMState has no routes of this type; its types are {names}"), report);
        Reported
    })
}

/// A scope says what follows from the gateway, or something that NMState cannot say.
fn check_scope(fields: &Fields<'_>, via: Option<IpAddr>, report: &mut Report) -> Result<(), Reported> {
    match (fields.text("scope", report)?, via) {
        (None, _) | (Some("global"), Some(_)) | (Some("link"), None) => Ok(()),
        (Some(_), _) => {
            let why = "in NMState, a route with a gateway has the scope global, and one without a gateway has link";
            refuse(fields, "scope", why, report);
            Err(Reported)
        }
    }
}

/// Returns the destination of a route: a network, an address, or `default`, whose family is that of the gateway.
fn destination(fields: &Fields<'_>, via: Option<IpAddr>, report: &mut Report) -> Result<IpNet, Reported> {
    let text = fields.required_text("to", "a network, an address, or default", report)?;
    if text == "default" {
        return via.map(|via| Family::of(via).whole()).ok_or_else(|| {
            let message = "is default, which without via belongs to no family; write 0.0.0.0/0 or ::/0";
            fields.wrong("to", "network-config-invalid", message, report)
        });
    }
    network(text).ok_or_else(|| {
        let message = format!("is {}, which is not a network such as 192.0.2.0/24", quoted(text));
        fields.wrong("to", "network-config-invalid", message, report)
    })
}

/// Parses a network, or the address of one host.
pub(super) fn network(text: &str) -> Option<IpNet> {
    let network = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    network.map(|network| network.trunc())
}

/// Parses the address at `key`, of any family.
pub(super) fn any_address(fields: &Fields<'_>, key: &str, report: &mut Report) -> Result<Option<IpAddr>, Reported> {
    let Some(text) = fields.text(key, report)? else { return Ok(None) };
    let family = if text.contains(':') { Family::V6 } else { Family::V4 };
    address::address(fields, key, family, "gateway-invalid", report)
}

/// Reads `routing-policy` of an interface. In NMState, rules are the host's.
pub(super) fn read_rules(device: &Fields<'_>, draft: &mut Draft, report: &mut Report) {
    for fields in members::mappings(device, "routing-policy", report) {
        if let Ok(rule) = rule(&fields, report) {
            draft.add_rule(rule);
        }
    }
}

fn rule(fields: &Fields<'_>, report: &mut Report) -> Result<Entry, Reported> {
    check_rest(fields, &["from", "to", "table", "priority", "mark"], report);
    refuse_empty(fields, &["from", "to"], report);
    let mut entry = Entry::new(&fields.path);
    let mut is_selective = false;
    for (key, member) in [("from", "ip-from"), ("to", "ip-to")] {
        let Some(text) = fields.text(key, report)? else { continue };
        let Some(network) = network(text) else {
            let message = format!("is {}, which is not a network such as 192.0.2.0/24", quoted(text));
            return Err(fields.wrong(key, "network-config-invalid", message, report));
        };
        entry.set(&[member], network.to_string(), &fields.path.key(key));
        is_selective = true;
    }
    if !is_selective {
        let message = "is missing, and so is to: a rule names a source or a destination";
        return Err(fields.wrong("from", "member-missing", message, report));
    }
    for (key, member) in [("table", "route-table"), ("priority", "priority"), ("mark", "fwmark")] {
        if let Some(number) = members::number(fields, key, 0..=u64::from(u32::MAX), report)? {
            entry.set(&[member], number, &fields.path.key(key));
        }
    }
    Ok(entry)
}
