//! `[ipv4]` and `[ipv6]`, but for routes and rules.

use std::net::Ipv6Addr;

use super::values::{decimal, integer, is_address};
use super::{Effect, Profile};
use crate::family::Family;
use crate::nmstate_document::quoted;

/// The families: the group, and whether it is IPv6.
pub(super) const FAMILIES: [(&str, bool); 2] = [("ipv4", false), ("ipv6", true)];

/// `address1`, `addresses1`, `route1`, `routes1`, `route1_options` and `routing-rule1`, each with a number or, but for the last,
/// without.
pub(super) fn is_numbered_key(key: &str) -> bool {
    let base = key.strip_suffix("_options").filter(|base| base.starts_with("route")).unwrap_or(key);
    is_numbered(base, "address")
        || is_numbered(base, "addresses")
        || is_route_key(base)
        || is_numbered(base, "routing-rule")
}

pub(super) fn is_route_key(key: &str) -> bool {
    is_numbered(key, "route") || is_numbered(key, "routes")
}

/// Whether a key is `name`, alone or with a number without leading zeros.
pub(super) fn is_numbered(key: &str, name: &str) -> bool {
    key.strip_prefix(name).is_some_and(|number| {
        number.is_empty()
            || ((number == "0" || !number.starts_with('0'))
                && number.bytes().all(|b| b.is_ascii_digit())
                && number.parse::<i32>().is_ok())
    })
}

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    for (group, is_v6) in FAMILIES {
        if !profile.has(group) {
            continue;
        }
        let addresses = check_addresses(profile, group, is_v6);
        check_method(profile, group, is_v6, addresses);
        check_servers(profile, group, is_v6);
        check_dhcp(profile, group, is_v6);
    }
    check_ipv4(profile);
    check_ipv6(profile);
}

/// How many addresses there are, right or wrong.
fn check_addresses(profile: &mut Profile<'_, '_>, group: &'static str, is_v6: bool) -> usize {
    let mut count = 0;
    let Some(entries) = profile.group(group).map(super::Group::entries) else { return count };
    let is_address_key = |key: &str| is_numbered(key, "address") || is_numbered(key, "addresses");
    let mut inline = None;
    for entry in entries.iter().filter(|entry| is_address_key(entry.key)) {
        let Some(text) = profile.text(group, entry.key).filter(|text| !text.is_empty()) else { continue };
        count += 1;
        if is_profile_address(&text, is_v6) {
            let gateway = Fields::of(&text, false).and_then(|fields| fields.gateway);
            inline = inline.or(gateway.map(|gateway| (entry.key, gateway.to_owned())));
        } else {
            let expected =
                if is_v6 { "an address such as 2001:db8::10/64" } else { "an address such as 192.0.2.10/24" };
            profile.reads_only(group, entry.key, expected);
        }
    }
    let own = profile.text(group, "gateway").map(|gateway| ("gateway", gateway.into_owned()));
    if let Some((key, gateway)) = inline.or(own) {
        let family = if is_v6 { "IPv6" } else { "IPv4" };
        if count == 0 {
            profile.refuse(group, key, "is set, and there is no address", "add address1=, or remove the gateway");
        } else if !is_address(&gateway, is_v6) {
            let what = format!("has the gateway {}, which is not an {family} address", quoted(&gateway));
            profile.refuse(group, key, &what, "correct it");
        } else if profile.flag(group, "never-default") == Some(true) {
            profile.dropped(group, key, "never-default is true, and NetworkManager leaves the gateway out");
        }
    }
    count
}

/// Whether an address of a profile is one that NetworkManager reads.
pub(crate) fn is_profile_address(text: &str, is_v6: bool) -> bool {
    Fields::of(text, false).is_some_and(|fields| is_address(fields.address, is_v6) && fields.length(is_v6).is_ok())
}

/// The fields of an address or of a route: between `/`, `;` and `,`, which all count the same.
pub(super) struct Fields<'t> {
    pub(super) address: &'t str,
    length: Option<&'t str>,
    pub(super) gateway: Option<&'t str>,
    pub(super) metric: Option<&'t str>,
}

