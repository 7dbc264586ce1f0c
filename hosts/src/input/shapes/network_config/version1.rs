//! Version 1, which is cloud-init's own: a list of interfaces, name servers and routes.

mod subnets;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use serde_yaml::Value;

use super::controllers::{self, BridgePort, PORT_SETTINGS};
use super::draft::{Draft, Entry};
use super::names::Names;
use super::settings::{check_rest, refuse};
use crate::input::fields::Fields;
use crate::input::listing::quoted;
use crate::input::shapes::network_data::{bond, links, members, services};
use vocabulary::report::{DocumentPath, Report, Reported};

/// The types of entries that are interfaces, each with the members that only it has.
const INTERFACES: [(&str, &[&str]); 4] = [
    ("physical", &[]),
    ("bond", &["bond_interfaces", "params"]),
    ("bridge", &["bridge_interfaces", "params"]),
    ("vlan", &["vlan_link", "vlan_id"]),
];

/// The networks of each interface's own addresses, which tell where a gateway is.
type OnLink = BTreeMap<String, Vec<IpNet>>;

/// Reads the members of `top`.
pub(super) fn read(top: &Fields<'_>, draft: &mut Draft, report: &mut Report) {
    check_rest(top, &["version", "config"], report);
    let entries = members::mappings(top, "config", report);
    let mut names = Names::default();
    for fields in &entries {
        if let Ok(Some(kind)) = fields.text("type", &mut Report::new())
            && INTERFACES.iter().any(|(name, _)| *name == kind)
            && let Ok(Some(name)) = fields.text("name", &mut Report::new())
        {
            names.add(name, name, &fields.path.key("name"), report);
        }
    }
    let mut on_link = OnLink::new();
    let mut routes = Vec::new();
    for fields in &entries {
        let Ok(kind) = fields.required_text("type", "physical, bond, bridge, vlan, nameserver or route", report) else {
            continue;
        };
        match (INTERFACES.into_iter().find(|(name, _)| *name == kind), kind) {
            (Some((kind, own)), _) => {
                if let Ok(entry) = interface(fields, kind, own, &names, &mut on_link, draft, report) {
                    draft.add_interface(entry);
                }
            }
            (None, "loopback") => subnets::loopback(fields, draft, report),
            (None, "nameserver") => name_servers(fields, &names, draft, report),
            (None, "route") => routes.push(fields),
            (None, "infiniband") => {
                refuse(fields, "type", "write the network as NMState, which has InfiniBand", report);
            }
            (None, other) => {
                let message = format!(
                    "is {}, which is not a type; write physical, bond, bridge, vlan, nameserver or route",
                    quoted(other)
                );
                report.error("network-config-unknown", &fields.path.key("type"), message);
            }
        }
    }
    // A route belongs to the interface whose network has its gateway, so it waits for all addresses.
    for fields in routes {
        if let Ok(route) = route(fields, &on_link, report) {
            draft.add_route(route);
        }
    }
}

fn interface(
    fields: &Fields<'_>,
    kind: &str,
    own: &[&str],
    names: &Names<'_>,
    on_link: &mut OnLink,
    draft: &mut Draft,
    report: &mut Report,
) -> Result<Entry, Reported> {
    // MAAS writes the name again as `id`, which cloud-init does not read.
    let known: Vec<&str> =
        ["id", "type", "name", "mac_address", "mtu", "subnets", "accept-ra"].iter().chain(own).copied().collect();
    check_rest(fields, &known, report);
    let name = fields.required_text("name", "the name of the interface", report)?;
    let mut entry = Entry::new(&fields.path);
    entry.set(&["name"], name, &fields.path.key("name"));
    entry.set_unplaced(&["state"], "up");
    let mac = links::read_mac(fields, "mac_address", report)?;
    if let Some((mac, path)) = mac {
        if kind == "physical" {
            entry.set(&["identifier"], "mac-address", &path);
        }
        entry.set(&["mac-address"], mac.to_string(), &path);
    }
    match kind {
        "bond" => bond(fields, names, &mut entry, report)?,
        "bridge" => bridge(fields, names, &mut entry, report)?,
        "vlan" => vlan(fields, names, &mut entry, report)?,
        _ => entry.set_unplaced(&["type"], "ethernet"),
    }
    if let Some(mtu) = members::number(fields, "mtu", 1..=65535, report)? {
        entry.set(&["mtu"], mtu, &fields.path.key("mtu"));
    }
    let addressing = subnets::read(fields, name, draft, report)?;
    let networks = addressing.addresses.iter().map(|placed| placed.network);
    on_link.entry(name.to_owned()).or_default().extend(networks);
    addressing.write(&mut entry);
    Ok(entry)
}

