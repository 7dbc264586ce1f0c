//! `[sriov]`: the virtual functions of a NIC.

use super::Effect;
use super::Profile;
use super::values::{decimal_within, hardware_address, is_truth_word};
use crate::nmstate_document::quoted;

const GROUP: &str = "sriov";
const MAX_UINT32: i128 = u32::MAX as i128;

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    let Some(group) = profile.group(GROUP) else { return };
    let total = profile.number(GROUP, "total-vfs").unwrap_or(0);
    for entry in group.entries() {
        let Some(index) = entry.key.strip_prefix("vf.") else { continue };
        let Some(index) = decimal_within(index, 0, MAX_UINT32).filter(|_| index.bytes().all(|b| b.is_ascii_digit()))
        else {
            let message = "is not a function: NetworkManager ignores it; write vf. and a number".to_owned();
            profile.problem(GROUP, Some(entry.key), Effect::Ignored, message);
            continue;
        };
        let Some(attributes) = profile.text(GROUP, entry.key) else {
            profile.reads_only(GROUP, entry.key, "attributes separated by blanks");
            continue;
        };
        match problem(&attributes) {
            Some(Wrong::Refused(what)) => profile.refuse(GROUP, entry.key, &what, "correct it"),
            Some(Wrong::Ignored(what)) => {
                profile.problem(
                    GROUP,
                    Some(entry.key),
                    Effect::Ignored,
                    format!("{what}: NetworkManager ignores the function"),
                );
            }
            None if index >= total => {
                let what = format!("is a function after the last one: total-vfs is {total}, and the first is 0");
                profile.refuse(GROUP, entry.key, &what, "raise total-vfs, or count from 0");
            }
            None => {}
        }
    }
}

enum Wrong {
    Refused(String),
    Ignored(String),
}

fn problem(attributes: &str) -> Option<Wrong> {
    let mut rates = (None, None);
    for attribute in attributes.split(' ').filter(|attribute| !attribute.is_empty()) {
        let ignored = |what: &str| Some(Wrong::Ignored(format!("has {}, {what}", quoted(attribute))));
        let (name, value) = attribute.split_once('=').map_or((attribute, None), |(name, value)| (name, Some(value)));
        match (name, value) {
            ("mac", Some(mac)) if hardware_address(mac, 6).is_none() => {
                return Some(Wrong::Refused(format!("has {}, which is not a MAC address", quoted(mac))));
            }
            ("min-tx-rate" | "max-tx-rate", Some(rate)) => {
                let Some(rate) = decimal_within(rate, 0, MAX_UINT32) else { return ignored("which is not a number") };
                *(if name == "min-tx-rate" { &mut rates.0 } else { &mut rates.1 }) = Some(rate);
            }
            ("spoof-check" | "trust", Some(value)) => {
                if !is_truth_word(value) {
                    return ignored("which is neither true nor false");
                }
            }
            ("vlans", Some(vlans)) => {
                if !vlans.split(';').all(is_vlan) {
                    return ignored(
                        "which is not a VLAN from 0 to 4095 with a priority from 0 to 4294967295 and a protocol",
                    );
                }
            }
            ("mac", Some(_)) => {}
            ("mac" | "min-tx-rate" | "max-tx-rate" | "spoof-check" | "trust" | "vlans", None) => {
                return ignored("which has no value");
            }
            _ => return ignored("which is not an attribute of a function"),
        }
    }
    if let (Some(least), Some(greatest)) = rates
        && least > greatest
    {
        return Some(Wrong::Refused(format!(
            "has the min-tx-rate {least}, which is more than max-tx-rate ({greatest})"
        )));
    }
    None
}

/// `ID`, `ID.QOS` or `ID.QOS.PROTOCOL`.
fn is_vlan(vlan: &str) -> bool {
    let parts: Vec<&str> = vlan.split('.').collect();
    match parts.as_slice() {
        [id, rest @ ..] if rest.len() <= 2 => {
            decimal_within(id, 0, 4095).is_some()
                && rest.first().is_none_or(|qos| qos.is_empty() || decimal_within(qos, 0, MAX_UINT32).is_some())
                && rest.get(1).is_none_or(|protocol| matches!(*protocol, "q" | "ad"))
        }
        _ => false,
    }
}
