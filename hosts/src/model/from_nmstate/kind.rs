//! What an interface is.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use super::super::{Bond, Bridge, Kind, Vlan};
use crate::members::get;
use crate::nmstate_document::interfaces::Interface as Entry;
use crate::nmstate_document::other_names::Names;
use crate::nmstate_document::{elements, is_true, mapping, number, text};
use vocabulary::report::DocumentPath;

/// The modes of bonds by name, in the order of the kernel's numbers.
const MODES: [&str; 7] =
    ["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"];

pub(super) fn read(entry: &Entry<'_>, names: &Names<'_>) -> Kind {
    let section = |key| mapping(entry.map, key);
    let base = |key| {
        let base = section(key).and_then(|section| text(section, "base-iface")).filter(|base| !base.is_empty());
        base.map(|base| names.name(base).to_owned())
    };
    let tunnel = |section: Option<&Mapping>, key| {
        section.and_then(|section| number(section.get(key))).and_then(|number| u32::try_from(number).ok())
    };
    match entry.kind {
        "bond" => Kind::Bond(section("link-aggregation").map(bond).unwrap_or_default()),
        "vlan" => {
            let id = section("vlan").and_then(|vlan| number(get(vlan, "id"))).and_then(|id| u16::try_from(id).ok());
            Kind::Vlan(Vlan { parent: base("vlan").unwrap_or_default(), id: id.unwrap_or_default() })
        }
        "linux-bridge" => Kind::LinuxBridge(bridge(section("bridge"))),
        "vrf" => Kind::Vrf(tunnel(section("vrf"), "route-table-id").unwrap_or_default()),
        "vxlan" => Kind::Vxlan { id: tunnel(section("vxlan"), "id").unwrap_or_default(), parent: base("vxlan") },
        kind @ ("mac-vlan" | "mac-vtap") => {
            Kind::MacVlan { parent: base(kind).unwrap_or_default(), tap: kind == "mac-vtap" }
        }
        "macsec" => Kind::Macsec { parent: base("macsec").unwrap_or_default() },
        "infiniband" => Kind::Infiniband(base("infiniband")),
        "dummy" => Kind::Dummy,
        "loopback" => Kind::Loopback,
        _ => match peer(entry) {
            Some((peer, _)) => Kind::Veth(names.name(peer).to_owned()),
            None => Kind::Ethernet,
        },
    }
}

/// The other end of a pair, with its place.
pub(super) fn peer<'a>(entry: &Entry<'a>) -> Option<(&'a str, DocumentPath)> {
    let peer = mapping(entry.map, "veth").and_then(|veth| text(veth, "peer"))?;
    matches!(entry.kind, "veth" | "ethernet").then(|| (peer, entry.path.key("veth").key("peer")))
}

fn bond(section: &Mapping) -> Bond {
    let mode = get(section, "mode").map(value).unwrap_or_default();
    let numbered = mode.parse().ok().and_then(|number: usize| MODES.get(number));
    let mode = match (numbered, mode.as_str()) {
        (Some(name), _) => (*name).to_owned(),
        (None, "lacp") => "802.3ad".to_owned(),
        (None, _) => mode,
    };
    let mut options = BTreeMap::new();
    for (key, option) in mapping(section, "options").into_iter().flatten() {
        let Some(key) = key.as_str() else { continue };
        let text = match (key, value(option)) {
            ("all_slaves_active", text) if text == "delivered" => "1".to_owned(),
            ("all_slaves_active", text) if text == "dropped" => "0".to_owned(),
            (_, text) => text,
        };
        // What is empty is not written, and this one is called otherwise there.
        let key = if key == "balance_slb" { "balance-slb" } else { key };
        if !text.is_empty() {
            options.insert(key.to_owned(), text);
        }
    }
    Bond { mode, options }
}

/// An option's value as the kernel takes it.
fn value(value: &Value) -> String {
    match value {
        Value::Bool(flag) => u8::from(*flag).to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.starts_with("0x") => {
            number(Some(value)).map_or_else(|| text.clone(), |number| number.to_string())
        }
        Value::String(text) => text.clone(),
        Value::Sequence(all) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        _ => String::new(),
    }
}

fn bridge(section: Option<&Mapping>) -> Bridge {
    let Some(section) = section else { return Bridge { stp: true, ..Bridge::default() } };
    let stp = mapping(section, "options").and_then(|options| mapping(options, "stp"));
    let amount = |key| stp.and_then(|stp| number(get(stp, key))).and_then(|number| u32::try_from(number).ok());
    let enabled = stp.and_then(|stp| get(stp, "enabled")).filter(|enabled| !enabled.is_null());
    let mut settings =
        elements(section, &["port"]).iter().filter_map(|port| port.get("vlan").and_then(Value::as_mapping));
    Bridge {
        // NetworkManager has it on unless told otherwise.
        stp: enabled.is_none_or(|enabled| is_true(Some(enabled))),
        forward_delay: amount("forward-delay"),
        hello_time: amount("hello-time"),
        max_age: amount("max-age"),
        priority: amount("priority"),
        vlan_filtering: settings.any(|settings| settings.values().any(|setting| !setting.is_null())),
    }
}