impl<'t> Fields<'t> {
    /// None where NetworkManager cannot tell the fields apart.
    pub(super) fn of(text: &'t str, is_route: bool) -> Option<Self> {
        let of_address = |c: char| c.is_ascii_hexdigit() || matches!(c, ':' | '.' | '%');
        let mut rest = Some(text);
        let address = field(&mut rest, of_address).ok()??;
        // Where there are no digits, the gateway comes at once.
        let length = field(&mut rest, |c| c.is_ascii_digit()).unwrap_or(None);
        let gateway = field(&mut rest, of_address).ok()?;
        let metric = if is_route { field(&mut rest, |c| c.is_ascii_digit()).ok()? } else { None };
        rest.is_none_or(str::is_empty).then_some(Self { address, length, gateway, metric })
    }

    /// The length of the prefix, where there is one: right, or wrong.
    pub(super) fn length(&self, is_v6: bool) -> Result<Option<i128>, ()> {
        let greatest = if is_v6 { 128 } else { 32 };
        self.length.map(|length| decimal(length).filter(|length| *length <= greatest).ok_or(())).transpose()
    }
}

/// The next field of `rest`; none where there is nothing more, and an error where it holds something else, which is then left.
fn field<'t>(rest: &mut Option<&'t str>, belongs: impl Fn(char) -> bool) -> Result<Option<&'t str>, ()> {
    let Some(text) = rest.filter(|text| !text.is_empty()) else { return Ok(None) };
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    let (field, behind) = text.split_at_checked(end).ok_or(())?;
    let mut behind = behind.chars();
    match behind.next() {
        None => *rest = None,
        Some('/' | ';' | ',') => *rest = Some(behind.as_str()),
        Some(_) => return Err(()),
    }
    Ok(Some(field))
}

/// The methods of a family.
pub(crate) fn methods(family: Family) -> &'static [&'static str] {
    match family {
        Family::V4 => &["auto", "manual", "link-local", "shared", "disabled"],
        Family::V6 => &["auto", "dhcp", "manual", "link-local", "shared", "ignore", "disabled"],
    }
}

fn check_method(profile: &mut Profile<'_, '_>, group: &'static str, is_v6: bool, addresses: usize) {
    let methods = methods(if is_v6 { Family::V6 } else { Family::V4 });
    let Some(method) = profile.text(group, "method") else {
        return profile.refuse(group, "method", "is missing", "write auto, manual or disabled");
    };
    if !methods.contains(&&*method) {
        return profile.must_be(group, "method", &format!("one of {}", methods.join(", ")));
    }
    if method == "manual" && addresses == 0 {
        profile.refuse(group, "method", "is manual, and there is no address", "add address1=");
    }
    let without_servers: &[&str] =
        if is_v6 { &["ignore", "link-local", "disabled"] } else { &["link-local", "shared", "disabled"] };
    if without_servers.contains(&&*method) {
        for key in ["dns", "dns-search"] {
            if !profile.list(group, key).is_empty() {
                let what = format!("is set, and the method is {method}");
                profile.refuse(group, key, &what, "put it into the other family, or into another profile");
            }
        }
    }
    if without_servers.contains(&&*method) && method != "shared" && addresses > 0 {
        let what = format!("is {method}, and there are addresses");
        profile.refuse(group, "method", &what, "write manual, or remove the addresses");
    }
    let is_loopback = profile.kind() == "loopback";
    if is_loopback && !matches!(&*method, "auto" | "manual") {
        let what = format!("is {method}, and a loopback interface supports only auto or manual");
        profile.refuse(group, "method", &what, "write auto or manual");
    }
}

fn check_servers(profile: &mut Profile<'_, '_>, group: &'static str, is_v6: bool) {
    let servers = profile.list(group, "dns");
    if let Some(server) = servers.iter().find(|server| !is_server(server, is_v6)) {
        let what = format!(
            "has {}, which is not an {} address of a name server",
            quoted(server),
            if is_v6 { "IPv6" } else { "IPv4" }
        );
        let message = format!("{what}: NetworkManager ignores it");
        profile.problem(group, Some("dns"), Effect::Ignored, message);
    }
}

