//! Values that libnm takes in one form only, whatever stands beside them.

use super::values::{
    decimal_within, hardware_address, is_hardware_address_of_profile, is_ipv4, is_ipv6, is_kernel_name, is_uuid,
};
use super::{Effect, Profile};
use crate::nmstate_document::interfaces::kernel_name_problem;

/// What a text must be.
enum Form {
    OneOf(&'static [&'static str]),
    /// A condition, and what must be in words that follow "must be".
    Is(fn(&str) -> bool, &'static str),
}

struct Row {
    group: &'static str,
    key: &'static str,
    effect: Effect,
    form: Form,
}

const fn one_of(group: &'static str, key: &'static str, words: &'static [&'static str]) -> Row {
    Row { group, key, effect: Effect::Refused, form: Form::OneOf(words) }
}

const fn is(group: &'static str, key: &'static str, holds: fn(&str) -> bool, expected: &'static str) -> Row {
    Row { group, key, effect: Effect::Refused, form: Form::Is(holds, expected) }
}

const fn read_as(group: &'static str, key: &'static str, holds: fn(&str) -> bool, expected: &'static str) -> Row {
    Row { group, key, effect: Effect::Ignored, form: Form::Is(holds, expected) }
}

const fn not_empty(group: &'static str, key: &'static str) -> Row {
    is(group, key, |text| !text.is_empty(), "a text that is not empty")
}

const fn parent(group: &'static str) -> Row {
    is(
        group,
        "parent",
        |text| is_kernel_name(text) || is_uuid(text),
        "the name of an interface, or the UUID of a profile",
    )
}

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

#[rustfmt::skip]
const ROWS: &[Row] = &[
    not_empty("connection", "id"),
    is("connection", "uuid", is_uuid, "a UUID"),
    is("connection", "interface-name", is_device_name, "a name of at most 15 bytes that the kernel takes for an interface"),
    is(ETHERNET, "port", |text| ["tp", "aui", "bnc", "mii"].contains(&text), "tp, aui, bnc or mii"),
    one_of(ETHERNET, "duplex", &["half", "full"]),
    read_as(ETHERNET, "mac-address", is_mac_of_profile, MAC),
    read_as(ETHERNET, "cloned-mac-address", |text| SPECIAL_ADDRESSES.contains(&text) || is_mac_of_profile(text),
        "a MAC address, preserve, permanent, random or stable"),
    is(ETHERNET, "wake-on-lan-password", is_mac, MAC),
    one_of(ETHERNET, "s390-nettype", &["qeth", "lcs", "ctc"]),
    read_as("bridge", "mac-address", is_mac_of_profile, MAC),
    is("bridge", "group-address", is_group_address, "01:80:C2:00:00:00, or one from 01:80:C2:00:00:04 to 01:80:C2:00:00:0F"),
    one_of("bridge", "vlan-protocol", &["802.1Q", "802.1ad"]),
    one_of("bridge", "multicast-router", &["auto", "enabled", "disabled"]),
    one_of("vlan", "protocol", &["802.1Q", "802.1ad"]),
    parent("vlan"),
    parent("vxlan"),
    parent("macvlan"),
    parent("macsec"),
    parent("ip-tunnel"),
    parent("ipvlan"),
    parent("6lowpan"),
    is("vxlan", "remote", is_any_address, ADDRESS),
    is("vxlan", "local", is_any_address, ADDRESS),
    is("veth", "peer", is_device_name, "the name of the other end's interface"),
    is("hsr", "port1", is_kernel_name, "the name of an interface"),
    is("hsr", "port2", is_kernel_name, "the name of an interface"),
    is("infiniband", "parent", is_kernel_name, "the name of an interface"),
    read_as("infiniband", "mac-address", |text| is_hardware_address_of_profile(text, 20), "an address of 20 bytes"),
    one_of("infiniband", "transport-mode", &["datagram", "connected"]),
    is("tun", "owner", is_owner, "the number of a user"),
    is("tun", "group", is_owner, "the number of a group"),
    one_of("dcb", "app-fcoe-mode", &["fabric", "vn2vn"]),
    one_of("802-1x", "phase1-peapver", &["0", "1"]),
    one_of("802-1x", "phase1-peaplabel", &["0", "1"]),
    one_of("802-1x", "phase1-fast-provisioning", &["0", "1", "2", "3"]),
    one_of("802-1x", "phase2-auth", &["pap", "chap", "mschap", "mschapv2", "gtc", "otp", "md5", "tls"]),
    one_of("802-1x", "phase2-autheap", &["md5", "mschapv2", "otp", "gtc", "tls"]),
];

/// Whether the value of this key may be a word although the property is a number.
pub(super) fn has_words(group: &str, key: &str) -> bool {
    (group, key) == ("ipv6", "addr-gen-mode")
}

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    for Row { group, key, effect, form } in ROWS {
        let Some(text) = profile.text(group, key) else { continue };
        let (holds, expected) = match form {
            Form::OneOf(words) => (words.contains(&&*text), words.join(" or ")),
            Form::Is(holds, expected) => (holds(&text), (*expected).to_owned()),
        };
        if !holds {
            profile.must_be(group, key, *effect, &expected);
        }
    }
}
