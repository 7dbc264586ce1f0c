//! Settings of profiles that not every release of NetworkManager since 1.30 knows.
//!
//! Sources: the versions of properties in libnm's `GObject` introspection (1.30.6, 1.42.4, 1.52.1, 1.58.1), `NEWS`, and
//! libnm itself, of which the acceptance tests ask three releases about every line here that they can judge. What is Open
//! vSwitch's alone is refused anyway.

use crate::check::profile::groups;
use crate::check::release::{Effect, NO_RULE, Release, Since};
use crate::keyfile_format::{Entry, Group, GroupedKeys};
use vocabulary::report::{DocumentPath, Report};

/// Types of connections, whose own groups came with them.
const TYPES: &[(&str, Since)] =
    &[("loopback", Since::new(42)), ("hsr", Since::new(46)), ("ipvlan", Since::new(52)), ("geneve", Since::new(58))];

/// Groups that are no types.
const GROUPS: &[(&str, Since)] = &[
    ("bond-port", Since::new(34)),
    ("ovs-other-config", Since::new(42)),
    ("link", Since::new(44)),
    ("prefix-delegation", Since::new(54)),
];

/// Whether a value, in its group, is the case.
type Condition = fn(&Group<'_>, &str) -> bool;

/// A key that is new, or an old one whose value is.
struct Key {
    /// NetworkManager's own name of it.
    group: &'static str,
    /// `#` stands for digits, or none.
    name: &'static str,
    since: Since,
    effect: Effect,
    when: Condition,
}

const fn new(group: &'static str, key: &'static str, since: Since) -> Key {
    Key { group, name: key, since, effect: Effect::Ignored, when: |_, _| true }
}

impl Key {
    const fn when(self, when: Condition) -> Self {
        Self { when, ..self }
    }

    const fn refused(self) -> Self {
        Self { effect: Effect::Refused, ..self }
    }

    const fn does(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }
}

const NO_PORT: Effect = Effect::Does("ignores it, so the interface is not a port");
const STABLE_PRIVACY: Effect = Effect::Does("uses stable-privacy instead");
const ORDINARY_ROUTE: Effect = Effect::Does("ignores it and makes an ordinary route");
const NO_AAAA: Effect = Effect::Does("leaves no-aaaa out");
const NO_SERVER: Effect = Effect::Does("leaves the server out");

const ETHERNET: &str = "802-3-ethernet";
const WIFI: &str = "802-11-wireless";

#[rustfmt::skip]
const KEYS: &[Key] = &[
    new("connection", "dns-over-tls", Since::new(34)),
    new("connection", "mptcp-flags", Since::new(40)),
    new("connection", "wait-activation-delay", Since::new(40)),
    // New names of old keys: with both, nothing is lost; half of a pair by its old name is half a pair.
    new("connection", "autoconnect-ports", Since::new(46)).when(|group, _| !has(group, "autoconnect-slaves")),
    new("connection", "controller", Since::new(46)).does(NO_PORT)
        .when(|group, _| !has(group, "master") && !has(group, "slave-type")),
    new("connection", "controller", Since::new(46)).refused()
        .when(|group, _| !has(group, "master") && has(group, "slave-type")),
    new("connection", "port-type", Since::new(46)).does(NO_PORT)
        .when(|group, _| !has(group, "slave-type") && !has(group, "master")),
    new("connection", "port-type", Since::new(46)).refused()
        .when(|group, _| !has(group, "slave-type") && has(group, "master")),
    new("connection", "down-on-poweroff", Since::new(48)),
    new("connection", "ip-ping-addresses", Since::new(52)),
    new("connection", "ip-ping-addresses-require-all", Since::new(52)),
    new("connection", "ip-ping-timeout", Since::new(52)),
    new("connection", "dnssec", Since::new(56)),
    new("ipv4", "link-local", Since::new(40)),
    new("ipv4", "link-local", Since::new(52)).refused().when(|_, value| value == "4"),
    new("ipv4", "dhcp-ipv6-only-preferred", Since::new(52)),
    new("ipv4", "forwarding", Since::new(54)),
    new("ipv4", "clat", Since::new(58)),
    new("ipv6", "mtu", Since::new(40)),
    new("ipv6", "addr-gen-mode", Since::new(40)).does(STABLE_PRIVACY).when(|_, value| value.starts_with("default")),
    new("ipv6", "addr-gen-mode", Since::new(40)).refused().when(|_, value| matches!(value, "2" | "3")),
    new("ipv6", "dhcp-pd-hint", Since::new(44)),
    new("ipv6", "temp-preferred-lifetime", Since::new(48)),
    new("ipv6", "temp-valid-lifetime", Since::new(48)),
    new("ipv4|ipv6", "required-timeout", Since::carried_back(34, 32, 4)),
    new("ipv4|ipv6", "auto-route-ext-gw", Since::new(42)),
    new("ipv4|ipv6", "replace-local-rule", Since::carried_back(44, 42, 2)),
    new("ipv4|ipv6", "dhcp-iaid", Since::new(42)).refused().when(|_, value| !is_old_iaid(value)),
    new("ipv4", "dhcp-dscp", Since::new(46)),
    new("ipv4|ipv6", "dhcp-send-release", Since::new(48)),
    new("ipv4|ipv6", "dhcp-send-hostname-v2", Since::new(52)),
    new("ipv4|ipv6", "routed-dns", Since::new(52)),
    new("ipv4", "shared-dhcp-lease-time", Since::new(52)),
    new("ipv4", "shared-dhcp-range", Since::new(52)),
    new("ipv4|ipv6", "dns#", Since::new(42)).does(NO_SERVER).when(|_, value| value.contains('#')),
    new("ipv4|ipv6", "dns#", Since::new(52)).does(NO_SERVER).when(|_, value| value.contains("://")),
    new("ipv4|ipv6", "dns-options", Since::new(44)).does(NO_AAAA)
        .when(|_, value| value.split([';', ',']).any(|option| option.trim() == "no-aaaa")),
    new("ipv4|ipv6", "route#_options", Since::new(36)).does(ORDINARY_ROUTE).when(|_, value|
        matches!(route_option(value, "type"), Some("blackhole" | "prohibit" | "unreachable"))),
    new("ipv4|ipv6", "route#_options", Since::new(38)).does(ORDINARY_ROUTE)
        .when(|_, value| route_option(value, "type") == Some("throw")),
    // Weights of IPv6 routes have no effect in any release.
    new("ipv4", "route#_options", Since::new(42)).does(NOT_ALL_OPTIONS)
        .when(|_, value| route_option(value, "weight").is_some()),
    // 1.30.6 does not know these four and 1.42.4 does; which release between was the first is not known.
    new("ipv4|ipv6", "route#_options", Since::new(42)).does(NOT_ALL_OPTIONS).when(|_, value|
        ["quickack", "advmss", "rto_min", "lock-advmss"].into_iter().any(|name| route_option(value, name).is_some())),
    new("ipv4|ipv6", "routing-rule#", Since::new(32)).does(NO_RULE)
        .when(|_, value| value.split_whitespace().any(|word| matches!(word, "type" | "uidrange"))),
    new(ETHERNET, "accept-all-mac-addresses", Since::new(32)),
    new(ETHERNET, "mac-address-denylist", Since::new(48)).when(|group, _| !has(group, "mac-address-blacklist")),
    new(WIFI, "mac-address-denylist", Since::new(48)).when(|group, _| !has(group, "mac-address-blacklist")),
    new(WIFI, "cloned-mac-address", Since::new(46)).when(|_, value| value == "stable-ssid"),
    new(WIFI, "channel-width", Since::new(50)),
    new(WIFI, "band", Since::new(58)).refused().when(|_, value| value == "6GHz"),
    new("ethtool", "pause-autoneg", Since::new(32)),
    new("ethtool", "pause-rx", Since::new(32)),
    new("ethtool", "pause-tx", Since::new(32)),
    new("ethtool", "channels-combined", Since::new(46)),
    new("ethtool", "channels-other", Since::new(46)),
    new("ethtool", "channels-rx", Since::new(46)),
    new("ethtool", "channels-tx", Since::new(46)),
    new("ethtool", "eee-enabled", Since::new(46)),
    new("ethtool", "fec-mode", Since::new(52)),
    new("bond", "balance-slb", Since::new(42)),
    new("bond", "arp_missed_max", Since::new(44)),
    new("bond", "lacp_active", Since::new(44)),
    // arp_interval needs a target that is known.
    new("bond", "ns_ip6_target", Since::new(44)).when(|group, _| has(group, "arp_ip_target")),
    new("bond", "ns_ip6_target", Since::new(44)).refused().when(|group, _| !has(group, "arp_ip_target")),
    new("bond-port", "queue-id", Since::new(34)),
    new("bond-port", "prio", Since::carried_back(44, 42, 8)),
    new("vlan", "protocol", Since::new(42)).when(|_, value| value == "802.1ad"),
    new("ip-tunnel", "fwmark", Since::new(42)),
    new("macsec", "mka-ckn", Since::carried_back(42, 40, 8)).refused().when(|_, value| value.len() < 64),
    new("macsec", "offload", Since::new(46)),
    new("hsr", "interlink", Since::new(56)),
    new("hsr", "protocol-version", Since::new(56)),
    new("sriov", "eswitch-encap-mode", Since::new(46)),
    new("sriov", "eswitch-inline-mode", Since::new(46)),
    new("sriov", "eswitch-mode", Since::new(46)),
    new("sriov", "preserve-on-down", Since::new(54)),
    new("802-1x", "phase1-auth-flags", Since::new(42)).refused()
        .when(|_, value| integer(value).is_some_and(|flags| flags & !0b111 != 0)),
    new("802-1x", "openssl-ciphers", Since::new(48)),
    new("generic", "device-handler", Since::new(46)),
    new("gsm", "initial-eps-bearer-apn", Since::new(44)),
    new("gsm", "initial-eps-bearer-configure", Since::new(44)),
    new("gsm", "initial-eps-bearer-noauth", Since::new(52)),
    new("gsm", "initial-eps-bearer-password", Since::new(52)),
    new("gsm", "initial-eps-bearer-password-flags", Since::new(52)),
    new("gsm", "initial-eps-bearer-refuse-chap", Since::new(52)),
    new("gsm", "initial-eps-bearer-refuse-eap", Since::new(52)),
    new("gsm", "initial-eps-bearer-refuse-mschap", Since::new(52)),
    new("gsm", "initial-eps-bearer-refuse-mschapv2", Since::new(52)),
    new("gsm", "initial-eps-bearer-refuse-pap", Since::new(52)),
    new("gsm", "initial-eps-bearer-username", Since::new(52)),
    new("gsm", "device-uid", Since::new(56)),
];

const NOT_ALL_OPTIONS: Effect = Effect::Does("ignores some of these options");

fn has(group: &Group<'_>, key: &str) -> bool {
    group.get(key).is_some_and(|entry| !entry.raw().trim_end().is_empty())
}

/// Whether 1.30 takes the number of an identity association: a word, or a number without leading zeros. 1.42 takes bytes as well;
/// which release between was the first is not known.
fn is_old_iaid(value: &str) -> bool {
    matches!(value, "mac" | "perm-mac" | "ifname" | "stable")
        || (value.bytes().all(|b| b.is_ascii_digit()) && (value == "0" || !value.starts_with('0')))
}

/// An option of a route: `name=value`, between commas.
fn route_option<'a>(options: &'a str, wanted: &str) -> Option<&'a str> {
    options.split(',').find_map(|option| option.trim().split_once('=').filter(|(name, _)| *name == wanted)).map(|o| o.1)
}

