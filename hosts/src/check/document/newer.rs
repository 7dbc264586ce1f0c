//! What documents can ask for that not every release of NetworkManager since 1.30 knows.
//!
//! Sources: the versions of properties in libnm's `GObject` introspection (1.30.6, 1.42.4, 1.52.1, 1.58.1), `NEWS`, and
//! libnm itself, of which the acceptance tests ask three releases what they do with nmstate's profiles.

use serde_yaml::{Mapping, Value};

use crate::check::release::{Effect, NO_RULE, Release, Since};
use crate::members::get;
use crate::nmstate_document::pattern::{Pattern, Searched};
use crate::nmstate_document::{descend, is_true, text};
use vocabulary::report::{DocumentPath, Report};

/// Whether a value, and what stands beside it, is the case.
type Condition = fn(&Mapping, &Value) -> bool;

struct Feature {
    at: Pattern,
    since: Since,
    effect: Effect,
    when: Condition,
}

const fn ignored(at: Pattern, since: Since, when: Condition) -> Feature {
    Feature { at, since, effect: Effect::Ignored, when }
}

const fn refused(at: Pattern, since: Since, when: Condition) -> Feature {
    Feature { at, since, effect: Effect::Refused, when }
}

const ALWAYS: Condition = |_, _| true;
const TRUE: Condition = |_, value| is_true(Some(value));

/// What is not there after all gets no profile.
const LOOPBACK: Condition = |interface, kind| {
    kind.as_str() == Some("loopback") && !matches!(text(interface, "state"), Some("absent" | "ignore"))
};
const ROUTE: Condition = |route, _| text(route, "state") != Some("absent");
/// Without `arp_ip_target`, which `arp_interval` needs where this is not known.
const ONLY_TARGET: Condition = |options, _| !options.contains_key("arp_ip_target");
const NO_AAAA: Effect = Effect::Does("leaves no-aaaa out");
const ONE_OF_TARGETS: Condition = |options, _| options.contains_key("arp_ip_target");

#[rustfmt::skip]
const FEATURES: &[Feature] = &[
    refused(&["interfaces", "*", "type"], Since::new(42), LOOPBACK),
    ignored(&["interfaces", "*", "accept-all-mac-addresses"], Since::new(32), TRUE),
    ignored(&["interfaces", "*", "ipv4", "forwarding"], Since::new(54), ALWAYS),
    ignored(&["interfaces", "*", "ethtool", "fec"], Since::new(52), ALWAYS),
    // Of pause frames, nmstate writes nothing without it.
    ignored(&["interfaces", "*", "ethtool", "pause", "autoneg"], Since::new(32), ALWAYS),
    ignored(&["interfaces", "*", "macsec", "offload"], Since::new(46), ALWAYS),
    refused(&["interfaces", "*", "macsec", "mka-ckn"], Since::carried_back(42, 40, 8),
        |_, name| name.as_str().is_some_and(|name| name.len() < 64)),
    ignored(&["interfaces", "*", "link-aggregation", "ports-config", "*", "priority"],
        Since::carried_back(44, 42, 8), ALWAYS),
    ignored(&["interfaces", "*", "link-aggregation", "ports-config", "*", "queue-id"], Since::new(34), ALWAYS),
    ignored(&["interfaces", "*", "link-aggregation", "options", "lacp_active"], Since::new(44), ALWAYS),
    ignored(&["interfaces", "*", "link-aggregation", "options", "arp_missed_max"], Since::new(44), ALWAYS),
    ignored(&["interfaces", "*", "link-aggregation", "options", "ns_ip6_target"], Since::new(44), ONE_OF_TARGETS),
    refused(&["interfaces", "*", "link-aggregation", "options", "ns_ip6_target"], Since::new(44), ONLY_TARGET),
    ignored(&["interfaces", "*", "link-aggregation", "options", "balance_slb"], Since::new(42), TRUE),
    ignored(&["interfaces", "*", "vlan", "protocol"], Since::new(42), |_, protocol| protocol.as_str() == Some("802.1ad")),
    // nmstate takes no interface for these, and puts them into the profile of `lo`.
    refused(&["routes", "config", "*", "route-type"], Since::new(42), ROUTE),
    ignored(&["routes", "config", "*", "weight"], Since::new(42), ROUTE),
    // 1.30.6 does not know these two and 1.42.4 does; which release between was the first is not known.
    ignored(&["routes", "config", "*", "quickack"], Since::new(42), ROUTE),
    ignored(&["routes", "config", "*", "advmss"], Since::new(42), ROUTE),
    // Not in libnm 1.42.4; the packages of 1.43.6, on the way to 1.44, list it as new.
    Feature { at: &["dns-resolver", "config", "options"], since: Since::new(44), effect: NO_AAAA,
        when: |_, options| options.as_sequence().is_some_and(|all| all.iter().any(|one| one.as_str() == Some("no-aaaa"))) },
    Feature { at: &["route-rules", "config", "*", "action"], since: Since::new(32), effect: NO_RULE, when: ROUTE },
];

