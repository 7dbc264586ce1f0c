//! Numbers that begin with a zero, which YAML 1.1 reads as octal and YAML 1.2 does not.
//!
//! kubectl, kustomize and the installer of `OpenShift` read YAML 1.1: of `id: 010` they make 8. dayone and nmstate read the digits
//! as they stand, and make 10 of them. What stands in quotes is text to all of them, and becomes a number by its digits.

use serde_yaml::{Mapping, Value};

use crate::members::get;
use vocabulary::report::{DocumentPath, Report};

/// A number of a document that others read otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Octal {
    text: String,
    /// The way to it, from its end.
    way: Vec<OctalStep>,
}

/// One step of the way to a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OctalStep {
    Key(String),
    Index(usize),
}

impl Octal {
    /// The number that a text without quotes and tag is.
    pub(super) fn of(text: &str) -> Option<Self> {
        readings(text)?;
        Some(Self { text: text.to_owned(), way: Vec::new() })
    }

    /// It is at the end of one more step.
    pub(super) fn below(&mut self, step: OctalStep) {
        self.way.push(step);
    }

    /// The same number, if `item` of the list at the end of `keys` leads to it.
    pub(super) fn inside(&self, keys: &[&str], item: usize) -> Option<Self> {
        let mut way = self.way.clone();
        let leads = keys.iter().all(|key| matches!(way.pop(), Some(OctalStep::Key(found)) if found == *key))
            && way.pop() == Some(OctalStep::Index(item));
        leads.then(|| Self { text: self.text.clone(), way })
    }

    /// Where it is in the document at `path`, if it is a number of a network there. Merge keys are no steps.
    fn place(&self, document: &Mapping, path: &DocumentPath) -> Option<DocumentPath> {
        let (mut value, mut path, mut last) = (None, path.clone(), None);
        let mut steps = self.way.iter().rev().peekable();
        while let Some(step) = steps.next() {
            match step {
                OctalStep::Key(key) if key == "<<" => {
                    steps.next_if(|step| matches!(step, OctalStep::Index(_)));
                }
                OctalStep::Key(key) => {
                    let map = value.map_or(Some(document), Value::as_mapping)?;
                    (value, path, last) = (Some(get(map, key)?), path.key(key), Some(key));
                }
                OctalStep::Index(index) => {
                    (value, path) = (Some(value?.as_sequence()?.get(*index)?), path.index(*index));
                }
            }
        }
        let is_there = value.and_then(Value::as_str) == Some(&self.text);
        (is_there && last.is_some_and(|key| NUMBERS.binary_search(&key.as_str()).is_ok())).then_some(path)
    }
}

/// Reports the numbers of networks in the document at `path` that other readers take for others.
pub(super) fn check(document: &Mapping, octals: &[Octal], path: &DocumentPath, report: &mut Report) {
    for octal in octals {
        if let Some(path) = octal.place(document, path)
            && let Some((decimal, old)) = readings(&octal.text)
        {
            let message = format!(
                "is {}, which dayone and nmstate read as {decimal}, and kubectl, kustomize and other readers of YAML \
                 1.1 as {old}; write {decimal} without the zero, or {old} if you mean that",
                octal.text
            );
            report.warning("number-octal", &path, message);
        }
    }
}

/// What dayone makes of a text without quotes and what YAML 1.1 does, where both make numbers of it, and not the same.
fn readings(text: &str) -> Option<(u64, u64)> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    if !digits.starts_with('0') || !digits.bytes().all(|byte| matches!(byte, b'0'..=b'7')) {
        return None;
    }
    let decimal = digits.parse().ok()?;
    let octal = u64::from_str_radix(digits, 8).ok()?;
    (decimal != octal).then_some((decimal, octal))
}

/// The members of networks that are numbers: those that the nmstate crate reads from text as well (`…_or_string` of its
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
