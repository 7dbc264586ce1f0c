//! Numbers with a leading zero, which are octal in YAML 1.1 and decimal in YAML 1.2.
//!
//! kubectl, kustomize and the installer of `OpenShift` read YAML 1.1, and read `id: 010` as 8. dayone and nmstate read it as 10.
//! In quotes, it is text for all of them, and later becomes the decimal number.

use serde_yaml::{Mapping, Value};

use super::ambiguous::{Ambiguous, Step};
use crate::members::get;
use vocabulary::report::{DocumentPath, Report};

/// Returns the path of a number in the document at `path`, if a number of a network is there.
fn place(octal: &Ambiguous, document: &Mapping, path: &DocumentPath) -> Option<DocumentPath> {
    let (mut value, mut path, mut last) = (None, path.clone(), None);
    for step in octal.way() {
        match step {
            Step::Key(key) => {
                let map = value.map_or(Some(document), Value::as_mapping)?;
                (value, path, last) = (Some(get(map, key)?), path.key(key), Some(key));
            }
            Step::Index(index) => {
                (value, path) = (Some(value?.as_sequence()?.get(*index)?), path.index(*index));
            }
        }
    }
    let exists = value.and_then(Value::as_str) == Some(octal.text());
    (exists && last.is_some_and(|key| NUMBERS.binary_search(&key.as_str()).is_ok())).then_some(path)
}

/// Whether a scalar without quotes and tag is such a number.
pub(super) fn is_octal(text: &str) -> bool {
    readings(text).is_some()
}

/// Warns of the numbers of networks in the document at `path` that other readers read differently.
pub(in crate::input) fn check(document: &Mapping, ambiguous: &[Ambiguous], path: &DocumentPath, report: &mut Report) {
    for scalar in ambiguous {
        if let Some((decimal, old)) = readings(scalar.text())
            && let Some(path) = place(scalar, document, path)
        {
            let message = format!(
                "is {}, which dayone and nmstate read as {decimal}, and kubectl, kustomize and other readers of YAML \
                 1.1 as {old}; write {decimal} without the zero, or {old} if you mean that",
                scalar.text()
            );
            report.warning("number-octal", &path, message);
        }
    }
}

/// Returns the decimal and the octal reading of a scalar without quotes, if they differ.
fn readings(text: &str) -> Option<(u64, u64)> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    if !digits.starts_with('0') || !digits.bytes().all(|byte| matches!(byte, b'0'..=b'7')) {
        return None;
    }
    let decimal = digits.parse().ok()?;
    let octal = u64::from_str_radix(digits, 8).ok()?;
    (decimal != octal).then_some((decimal, octal))
}

/// The members of networks that are numbers: those that the nmstate crate also reads from text (`…_or_string` in its
/// `deserializer.rs`), and those of `network_data.json`.
const NUMBERS: [&str; 103] = [
    "ad_actor_sys_prio",
    "ad_user_port_key",
    "advmss",
    "arp_interval",
    "arp_missed_max",
    "auto-route-metric",
    "auto-route-table-id",
    "bond_miimon",
    "cwnd",
    "destination-port",
    "downdelay",
    "forward-delay",
    "from",
    "fwmark",
    "fwmask",
    "gc-timer",
    "group-forward-mask",
    "group-fwd-mask",
    "hash-elasticity",
    "hash-max",
    "hello-time",
    "hello-timer",
    "id",
    "initcwnd",
    "initrwnd",
    "lp_interval",
    "mac-ageing-time",
    "max",
    "max-age",
    "max-mtu",
    "max-tx-rate",
    "max-vfs",
    "metric",
    "miimon",
    "min",
    "min-mtu",
    "min-tx-rate",
    "min_links",
    "mtu",
    "multicast-last-member-count",
    "multicast-last-member-interval",
    "multicast-membership-interval",
    "multicast-querier-interval",
    "multicast-query-interval",
    "multicast-query-response-interval",
    "multicast-startup-query-count",
    "multicast-startup-query-interval",
    "num_grat_arp",
    "num_unsol_na",
    "packets_per_slave",
    "path-cost",
    "pkey",
    "pkt-rate-high",
    "pkt-rate-low",
    "prefix",
    "prefix-length",
    "prefix-route-metric",
    "priority",
    "qos",
    "queue-id",
    "resend_igmp",
    "route-table",
    "route-table-id",
    "rx",
    "rx-frames",
    "rx-frames-high",
    "rx-frames-irq",
    "rx-frames-low",
    "rx-jumbo",
    "rx-jumbo-max",
    "rx-max",
    "rx-mini",
    "rx-mini-max",
    "rx-usecs",
    "rx-usecs-high",
    "rx-usecs-irq",
    "rx-usecs-low",
    "sample-interval",
    "speed",
    "stats-block-usecs",
    "stp-path-cost",
    "stp-priority",
    "suppress-prefix-length",
    "table-id",
    "tag",
    "to",
    "total-vfs",
    "tx",
    "tx-frames",
    "tx-frames-high",
    "tx-frames-irq",
    "tx-frames-low",
    "tx-max",
    "tx-usecs",
    "tx-usecs-high",
    "tx-usecs-irq",
    "tx-usecs-low",
    "updelay",
    "vlan",
    "vlan-default-pvid",
    "vlan-id",
    "vlan_id",
    "weight",
];

#[cfg(test)]
mod tests;