fn bond(fields: &Fields<'_>, names: &Names<'_>, entry: &mut Entry, report: &mut Report) -> Result<(), Reported> {
    entry.set_unplaced(&["type"], "bond");
    controllers::default_mode(entry);
    for (_, name, path) in names.references(fields, "bond_interfaces", report) {
        entry.push(&["link-aggregation", "port"], name, &path);
    }
    let Some(parameters) = fields.mapping("params", report)? else { return Ok(()) };
    for (key, value) in parameters.mapping {
        let key = key.as_str().unwrap_or("?");
        let option = bond::option_name(key).filter(|option| option == "mode" || bond::is_known_to_nmstate(option));
        match option {
            _ if value.is_null() => {}
            Some(option) => {
                controllers::bond_option(&parameters, key, &option, value, names, entry, report)?;
            }
            None => {
                let message = format!("is unknown: NMState has no bond option {}", quoted(key));
                report.error("network-config-unknown", &parameters.path.key(key), message);
            }
        }
    }
    Ok(())
}

fn bridge(fields: &Fields<'_>, names: &Names<'_>, entry: &mut Entry, report: &mut Report) -> Result<(), Reported> {
    entry.set_unplaced(&["type"], "linux-bridge");
    let parameters = fields.mapping("params", report)?;
    let references = bridge_ports(fields, parameters.as_ref(), names, report)?.into_iter();
    let mut ports: Vec<BridgePort<'_>> =
        references.map(|(id, name, path)| BridgePort { id, name, path, settings: Vec::new() }).collect();
    if let Some(parameters) = parameters {
        let known = [
            "bridge_fd",
            "bridge_hello",
            "bridge_maxage",
            "bridge_ageing",
            "bridge_bridgeprio",
            "bridge_stp",
            "bridge_hw",
            "bridge_pathcost",
            "bridge_portprio",
            "bridge_ports",
        ];
        check_rest(&parameters, &known, report);
        controllers::bridge_parameters(&parameters, 1, entry, report)?;
        if let Some((mac, path)) = links::read_mac(&parameters, "bridge_hw", report)? {
            entry.set(&["mac-address"], mac.to_string(), &path);
        }
        for (_, key, member, most) in PORT_SETTINGS {
            for (text, path) in members::texts(&parameters, key, report) {
                let mut words = text.split_whitespace();
                let (id, number) = (words.next(), words.next().and_then(|number| number.parse::<u64>().ok()));
                let port = ports.iter_mut().find(|port| Some(port.id) == id);
                if let (Some(port), Some(number)) = (port, number.filter(|number| *number <= most)) {
                    port.settings.push((member, number));
                } else {
                    let message = "is not one of the bridge's interfaces and a number, such as \"eth0 50\"";
                    report.error("network-config-invalid", &path, message);
                }
            }
        }
    }
    for port in ports {
        port.write(entry);
    }
    Ok(())
}

