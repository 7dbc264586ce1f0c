//! Version 2, which is netplan's: a section for each kind of interface, and in it the interfaces by their ids.

use serde_yaml::Value;

use super::addressing::Addressing;
use super::controllers::{self, BridgePort, PORT_SETTINGS};
use super::device;
use super::draft::{Draft, Entry};
use super::names::Names;
use super::settings::{check_rest, refuse, refuse_empty};
use crate::input::fields::{Fields, refuse_type};
use crate::input::shapes::network_data::{links, members};
use vocabulary::host::MacAddress;
use vocabulary::report::{DocumentPath, Report, Reported};

/// The kinds of interfaces that dayone translates.
pub(super) const SECTIONS: [&str; 4] = ["ethernets", "bonds", "bridges", "vlans"];

/// The kernel's name of the loopback interface.
const LOOPBACK: &str = "lo";

/// How the host finds a NIC.
enum Match {
    Mac(MacAddress, DocumentPath),
    Name,
}

/// An interface of a section.
struct Device<'a> {
    section: &'static str,
    id: &'a str,
    fields: Fields<'a>,
    /// How the host finds it, if it is a NIC.
    found: Option<Match>,
    /// Whether netplan configures it with systemd-networkd, which is the default.
    is_networkds: bool,
}

/// Reads the members of `top`.
pub(super) fn read(top: &Fields<'_>, draft: &mut Draft, report: &mut Report) {
    check_rest(top, &["version", "ethernets", "bonds", "bridges", "vlans"], report);
    let mut names = Names::default();
    let devices = devices(top, &mut names, report);
    let mut ports = Vec::new();
    for device in devices.iter().filter(|device| matches!(device.section, "bonds" | "bridges")) {
        ports.extend(device.fields.texts("interfaces", &mut Report::new()).unwrap_or_default());
    }
    let is_port = |id: &str| ports.iter().any(|(port, _)| *port == id);
    for device in &devices {
        if let Ok(entry) = interface(device, is_port(device.id), &names, draft, report) {
            draft.add_interface(entry);
        }
    }
}

/// Lists the interfaces, and gives each its name.
fn devices<'a>(top: &Fields<'a>, names: &mut Names<'a>, report: &mut Report) -> Vec<Device<'a>> {
    let mut devices = Vec::new();
    let mut by_mac = Vec::new();
    for section in SECTIONS {
        let Ok(Some(fields)) = top.mapping(section, report) else { continue };
        let section_members = fields.mapping;
        for (key, value) in section_members {
            // The renderer of a whole section.
            if key.as_str() == Some("renderer") && value.is_string() {
                check_rest(&Fields::new(&only("renderer", value), fields.path.clone()), &[], report);
                continue;
            }
            let Some(id) = key.as_str() else {
                refuse_type(key, &fields.path, "an interface's id", report);
                continue;
            };
            let path = fields.path.key(id);
            let Value::Mapping(mapping) = value else {
                refuse_type(value, &path, "a mapping", report);
                continue;
            };
            let fields = Fields::new(mapping, path);
            let Ok((found, name)) = identity(section, id, &fields, report) else { continue };
            match &found {
                Some(Match::Mac(..)) => by_mac.push((id, name)),
                _ => names.add(id, name, &fields.path, report),
            }
            let renderer =
                [fields.mapping, section_members, top.mapping].into_iter().find_map(|members| members.get("renderer"));
            let is_networkds = renderer.and_then(Value::as_str) != Some("NetworkManager");
            devices.push(Device { section, id, fields, found, is_networkds });
        }
    }
    // Other interfaces need their names; these only have labels.
    for (id, name) in by_mac {
        if names.of(id).is_none() {
            names.add_nic(id, &[name, id]);
        }
    }
    devices
}

fn only(key: &str, value: &Value) -> serde_yaml::Mapping {
    [(key.into(), value.clone())].into_iter().collect()
}

/// Returns how the host finds a NIC, and the name of the interface.
fn identity<'a>(
    section: &str,
    id: &'a str,
    fields: &Fields<'a>,
    report: &mut Report,
) -> Result<(Option<Match>, &'a str), Reported> {
    if section != "ethernets" {
        return Ok((None, id));
    }
    let set_name = fields.text("set-name", report)?;
    if set_name.is_some() {
        let message = "does not rename the NIC: dayone finds it by what match says, and it keeps the kernel's name";
        report.warning("nic-not-renamed", &fields.path.key("set-name"), message);
    }
    if !fields.mapping.contains_key("match") {
        return Ok((Some(Match::Name), id));
    }
    let found = fields.mapping("match", report)?;
    let Some(found) = found.filter(|found| !found.mapping.is_empty()) else {
        refuse(fields, "match", "it matches every NIC, and a profile of dayone is for one", report);
        return Err(Reported);
    };
    check_rest(&found, &["macaddress", "name"], report);
    if let Some((mac, path)) = links::read_mac(&found, "macaddress", report)? {
        if found.mapping.contains_key("name") {
            let message = "is not compared: the host finds the NIC by its MAC address alone";
            report.warning("network-config-ignored", &found.path.key("name"), message);
        }
        return Ok((Some(Match::Mac(mac, path)), set_name.unwrap_or(id)));
    }
    match found.text("name", report)? {
        Some(name) if name.contains(['*', '?', '[']) => {
            refuse(&found, "name", "the pattern may match several NICs; write one name, or macaddress", report);
            Err(Reported)
        }
        Some(name) => Ok((Some(Match::Name), name)),
        None => {
            let message = "is missing, and so is name: the host finds a NIC by one of them";
            Err(found.wrong("macaddress", "nic-unidentified", message, report))
        }
    }
}