fn integer(value: &str) -> Option<u32> {
    match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    }
}

/// Whether the key is one of those that came after 1.30.
pub(super) fn is_known_key(group: &str, key: &str) -> bool {
    let group = groups::canonical(group);
    KEYS.iter().any(|row| row.is(group, key))
}

/// Reports everything in the profile at `path` that the release lacks.
pub(crate) fn check(keys: &GroupedKeys<'_>, release: Release, path: &DocumentPath, report: &mut Report) {
    for group in keys.groups() {
        let name = groups::canonical(group.name);
        let newer = newer_keys(name, group, release);
        let of = |known: &[(&str, Since)]| known.iter().find(|(known, _)| *known == name).map(|(_, since)| *since);
        // A key that came later than its type or group needs the later release.
        let with_keys = |since: Since| newer.iter().map(|(_, since, _)| *since).chain([since]).max().unwrap_or(since);
        if let Some(since) = of(TYPES).filter(|since| release.lacks(*since)) {
            if kind(keys).is_none_or(|kind| kind == name) {
                let at = path.key("connection").key("type");
                let at = if keys.get("connection", "type").is_some() { at } else { path.key(group.name) };
                release.report(with_keys(since), Effect::Refused, &at, report);
            } else {
                release.report(with_keys(since), ALL_KEYS, &path.key(group.name), report);
            }
        } else if let Some(since) = of(GROUPS).filter(|since| release.lacks(*since)) {
            release.report(with_keys(since), ALL_KEYS, &path.key(group.name), report);
        } else {
            for (entry, since, effect) in newer {
                release.report(since, effect, &path.key(group.name).key(entry.key), report);
            }
        }
    }
    // A type by name alone; its group may be left out.
    if let Some(kind) = kind(keys)
        && keys.group(kind).is_none()
        && let Some((_, since)) = TYPES.iter().find(|(name, since)| *name == kind && release.lacks(*since))
    {
        release.report(*since, Effect::Refused, &path.key("connection").key("type"), report);
    }
}

