//! `[ipv4]` and `[ipv6]` of a profile.

use super::reader::Reader;
use crate::check::profile::{is_profile_address, methods};
use crate::family::Family;
use crate::nmstate_document::quoted;
use vocabulary::report::{DocumentPath, Report};

/// Types of controllers whose ports have no addresses.
const WITHOUT_ADDRESSES: [&str; 4] = ["bond", "bridge", "team", "ovs-bridge"];

pub(crate) fn check(reader: &Reader<'_, '_>, report: &mut Report) {
    // Values that cannot be read have been reported.
    let said = |key: &str| reader.keys().get("connection", key).map(|entry| entry.raw().trim_end());
    let is_port = ["master", "controller"].into_iter().any(|key| said(key).is_some());
    let mut kinds = ["slave-type", "port-type"].into_iter().filter_map(said);
    let controller = kinds.find(|kind| is_port && WITHOUT_ADDRESSES.contains(kind));
    for family in Family::BOTH {
        let Some(group) = reader.keys().group(family.key()) else { continue };
        let mut addresses = 0_usize;
        for entry in group.entries().iter().filter(|entry| !entry.raw().is_empty()) {
            let at = reader.at(family.key(), entry.key);
            let of_network = is_address_key(entry.key) || entry.key == "gateway" || is_route_key(entry.key);
            if let Some(controller) = controller.filter(|_| of_network) {
                let message = format!(
                    "belongs to a port of a {controller}, and NetworkManager removes it; put it on the {controller}"
                );
                report.error("keyfile-address-on-port", &at, message);
            }
            if !is_address_key(entry.key) {
                continue;
            }
            addresses += 1;
            check_addresses(entry.raw(), family, &at, report);
        }
        if let Some(gateway) = reader.text(family.key(), "gateway", report)
            && !is_address(&gateway, family)
        {
            let message = format!("is {}, which is not an {} address", quoted(&gateway), family.key());
            report.error("keyfile-address-invalid", &reader.at(family.key(), "gateway"), message);
        }
        check_method(reader, family, addresses, report);
    }
}

fn check_method(reader: &Reader<'_, '_>, family: Family, addresses: usize, report: &mut Report) {
    let at = reader.at(family.key(), "method");
    let method = reader.text(family.key(), "method", report);
    match method.as_deref() {
        Some("manual") if addresses == 0 => {
            let message = "is manual and there is no address: NetworkManager refuses the profile; add address1=";
            report.error("keyfile-method", &at, message);
        }
        Some(method @ ("disabled" | "ignore")) if addresses > 0 && !(family == Family::V6 && method == "ignore") => {
            let message = "is disabled, and there are addresses: NetworkManager refuses the profile; write manual";
            report.error("keyfile-method", &at, message);
        }
        Some(method) if !methods(family).contains(&method) => {
            let message = format!(
                "is {}: NetworkManager refuses the profile; it knows {}",
                quoted(method),
                methods(family).join(", ")
            );
            report.error("keyfile-method", &at, message);
        }
        None if reader.keys().get(family.key(), "method").is_none() => {
            let message = "is missing: NetworkManager refuses the profile; write auto, manual or disabled";
            report.error("keyfile-method", &at, message);
        }
        _ => {}
    }
}

/// `address`, `addresses`, each with or without a number.
fn is_address_key(key: &str) -> bool {
    key.strip_prefix("address")
        .map(|rest| rest.strip_prefix("es").unwrap_or(rest))
        .is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

/// `route`, `routes`, each with a number, and not what is said of one (`route1_options`) or of all (`route-metric`).
fn is_route_key(key: &str) -> bool {
    key.strip_prefix("route")
        .map(|rest| rest.strip_prefix('s').unwrap_or(rest))
        .is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

fn is_address(text: &str, family: Family) -> bool {
    family.parse(text.trim()).is_some()
}

/// Checks `address/prefix,gateway`; a list in the old form, with semicolons, is left to NetworkManager.
fn check_addresses(value: &str, family: Family, at: &DocumentPath, report: &mut Report) {
    if value.contains(';') {
        return;
    }
    let is_read = is_profile_address(value, family == Family::V6);
    let (address, gateway) = value.split_once(',').map_or((value, None), |(address, gateway)| (address, Some(gateway)));
    let (ip, length) = address.split_once('/').map_or((address, None), |(ip, length)| (ip, Some(length)));
    let is_length = |text: &str| text.trim().parse().is_ok_and(|length: u8| length <= family.length());
    let gateway = gateway.map(|gateway| gateway.split(',').next().unwrap_or_default().trim());
    let wrong = if !is_address(ip, family) {
        Some(format!("is {}, which is not an {} address with a prefix length", quoted(value), family.key()))
    } else if length.is_some_and(|length| !is_length(length)) {
        Some(format!("is {}: write a number up to {} behind the slash", quoted(value), family.length()))
    } else if gateway.is_some_and(|gateway| !gateway.is_empty() && !is_address(gateway, family)) {
        Some(format!("is {}: write the address of a gateway behind the comma", quoted(value)))
    } else {
        None
    };
    if let Some(wrong) = wrong.filter(|_| !is_read) {
        report.error("keyfile-address-invalid", at, format!("{wrong}; NetworkManager ignores it"));
    } else if length.is_none() {
        let length = if family == Family::V6 { 64 } else { 24 };
        let message = format!("has no prefix length, and NetworkManager assumes {length}; write it");
        report.warning("keyfile-prefix-missing", at, message);
    }
}
