//! What the installer and netplan refuse in a network, and what dayone's own reader of it, which is more tolerant, does not report.
//!
//! Sources: Subiquity's schema of `network` (`subiquity/server/controllers/network.py`), netplan's parser (`src/parse.c`) and its writer for
//! systemd-networkd (`src/networkd.c`). The acceptance tests ask netplan itself.

use serde_yaml::{Mapping, Value};

use vocabulary::host::MacAddress;
use vocabulary::report::{DocumentPath, Report};

const CODE: &str = "answers-invalid";
const SECTIONS: [&str; 4] = ["ethernets", "bonds", "bridges", "vlans"];
/// Members of the network that may be there if they are empty: dayone reports what is in them.
const OTHER_SECTIONS: [&str; 8] =
    ["wifis", "modems", "tunnels", "vrfs", "dummy-devices", "virtual-ethernets", "nm-devices", "openvswitch"];

/// The overrides of DHCP for which systemd-networkd has only one setting for both families.
const OVERRIDES: [&str; 9] = [
    "hostname",
    "route-metric",
    "send-hostname",
    "use-dns",
    "use-domains",
    "use-hostname",
    "use-mtu",
    "use-ntp",
    "use-routes",
];

/// What a member must be.
#[derive(Clone, Copy)]
enum Kind {
    Boolean,
    Renderer,
    OptionalAddresses,
    /// A number of 32 bits in digits alone, which may be in quotes.
    Whole,
    List,
    MacAddress,
    /// A word for which the kernel and dayone's reader also accept a number.
    Word,
    /// How the host makes an IPv6 address.
    Generation,
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
    Rule,
    /// `parameters` of a bond or of a bridge.
    Parameters,
    /// Its members are the names of ports, each with a number.
    Numbers,
    /// `match` and `nameservers`.
    Plain,
    /// Its members are names, or dayone's reader checks all of them.
    Other,
}

/// Who knows a setting.
enum Setting {
    /// dayone's reader knows the setting, and checks everything except the form.
    Read(Kind),
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
        // The names of interfaces and ports may be those of settings.
        _ if place == Place::Numbers => Setting::Read(Kind::Whole),
        "renderer" => on(is_interface || matches!(place, Place::Network | Place::Section(_)), Kind::Renderer),
        "optional" | "critical" | "ignore-carrier" | "ipv6-privacy" => on(is_interface, Kind::Boolean),
        "optional-addresses" => on(is_interface, Kind::OptionalAddresses),
        "wakeonlan" | "emit-lldp" | "delay-virtual-functions-rebind" => on(is_nic, Kind::Boolean),
        "use-ntp" | "use-hostname" | "use-mtu" => on(place == Place::Overrides, Kind::Boolean),
        "use-domains" => on(place == Place::Overrides, Kind::Any),
        "on-link" => on(place == Place::Route, Kind::Boolean),
        "broadcast" | "bridge_maxwait" | "bridge_waitport" | "hidden" => Setting::Unknown,
        _ => Setting::Read(form(key, place)),
    }
}

/// The form of a setting that dayone's reader knows, if the reader also accepts forms that netplan refuses.
fn form(key: &str, place: Place<'_>) -> Kind {
    match (place, key) {
        (Place::Interface(_), "mtu" | "id")
        | (Place::Overrides, "route-metric")
        | (Place::Route, "metric" | "mtu" | "table" | "congestion-window" | "advertised-receive-window")
        | (Place::Rule, "table" | "priority" | "mark")
        | (
            Place::Parameters,
            "priority" | "min-links" | "gratuitous-arp" | "gratuitious-arp" | "packets-per-slave"
            | "packets-per-member" | "resend-igmp",
        ) => Kind::Whole,
        (Place::Overrides, "use-dns" | "use-routes" | "send-hostname")
        | (Place::Parameters, "stp" | "all-slaves-active" | "all-members-active") => Kind::Boolean,
        (Place::Plain, "addresses" | "search") | (Place::Parameters, "arp-ip-targets") => Kind::List,
        (Place::Interface(_) | Place::Plain, "macaddress") => Kind::MacAddress,
        (Place::Interface(_), "ipv6-address-generation") => Kind::Generation,
        (
            Place::Parameters,
            "mode"
            | "lacp-rate"
            | "transmit-hash-policy"
            | "ad-select"
            | "arp-validate"
            | "arp-all-targets"
            | "fail-over-mac-policy"
            | "primary-reselect-policy",
        ) => Kind::Word,
        _ => Kind::Any,
    }
}

