//! Bonds and bridges: their ports and parameters.

use serde_yaml::Value;

use super::draft::Entry;
use super::names::Names;
use super::settings::{boolean, check_rest, refuse, refuse_empty, switch};
use crate::input::fields::{Fields, refuse_type};
use crate::input::listing::quoted;
use crate::input::shapes::network_data::members;
use crate::input::yaml::invalid;
use crate::members::mapping;
use crate::model::BOND_MODES;
use vocabulary::report::{DocumentPath, Report, Reported};

/// The mode of a bond that names none: that of the kernel, of netplan and of cloud-init.
const DEFAULT_MODE: &str = "balance-rr";

/// netplan's names of bond options, each with the kernel's, and the number of milliseconds in the unit of a number without
/// a suffix, if the option is a time.
const BOND_OPTIONS: [(&str, &str, Option<u64>); 23] = [
    ("lacp-rate", "lacp_rate", None),
    ("mii-monitor-interval", "miimon", Some(1)),
    ("min-links", "min_links", None),
    ("transmit-hash-policy", "xmit_hash_policy", None),
    ("ad-select", "ad_select", None),
    ("all-members-active", "all_slaves_active", None),
    ("all-slaves-active", "all_slaves_active", None),
    ("arp-interval", "arp_interval", Some(1)),
    ("arp-ip-targets", "arp_ip_target", None),
    ("arp-validate", "arp_validate", None),
    ("arp-all-targets", "arp_all_targets", None),
    ("up-delay", "updelay", Some(1)),
    ("down-delay", "downdelay", Some(1)),
    ("fail-over-mac-policy", "fail_over_mac", None),
    ("gratuitous-arp", "num_grat_arp", None),
    ("gratuitious-arp", "num_grat_arp", None),
    ("packets-per-member", "packets_per_slave", None),
    ("packets-per-slave", "packets_per_slave", None),
    ("primary-reselect-policy", "primary_reselect", None),
    ("resend-igmp", "resend_igmp", None),
    ("learn-packet-interval", "lp_interval", Some(1000)),
    ("primary", "primary", None),
    ("mode", "mode", None),
];

/// Reads netplan's `parameters` of a bond.
pub(super) fn bond_parameters(
    parameters: &Fields<'_>,
    names: &Names<'_>,
    entry: &mut Entry,
    report: &mut Report,
) -> Result<(), Reported> {
    let known: Vec<&str> = BOND_OPTIONS.iter().map(|(key, ..)| *key).collect();
    check_rest(parameters, &known, report);
    refuse_empty(parameters, &["primary", "arp-ip-targets"], report);
    for (key, option, unit) in BOND_OPTIONS {
        let Some(value) = parameters.mapping.get(key).filter(|value| !value.is_null()) else { continue };
        let value = match unit {
            Some(unit) => time(parameters, key, unit, report)?.map_or(Value::Null, Value::from),
            None => value.clone(),
        };
        bond_option(parameters, key, option, &value, names, entry, report)?;
    }
    Ok(())
}

/// Sets the mode that the kernel takes if the document names none.
pub(super) fn default_mode(entry: &mut Entry) {
    entry.set_unplaced(&["link-aggregation", "mode"], DEFAULT_MODE);
}

/// Sets one option of a bond by the kernel's name.
pub(super) fn bond_option(
    parameters: &Fields<'_>,
    key: &str,
    option: &str,
    value: &Value,
    names: &Names<'_>,
    entry: &mut Entry,
    report: &mut Report,
) -> Result<(), Reported> {
    let path = parameters.path.key(key);
    invalid::check(value, &path, report)?;
    let text = match (option, value) {
        (_, Value::Number(number)) => number.to_string(),
        (_, Value::String(text)) => text.clone(),
        ("mode" | "primary", other) => return Err(refuse_type(other, &path, "a text", report)),
        _ => String::new(),
    };
    match option {
        "mode" => {
            let by_number = text.parse().ok().and_then(|number: usize| BOND_MODES.get(number));
            let Some(mode) = by_number.or_else(|| BOND_MODES.iter().find(|mode| **mode == text)) else {
                let message =
                    format!("is {}, which is not a bond mode; use one of {}", quoted(&text), BOND_MODES.join(", "));
                return Err(parameters.wrong(key, "bond-mode-unknown", message, report));
            };
            entry.set(&["link-aggregation", "mode"], *mode, &path);
        }
        "primary" => {
            let name = names.of(&text).unwrap_or(&text).to_owned();
            entry.set(&["link-aggregation", "options", option], name, &path);
        }
        "all_slaves_active" => {
            let word = boolean(value).map(|value| if value { "delivered" } else { "dropped" }.into());
            entry.set(&["link-aggregation", "options", option], word.unwrap_or_else(|| value.clone()), &path);
        }
        // NMState has a list of addresses in one text.
        "arp_ip_target" => {
            let targets = members::texts(parameters, key, report).into_iter();
            let targets: Vec<&str> = targets.map(|(target, _)| target).collect();
            entry.set(&["link-aggregation", "options", option], targets.join(","), &path);
        }
        _ => entry.set(&["link-aggregation", "options", option], value.clone(), &path),
    }
    Ok(())
}