/// Reads which ports a bridge has: id, name and place. As in cloud-init's `handle_bridge`, a bridge needs `bridge_interfaces`, and its
/// parameter `bridge_ports` replaces them.
fn bridge_ports<'a>(
    fields: &Fields<'a>,
    parameters: Option<&Fields<'a>>,
    names: &Names<'a>,
    report: &mut Report,
) -> Result<Vec<(&'a str, String, DocumentPath)>, Reported> {
    if fields.mapping.get("bridge_interfaces").is_none_or(Value::is_null) {
        let message = "is missing: the names of the bridge's ports. cloud-init leaves out a bridge without it";
        return Err(fields.wrong("bridge_interfaces", "member-missing", message, report));
    }
    let listed = names.references(fields, "bridge_interfaces", report);
    let is_given =
        |parameters: &&Fields<'a>| parameters.mapping.get("bridge_ports").is_some_and(|list| !list.is_null());
    let Some(parameters) = parameters.filter(is_given) else { return Ok(listed) };
    let mut words = members::words(parameters, "bridge_ports", report);
    // ifupdown's word for a bridge without ports.
    if parameters.mapping.get("bridge_ports").and_then(Value::as_str) == Some("none") {
        words.clear();
    }
    let found: Vec<_> = words
        .into_iter()
        .filter_map(|(id, path)| names.reference(id, &path, report).map(|name| (id, name, path)))
        .collect();
    let ids = |ports: &[(&'a str, String, DocumentPath)]| ports.iter().map(|(id, ..)| *id).collect::<BTreeSet<&str>>();
    if !listed.is_empty() && ids(&listed) != ids(&found) {
        let message = "is not used: cloud-init takes the ports from bridge_ports in params";
        report.warning("network-config-ignored", &fields.path.key("bridge_interfaces"), message);
    }
    Ok(found)
}

fn vlan(fields: &Fields<'_>, names: &Names<'_>, entry: &mut Entry, report: &mut Report) -> Result<(), Reported> {
    entry.set_unplaced(&["type"], "vlan");
    let link = fields.required_text("vlan_link", "the name of the interface that the VLAN is on", report)?;
    let at = fields.path.key("vlan_link");
    let lower = names.reference(link, &at, report).ok_or(Reported)?;
    entry.set(&["vlan", "base-iface"], lower, &at);
    let id = members::number(fields, "vlan_id", 0..=4094, report)?;
    let id =
        id.ok_or_else(|| fields.wrong("vlan_id", "member-missing", "is missing: the number of the VLAN", report))?;
    entry.set(&["vlan", "id"], id, &fields.path.key("vlan_id"));
    Ok(())
}

/// Reads an entry with name servers. In NMState, they are the host's.
fn name_servers(fields: &Fields<'_>, names: &Names<'_>, draft: &mut Draft, report: &mut Report) {
    check_rest(fields, &["type", "address", "search", "interface"], report);
    if let Ok(Some(interface)) = fields.text("interface", report) {
        names.reference(interface, &fields.path.key("interface"), report);
    }
    draft.servers.extend(services::name_servers(fields, "address", report));
    let search = members::words(fields, "search", report).into_iter();
    draft.search.extend(search.map(|(domain, path)| (domain.to_owned(), path)));
}

/// Reads a route of the host, and finds the interface that it belongs to.
fn route(fields: &Fields<'_>, on_link: &OnLink, report: &mut Report) -> Result<Entry, Reported> {
    check_rest(fields, &["id", "type", "destination", "netmask", "prefix", "gateway", "metric"], report);
    let mut entry = subnets::route(fields, report)?;
    let gateway: Option<IpAddr> = fields.text("gateway", report)?.and_then(|text| text.parse().ok());
    let Some(gateway) = gateway else {
        let message = "is missing: dayone finds the interface of a route by its gateway";
        return Err(fields.wrong("gateway", "member-missing", message, report));
    };
    let mut leading = on_link.iter().filter(|(_, networks)| networks.iter().any(|network| network.contains(&gateway)));
    match (leading.next(), leading.next()) {
        (Some((name, _)), None) => {
            entry.set_unplaced(&["next-hop-interface"], name.as_str());
            Ok(entry)
        }
        (found, _) => {
            let interfaces = if found.is_none() { "no interface has" } else { "several interfaces have" };
            let message = format!(
                "is {gateway}, and {interfaces} an address in its network; write the route under routes of a subnet"
            );
            Err(fields.wrong("gateway", "route-interface-unknown", message, report))
        }
    }
}