fn interface(
    device: &Device<'_>,
    is_port: bool,
    names: &Names<'_>,
    draft: &mut Draft,
    report: &mut Report,
) -> Result<Entry, Reported> {
    let fields = &device.fields;
    let name = names.of(device.id).unwrap_or(device.id);
    let mut entry = Entry::new(&fields.path);
    entry.set_unplaced(&["name"], name);
    entry.set_unplaced(&["state"], "up");
    let own: &[&str] = match device.section {
        "ethernets" => &["match", "set-name"],
        "vlans" => &["id", "link"],
        _ => &["interfaces", "parameters"],
    };
    let known: Vec<&str> = own.iter().chain(&device::KNOWN).copied().collect();
    check_rest(fields, &known, report);
    refuse_empty(fields, &["macaddress"], report);
    let mac = links::read_mac(fields, "macaddress", report)?;
    // netplan has no section for the loopback: its documentation gives addresses to `lo` in `ethernets`.
    let is_loopback = name == LOOPBACK && matches!(device.found, Some(Match::Name));
    match device.section {
        "bonds" => bond(fields, names, &mut entry, report)?,
        "bridges" => bridge(fields, names, &mut entry, report)?,
        "vlans" => vlan(fields, names, &mut entry, report)?,
        _ if is_loopback => entry.set_unplaced(&["type"], "loopback"),
        _ => entry.set_unplaced(&["type"], "ethernet"),
    }
    match (&device.found, mac) {
        (Some(Match::Mac(own, _)), Some((set, _))) if *own != set => {
            let why = "NMState finds a NIC by its address or gives it another one, not both";
            refuse(fields, "macaddress", why, report);
        }
        (Some(Match::Mac(own, path)), _) => {
            entry.set(&["identifier"], "mac-address", path);
            entry.set(&["mac-address"], own.to_string(), path);
        }
        (_, Some((set, path))) => entry.set(&["mac-address"], set.to_string(), &path),
        (_, None) => {}
    }
    let greatest_mtu = if is_loopback { 65536 } else { 65535 };
    if let Some(mtu) = members::number(fields, "mtu", 1..=greatest_mtu, report)? {
        entry.set(&["mtu"], mtu, &fields.path.key("mtu"));
    }
    // Neither a port nor the loopback has a link-local address.
    let addressing: Addressing = device::addressing(fields, !is_port && !is_loopback, report)?;
    if device.is_networkds {
        device::check_routers(fields, &addressing, report);
    }
    addressing.write(&mut entry);
    device::read_shared(fields, name, draft, report);
    Ok(entry)
}

fn bond(fields: &Fields<'_>, names: &Names<'_>, entry: &mut Entry, report: &mut Report) -> Result<(), Reported> {
    entry.set_unplaced(&["type"], "bond");
    controllers::default_mode(entry);
    for (_, name, path) in names.references(fields, "interfaces", report) {
        entry.push(&["link-aggregation", "port"], name, &path);
    }
    match fields.mapping("parameters", report)? {
        Some(parameters) => controllers::bond_parameters(&parameters, names, entry, report),
        None => Ok(()),
    }
}

fn bridge(fields: &Fields<'_>, names: &Names<'_>, entry: &mut Entry, report: &mut Report) -> Result<(), Reported> {
    entry.set_unplaced(&["type"], "linux-bridge");
    let references = names.references(fields, "interfaces", report).into_iter();
    let mut ports: Vec<BridgePort<'_>> =
        references.map(|(id, name, path)| BridgePort { id, name, path, settings: Vec::new() }).collect();
    if let Some(parameters) = fields.mapping("parameters", report)? {
        let known = [
            "ageing-time",
            "aging-time",
            "priority",
            "port-priority",
            "forward-delay",
            "hello-time",
            "max-age",
            "path-cost",
            "stp",
        ];
        check_rest(&parameters, &known, report);
        controllers::bridge_parameters(&parameters, 2, entry, report)?;
        for (key, _, member, most) in PORT_SETTINGS {
            let Some(settings) = parameters.mapping(key, report)? else { continue };
            for key in settings.mapping.keys() {
                let Some(id) = key.as_str() else {
                    refuse_type(key, &settings.path, "an interface's id", report);
                    continue;
                };
                let number = members::number(&settings, id, 0..=most, report)?;
                match (ports.iter_mut().find(|port| port.id == id), number) {
                    (Some(port), Some(number)) => port.settings.push((member, number)),
                    (Some(_), None) => {}
                    (None, _) => {
                        let message = "is not one of the bridge's interfaces";
                        report.error("link-not-found", &settings.path.key(id), message);
                    }
                }
            }
        }
    }
    for port in ports {
        port.write(entry);
    }
    Ok(())
}

fn vlan(fields: &Fields<'_>, names: &Names<'_>, entry: &mut Entry, report: &mut Report) -> Result<(), Reported> {
    entry.set_unplaced(&["type"], "vlan");
    let link = fields.required_text("link", "the id of the interface that the VLAN is on", report)?;
    let at = fields.path.key("link");
    let lower = names.reference(link, &at, report).ok_or(Reported)?;
    entry.set(&["vlan", "base-iface"], lower, &at);
    let id = members::number(fields, "id", 0..=4094, report)?;
    let id = id.ok_or_else(|| fields.wrong("id", "member-missing", "is missing: the number of the VLAN", report))?;
    entry.set(&["vlan", "id"], id, &fields.path.key("id"));
    Ok(())
}

/// Returns the first section that the document has.
pub(super) fn first_section(top: &Fields<'_>) -> &'static str {
    SECTIONS.into_iter().find(|section| top.mapping.contains_key(section)).unwrap_or("ethernets")
}
