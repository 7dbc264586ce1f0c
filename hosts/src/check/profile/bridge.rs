//! `[bridge]` and `[bridge-port]`.

use std::collections::BTreeSet;

use super::Profile;
use super::values::decimal_within;

/// Times of the spanning tree: key, least and greatest in seconds. Without a spanning tree they may be 0 as well.
const TIMES: [(&str, i128, i128); 3] = [("forward-delay", 2, 30), ("hello-time", 1, 10), ("max-age", 6, 40)];

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    let stp = profile.flag("bridge", "stp").unwrap_or(true);
    for (key, least, greatest) in TIMES {
        let Some(value) = profile.number("bridge", key) else { continue };
        if !(least..=greatest).contains(&value) && (stp || value != 0) {
            profile.must_be("bridge", key, &format!("a number of seconds from {least} to {greatest}"));
        }
    }
    check_vlans(profile, "bridge");
    check_vlans(profile, "bridge-port");
}

/// `vlans`: `10 pvid untagged, 20-29`.
fn check_vlans(profile: &mut Profile<'_, '_>, group: &str) {
    let Some(vlans) = profile.text(group, "vlans") else { return };
    let mut seen = BTreeSet::new();
    let mut untagged = 0_usize;
    for item in vlans.split(',').filter(|item| !item.trim().is_empty()) {
        let Some((range, is_untagged)) = vlan(item) else {
            let expected = "VLANs from 1 to 4094, separated by commas, such as 10 pvid untagged, 20-29";
            return profile.reads_only(group, "vlans", expected);
        };
        untagged += usize::from(is_untagged);
        if !range.into_iter().all(|id| seen.insert(id)) || untagged > 1 {
            return profile.must_be(group, "vlans", "every VLAN once, and at most one pvid");
        }
    }
}

/// A range of VLANs, and whether it is for untagged frames.
fn vlan(item: &str) -> Option<(std::ops::RangeInclusive<i128>, bool)> {
    let mut words = item.split_ascii_whitespace();
    let (first, last) = words.next().map(|range| range.split_once('-').unwrap_or((range, range)))?;
    let (first, last) = (decimal_within(first, 1, 4094)?, decimal_within(last, 1, 4094)?);
    let words: Vec<&str> = words.collect();
    let known = words.iter().all(|word| matches!(*word, "pvid" | "untagged"));
    let is_untagged = words.contains(&"pvid");
    (known && first <= last && !(is_untagged && first < last)).then_some((first..=last, is_untagged))
}
