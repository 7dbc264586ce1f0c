//! Routes and routing rules of `[ipv4]` and `[ipv6]`.

use super::ip::{FAMILIES, Fields, is_numbered, is_route_key};
use super::values::{decimal_within, integer, is_address, is_network, is_truth_word};
use super::{Effect, Profile};
use crate::nmstate_document::quoted;

const MAX_UINT32: i128 = u32::MAX as i128;

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    for (group, is_v6) in FAMILIES {
        let Some(entries) = profile.group(group).map(super::Group::entries) else { continue };
        for entry in entries {
            if is_route_key(entry.key) {
                check_route(profile, group, entry.key, is_v6);
            } else if let Some(route) = entry.key.strip_suffix("_options").filter(|route| is_route_key(route)) {
                check_options(profile, group, entry.key, route, is_v6);
            } else if is_numbered(entry.key, "routing-rule") {
                check_rule(profile, group, entry.key, is_v6);
            }
        }
    }
}

fn check_route(profile: &mut Profile<'_, '_>, group: &str, key: &str, is_v6: bool) {
    let Some(text) = profile.text(group, key).filter(|text| !text.is_empty()) else { return };
    let is_route = Fields::of(&text, true).is_some_and(|fields| {
        let gateway = fields.gateway.filter(|gateway| !gateway.is_empty());
        // An older NetworkManager left out the gateway of IPv6 routes, and wrote the metric in its place.
        let is_metric = |text: &str| is_v6 && fields.metric.is_none() && decimal_within(text, 0, MAX_UINT32).is_some();
        is_address(fields.address, is_v6)
            && fields.length(is_v6).is_ok()
            && gateway.is_none_or(|gateway| is_address(gateway, is_v6) || is_metric(gateway))
            && fields.metric.is_none_or(|metric| decimal_within(metric, 0, MAX_UINT32).is_some())
    });
    if !is_route {
        let expected = if is_v6 {
            "DESTINATION/LENGTH,GATEWAY,METRIC, such as 2001:db8:1::/48,2001:db8::1"
        } else {
            "DESTINATION/LENGTH,GATEWAY,METRIC, such as 198.51.100.0/24,192.0.2.1"
        };
        profile.reads_only(group, key, expected);
    }
}

/// What the options of a route are, and whether they are for IPv4 and IPv6.
fn option(name: &str, value: &str, is_v6: bool) -> Option<bool> {
    let number = |greatest| decimal_within(value, 0, greatest).is_some();
    Some(match name {
        "advmss" | "cwnd" | "initcwnd" | "initrwnd" | "mtu" | "rto_min" | "table" | "window" => number(MAX_UINT32),
        "lock-advmss" | "lock-cwnd" | "lock-initcwnd" | "lock-initrwnd" | "lock-mtu" | "lock-window" | "onlink"
        | "quickack" => is_truth_word(value),
        "scope" | "tos" => number(255) && !is_v6,
        "weight" => number(256) && !is_v6,
        "src" => is_address(value, is_v6),
        "from" => is_v6 && is_network(value, true),
        "type" => ["unicast", "local", "blackhole", "unreachable", "prohibit", "throw"].contains(&value),
        _ => return None,
    })
}

/// Options of which NetworkManager ignores all where it cannot read one.
fn check_options(profile: &mut Profile<'_, '_>, group: &str, key: &str, route: &str, is_v6: bool) {
    let Some(text) = profile.text(group, key) else { return };
    let mut options = Vec::new();
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let (name, value) = item.split_once('=').unwrap_or((item, ""));
        if option(name, value, is_v6) != Some(true) {
            let message =
                format!("has {}, which is not an option of such a route: NetworkManager ignores it", quoted(item));
            return profile.problem(group, Some(key), Effect::Ignored, message);
        }
        options.push((name, value));
    }
    let get = |wanted: &str| options.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    let kind = get("type").unwrap_or("unicast");
    let route = profile.text(group, route).unwrap_or_default();
    let has_gateway =
        Fields::of(&route, true).and_then(|fields| fields.gateway).is_some_and(|gateway| !gateway.is_empty());
    if matches!(kind, "blackhole" | "unreachable" | "prohibit" | "throw") && has_gateway {
        let what = format!("has the type {kind}, and the route has a gateway");
        profile.refuse(group, key, &what, "remove one of the two");
    } else if kind != "unicast" && get("weight").is_some_and(|weight| decimal_within(weight, 1, MAX_UINT32).is_some()) {
        let what = format!("has a weight, and a route of type {kind} has none");
        profile.refuse(group, key, &what, "remove the weight");
    } else if kind == "local"
        && !is_v6
        && get("scope").is_some_and(|scope| !matches!(decimal_within(scope, 0, 255), Some(254 | 255)))
    {
        profile.refuse(group, key, "has the type local, and a scope other than host (254)", "remove the scope");
    }
}