const ALL_KEYS: Effect = Effect::Does("ignores it with all its keys");

/// The type that the profile says.
fn kind<'a>(keys: &GroupedKeys<'a>) -> Option<&'a str> {
    keys.get("connection", "type").map(|entry| groups::canonical(entry.raw().trim_end()))
}

/// The keys of a group that the release lacks: since when they are there, of all that is new about each, and what the
/// release does with what it lacks first.
fn newer_keys<'g, 'a>(name: &str, group: &'g Group<'a>, release: Release) -> Vec<(&'g Entry<'a>, Since, Effect)> {
    let mut newer = Vec::new();
    for entry in group.entries() {
        // The last entry with a key counts.
        if group.get(entry.key).is_some_and(|last| last.line != entry.line) {
            continue;
        }
        let value = entry.raw().trim_end();
        let lacking =
            KEYS.iter().filter(|key| key.is(name, entry.key) && release.lacks(key.since) && (key.when)(group, value));
        let (first, last) = lacking.fold((None, None), |(first, last): (Option<&Key>, Option<Since>), key| {
            let earlier = first.filter(|first| first.since <= key.since).unwrap_or(key);
            (Some(earlier), last.max(Some(key.since)))
        });
        if let (Some(first), Some(since)) = (first, last) {
            newer.push((entry, since, first.effect));
        }
    }
    newer
}

