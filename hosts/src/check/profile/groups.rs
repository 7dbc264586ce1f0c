//! The groups of profiles, and the types of connections: most groups are called after a setting.

/// Another name of a type or group, and NetworkManager's own.
const ALIASES: [(&str, &str); 3] =
    [("ethernet", "802-3-ethernet"), ("wifi", "802-11-wireless"), ("wifi-security", "802-11-wireless-security")];

/// Types that need the group that is called after them.
const WITH_GROUP: [&str; 13] = [
    "vlan",
    "vrf",
    "macvlan",
    "macsec",
    "veth",
    "ip-tunnel",
    "infiniband",
    "802-11-wireless",
    "vpn",
    "pppoe",
    "ipvlan",
    "hsr",
    "geneve",
];
/// Types that may do without.
const WITHOUT_GROUP: [&str; 15] = [
    "802-3-ethernet",
    "bond",
    "bridge",
    "team",
    "dummy",
    "vxlan",
    "tun",
    "wireguard",
    "loopback",
    "gsm",
    "cdma",
    "generic",
    "wpan",
    "adsl",
    "bluetooth",
];
/// Types that are rare, and those of Open vSwitch.
const RARE: [&str; 6] = ["6lowpan", "802-11-olpc-mesh", "wifi-p2p", "ovs-bridge", "ovs-port", "ovs-interface"];

/// Groups that are no types.
const OTHERS: [&str; 26] = [
    "connection",
    "ipv4",
    "ipv6",
    "bond-port",
    "bridge-port",
    "team-port",
    "802-1x",
    "802-11-wireless-security",
    "ethtool",
    "match",
    "user",
    "proxy",
    "sriov",
    "tc",
    "dcb",
    "link",
    "hostname",
    "prefix-delegation",
    "serial",
    "ppp",
    "vpn-secrets",
    "ovs-dpdk",
    "ovs-patch",
    "ovs-external-ids",
    "ovs-other-config",
    "wimax",
];

/// NetworkManager's own name of a type or group.
pub(crate) fn canonical(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, canonical)| canonical)
}

/// The other name of a group, for those that have two.
pub(crate) fn alias(canonical: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(_, name)| *name == canonical).map(|(alias, _)| *alias)
}

/// Whether there are connections of this type.
pub(crate) fn is_type(canonical: &str) -> bool {
    [&WITH_GROUP[..], &WITHOUT_GROUP, &RARE].concat().contains(&canonical)
}

/// Whether a connection of this type needs a group of its own.
pub(crate) fn needs_group(canonical: &str) -> bool {
    WITH_GROUP.contains(&canonical)
}

/// Whether NetworkManager reads a group of this name.
pub(crate) fn is_group(name: &str) -> bool {
    let name = canonical(name);
    // What begins with a dot is NetworkManager's own note about the file.
    is_type(name) || OTHERS.contains(&name) || name.starts_with("wireguard-peer.") || name.starts_with('.')
}
