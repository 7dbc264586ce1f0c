//! `[connection]`, and what the types of connections need of it.

use super::values::{is_address, is_uuid};
use super::{Effect, Profile};
use crate::nmstate_document::quoted;

/// Types of which NetworkManager makes an interface itself, which must have a name.
const NEED_NAME: [&str; 9] = ["bond", "bridge", "team", "vrf", "dummy", "veth", "wireguard", "hsr", "ipvlan"];

/// Numbers with a meaning each: the key, the least and the greatest.
const RANGES: [(&str, i128, i128); 6] = [
    ("metered", 0, 2),
    ("mdns", -1, 2),
    ("llmnr", -1, 2),
    ("dns-over-tls", -1, 2),
    ("multi-connect", 0, 3),
    ("autoconnect-ports", -1, 1),
];

/// The groups of ports, and the type of the controller that each is for.
const PORT_GROUPS: [(&str, &str); 3] = [("bridge-port", "bridge"), ("bond-port", "bond"), ("team-port", "team")];

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    let kind = profile.kind().into_owned();
    if NEED_NAME.contains(&kind.as_str()) && profile.entry("connection", "interface-name").is_none() {
        let what = format!("is missing, and an interface of type {kind} needs a name");
        profile.refuse("connection", "interface-name", &what, "add interface-name=");
    }
    for (key, least, greatest) in RANGES {
        if profile.number("connection", key).is_some_and(|value| value < least || value > greatest) {
            profile.must_be("connection", key, Effect::Refused, &format!("a number from {least} to {greatest}"));
        }
    }
    check_mptcp(profile);
    if let Some(url) = profile.text("connection", "mud-url")
        && url != "none"
        && (url.len() > 255 || !url.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && rest.is_ascii()))
    {
        profile.must_be("connection", "mud-url", Effect::Refused, "none, or a URL that begins with https://");
    }
    for permission in profile.list("connection", "permissions") {
        let user = permission.strip_prefix("user:").map(|user| user.strip_suffix(':').unwrap_or(user));
        if !user.is_some_and(|user| !user.is_empty() && !user.contains(':')) {
            profile.must_be("connection", "permissions", Effect::Refused, "a list of user:NAME:");
        }
    }
    if profile.list("connection", "secondaries").iter().any(|uuid| !is_uuid(uuid)) {
        profile.must_be("connection", "secondaries", Effect::Ignored, "a list of UUIDs");
    }
    let pings = profile.list("connection", "ip-ping-addresses");
    if pings.iter().any(|address| !is_address(address, false) && !is_address(address, true)) {
        profile.must_be("connection", "ip-ping-addresses", Effect::Refused, "a list of IP addresses");
    }
    let timeout = profile.number("connection", "ip-ping-timeout").is_some_and(|timeout| timeout > 0);
    for (key, is_alone, other) in [
        ("ip-ping-timeout", timeout && pings.is_empty(), "ip-ping-addresses"),
        ("ip-ping-addresses", !timeout && !pings.is_empty(), "ip-ping-timeout"),
    ] {
        if is_alone {
            profile.refuse(
                "connection",
                key,
                &format!("is set, and {other} is not"),
                &format!("add {other}, or remove it"),
            );
        }
    }
    check_port(profile);
}

/// Flags of multipath TCP that contradict each other: disabled 1, enabled 2, also-without-sysctl 4, also-without-default-route
/// 8, signal 16, subflow 32, backup 64, fullmesh 128.
fn check_mptcp(profile: &mut Profile<'_, '_>) {
    let Some(flags) = profile.number("connection", "mptcp-flags").filter(|flags| *flags != 0) else { return };
    let has = |flag: i128| flags & flag != 0;
    let contradicts = if has(1) { flags != 1 } else { flags & !0xfe != 0 || (has(16) && has(128)) };
    if contradicts {
        let expected = "1 (disabled), or a sum of 2, 4, 8, 16, 32, 64 and 128, but not of 16 and 128";
        profile.must_be("connection", "mptcp-flags", Effect::Refused, expected);
    }
}

/// Settings of ports in profiles of other connections.
fn check_port(profile: &mut Profile<'_, '_>) {
    let (controller, kind) = profile.port();
    if profile.kind() == "loopback" && (controller.is_some() || kind.is_some()) {
        let key = if controller.is_some() { "master" } else { "slave-type" };
        profile.refuse("connection", key, "is set, and a loopback interface cannot be a port", "remove it");
    }
    for (key, expected) in [("controller", "the controller's name or UUID"), ("port-type", "the controller's type")] {
        if profile.text("connection", key).is_some_and(|name| name.is_empty()) {
            profile.must_be("connection", key, Effect::Refused, expected);
        }
    }
    for (group, of) in PORT_GROUPS {
        if !profile.has(group) {
            continue;
        }
        match kind.as_deref() {
            Some(kind) if kind != of => {
                let message = format!(
                    "is for the ports of a {of}, and this is one of a {}: NetworkManager refuses the whole profile; remove it",
                    quoted(kind)
                );
                profile.problem(group, None, Effect::Refused, message);
            }
            None if controller.is_none() => {
                let message = format!("is for the ports of a {of}, and this is no port: NetworkManager ignores it");
                profile.problem(group, None, Effect::Dropped, message);
            }
            _ => {}
        }
    }
}
