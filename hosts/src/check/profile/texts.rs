//! Values that libnm takes in one form only, whatever stands beside them.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use super::values::{
    decimal_within, hardware_address, integer, is_hardware_address_of_profile, is_ipv4, is_ipv6, is_kernel_name,
    is_network, is_uuid,
};
use super::{Effect, Profile};
use crate::nmstate_document::interfaces::kernel_name_problem;

/// What a value must be. The text behind a condition follows "must be".
enum Form {
    OneOf(&'static [&'static str]),
    Text(fn(&str) -> bool, &'static str),
    /// Every item of a list.
    Items(fn(&str) -> bool, &'static str),
    Number(fn(i128) -> bool, &'static str),
    Within(i128, i128),
}

use Form::{Items, Number, OneOf, Text, Within};

/// The form of the values of one key.
struct Row {
    /// With `|` between several.
    groups: &'static str,
    key: &'static str,
    effect: Effect,
    form: Form,
}

/// NetworkManager refuses a profile with another value.
const fn is(groups: &'static str, key: &'static str, form: Form) -> Row {
    Row { groups, key, effect: Effect::Refused, form }
}

/// NetworkManager ignores another value.
const fn read_as(groups: &'static str, key: &'static str, form: Form) -> Row {
    Row { groups, key, effect: Effect::Ignored, form }
}

const NOT_EMPTY: Form = Text(|text| !text.is_empty(), "a text that is not empty");
const NO_EMPTY_ITEMS: Form = Items(|item| !item.is_empty(), "a list without empty items");
const PARENT: Form =
    Text(|text| is_kernel_name(text) || is_uuid(text), "the name of an interface, or the UUID of a profile");
const NAME: Form = Text(is_kernel_name, "the name of an interface");
const ENABLED: Form = Number(|flags| flags & 1 != 0 || flags == 0, "0, or a sum with 1 (enable)");

const ETHERNET: &str = "802-3-ethernet";
const MAC: &str = "a MAC address, such as 52:54:00:12:34:56";
const ADDRESS: &str = "an IP address";

/// Addresses that are to be set, in words.
const SPECIAL_ADDRESSES: [&str; 4] = ["preserve", "permanent", "random", "stable"];

fn is_mac(text: &str) -> bool {
    hardware_address(text, 6).is_some()
}

fn is_mac_of_profile(text: &str) -> bool {
    is_hardware_address_of_profile(text, 6)
}

fn is_device_name(name: &str) -> bool {
    kernel_name_problem(name).is_none()
}

fn is_any_address(text: &str) -> bool {
    is_ipv4(text) || is_ipv6(text)
}

/// Numbers of users and groups.
fn is_owner(text: &str) -> bool {
    decimal_within(text, 0, i128::from(i32::MAX)).is_some()
}

/// The group addresses that bridges may have: those of IEEE 802.1D but for pause frames, LACP and 802.1X.
fn is_group_address(text: &str) -> bool {
    hardware_address(text, 6).is_some_and(|bytes| {
        let (last, base) = bytes.split_last().unwrap_or((&0, &[]));
        base == [0x01, 0x80, 0xc2, 0, 0] && last & 0xf0 == 0 && !matches!(last, 1..=3)
    })
}

/// `none`, or a URL of HTTPS.
fn is_mud_url(url: &str) -> bool {
    let is_rest = |rest: &str| !rest.is_empty() && rest.is_ascii();
    url == "none" || (url.len() <= 255 && url.strip_prefix("https://").is_some_and(is_rest))
}

/// `user:NAME`, with or without a colon at its end.
fn is_permission(permission: &str) -> bool {
    let user = permission.strip_prefix("user:").map(|user| user.strip_suffix(':').unwrap_or(user));
    user.is_some_and(|user| !user.is_empty() && !user.contains(':'))
}

/// Flags of multipath TCP that do not contradict each other: disabled 1, enabled 2, also-without-sysctl 4,
/// also-without-default-route 8, signal 16, subflow 32, backup 64, fullmesh 128.
fn are_mptcp_flags(flags: i128) -> bool {
    let has = |flag: i128| flags & flag != 0;
    if has(1) { flags == 1 } else { flags & !0xfe == 0 && !(has(16) && has(128)) }
}

/// Flags of Wake-on-LAN. Two stand for themselves alone: the default of NetworkManager (1), and what the NIC has (32768).
fn are_wake_flags(flags: i128) -> bool {
    flags & 0x8001 == 0 || flags & (flags - 1) == 0
}

fn is_mac_mask(mask: &str) -> bool {
    mask.is_empty() || (!mask.trim_ascii().is_empty() && mask.split_ascii_whitespace().all(is_mac))
}

/// An identity association's number: a word, a number, or bytes.
fn is_iaid(text: &str) -> bool {
    let number = || integer(text).is_some_and(|number| (0..=i128::from(u32::MAX)).contains(&number));
    let plain = text.bytes().all(|b| b.is_ascii_hexdigit() || matches!(b, b'x' | b':'));
    matches!(text, "mac" | "perm-mac" | "ifname" | "stable")
        || (plain && !text.is_empty() && (number() || hardware_address(text, 4).is_some()))
}

/// A DHCP unique identifier: a word, or 3 to 130 bytes between colons.
fn is_duid(text: &str) -> bool {
    let words = ["lease", "llt", "ll", "stable-llt", "stable-ll", "stable-uuid"];
    let length = text.split(':').count();
    words.contains(&text)
        || ((3..=130).contains(&length) && !text.contains('-') && hardware_address(text, length).is_some())
}

/// `FIRST,LAST`.
fn is_address_range(range: &str) -> bool {
    let ends = range.split_once(',').map(|(first, last)| (first.parse::<Ipv4Addr>(), last.parse::<Ipv4Addr>()));
    matches!(ends, Some((Ok(first), Ok(last))) if first <= last)
}

/// Seconds, or one of two numbers for a usual time and for ever.
fn is_lease_time(lease: i128) -> bool {
    (120..=31_536_000).contains(&lease) || lease == 0 || lease == i128::from(i32::MAX)
}

/// A priority behind a colon, each up to a number.
fn is_priority_pair(item: &str, [greatest_from, greatest_to]: [u32; 2]) -> bool {
    let is_priority = |text, greatest: u32| decimal_within(text, 0, i128::from(greatest)).is_some();
    item.split_once(':').is_some_and(|(from, to)| is_priority(from, greatest_from) && is_priority(to, greatest_to))
}

const PRIORITIES: &str = "a list of FROM:TO, with priorities from 0 to 7";
const ADDRESS_RANGE: &str = "FIRST,LAST: two IPv4 addresses, and only in [ipv4]";
const LEASE_TIME: &str = "a number of seconds from 120 to 31536000, and only in [ipv4]";
const REJECTED_SERVERS: &str = "a list of IPv4 addresses or networks, and only in [ipv4]";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    is("connection", "id", NOT_EMPTY),
    is("connection", "uuid", Text(is_uuid, "a UUID")),
    is("connection", "interface-name", Text(is_device_name,
        "a name of at most 15 bytes that the kernel takes for an interface")),
    is("connection", "metered", Within(0, 2)),
    is("connection", "mdns", Within(-1, 2)),
    is("connection", "llmnr", Within(-1, 2)),
    is("connection", "dns-over-tls", Within(-1, 2)),
    is("connection", "multi-connect", Within(0, 3)),
    is("connection", "autoconnect-ports", Within(-1, 1)),
    is("connection", "mptcp-flags", Number(are_mptcp_flags,
        "1 (disabled), or a sum of 2, 4, 8, 16, 32, 64 and 128, but not of 16 and 128")),
    is("connection", "mud-url", Text(is_mud_url, "none, or a URL that begins with https://")),
    is("connection", "permissions", Items(is_permission, "a list of user:NAME:")),
    read_as("connection", "secondaries", Items(is_uuid, "a list of UUIDs")),
    is("connection", "ip-ping-addresses", Items(is_any_address, "a list of IP addresses")),
    is("connection", "controller", Text(|name| !name.is_empty(), "the controller's name or UUID")),
    is("connection", "port-type", Text(|kind| !kind.is_empty(), "the controller's type")),
    is("ipv4|ipv6", "dhcp-send-hostname-v2", Within(-1, 1)),
    is("ipv4|ipv6", "routed-dns", Within(-1, 1)),
    is("ipv4|ipv6", "dhcp-hostname", NOT_EMPTY),
    is("ipv4|ipv6", "dhcp-iaid", Text(is_iaid, "mac, perm-mac, ifname, stable, or four bytes")),
    is("ipv4|ipv6", "dhcp-dscp", Text(|class| matches!(class, "CS0" | "CS4" | "CS6"), "CS0, CS4 or CS6")),
    is("ipv4|ipv6", "dhcp-pd-hint", Text(|hint| hint.contains('/') && is_network(hint, true),
        "an IPv6 prefix, such as 2001:db8::/56")),
    is("ipv4", "shared-dhcp-range", Text(is_address_range, ADDRESS_RANGE)),
    is("ipv6", "shared-dhcp-range", Text(|_| false, ADDRESS_RANGE)),
    is("ipv4", "shared-dhcp-lease-time", Number(is_lease_time, LEASE_TIME)),
    is("ipv6", "shared-dhcp-lease-time", Number(|lease| lease == 0, LEASE_TIME)),
    is("ipv4", "dhcp-reject-servers", Items(|server| is_network(server, false), REJECTED_SERVERS)),
    is("ipv6", "dhcp-reject-servers", Items(|_| false, REJECTED_SERVERS)),
    is("ipv4", "dhcp-client-id", NOT_EMPTY),
    is("ipv4", "dhcp-fqdn", NOT_EMPTY),
    is("ipv4", "dhcp-fqdn", Text(|name| name.contains('.'), "a name with a dot")),
    is("ipv4", "dhcp-vendor-class-identifier", Text(|text| (1..=255).contains(&text.len()), "a text of 1 to 255 bytes")),
    is("ipv6", "dhcp-duid", Text(is_duid,
        "lease, llt, ll, stable-llt, stable-ll, stable-uuid, or 3 to 130 bytes between colons")),
    is(ETHERNET, "port", Text(|text| ["tp", "aui", "bnc", "mii"].contains(&text), "tp, aui, bnc or mii")),
    is(ETHERNET, "duplex", OneOf(&["half", "full"])),
    read_as(ETHERNET, "mac-address", Text(is_mac_of_profile, MAC)),
    read_as(ETHERNET, "cloned-mac-address", Text(|text| SPECIAL_ADDRESSES.contains(&text) || is_mac_of_profile(text),
        "a MAC address, preserve, permanent, random or stable")),
    is(ETHERNET, "mac-address-blacklist", Items(is_mac, "a list of MAC addresses")),
    is(ETHERNET, "mac-address-denylist", Items(is_mac, "a list of MAC addresses")),
    is(ETHERNET, "generate-mac-address-mask", Text(is_mac_mask, "MAC addresses separated by blanks")),
    is(ETHERNET, "wake-on-lan", Number(are_wake_flags, "1, 32768, or a sum of other bits")),
    is(ETHERNET, "wake-on-lan-password", Text(is_mac, MAC)),
    is(ETHERNET, "s390-nettype", OneOf(&["qeth", "lcs", "ctc"])),
    read_as("bridge", "mac-address", Text(is_mac_of_profile, MAC)),
    is("bridge", "group-address", Text(is_group_address,
        "01:80:C2:00:00:00, or one from 01:80:C2:00:00:04 to 01:80:C2:00:00:0F")),
    is("bridge", "group-forward-mask", Number(|mask| mask.trailing_zeros() >= 3,
        "a mask without the bits 0, 1 and 2 (STP, pause frames, LACP)")),
    is("bridge", "multicast-hash-max", Number(|max| max & (max - 1) == 0, "a power of 2")),
    is("bridge", "vlan-protocol", OneOf(&["802.1Q", "802.1ad"])),
    is("bridge", "multicast-router", OneOf(&["auto", "enabled", "disabled"])),
    is("vlan", "protocol", OneOf(&["802.1Q", "802.1ad"])),
    is("vlan", "id", Within(0, 4094)),
    read_as("vlan", "ingress-priority-map", Items(|item| is_priority_pair(item, [7, u32::MAX]), PRIORITIES)),
    read_as("vlan", "egress-priority-map", Items(|item| is_priority_pair(item, [u32::MAX, 7]), PRIORITIES)),
    is("vlan|vxlan|macvlan|macsec|ip-tunnel|ipvlan|6lowpan", "parent", PARENT),
    is("vxlan", "remote", Text(is_any_address, ADDRESS)),
    is("vxlan", "local", Text(is_any_address, ADDRESS)),
    is("macsec", "mode", Number(|mode| matches!(mode, 0 | 1), "0 (PSK) or 1 (EAP)")),
    is("macsec", "offload", Within(-1, 2)),
    is("veth", "peer", Text(is_device_name, "the name of the other end's interface")),
    is("hsr", "port1", NAME),
    is("hsr", "port2", NAME),
    is("infiniband", "parent", NAME),
    read_as("infiniband", "mac-address", Text(|text| is_hardware_address_of_profile(text, 20), "an address of 20 bytes")),
    is("infiniband", "transport-mode", OneOf(&["datagram", "connected"])),
    is("tun", "mode", Number(|mode| matches!(mode, 1 | 2), "1 (tun) or 2 (tap)")),
    is("tun", "owner", Text(is_owner, "the number of a user")),
    is("tun", "group", Text(is_owner, "the number of a group")),
    is("match", "interface-name", NO_EMPTY_ITEMS),
    is("match", "kernel-command-line", NO_EMPTY_ITEMS),
    is("match", "driver", NO_EMPTY_ITEMS),
    is("match", "path", NO_EMPTY_ITEMS),
    is("proxy", "method", Number(|method| matches!(method, 0 | 1), "0 (none) or 1 (automatic)")),
    is("ethtool", "coalesce-adaptive-rx", Number(|value| value <= 1, "0 or 1")),
    is("ethtool", "coalesce-adaptive-tx", Number(|value| value <= 1, "0 or 1")),
    is("dcb", "app-fcoe-mode", OneOf(&["fabric", "vn2vn"])),
    is("dcb", "app-fcoe-flags", ENABLED),
    is("dcb", "app-iscsi-flags", ENABLED),
    is("dcb", "app-fip-flags", ENABLED),
    is("dcb", "priority-flow-control-flags", ENABLED),
    is("dcb", "priority-group-flags", ENABLED),
    is("802-1x", "phase1-peapver", OneOf(&["0", "1"])),
    is("802-1x", "phase1-peaplabel", OneOf(&["0", "1"])),
    is("802-1x", "phase1-fast-provisioning", OneOf(&["0", "1", "2", "3"])),
    is("802-1x", "phase2-auth", OneOf(&["pap", "chap", "mschap", "mschapv2", "gtc", "otp", "md5", "tls"])),
    is("802-1x", "phase2-autheap", OneOf(&["md5", "mschapv2", "otp", "gtc", "tls"])),
];

/// Whether the value of this key may be a word although the property is a number.
pub(super) fn has_words(group: &str, key: &str) -> bool {
    (group, key) == ("ipv6", "addr-gen-mode")
}

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    for Row { groups, key, effect, form } in ROWS {
        for group in groups.split('|') {
            if profile.entry(group, key).is_some() && !form.holds(profile, group, key) {
                profile.wrong_value(group, key, *effect, &form.expected());
            }
        }
    }
}

impl Form {
    /// Whether the value of a key has this form, or cannot be read, which is a problem of another kind.
    fn holds(&self, profile: &Profile<'_, '_>, group: &str, key: &str) -> bool {
        match self {
            OneOf(words) => profile.text(group, key).is_none_or(|text| words.contains(&&*text)),
            Text(is, _) => profile.text(group, key).is_none_or(|text| is(&text)),
            Items(are, _) => profile.list(group, key).iter().all(|item| are(item)),
            Number(is, _) => profile.number(group, key).is_none_or(is),
            Within(least, greatest) => {
                profile.number(group, key).is_none_or(|number| (*least..=*greatest).contains(&number))
            }
        }
    }

    /// What stands behind "must be".
    fn expected(&self) -> Cow<'static, str> {
        match self {
            OneOf(words) => words.join(" or ").into(),
            Text(_, expected) | Items(_, expected) | Number(_, expected) => (*expected).into(),
            Within(least, greatest) => format!("a number from {least} to {greatest}").into(),
        }
    }
}
