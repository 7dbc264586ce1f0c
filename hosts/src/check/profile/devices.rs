//! The groups of virtual interfaces, of InfiniBand, and the small ones.

use super::values::{decimal_within, is_address, is_ipv6};
use super::{Effect, Profile};
use crate::nmstate_document::quoted;

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    check_parents(profile);
    check_vxlan(profile);
    check_macsec(profile);
    check_infiniband(profile);
    check_tunnel(profile);
    check_proxy(profile);
    check_user(profile);
    if profile.has("vrf") && profile.number("vrf", "table").unwrap_or(0) == 0 {
        profile.refuse("vrf", "table", "is missing or 0", "write the number of the VRF's routing table");
    }
    if profile.has("veth") && profile.entry("veth", "peer").is_none() {
        profile.refuse("veth", "peer", "is missing", "write the name of the other end's interface");
    }
    let passthru = profile.number("macvlan", "mode") == Some(4);
    if profile.flag("macvlan", "promiscuous") == Some(false) && !passthru {
        profile.refuse(
            "macvlan",
            "promiscuous",
            "is false, and the mode is not passthru (4)",
            "remove it, or set mode to 4",
        );
    }
    for key in ["port1", "port2"] {
        if profile.has("hsr") && profile.entry("hsr", key).is_none() {
            profile.refuse("hsr", key, "is missing", "write the name of the interface");
        }
    }
}

/// Interfaces that stand on another one.
fn check_parents(profile: &mut Profile<'_, '_>) {
    let by_address = profile.text("802-3-ethernet", "mac-address").is_some_and(|mac| !mac.is_empty());
    for group in ["vlan", "macvlan", "macsec", "ipvlan"] {
        let may_be_found = by_address && group != "ipvlan" || profile.entry(group, "parent").is_some();
        if profile.has(group) && !may_be_found {
            profile.refuse(
                group,
                "parent",
                "is missing",
                "write the name of the interface below, or the UUID of its profile",
            );
        }
    }
}

fn check_vxlan(profile: &mut Profile<'_, '_>) {
    let (local, remote) = (profile.text("vxlan", "local"), profile.text("vxlan", "remote"));
    if let (Some(local), Some(remote)) = (local, remote)
        && is_ipv6(&local) != is_ipv6(&remote)
    {
        let what = format!("is {}, and remote is {}, an address of the other family", quoted(&local), quoted(&remote));
        profile.refuse("vxlan", "local", &what, "write two addresses of one family");
    }
    let least = profile.number("vxlan", "source-port-min").unwrap_or(0);
    let greatest = profile.number("vxlan", "source-port-max").unwrap_or(0);
    if least > greatest {
        let what = format!("is {least}, which is more than source-port-max ({greatest})");
        profile.refuse("vxlan", "source-port-min", &what, "write the smaller number here");
    }
}

fn check_macsec(profile: &mut Profile<'_, '_>) {
    if !profile.has("macsec") {
        return;
    }
    let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    match profile.number("macsec", "mode").unwrap_or(0) {
        0 => {
            let name = profile.text("macsec", "mka-ckn").unwrap_or_default();
            if !(2..=64).contains(&name.len()) || !name.len().is_multiple_of(2) || !is_hex(&name) {
                profile.must_be("macsec", "mka-ckn", "an even number of hexadecimal digits, 2 to 64");
            }
            if profile.text("macsec", "mka-cak").is_some_and(|key| key.len() != 32 || !is_hex(&key)) {
                profile.must_be("macsec", "mka-cak", "32 hexadecimal digits");
            }
        }
        1 if !profile.has("802-1x") => {
            profile.refuse(
                "macsec",
                "mode",
                "is 1 (EAP), and there is no group [802-1x]",
                "add the group, or set mode to 0",
            );
        }
        _ => {}
    }
}

fn check_infiniband(profile: &mut Profile<'_, '_>) {
    if !profile.has("infiniband") {
        return;
    }
    if profile.entry("infiniband", "transport-mode").is_none() {
        profile.refuse("infiniband", "transport-mode", "is missing", "write datagram or connected");
    }
    let parent = profile.text("infiniband", "parent");
    let Some(key) = profile.number("infiniband", "p-key").filter(|key| *key != -1) else {
        return;
    };
    if matches!(key, 0 | 0x8000) {
        return profile.must_be("infiniband", "p-key", "a number from 1 to 65535 other than 32768");
    }
    let Some(parent) = parent else {
        if profile.entry("infiniband", "mac-address").is_none() {
            let what = "is set, and nothing names the interface of the partition";
            let fix = "name the interface below (base-iface in NMState, parent in a keyfile)";
            profile.refuse("infiniband", "p-key", what, fix);
        }
        return;
    };
    let name = format!("{parent}.{:04x}", key | 0x8000);
    let plain = format!("{parent}.{key:04x}");
    if let Some(found) =
        profile.text("connection", "interface-name").filter(|found| **found != name && **found != plain)
    {
        let what = format!("is {}, and this partition can only have the name {}", quoted(&found), quoted(&name));
        profile.refuse("connection", "interface-name", &what, "give it this name");
    }
}

