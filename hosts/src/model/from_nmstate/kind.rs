//! What an interface is.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use serde_yaml::{Mapping, Value};

use super::super::{
    BOND_MODES, Bond, Bridge, BridgeOptions, BridgePort, BridgeVlans, Kind, MacVlanMode, PriorityMap, Registration,
    Vlan, VlanOptions, Vxlan,
};
use crate::members::get;
use crate::nmstate_document::interfaces::Interface as Entry;
use crate::nmstate_document::other_names::Names;
use crate::nmstate_document::{elements, flag, mapping, number, small, text};
use vocabulary::report::DocumentPath;

pub(super) fn read(entry: &Entry<'_>, names: &Names<'_>) -> Kind {
    let section = |key| mapping(entry.map, key);
    let base = |key| {
        let base = section(key).and_then(|section| text(section, "base-iface")).filter(|base| !base.is_empty());
        base.map(|base| names.name(base).to_owned())
    };
    match entry.kind {
        "bond" => Kind::Bond(section("link-aggregation").map(bond).unwrap_or_default()),
        "vlan" => Kind::Vlan(vlan(base("vlan").unwrap_or_default(), section("vlan").unwrap_or(&Mapping::new()))),
        "linux-bridge" => Kind::LinuxBridge(bridge(section("bridge").unwrap_or(&Mapping::new()))),
        "vrf" => Kind::Vrf(section("vrf").and_then(|section| small(section, "route-table-id")).unwrap_or_default()),
        "vxlan" => Kind::Vxlan(vxlan(base("vxlan"), section("vxlan").unwrap_or(&Mapping::new()))),
        kind @ ("mac-vlan" | "mac-vtap") => {
            let mode = section(kind).and_then(|section| text(section, "mode"));
            let mode = match mode {
                Some("vepa" | "bridge" | "private") => MacVlanMode::Shared,
                Some("passthru") => MacVlanMode::Passthru,
                _ => MacVlanMode::Other,
            };
            Kind::MacVlan { parent: base(kind).unwrap_or_default(), tap: kind == "mac-vtap", mode }
        }
        "macsec" => {
            // nmstate leaves 0 out of the profile.
            let port = section("macsec").and_then(|section| small::<u16>(section, "port")).filter(|port| *port != 0);
            Kind::Macsec { parent: base("macsec").unwrap_or_default(), port: port.unwrap_or(Kind::USUAL_MACSEC_PORT) }
        }
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
    let numbered = mode.parse().ok().and_then(|number: usize| BOND_MODES.get(number));
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

fn bridge(section: &Mapping) -> Bridge {
    let none = Mapping::new();
    let options = mapping(section, "options").unwrap_or(&none);
    let stp = mapping(options, "stp").unwrap_or(&none);
    let mut settings =
        elements(section, &["port"]).iter().filter_map(|port| port.get("vlan").and_then(Value::as_mapping));
    Bridge {
        // NetworkManager has it on unless told otherwise.
        stp: flag(stp, "enabled") != Some(false),
        forward_delay: small(stp, "forward-delay"),
        hello_time: small(stp, "hello-time"),
        max_age: small(stp, "max-age"),
        priority: small(stp, "priority"),
        vlan_filtering: settings.any(|settings| settings.values().any(|setting| !setting.is_null())),
        options: BridgeOptions {
            ageing_time: small(options, "mac-ageing-time"),
            group_forward_mask: small(options, "group-fwd-mask").or_else(|| small(options, "group-forward-mask")),
            multicast_snooping: flag(options, "multicast-snooping"),
            multicast_querier: flag(options, "multicast-querier"),
            vlan_protocol: text(options, "vlan-protocol").map(str::to_owned),
            default_vlan: small(options, "vlan-default-pvid"),
            // NMState has no key for them.
            vlans: BridgeVlans::default(),
        },
    }
}

/// The settings of a port of a bridge, which stand in the bridge's list of ports.
pub(super) fn bridge_port(bridge: &Mapping, name: &str) -> BridgePort {
    let mut ports = elements(bridge, &["bridge", "port"]).iter().filter_map(Value::as_mapping);
    ports.find(|port| text(port, "name") == Some(name)).map_or_else(BridgePort::default, |port| BridgePort {
        path_cost: small(port, "stp-path-cost"),
        priority: small(port, "stp-priority"),
        hairpin: flag(port, "stp-hairpin-mode"),
        vlans: mapping(port, "vlan").map(port_vlans).unwrap_or_default(),
    })
}

/// The VLANs of a port as nmstate writes them: without a mode, none.
fn port_vlans(section: &Mapping) -> BridgeVlans {
    let range = |tag: &Mapping| -> Option<RangeInclusive<u16>> {
        if let Some(id) = small(tag, "id") {
            return Some(id..=id);
        }
        let range = mapping(tag, "id-range")?;
        Some(small(range, "min")?..=small(range, "max")?)
    };
    let tags = elements(section, &["trunk-tags"]).iter().filter_map(Value::as_mapping);
    match text(section, "mode") {
        Some("trunk") => BridgeVlans::new(small(section, "tag"), tags.filter_map(range).collect()),
        Some("access") => BridgeVlans::new(small(section, "tag"), Vec::new()),
        _ => BridgeVlans::default(),
    }
}

fn vlan(parent: String, section: &Mapping) -> Vlan {
    let priorities = |key| {
        let maps = elements(section, &[key]).iter().filter_map(Value::as_mapping);
        maps.filter_map(|map| Some(PriorityMap { from: small(map, "from")?, to: small(map, "to")? })).collect()
    };
    Vlan {
        parent,
        id: small(section, "id").unwrap_or_default(),
        options: VlanOptions {
            protocol: text(section, "protocol").map(str::to_owned),
            registration: match text(section, "registration-protocol") {
                Some("gvrp") => Some(Registration::Gvrp),
                Some("mvrp") => Some(Registration::Mvrp),
                _ => None,
            },
            loose_binding: flag(section, "loose-binding"),
            reorder_headers: flag(section, "reorder-headers"),
            ingress_priorities: priorities("ingress-qos-map"),
            egress_priorities: priorities("egress-qos-map"),
        },
    }
}

fn vxlan(parent: Option<String>, section: &Mapping) -> Vxlan {
    // The unspecified address stands for none.
    let address = |key| {
        let address = text(section, key).and_then(|address| address.parse().ok());
        address.filter(|address: &IpAddr| !address.is_unspecified())
    };
    Vxlan {
        id: small(section, "id").unwrap_or_default(),
        parent,
        remote: address("remote"),
        local: address("local"),
        port: small(section, "destination-port").unwrap_or(Vxlan::USUAL_PORT),
    }
}