/// `ADDRESS`, `ADDRESS#NAME`, and since 1.52 a URI.
fn is_server(text: &str, is_v6: bool) -> bool {
    let uri = ["dns+tls://", "dns+udp://"].into_iter().find_map(|scheme| text.strip_prefix(scheme));
    let (address, name) =
        uri.unwrap_or(text).split_once('#').map_or((uri.unwrap_or(text), None), |(a, n)| (a, Some(n)));
    if name.is_some_and(str::is_empty) {
        return false;
    }
    if uri.is_none() {
        return is_address(address, is_v6);
    }
    let bracketed = address.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match bracketed {
        Some((address, _)) => is_v6 && is_address(address.split('%').next().unwrap_or_default(), true),
        None => !is_v6 && is_address(address.split(':').next().unwrap_or_default(), false),
    }
}

fn check_dhcp(profile: &mut Profile<'_, '_>, group: &'static str, is_v6: bool) {
    let flags = profile.number(group, "dhcp-hostname-flags").unwrap_or(0);
    let sends = profile.flag(group, "dhcp-send-hostname").unwrap_or(true);
    if flags != 0 && !sends {
        let what = "is set, and dhcp-send-hostname is false";
        profile.refuse(group, "dhcp-hostname-flags", what, "remove it");
    } else if flags & !0xf != 0 || flags & 5 == 5 || (flags & 8 != 0 && flags & 7 != 0) || (is_v6 && flags & 2 != 0) {
        let expected = "a sum of 1, 2, 4 and 8 without contradiction (1 and 4; 8 with others; 2 in IPv6)";
        profile.must_be(group, "dhcp-hostname-flags", expected);
    }
}

fn check_ipv4(profile: &mut Profile<'_, '_>) {
    const GROUP: &str = "ipv4";
    let method = profile.text(GROUP, "method").unwrap_or_default();
    if let Some(value) = profile.number(GROUP, "link-local") {
        let what = match (value, &*method) {
            (0..=4, _) if value == 3 && method == "disabled" => {
                Some("enables link-local addresses, and the method is disabled")
            }
            (2, "link-local") => Some("disables link-local addresses, and the method is link-local"),
            (3, _) if profile.kind() == "loopback" => Some("enables link-local addresses of a loopback"),
            (0..=4, _) => None,
            _ => Some("is not a number from 0 to 4"),
        };
        if let Some(what) = what {
            profile.refuse(GROUP, "link-local", what, "remove it");
        }
    }
    if profile.text(GROUP, "dhcp-fqdn").is_some() {
        if profile.entry(GROUP, "dhcp-hostname").is_some() {
            profile.refuse(GROUP, "dhcp-fqdn", "is set, and so is dhcp-hostname", "remove one of the two");
        }
    } else if profile.number(GROUP, "dhcp-hostname-flags").is_some_and(|flags| flags & 0xf != 0) {
        let what = "is set, and dhcp-fqdn is not";
        profile.refuse(GROUP, "dhcp-hostname-flags", what, "add dhcp-fqdn, or remove the flags");
    }
}

fn check_ipv6(profile: &mut Profile<'_, '_>) {
    const GROUP: &str = "ipv6";
    // Numbers and names: eui64 0, stable-privacy 1, default-or-eui64 2, default 3.
    let mode = profile.text(GROUP, "addr-gen-mode").map(|text| {
        let names = ["eui64", "stable-privacy", "default-or-eui64", "default"];
        let by_name = names.iter().position(|name| *name == text).and_then(|index| i128::try_from(index).ok());
        by_name.or_else(|| integer(&text))
    });
    match mode {
        Some(None) => {
            let expected = "eui64 (0), stable-privacy (1), default-or-eui64 (2) or default (3)";
            profile.reads_only(GROUP, "addr-gen-mode", expected);
        }
        Some(Some(number)) if !(0..=3).contains(&number) => {
            profile.must_be(GROUP, "addr-gen-mode", "a number from 0 to 3");
        }
        _ => {}
    }
    if let Some(token) = profile.text(GROUP, "token") {
        let host = token.parse::<Ipv6Addr>().ok().map(|address| address.octets());
        let is_token =
            host.is_some_and(|bytes| bytes.iter().take(8).all(|b| *b == 0) && bytes.iter().skip(8).any(|b| *b != 0));
        if mode.is_some_and(|mode| mode != Some(0)) {
            profile.refuse(GROUP, "token", "is set, and addr-gen-mode is not eui64", "set addr-gen-mode to eui64");
        } else if !is_token {
            profile.must_be(GROUP, "token", "the last 64 bits of an address, such as ::1:2");
        }
    }
}
