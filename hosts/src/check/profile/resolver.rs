//! Names that a profile gives to resolvers and DHCP servers, which NetworkManager leaves out when it activates the profile.

use super::Profile;
use super::values::decimal_within;
use crate::keyfile_format::GroupedKeys;
use crate::nmstate_document::quoted;

const FAMILIES: [&str; 2] = ["ipv4", "ipv6"];

/// Options of `resolv.conf` that have a number. libnm: `_nm_utils_dns_option_descs`.
const WITH_NUMBER: [&str; 3] = ["ndots", "timeout", "attempts"];
/// Options that NetworkManager takes from `[ipv6]` only.
const ONLY_IPV6: [&str; 4] = ["inet6", "ip6-bytestring", "ip6-dotint", "no-ip6-dotint"];

/// The option that a resolver trusts only if all name servers may be trusted.
const TRUST: &str = "trust-ad";

/// Why `trust-ad` has no effect.
pub(crate) const TRUST_LOST: &str = "has trust-ad, which has no effect: NetworkManager sets it only if every family with name servers has it, and the \
     name servers of the other family stand without it; use name servers of one family";

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    for family in FAMILIES {
        for option in profile.list(family, "dns-options") {
            let why = match option.split_once(':') {
                Some((name, number)) if WITH_NUMBER.contains(&name) => {
                    let is_number = decimal_within(number, 0, i128::from(i32::MAX)).is_some();
                    (!is_number).then_some("must have a number behind the colon")
                }
                None if family == "ipv4" && ONLY_IPV6.contains(&option.as_str()) => Some(
                    "is an option that it takes only in the group ipv6; in NMState, write an IPv6 name server first",
                ),
                _ => None,
            };
            if let Some(why) = why {
                let why = format!("NetworkManager leaves {} out, which {why}", quoted(&option));
                profile.dropped(family, "dns-options", &why);
            }
        }
        check_name(profile, family, "dhcp-hostname");
        check_name(profile, family, "dhcp-fqdn");
    }
}

/// Reports a name that NetworkManager does not send to the DHCP server: a line in its log says so.
fn check_name(profile: &mut Profile<'_, '_>, family: &str, key: &str) {
    let Some(name) = profile.text(family, key).filter(|name| !name.is_empty()) else { return };
    let is_sent = match (family, key) {
        ("ipv4", "dhcp-hostname") => is_host_name(&name),
        (_, "dhcp-fqdn") => is_dns_name(&name),
        _ => is_host_name(&name) || is_dns_name(&name),
    };
    if !is_sent {
        let why = format!("{} is not a host name, and NetworkManager sends none to the DHCP server", quoted(&name));
        profile.dropped(family, key, &why);
    }
}

/// `nm_hostname_is_valid`, in which a part between dots may be as long as the whole.
fn is_host_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_edge_plain = !part.is_empty() && !part.starts_with('-') && !part.ends_with('-');
        is_edge_plain && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    name.len() <= 64 && name.split('.').all(is_part)
}

/// systemd's `dns_name_is_valid`, which takes any characters. What it makes of escapes is not looked at.
fn is_dns_name(name: &str) -> bool {
    let parts = name.strip_suffix('.').unwrap_or(name);
    name.contains('\\') || (parts.len() <= 253 && parts.split('.').all(|part| (1..=63).contains(&part.len())))
}

/// What the families of a profile say of `trust-ad`.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    /// The family that has it.
    pub(crate) asked: Option<&'static str>,
    /// Whether a family has name servers and does not have it.
    pub(crate) is_refused: bool,
}

impl Trust {
    pub(crate) fn of(keys: &GroupedKeys<'_>) -> Self {
        let mut trust = Self::default();
        for family in FAMILIES {
            let list = |key: &str| keys.get(family, key).and_then(|entry| entry.list().ok()).unwrap_or_default();
            if list("dns-options").iter().any(|option| option == TRUST) {
                trust.asked = Some(family);
            } else {
                trust.is_refused |= !list("dns").is_empty();
            }
        }
        trust
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_networkmanager_sends() {
        for name in ["a b", "a_b", "-a", "a.", "a..b", "a-", "ü", "a".repeat(65).as_str()] {
            assert!(!is_host_name(name), "{name}");
        }
        assert!(is_host_name("a.b") && is_host_name(&"a".repeat(64)));
        for name in ["a..b", format!("x.{}", "a".repeat(64)).as_str(), "abcdefghi.".repeat(26).as_str()] {
            assert!(!is_dns_name(name), "{name}");
        }
        assert!(["a b.c", "a_b.c", "-a.b", "a.b."].into_iter().all(is_dns_name));
    }
}