impl Key {
    fn is(&self, group: &str, key: &str) -> bool {
        self.group.split('|').any(|name| name == group)
            && match self.name.split_once('#') {
                None => self.name == key,
                Some((before, behind)) => key
                    .strip_prefix(before)
                    .and_then(|rest| rest.strip_suffix(behind))
                    .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())),
            }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::network::NetworkManagerVersion;

    fn findings(content: &str, release: Option<&str>) -> Vec<String> {
        let release = release.map(|text| text.parse::<NetworkManagerVersion>().unwrap());
        let mut report = Report::new();
        let keys = GroupedKeys::parse(content).unwrap();
        check(&keys, Release::of(release), &DocumentPath::document("a"), &mut report);
        report.findings().iter().map(|finding| format!("{}: {finding}", finding.severity)).collect()
    }

    #[test]
    fn an_option_of_the_resolver_may_be_newer_than_the_release() {
        let profile =
            |options: &str| format!("[connection]\nid=a\ntype=ethernet\n[ipv6]\nmethod=auto\ndns-options={options}\n");
        assert!(findings(&profile("edns0;no-aaaa;"), Some("1.44.0")).is_empty());
        assert!(findings(&profile("edns0;"), Some("1.42.4")).is_empty());
        let found = findings(&profile("edns0;no-aaaa;"), Some("1.42.4"));
        assert!(found.len() == 1 && found[0].contains("ipv6.dns-options") && found[0].contains("1.44"), "{found:?}");
    }

    /// The acceptance tests show these profiles to libnm: what is in no profile is not tried.
    #[test]
    fn every_line_of_the_tables_is_in_a_profile_of_the_fixtures() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/keyfiles");
        let texts: Vec<String> =
            fs::read_dir(directory).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
        let profiles: Vec<_> = texts.iter().map(|text| GroupedKeys::parse(text).unwrap()).collect();
        let groups = || profiles.iter().flat_map(GroupedKeys::groups);
        // Of options of the resolver, libnm keeps those that it does not know. NetworkManager itself leaves them out.
        for row in KEYS.iter().filter(|row| row.name != "dns-options") {
            let is_met = |group: &Group<'_>| {
                let name = groups::canonical(group.name);
                group.entries().iter().any(|entry| row.is(name, entry.key) && (row.when)(group, entry.raw()))
            };
            assert!(groups().any(is_met), "{} {}", row.group, row.name);
        }
        for (name, _) in TYPES.iter().chain(GROUPS) {
            assert!(groups().any(|group| group.name == *name), "{name}");
        }
    }

    #[test]
    fn what_is_new_twice_over_needs_the_later_release() {
        let fallback = "[ipv4]\nlink-local=4\n";
        let said = |has: &str| format!("a: ipv4.link-local needs NetworkManager 1.52 or later: the host has {has}");
        assert_eq!(findings(fallback, Some("1.30.6")), [format!("warning: {}, which ignores it", said("1.30.6"))]);
        assert_eq!(
            findings(fallback, Some("1.42.4")),
            [format!("error: {}, which refuses the whole profile", said("1.42.4"))]
        );
        assert!(findings(fallback, Some("1.52.0")).is_empty());
        assert_eq!(
            findings("[bond-port]\nprio=1\nqueue-id=2\n", Some("1.32.0")),
            [
                "warning: a: bond-port needs NetworkManager 1.44 or later: the host has 1.32.0, which ignores it with all its \
              keys"
            ]
        );
        assert_eq!(findings("[bond-port]\nprio=1\nqueue-id=2\n", Some("1.42.8")), Vec::<String>::new());
    }

    #[test]
    fn types_are_said_by_name_or_by_group() {
        let refused = "needs NetworkManager 1.46 or later: the host has 1.44.0, which refuses the whole profile";
        for (content, place) in [
            ("[connection]\ntype=hsr\n", "connection.type"),
            ("[connection]\ntype=hsr\n[hsr]\nport1=a\n", "connection.type"),
            ("[connection]\nid=a\n[hsr]\nport1=a\n", "hsr"),
        ] {
            assert_eq!(findings(content, Some("1.44")), [format!("error: a: {place} {refused}")], "{content}");
            assert!(findings(content, Some("1.46")).is_empty(), "{content}");
        }
        // Nothing says that the host has it.
        assert_eq!(
            findings("[connection]\ntype=hsr\n[hsr]\ninterlink=a\n", None),
            [
                "warning: a: connection.type needs NetworkManager 1.56 or later: 1.42, which dayone assumes, refuses the whole \
              profile"
            ]
        );
        let beside = findings("[connection]\ntype=ethernet\n[hsr]\nport1=a\n", Some("1.44"));
        assert!(beside[0].starts_with("warning: a: hsr needs"), "{beside:?}");
    }

    #[test]
    fn old_names_beside_new_ones_lose_nothing() {
        let port = |keys: &str| findings(&format!("[connection]\ntype=ethernet\n{keys}"), Some("1.42.4"));
        assert!(port("master=b\nslave-type=bond\ncontroller=b\nport-type=bond\n").is_empty());
        assert_eq!(port("controller=b\nport-type=bond\n").len(), 2);
        assert!(port("controller=b\nslave-type=bond\n")[0].starts_with("error: "));
        assert!(port("master=b\nport-type=bond\n")[0].starts_with("error: "));
        assert_eq!(port("autoconnect-slaves=1\nautoconnect-ports=1\n").len(), 0);
    }

    #[test]
    fn values_that_are_overridden_do_not_count() {
        assert!(findings("[vlan]\nprotocol=802.1ad\nprotocol=802.1Q\n", Some("1.30.0")).is_empty());
        assert_eq!(findings("[vlan]\nprotocol=802.1Q\nprotocol=802.1ad\n", Some("1.30.0")).len(), 1);
    }
}
