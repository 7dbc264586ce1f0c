//! What a profile's interface is.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Names;
use super::profile::Profile;
use super::section::Section;
use crate::model::{
    BOND_MODES, Bond, Bridge, BridgeOptions, BridgeVlans, Kind, MacVlanMode, PriorityMap, Registration, Vlan,
    VlanOptions, Vxlan,
};

/// The mode of a MACVLAN (`NMSettingMacvlanMode`).
fn macvlan_mode(mode: Option<u32>) -> MacVlanMode {
    match mode {
        Some(1..=3) => MacVlanMode::Shared,
        Some(4) => MacVlanMode::Passthru,
        _ => MacVlanMode::Other,
    }
}

/// What it is. One that lacks what its kind needs is some other kind, by the name that its profile has for it.
pub(super) fn read(profile: &Profile<'_>, names: &Names) -> Kind {
    let section = |name: &str| profile.section(name);
    let parent = |name: &str| section(name).text("parent").map(|parent| names.resolve(&parent));
    let known = match profile.kind.as_str() {
        "ethernet" | "802-3-ethernet" => Some(Kind::Ethernet),
        "bond" => Some(Kind::Bond(bond(profile))),
        "bridge" => {
            let bridge = section("bridge");
            let stp = bridge.flag("stp").unwrap_or(true);
            Some(Kind::LinuxBridge(Bridge {
                stp,
                forward_delay: bridge.parsed("forward-delay"),
                hello_time: bridge.parsed("hello-time"),
                max_age: bridge.parsed("max-age"),
                priority: bridge.parsed("priority"),
                vlan_filtering: bridge.flag("vlan-filtering").unwrap_or(false),
                options: BridgeOptions {
                    ageing_time: bridge.parsed("ageing-time"),
                    group_forward_mask: bridge.parsed("group-forward-mask"),
                    multicast_snooping: bridge.flag("multicast-snooping"),
                    multicast_querier: bridge.flag("multicast-querier"),
                    vlan_protocol: bridge.text("vlan-protocol").map(|protocol| protocol.to_ascii_lowercase()),
                    default_vlan: bridge.parsed("vlan-default-pvid"),
                    vlans: bridge_vlans(&bridge),
                },
            }))
        }
        "vlan" => parent("vlan").and_then(|parent| vlan(parent, &section("vlan"))).map(Kind::Vlan),
        "vrf" => section("vrf").parsed("table").map(Kind::Vrf),
        "vxlan" => vxlan(parent("vxlan"), &section("vxlan")).map(Kind::Vxlan),
        "macvlan" => parent("macvlan").map(|parent| Kind::MacVlan {
            parent,
            tap: section("macvlan").flag("tap").unwrap_or(false),
            mode: macvlan_mode(section("macvlan").parsed("mode")),
        }),
        "macsec" => parent("macsec").map(|parent| Kind::Macsec {
            parent,
            port: section("macsec").parsed("port").unwrap_or(Kind::USUAL_MACSEC_PORT),
        }),
        "veth" => section("veth").text("peer").map(Kind::Veth),
        "dummy" => Some(Kind::Dummy),
        "infiniband" => Some(Kind::Infiniband(parent("infiniband"))),
        "loopback" => Some(Kind::Loopback),
        _ => None,
    };
    known.unwrap_or_else(|| Kind::Other(profile.kind.clone()))
}

/// The VLANs of a bridge or of a port of one: `10 pvid untagged, 20-29`.
pub(super) fn bridge_vlans(section: &Section<'_, '_>) -> BridgeVlans {
    let (mut untagged, mut tagged) = (None, Vec::new());
    for item in section.text("vlans").unwrap_or_default().split(',') {
        let mut words = item.split_ascii_whitespace();
        let Some(ids) = words.next() else { continue };
        let (first, last) = ids.split_once('-').unwrap_or((ids, ids));
        let (Ok(first), Ok(last)) = (first.parse::<u16>(), last.parse::<u16>()) else { continue };
        let words: Vec<&str> = words.collect();
        if words.contains(&"pvid") {
            untagged = Some(first);
        }
        if !words.contains(&"untagged") {
            tagged.push(first..=last);
        }
    }
    BridgeVlans::new(untagged, tagged)
}

fn bond(profile: &Profile<'_>) -> Bond {
    let mut options: BTreeMap<String, String> =
        profile.section("bond").entries().map(|(key, value)| (key.to_owned(), value)).collect();
    let mode = options.remove("mode");
    let number = mode.as_ref().map_or(Some(0), |mode| mode.parse::<usize>().ok());
    let by_number = number.and_then(|number| BOND_MODES.get(number)).map(|mode| (*mode).to_owned());
    Bond { mode: by_number.or(mode).unwrap_or_default(), options }
}

fn vlan(parent: String, section: &Section<'_, '_>) -> Option<Vlan> {
    // The bits of `NMVlanFlags`.
    let flags: Option<u32> = section.parsed("flags");
    let flag = |bit: u32| flags.map(|flags| flags & bit != 0);
    let priorities = |key: &str| {
        let maps = section.list(key);
        let number = |text: &str| text.trim().parse().ok();
        let map = |map: &String| {
            let (from, to) = map.split_once(':')?;
            Some(PriorityMap { from: number(from)?, to: number(to)? })
        };
        maps.iter().filter_map(map).collect()
    };
    Some(Vlan {
        parent,
        id: section.parsed("id")?,
        options: VlanOptions {
            protocol: section.text("protocol").map(|protocol| protocol.to_ascii_lowercase()),
            registration: match (flag(2), flag(8)) {
                (Some(true), _) => Some(Registration::Gvrp),
                (_, Some(true)) => Some(Registration::Mvrp),
                _ => None,
            },
            loose_binding: flag(4),
            reorder_headers: flag(1),
            ingress_priorities: priorities("ingress-priority-map"),
            egress_priorities: priorities("egress-priority-map"),
        },
    })
}

fn vxlan(parent: Option<String>, section: &Section<'_, '_>) -> Option<Vxlan> {
    // The unspecified address stands for none.
    let address = |key| section.parsed(key).filter(|address: &IpAddr| !address.is_unspecified());
    Some(Vxlan {
        id: section.parsed("id")?,
        parent,
        remote: address("remote"),
        local: address("local"),
        port: section.parsed("destination-port").unwrap_or(Vxlan::USUAL_PORT),
    })
}
