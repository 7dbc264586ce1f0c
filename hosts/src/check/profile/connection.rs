//! `[connection]`, and what the types of connections need of it.

use super::{Effect, Profile};
use crate::nmstate_document::quoted;

/// Types of which NetworkManager makes an interface itself, which must have a name.
const NEED_NAME: [&str; 9] = ["bond", "bridge", "team", "vrf", "dummy", "veth", "wireguard", "hsr", "ipvlan"];

/// The groups of ports, and the type of the controller that each is for.
const PORT_GROUPS: [(&str, &str); 3] = [("bridge-port", "bridge"), ("bond-port", "bond"), ("team-port", "team")];

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    let kind = profile.kind().into_owned();
    if NEED_NAME.contains(&kind.as_str()) && profile.entry("connection", "interface-name").is_none() {
        let what = format!("is missing, and an interface of type {kind} needs a name");
        profile.refuse("connection", "interface-name", &what, "add interface-name=");
    }
    let pings = profile.list("connection", "ip-ping-addresses");
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

/// Settings of ports in profiles of other connections.
fn check_port(profile: &mut Profile<'_, '_>) {
    let (controller, kind) = profile.port();
    if profile.kind() == "loopback" && (controller.is_some() || kind.is_some()) {
        let key = if controller.is_some() { "master" } else { "slave-type" };
        profile.refuse("connection", key, "is set, and a loopback interface cannot be a port", "remove it");
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
