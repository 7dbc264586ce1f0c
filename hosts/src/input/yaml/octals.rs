//! Numbers with a leading zero, which are octal in YAML 1.1 and decimal in YAML 1.2.
//!
//! kubectl, kustomize and the installer of `OpenShift` read YAML 1.1, and read `id: 010` as 8. dayone and nmstate read it as 10.
//! In quotes, it is text for all of them, and later becomes the decimal number. Ansible reads YAML 1.1, too.

use serde_yaml::Mapping;

use super::InvalidValue;
use super::ambiguous::Ambiguous;
use vocabulary::report::{DocumentPath, Report};

/// How many numbers of a document get a warning. A document of a few megabytes may have hundreds of thousands.
const MAX_WARNINGS: usize = 100;

/// Whether a scalar without quotes and tag is such a number.
pub(super) fn is_octal(text: &str) -> bool {
    readings(text).is_some()
}

/// Warns of the numbers of networks in the document at `path` that other readers read differently.
pub(in crate::input) fn check(document: &Mapping, ambiguous: &[Ambiguous], path: &DocumentPath, report: &mut Report) {
    let mut left = MAX_WARNINGS;
    Ambiguous::each(document, ambiguous, path, &mut |place| {
        if let Ambiguous::Scalar(text) = place.what
            && NUMBERS.binary_search(&place.key).is_ok()
            && let Some((decimal, old)) = readings(text)
            && left > 0
        {
            left -= 1;
            let message = format!(
                "is {text}, which dayone and nmstate read as {decimal}, and kubectl, kustomize and other readers of YAML \
                 1.1 as {old}; write {decimal} without the zero, or {old} if you mean that{}",
                if left > 0 { "" } else { "; further such numbers of the document are not listed" }
            );
            report.warning("number-octal", place.path, message);
        }
    });
}

/// Makes such numbers unusable in an inventory, or in a file with its variables: Ansible reads YAML 1.1. `within` leads to the inventory.
pub(in crate::input) fn mark_variables(document: &mut Mapping, ambiguous: &[Ambiguous], within: &[&str]) {
    Ambiguous::change(document, ambiguous, &mut |value, keys, text| {
        if is_octal(text) && keys.len() > within.len() && keys.starts_with(within) {
            // Any number of zeros may be in front.
            let digits = text.trim_start_matches(['+', '0']);
            *value = InvalidValue::Octal(format!("0{digits}")).mark();
        }
    });
}

/// Returns the decimal and the octal reading of a scalar without quotes, if they differ.
pub(super) fn readings(text: &str) -> Option<(u64, u64)> {
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