/// Reports everything in `document` that the release lacks.
pub(crate) fn check(document: &Searched<'_>, release: Release, path: &DocumentPath, report: &mut Report) {
    for Feature { at, since, effect, when } in FEATURES {
        let Some((key, way)) = at.split_last().filter(|_| release.lacks(*since)) else { continue };
        document.each(way, &mut |steps, beside| {
            let Some(beside) = beside.as_mapping() else { return };
            if get(beside, key).is_some_and(|value| !value.is_null() && when(beside, value)) {
                release.report(*since, *effect, &descend(path, steps).key(key), report);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(yaml: &str, release: Option<&str>) -> Vec<String> {
        let mut report = Report::new();
        let document: Mapping = serde_yaml::from_str(yaml).unwrap();
        let release = Release::of(release.map(|text| text.parse().unwrap()));
        check(&Searched::of(&document), release, &DocumentPath::root(), &mut report);
        report.findings().iter().map(|finding| format!("{} {}", finding.severity, finding.path)).collect()
    }

    #[test]
    fn only_what_the_release_lacks_is_reported() {
        let yaml = "interfaces:\n- {name: eth0, type: ethernet, ipv4: {forwarding: true}, ethtool: {fec: {auto: true}}, \
                    accept-all-mac-addresses: true}\n- {name: b, type: bond, link-aggregation: {ports-config: [{name: eth0, priority: 1, \
                    queue-id: 2}], options: {balance_slb: true, lacp_active: 'off'}}}\n- {name: v, type: vlan, vlan: \
                    {protocol: 802.1ad}}\n- {name: lo, type: loopback}\n";
        let (forwarding, fec) = ("warning interfaces[0].ipv4.forwarding", "warning interfaces[0].ethtool.fec");
        let priority = "warning interfaces[1].link-aggregation.ports-config[0].priority";
        let lacp = "warning interfaces[1].link-aggregation.options.lacp_active";
        assert_eq!(findings(yaml, Some("1.54.0")), Vec::<String>::new());
        assert_eq!(findings(yaml, Some("1.52.1")), [forwarding]);
        assert_eq!(findings(yaml, Some("1.46.2")), [forwarding, fec]);
        assert_eq!(findings(yaml, Some("1.42.4")), [forwarding, fec, priority, lacp]);
        assert_eq!(findings(yaml, None), findings(yaml, Some("1.42.4")));
        let oldest = findings(yaml, Some("1.30.0"));
        assert_eq!(oldest.len(), 9, "{oldest:?}");
        assert!(oldest.contains(&"error interfaces[3].type".to_owned()), "{oldest:?}");
    }

    #[test]
    fn values_that_every_release_knows_are_no_matter() {
        let yaml = "interfaces:\n- {name: v, type: vlan, vlan: {protocol: 802.1q}, accept-all-mac-addresses: false}\n- {name: b, \
                    type: bond, link-aggregation: {options: {balance-slb: false}}}\nroutes:\n  config:\n  - {state: absent, destination: 192.0.2.0/24, weight: 5}\n";
        assert_eq!(findings(yaml, Some("1.30.0")), Vec::<String>::new());
    }

    #[test]
    fn an_option_of_the_resolver_is_newer_than_others() {
        let options = |options: &str| format!("dns-resolver: {{config: {{options: [{options}]}}}}");
        let found = findings(&options("rotate, no-aaaa"), Some("1.42.4"));
        assert_eq!(found, ["warning dns-resolver.config.options"]);
        assert!(findings(&options("rotate, no-aaaa"), Some("1.44.0")).is_empty());
        assert!(findings(&options("rotate"), Some("1.42.4")).is_empty());
    }

    #[test]
    fn a_special_route_is_lost_with_the_profile_of_lo() {
        let yaml = "routes: {config: [{destination: 192.0.2.0/24, route-type: blackhole}]}";
        assert_eq!(findings(yaml, Some("1.40.0")), ["error routes.config[0].route-type"]);
        assert_eq!(findings(yaml, Some("1.42.0")), Vec::<String>::new());
    }

    #[test]
    fn a_target_that_is_not_known_leaves_the_monitor_without_one() {
        let options = |others: &str| {
            format!(
                "interfaces: [{{name: b, type: bond, link-aggregation: {{options: {{ns_ip6_target: 'fe80::1'{others}}}}}}}]"
            )
        };
        assert!(findings(&options(""), Some("1.42.4"))[0].starts_with("error "));
        assert!(findings(&options(", arp_ip_target: 192.0.2.1"), Some("1.42.4"))[0].starts_with("warning "));
        assert!(findings(&options(""), Some("1.44.0")).is_empty());
    }
}
