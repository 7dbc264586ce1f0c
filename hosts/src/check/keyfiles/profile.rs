//! One profile by itself.

use super::ip;
use super::reader::Reader;
use crate::check::profile::groups;
use crate::keyfile_format::GroupedKeys;
use crate::nmstate_document::interfaces::kernel_name_problem;
use crate::nmstate_document::quoted;
use crate::nmstate_document::types::{OPENVSWITCH, OPENVSWITCH_REASON};
use vocabulary::host::MacAddress;
use vocabulary::report::{DocumentPath, Report};

/// Checks the profile at `path`.
pub(crate) fn check(keys: &GroupedKeys<'_>, path: &DocumentPath, report: &mut Report) {
    let reader = Reader { keys, path };
    for group in keys.groups() {
        if !groups::is_group(group.name) {
            let message = "is not a group that NetworkManager knows: it ignores the group with all its keys";
            report.warning("keyfile-group-unknown", &path.key(group.name), message);
        }
        for entry in group.overridden() {
            let message = format!("appears twice: NetworkManager ignores line {}", entry.line);
            report.warning("keyfile-key-twice", &path.key(group.name).key(entry.key), message);
        }
        // Secrets that are to be asked for (1, 2), where nobody is there to ask.
        for entry in group.entries().iter().filter(|entry| entry.key.ends_with("-flags")) {
            if entry.raw().trim_end().parse().is_ok_and(|flags: u32| flags & 3 != 0 && flags < 8)
                && is_secret(entry.key)
            {
                let message = "says that the secret is not in the file: at boot, there is no user to ask for it";
                report.warning("keyfile-secret-not-stored", &path.key(group.name).key(entry.key), message);
            }
        }
    }
    let kind = kind(&reader, report);
    check_name(&reader, report);
    check_activation(&reader, report);
    check_controller(&reader, report);
    if let Some(kind) = kind {
        check_device(&reader, &kind, report);
    }
    ip::check(&reader, report);
}

fn is_secret(key: &str) -> bool {
    ["password", "psk", "secret", "pin", "cak", "key"].iter().any(|word| key.contains(word))
}

/// The type of the connection: said, or to be seen from the one group that makes one.
fn kind(reader: &Reader<'_, '_>, report: &mut Report) -> Option<String> {
    let Some(found) = reader.text("connection", "type", report) else {
        let mut bases = reader.keys.groups().iter().map(|group| groups::canonical(group.name));
        let bases: Vec<&str> = bases.by_ref().filter(|name| groups::is_type(name)).collect();
        if let [only] = bases.as_slice() {
            return Some((*only).to_owned());
        }
        if reader.keys.get("connection", "type").is_none() {
            let message = "is missing: NetworkManager refuses the profile; write ethernet, bond, vlan, …";
            report.error("keyfile-type-missing", &reader.at("connection", "type"), message);
        }
        return None;
    };
    let kind = groups::canonical(&found);
    let at = reader.at("connection", "type");
    if kind.starts_with("ovs-") {
        report.error(OPENVSWITCH, &at, format!("is {kind}: {OPENVSWITCH_REASON}"));
        return None;
    }
    if !groups::is_type(kind) {
        let message =
            format!("is {}, which is not a connection type: NetworkManager refuses the profile", quoted(kind));
        report.error("keyfile-type-unknown", &at, message);
        return None;
    }
    let named = |name: &str| reader.keys.group(name).is_some();
    if groups::needs_group(kind) && !named(kind) && !groups::alias(kind).is_some_and(named) {
        let message = format!("is {kind}, and there is no group [{found}]: NetworkManager refuses the profile");
        report.error("keyfile-group-missing", &at, message);
        return None;
    }
    Some(kind.to_owned())
}

fn check_name(reader: &Reader<'_, '_>, report: &mut Report) {
    if let Some(name) = reader.text("connection", "interface-name", report)
        && let Some(problem) = kernel_name_problem(&name)
    {
        let message = format!("is {}, which the kernel refuses as an interface name: {problem}", quoted(&name));
        report.error("interface-name-invalid", &reader.at("connection", "interface-name"), message);
    }
}

fn check_activation(reader: &Reader<'_, '_>, report: &mut Report) {
    if reader.flag("connection", "autoconnect", report) == Some(false) {
        let message = "is false: nothing activates the profile";
        report.warning("keyfile-not-activated", &reader.at("connection", "autoconnect"), message);
    }
    let permissions = reader.text("connection", "permissions", report);
    if permissions.is_some_and(|users| !users.trim_matches([';', ' ']).is_empty()) {
        let message = "names users: NetworkManager does not activate the profile before one of them logs in";
        report.warning("keyfile-not-activated", &reader.at("connection", "permissions"), message);
    }
}

/// The keys that say of what a connection is a port, by their old and new names.
const CONTROLLER: [&str; 2] = ["master", "controller"];
const PORT_TYPE: [&str; 2] = ["slave-type", "port-type"];
const PORT_GROUPS: [&str; 3] = ["bond-port", "bridge-port", "team-port"];
const PORT_TYPES: [&str; 6] = ["bond", "bridge", "team", "vrf", "ovs-bridge", "ovs-port"];

fn check_controller(reader: &Reader<'_, '_>, report: &mut Report) {
    let mut first = |keys: [&'static str; 2]| {
        let found = keys.into_iter().find_map(|key| Some((key, reader.text("connection", key, report)?)));
        found.filter(|(_, value)| !value.is_empty())
    };
    match (first(CONTROLLER), first(PORT_TYPE)) {
        // NetworkManager sees from the group what the profile is a port of.
        (Some(_), None) if PORT_GROUPS.iter().any(|group| reader.keys.group(group).is_some()) => {}
        (Some((key, _)), None) => {
            let message =
                "is set without slave-type: NetworkManager refuses the profile; add slave-type=bond or bridge";
            report.error("keyfile-port-incomplete", &reader.at("connection", key), message);
        }
        (None, Some((key, _))) => {
            let message =
                "is set without master: NetworkManager refuses the profile; add the controller's name or UUID";
            report.error("keyfile-port-incomplete", &reader.at("connection", key), message);
        }
        (Some(_), Some((key, kind))) if !PORT_TYPES.contains(&&*kind) => {
            let message = format!("is {}, which is not a controller type", quoted(&kind));
            report.error("keyfile-port-incomplete", &reader.at("connection", key), message);
        }
        _ => {}
    }
}

/// Checks how an ethernet profile finds its NIC.
fn check_device(reader: &Reader<'_, '_>, kind: &str, report: &mut Report) {
    if kind != "802-3-ethernet" {
        return;
    }
    let mut has_mac = false;
    for group in ["ethernet", kind] {
        let Some(mac) = reader.text(group, "mac-address", report).filter(|mac| !mac.is_empty()) else { continue };
        has_mac = true;
        // The old form: six bytes in decimal.
        let is_list =
            mac.split(';').filter(|byte| !byte.is_empty()).filter_map(|byte| byte.parse::<u8>().ok()).count() == 6;
        if !is_list && mac.parse::<MacAddress>().is_err() {
            let message = format!(
                "is {}, which is not a MAC address: NetworkManager ignores it, and the profile matches any NIC",
                quoted(&mac)
            );
            report.error("mac-address-invalid", &reader.at(group, "mac-address"), message);
        }
    }
    let is_named = reader.keys.get("connection", "interface-name").is_some();
    if !has_mac && !is_named && reader.keys.group("match").is_none() {
        let message = "has neither interface-name nor mac-address, and matches every NIC";
        report.warning("keyfile-any-device", reader.path, message);
    }
}