/// Modes of tunnels by number: 1 ipip, 2 gre, 3 sit, 4 isatap, 5 vti, 6 ip6ip6, 7 ipip6, 8 ip6gre, 9 vti6, 10 gretap, 11
/// ip6gretap.
fn check_tunnel(profile: &mut Profile<'_, '_>) {
    const GROUP: &str = "ip-tunnel";
    if !profile.has(GROUP) {
        return;
    }
    let mode = profile.number(GROUP, "mode").unwrap_or(0);
    if profile.kind() == "802-3-ethernet" && !matches!(mode, 10 | 11) {
        let message =
            "is for tunnels, and this profile is of type ethernet: NetworkManager refuses the whole profile; remove it";
        return profile.problem(GROUP, None, Effect::Refused, message.to_owned());
    }
    if !(1..=11).contains(&mode) {
        return profile.must_be(GROUP, "mode", "a number from 1 to 11");
    }
    let is_v6 = matches!(mode, 6..=9 | 11);
    for key in ["local", "remote"] {
        let text = profile.text(GROUP, key);
        if text.as_ref().is_none_or(|address| !is_address(address, is_v6)) && (text.is_some() || key == "remote") {
            let expected = if is_v6 { "an IPv6 address" } else { "an IPv4 address" };
            profile.must_be(GROUP, key, expected);
        }
    }
    for key in ["input-key", "output-key"] {
        let Some(value) = profile.text(GROUP, key).filter(|value| !value.is_empty()) else { continue };
        if !matches!(mode, 2 | 5 | 8..=11) {
            profile.refuse(GROUP, key, "is set, and only GRE and VTI tunnels have keys", "remove it");
        } else if decimal_within(&value, 0, i128::from(u32::MAX)).is_none() {
            profile.must_be(GROUP, key, "a number from 0 to 4294967295");
        }
    }
    let ttl = profile.number(GROUP, "ttl").unwrap_or(0);
    if profile.flag(GROUP, "path-mtu-discovery") == Some(false) && ttl != 0 {
        profile.refuse(GROUP, "ttl", "is set, and path-mtu-discovery is false", "remove one of the two");
    }
    let flags = profile.number(GROUP, "flags").unwrap_or(0);
    let known = if matches!(mode, 6 | 7) { 0x3f } else { 0 };
    if flags & !known != 0 {
        profile.must_be(GROUP, "flags", "a sum of 1, 2, 4, 8, 16 and 32, and only for modes 6 and 7");
    }
    if profile.number(GROUP, "fwmark").is_some_and(|mark| mark != 0) && !matches!(mode, 5 | 9) {
        profile.refuse(GROUP, "fwmark", "is set, and only VTI tunnels have it", "remove it");
    }
}

fn check_proxy(profile: &mut Profile<'_, '_>) {
    let method = profile.number("proxy", "method").unwrap_or(0);
    for key in ["pac-url", "pac-script"].into_iter().filter(|_| method == 0) {
        if profile.text("proxy", key).is_some_and(|text| !text.is_empty()) {
            profile.refuse("proxy", key, "is set, and method is 0 (none)", "set method to 1, or remove it");
        }
    }
    if profile.text("proxy", "pac-script").is_some_and(|script| method == 1 && !script.contains("FindProxyForURL")) {
        profile.must_be("proxy", "pac-script", "a script with the function FindProxyForURL");
    }
}

fn check_user(profile: &mut Profile<'_, '_>) {
    let Some(group) = profile.group("user") else { return };
    let is_regular = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/' | '=');
    for entry in group.entries() {
        let is_key = entry.key.len() <= 255
            && entry.key.contains('.')
            && entry.key.split('.').all(|part| !part.is_empty() && part.chars().all(is_regular));
        if !is_key {
            let what = "is not a key of user data, which is words of letters and digits with dots between them";
            profile.refuse("user", entry.key, what, "write it as NAMESPACE.KEY");
        } else if profile.text("user", entry.key).is_some_and(|value| value.len() > 8192) {
            profile.refuse("user", entry.key, "is longer than 8192 bytes", "shorten it");
        }
    }
}
