//! What the installer and netplan refuse in a network, and what dayone's own reader of it, which is more tolerant, does not report.
//!
//! Sources: Subiquity's schema of `network` (`subiquity/server/controllers/network.py`), and netplan's parser (`src/parse.c`). The
//! acceptance tests ask netplan itself.

use serde_yaml::{Mapping, Value};

use vocabulary::report::{DocumentPath, Report};

const CODE: &str = "answers-invalid";
const SECTIONS: [&str; 4] = ["ethernets", "bonds", "bridges", "vlans"];
/// Members of the network that may be there if they are empty: dayone reports what is in them.
const OTHER_SECTIONS: [&str; 8] =
    ["wifis", "modems", "tunnels", "vrfs", "dummy-devices", "virtual-ethernets", "nm-devices", "openvswitch"];

/// What a member must be.
#[derive(Clone, Copy)]
enum Kind {
    Boolean,
    Renderer,
    OptionalAddresses,
    /// dayone's reader checks it, or it changes nothing.
    Any,
}

/// Where a mapping stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place<'a> {
    Network,
    Section(&'a str),
    Interface(&'a str),
    /// `dhcp4-overrides` and `dhcp6-overrides`.
    Overrides,
    Route,
    /// `match` and `nameservers`.
    Plain,
    /// Its members are names, or dayone's reader checks all of them.
    Other,
}

/// Who knows a setting.
enum Setting {
    /// dayone's reader does, and checks it.
    Read,
    /// netplan does, and dayone's reader skips it wherever it is.
    Skipped(Kind),
    /// netplan has no such setting in this place, and dayone's reader skips it.
    Unknown,
}

fn setting(key: &str, place: Place<'_>) -> Setting {
    let on = |is_known: bool, kind| if is_known { Setting::Skipped(kind) } else { Setting::Unknown };
    let is_interface = matches!(place, Place::Interface(_));
    let is_nic = place == Place::Interface("ethernets");
    match key {
        "renderer" => on(is_interface || matches!(place, Place::Network | Place::Section(_)), Kind::Renderer),
        "optional" | "critical" | "ignore-carrier" | "ipv6-privacy" => on(is_interface, Kind::Boolean),
        "optional-addresses" => on(is_interface, Kind::OptionalAddresses),
        "wakeonlan" | "emit-lldp" | "delay-virtual-functions-rebind" => on(is_nic, Kind::Boolean),
        "use-ntp" | "use-hostname" | "use-mtu" => on(place == Place::Overrides, Kind::Boolean),
        "use-domains" => on(place == Place::Overrides, Kind::Any),
        "on-link" => on(place == Place::Route, Kind::Boolean),
        "broadcast" | "bridge_maxwait" | "bridge_waitport" | "hidden" => Setting::Unknown,
        _ => Setting::Read,
    }
}

/// Whether netplan knows a member that is an empty mapping.
fn may_be_empty(key: &str, place: Place<'_>) -> bool {
    match place {
        Place::Network => SECTIONS.contains(&key) || OTHER_SECTIONS.contains(&key),
        // In a section, the key is an interface's id.
        Place::Section(_) | Place::Other => true,
        Place::Interface(section) => {
            matches!(key, "nameservers" | "dhcp4-overrides" | "dhcp6-overrides" | "networkmanager")
                || (section == "ethernets" && matches!(key, "match" | "auth"))
                || (matches!(section, "bonds" | "bridges") && key == "parameters")
        }
        Place::Overrides | Place::Route | Place::Plain => false,
    }
}

/// Reports what the installer or netplan refuses in a network.
pub(super) fn check(network: &Mapping, path: &DocumentPath, report: &mut Report) {
    match network.get("version") {
        None => report.error(CODE, path, "has no member version, which the installer requires; write version: 2"),
        Some(Value::Number(version)) if version.as_u64() == Some(2) => {}
        Some(_) => {
            let message = "is not the number 2 (without quotes), the only version that the installer accepts";
            report.error(CODE, &path.key("version"), message);
        }
    }
    mapping(network, Place::Network, path, report);
}

fn mapping(members: &Mapping, place: Place<'_>, path: &DocumentPath, report: &mut Report) {
    if place == Place::Interface("ethernets") && members.contains_key("set-name") && !members.contains_key("match") {
        report.error(CODE, &path.key("set-name"), "needs match: netplan renames only a NIC that match finds");
    }
    for (key, value) in members {
        let Some(key) = key.as_str() else { continue };
        let path = path.key(key);
        let is_empty = value.as_mapping().is_some_and(Mapping::is_empty) && !may_be_empty(key, place);
        match setting(key, place) {
            _ if value.is_null() => {}
            Setting::Skipped(kind) => scalar(value, kind, &path, report),
            // Elsewhere, the key is a name.
            Setting::Unknown if !matches!(place, Place::Section(_) | Place::Other) => unknown(&path, report),
            Setting::Read if is_empty => unknown(&path, report),
            Setting::Unknown | Setting::Read => {}
        }
        self::value(value, inside(key, place), &path, report);
    }
}

fn unknown(path: &DocumentPath, report: &mut Report) {
    report.error(CODE, path, "is unknown here: netplan has no setting of this name in this place");
}

fn value(value: &Value, place: Place<'_>, path: &DocumentPath, report: &mut Report) {
    match value {
        Value::Null => report.error(CODE, path, "is empty, which netplan refuses; remove it, or give it a value"),
        Value::String(text) if text.is_empty() => {
            report.error(CODE, path, "is an empty text, which netplan refuses; remove it, or give it a value");
        }
        Value::Mapping(members) => mapping(members, place, path, report),
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                self::value(item, place, &path.index(index), report);
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Tagged(_) => {}
    }
}

/// Where the members of the member `key` are.
fn inside<'a>(key: &'a str, place: Place<'a>) -> Place<'a> {
    match (place, key) {
        (Place::Network, _) if SECTIONS.contains(&key) => Place::Section(key),
        (Place::Section(section), _) => Place::Interface(section),
        (Place::Interface(_), "dhcp4-overrides" | "dhcp6-overrides") => Place::Overrides,
        (Place::Interface(_), "routes") => Place::Route,
        (Place::Interface(_), "match" | "nameservers") => Place::Plain,
        _ => Place::Other,
    }
}

fn scalar(value: &Value, kind: Kind, path: &DocumentPath, report: &mut Report) {
    const WORDS: [&str; 8] = ["true", "on", "yes", "y", "false", "off", "no", "n"];
    const ADDRESSES: [&str; 5] = ["ipv4-ll", "ipv6-ra", "dhcp4", "dhcp6", "static"];
    let is_one = |value: &Value, words: &[&str]| value.as_str().is_some_and(|text| words.contains(&text));
    let (is_right, wanted) = match kind {
        Kind::Any => (true, ""),
        Kind::Boolean => {
            let is_word = |text: &str| WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
            (value.is_bool() || value.as_str().is_some_and(is_word), "true or false")
        }
        Kind::Renderer => (is_one(value, &["networkd", "NetworkManager"]), "networkd or NetworkManager"),
        Kind::OptionalAddresses => {
            let items = value.as_sequence();
            (
                items.is_some_and(|items| items.iter().all(|item| is_one(item, &ADDRESSES))),
                "a list of ipv4-ll, ipv6-ra, dhcp4, dhcp6 and static",
            )
        }
    };
    if !is_right {
        report.error(CODE, path, format!("is not {wanted}: netplan refuses it"));
    }
}