/// Whether netplan knows a member that is an empty mapping.
fn may_be_empty(key: &str, place: Place<'_>) -> bool {
    match place {
        Place::Network => SECTIONS.contains(&key) || OTHER_SECTIONS.contains(&key),
        // In a section, the key is an interface's id.
        Place::Section(_) | Place::Other => true,
        Place::Parameters => matches!(key, "path-cost" | "port-priority"),
        Place::Interface(section) => {
            matches!(key, "nameservers" | "dhcp4-overrides" | "dhcp6-overrides" | "networkmanager")
                || (section == "ethernets" && matches!(key, "match" | "auth"))
                || (matches!(section, "bonds" | "bridges") && key == "parameters")
        }
        Place::Overrides | Place::Route | Place::Rule | Place::Numbers | Place::Plain => false,
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
    check_networkd(network, path, report);
}

/// Whether netplan gives an interface of a section to NetworkManager, and not to systemd-networkd.
pub(super) fn is_of_network_manager(device: &Value, devices: &Value, network: &Mapping) -> bool {
    let renderer = device.get("renderer").or(devices.get("renderer")).or(network.get("renderer"));
    renderer.and_then(Value::as_str) == Some("NetworkManager")
}

/// Checks what netplan refuses only for interfaces of systemd-networkd: a way to make IPv6 addresses that networkd does not have, and
/// different overrides for DHCP of both families.
fn check_networkd(network: &Mapping, path: &DocumentPath, report: &mut Report) {
    for section in SECTIONS {
        let Some(devices) = network.get(section) else { continue };
        for (id, device) in devices.as_mapping().into_iter().flatten() {
            let is_on = |key: &str| device.get(key).and_then(boolean) == Some(true);
            if is_of_network_manager(device, devices, network) {
                continue;
            }
            let path = path.key(section).key(id.as_str().unwrap_or_default());
            if device.get("ipv6-address-generation").and_then(Value::as_str) == Some("stable-privacy") {
                let message = "is stable-privacy, which netplan refuses with systemd-networkd; remove it";
                report.error(CODE, &path.key("ipv6-address-generation"), message);
            }
            if !is_on("dhcp4") || !is_on("dhcp6") {
                continue;
            }
            for key in OVERRIDES {
                let of = |family: &str| device.get(family).and_then(|overrides| said(key, overrides.get(key)?));
                if of("dhcp4-overrides") != of("dhcp6-overrides") {
                    let message = format!(
                        "has another {key} in dhcp4-overrides than in dhcp6-overrides, or has it in one of them alone; netplan \
                         refuses it: write the same in both"
                    );
                    report.error(CODE, &path, message);
                }
            }
        }
    }
}

/// The value of an override, if it is not the default.
fn said(key: &str, value: &Value) -> Option<String> {
    if !matches!(key, "hostname" | "route-metric" | "use-domains") {
        return boolean(value).filter(|is_on| !is_on).map(|is_on| is_on.to_string());
    }
    match value {
        Value::Bool(value) => Some(value.to_string()),
        // Without quotes, the installer's reader makes a boolean of these words. In quotes it does not, but this code cannot see the quotes.
        Value::String(text) if key == "use-domains" && text.len() > 1 && boolean(value).is_some() => {
            boolean(value).map(|is_on| is_on.to_string())
        }
        Value::Number(value) => Some(value.to_string()),
        _ => value.as_str().map(str::to_owned),
    }
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
            // Elsewhere, the key is a name.
            Setting::Unknown if !matches!(place, Place::Section(_) | Place::Other) => unknown(&path, report),
            Setting::Read(_) if is_empty => unknown(&path, report),
            // dayone's reader reports values that it cannot read at all, and the empty text is reported below.
            Setting::Read(_) if value.as_str() == Some("") || matches!(value, Value::Tagged(_)) => {}
            Setting::Skipped(kind) | Setting::Read(kind) => check_form(value, kind, &path, report),
            Setting::Unknown => {}
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
        (Place::Interface(_), "routing-policy") => Place::Rule,
        (Place::Interface("bonds" | "bridges"), "parameters") => Place::Parameters,
        (Place::Parameters, "path-cost" | "port-priority") => Place::Numbers,
        (Place::Interface(_), "match" | "nameservers") => Place::Plain,
        _ => Place::Other,
    }
}

/// Returns the boolean that a value is for netplan, which has more words for it than YAML.
fn boolean(value: &Value) -> Option<bool> {
    const ON: [&str; 4] = ["true", "on", "yes", "y"];
    const OFF: [&str; 4] = ["false", "off", "no", "n"];
    let is =
        |words: &[&str]| value.as_str().is_some_and(|text| words.iter().any(|word| text.eq_ignore_ascii_case(word)));
    value.as_bool().or_else(|| is(&ON).then_some(true)).or_else(|| is(&OFF).then_some(false))
}

fn check_form(value: &Value, kind: Kind, path: &DocumentPath, report: &mut Report) {
    const ADDRESSES: [&str; 5] = ["ipv4-ll", "ipv6-ra", "dhcp4", "dhcp6", "static"];
    let is_one = |value: &Value, words: &[&str]| value.as_str().is_some_and(|text| words.contains(&text));
    let (is_right, wanted) = match kind {
        Kind::Word if value.is_number() || is_whole(value) => {
            let message = "is a number, and netplan and systemd-networkd know only words here; write the word for it";
            report.error(CODE, path, message);
            return;
        }
        Kind::Any | Kind::Word => (true, ""),
        Kind::Boolean => (boolean(value).is_some(), "true or false"),
        Kind::Renderer => (is_one(value, &["networkd", "NetworkManager"]), "networkd or NetworkManager"),
        Kind::OptionalAddresses => {
            let items = value.as_sequence();
            (
                items.is_some_and(|items| items.iter().all(|item| is_one(item, &ADDRESSES))),
                "a list of ipv4-ll, ipv6-ra, dhcp4, dhcp6 and static",
            )
        }
        Kind::Whole => (is_whole(value), "a whole number from 0 to 4294967295"),
        Kind::List => (value.is_sequence(), "a list"),
        Kind::Generation => (is_one(value, &["eui64", "stable-privacy"]), "eui64 or stable-privacy"),
        Kind::MacAddress => {
            // If dayone does not accept the MAC address either, its reader reports it in more detail.
            let has_dashes = |text: &str| text.contains('-') && text.parse::<MacAddress>().is_ok();
            (!value.as_str().is_some_and(has_dashes), "a MAC address with colons")
        }
    };
    if !is_right {
        report.error(CODE, path, format!("is not {wanted}: netplan refuses it"));
    }
}

/// Whether a value is a number for netplan, which accepts quotes, but no fraction.
fn is_whole(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_u64().is_some_and(|number| u32::try_from(number).is_ok()),
        _ => value.as_str().is_some_and(|text| text.trim_start().parse::<u32>().is_ok()),
    }
}