fn check_rule(profile: &mut Profile<'_, '_>, group: &str, key: &str, is_v6: bool) {
    let Some(text) = profile.text(group, key) else { return };
    if let Err(what) = rule(&text, is_v6) {
        profile.problem(group, Some(key), Effect::Ignored, format!("{what}: NetworkManager leaves the rule out"));
    }
}

/// Reads a rule as `ip rule` writes it; a word is a key, a value, or a type.
fn rule(text: &str, is_v6: bool) -> Result<(), String> {
    let (mut seen, mut action, mut table) = (Vec::new(), None, None);
    let mut words = text.split_ascii_whitespace();
    while let Some(word) = words.next() {
        let name = match word {
            "order" | "pref" | "preference" => "priority",
            "lookup" => "table",
            "dsfield" => "tos",
            "dev" => "iif",
            "sup_pl" => "suppress_prefixlength",
            word => word,
        };
        if name == "not" {
            continue;
        }
        let type_of = |word: &str| {
            let types = [
                "unicast",
                "local",
                "nat",
                "broadcast",
                "brd",
                "anycast",
                "multicast",
                "prohibit",
                "unreachable",
                "blackhole",
                "xresolve",
                "throw",
            ];
            types.contains(&word) || decimal_within(word, 0, 255).is_some()
        };
        let takes: &dyn Fn(&str) -> bool = match name {
            "from" | "to" => &|value| value == "all" || is_network(value, is_v6),
            "priority" => &|value| within(value, 0, MAX_UINT32),
            "table" => &|value| within(value, 0, MAX_UINT32) || matches!(value, "main" | "local" | "default"),
            "tos" => &|value| u8::from_str_radix(value.strip_prefix("0x").unwrap_or(value), 16).is_ok(),
            "ipproto" => &|value| decimal_within(value, 0, 255).is_some(),
            "sport" | "dport" => &is_ports,
            "fwmark" => {
                &|value| value.split('/').count() <= 2 && value.split('/').all(|part| within(part, 0, MAX_UINT32))
            }
            "iif" | "oif" => &|value| !value.is_empty(),
            "suppress_prefixlength" => &|value| within(value, 0, if is_v6 { 128 } else { 32 }),
            "uidrange" => &is_range,
            "type" => &type_of,
            _ if action.is_none() && type_of(name) => {
                action = Some(name);
                continue;
            }
            _ => return Err(format!("has {}, which is not part of a rule", quoted(word))),
        };
        let value = words.next().ok_or_else(|| format!("has {} without a value", quoted(word)))?;
        if !takes(value) {
            return Err(format!("has {} with {}, which is not a value for it", quoted(word), quoted(value)));
        }
        if seen.contains(&name) || (name == "type" && action.is_some()) {
            return Err(format!("has {} twice", quoted(word)));
        }
        match name {
            "type" => action = Some(value),
            "table" => table = Some(value),
            _ => {}
        }
        seen.push(name);
    }
    if !seen.contains(&"priority") {
        return Err("has no priority".to_owned());
    }
    let to_table = action.is_none_or(|action| matches!(action, "unicast" | "1"));
    if !to_table
        && !action.is_some_and(|action| matches!(action, "blackhole" | "unreachable" | "prohibit" | "6" | "7" | "8"))
    {
        return Err("has a type that is not blackhole, prohibit or unreachable".to_owned());
    }
    if to_table && table.is_some_and(|table| integer(table) == Some(0)) {
        return Err("has the table 0".to_owned());
    }
    if !to_table && seen.contains(&"suppress_prefixlength") {
        return Err("has suppress_prefixlength and a type".to_owned());
    }
    Ok(())
}

fn within(text: &str, least: i128, greatest: i128) -> bool {
    integer(text).is_some_and(|number| (least..=greatest).contains(&number))
}

fn is_ports(text: &str) -> bool {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (decimal_within(first, 1, 65534), decimal_within(last, 1, 65534)) {
        (Some(first), Some(last)) => first <= last,
        _ => false,
    }
}

fn is_range(text: &str) -> bool {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    within(first, 0, MAX_UINT32) && within(last, 0, MAX_UINT32) && integer(first) <= integer(last)
}