/// A time among the parameters of a bridge: netplan's name and cloud-init's, NMState's place, and the seconds that NMState accepts
/// of a timer of STP.
type BridgeTime = (&'static str, &'static str, &'static [&'static str], Option<(u64, u64)>);

const BRIDGE_TIMES: [BridgeTime; 4] = [
    ("forward-delay", "bridge_fd", &["bridge", "options", "stp", "forward-delay"], Some((2, 30))),
    ("hello-time", "bridge_hello", &["bridge", "options", "stp", "hello-time"], Some((1, 10))),
    ("max-age", "bridge_maxage", &["bridge", "options", "stp", "max-age"], Some((6, 40))),
    ("ageing-time", "bridge_ageing", &["bridge", "options", "mac-ageing-time"], None),
];

/// Reads the parameters of a bridge, which version 1 has by cloud-init's names.
pub(super) fn bridge_parameters(
    parameters: &Fields<'_>,
    version: u64,
    entry: &mut Entry,
    report: &mut Report,
) -> Result<(), Reported> {
    let named = |netplan: &'static str, cloud_init: &'static str| if version == 1 { cloud_init } else { netplan };
    let key_of_stp = named("stp", "bridge_stp");
    let stp = stp(parameters, key_of_stp, version, report)?;
    for (netplan, cloud_init, place, range) in BRIDGE_TIMES {
        let mut keys = vec![named(netplan, cloud_init)];
        if netplan == "ageing-time" && version != 1 {
            keys.push("aging-time");
        }
        for key in keys {
            let Some(seconds) = time(parameters, key, 1000, report)? else { continue };
            // Debian's examples switch STP off and set its delays to 0.
            if stp == Some(false) && range.is_some_and(|(least, most)| !(least..=most).contains(&seconds)) {
                let message = format!("is not used: {key_of_stp} is off");
                report.warning("network-config-ignored", &parameters.path.key(key), message);
            } else {
                entry.set(place, seconds, &parameters.path.key(key));
            }
        }
    }
    let key = named("priority", "bridge_bridgeprio");
    if let Some(priority) = members::number(parameters, key, 0..=65535, report)? {
        entry.set(&["bridge", "options", "stp", "priority"], priority, &parameters.path.key(key));
    }
    if let Some(stp) = stp {
        entry.set(&["bridge", "options", "stp", "enabled"], stp, &parameters.path.key(key_of_stp));
    }
    Ok(())
}

/// A port of a bridge: its name, its place, and its cost and priority, each with its place.
pub(super) struct BridgePort<'a> {
    pub(super) id: &'a str,
    pub(super) name: String,
    pub(super) path: DocumentPath,
    pub(super) settings: Vec<(&'static str, u64)>,
}

impl BridgePort<'_> {
    /// Adds the port to the bridge.
    pub(super) fn write(self, entry: &mut Entry) {
        let mut port = mapping([("name", self.name.into())]);
        port.extend(self.settings.into_iter().map(|(key, value)| (key.into(), value.into())));
        entry.push(&["bridge", "port"], port, &self.path);
    }
}

/// The settings of ports among a bridge's parameters: netplan's name, cloud-init's, NMState's, and the largest value.
pub(super) const PORT_SETTINGS: [(&str, &str, &str, u64); 2] = [
    ("path-cost", "bridge_pathcost", "stp-path-cost", u32::MAX as u64),
    ("port-priority", "bridge_portprio", "stp-priority", 63),
];

/// Reads whether a bridge has STP, which cloud-init also reads as a number or text.
fn stp(fields: &Fields<'_>, key: &str, version: u64, report: &mut Report) -> Result<Option<bool>, Reported> {
    match fields.mapping.get(key) {
        Some(Value::Number(number)) if number.as_u64() == Some(1) => Ok(Some(true)),
        Some(Value::Number(number)) if number.as_u64() == Some(0) => Ok(Some(false)),
        Some(Value::String(text)) if text == "1" => Ok(Some(true)),
        Some(Value::String(text)) if text == "0" => Ok(Some(false)),
        // Here cloud-init refuses `true` and `false` in quotes (`handle_bridge` in `net/network_state.py`).
        _ if version == 1 => fields.boolean(key, report),
        _ => switch(fields, key, report),
    }
}

/// Reads a time, and returns it in units of `unit` milliseconds. A number without a suffix counts in the same unit.
fn time(fields: &Fields<'_>, key: &str, unit: u64, report: &mut Report) -> Result<Option<u64>, Reported> {
    let text = match fields.mapping.get(key) {
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => return Ok(None),
        Some(other) => {
            invalid::check(other, &fields.path.key(key), report)?;
            String::new()
        }
    };
    let (digits, milliseconds_each) = if let Some(digits) = text.strip_suffix("ms") {
        (digits, 1)
    } else if let Some(digits) = text.strip_suffix('s') {
        (digits, 1000)
    } else {
        (text.as_str(), unit)
    };
    let Some(milliseconds) = digits.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(milliseconds_each))
    else {
        let message = format!("is {}, which is not a time such as 100ms or 15s", quoted(&text));
        return Err(fields.wrong(key, "network-config-invalid", message, report));
    };
    if milliseconds % unit != 0 {
        refuse(fields, key, "NMState has only whole seconds here", report);
        return Err(Reported);
    }
    Ok(Some(milliseconds / unit))
}
