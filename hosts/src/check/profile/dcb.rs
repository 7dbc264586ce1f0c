//! `[dcb]`: data center bridging.

use super::Profile;
use super::values::integer;

/// Lists with a number for each of the eight priorities: the key, that of its flags, the greatest number, another one that is
/// allowed, and the sum that there must be.
const LISTS: [(&str, &str, i128, i128, Option<i128>); 6] = [
    ("priority-flow-control", "priority-flow-control-flags", 1, 0, None),
    ("priority-group-id", "priority-group-flags", 7, 15, None),
    ("priority-group-bandwidth", "priority-group-flags", 100, 0, Some(100)),
    ("priority-bandwidth", "priority-group-flags", 100, 0, None),
    ("priority-strict-bandwidth", "priority-group-flags", 1, 0, None),
    ("priority-traffic-class", "priority-group-flags", 7, 0, None),
];

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    if !profile.has("dcb") {
        return;
    }
    let is_on = |profile: &Profile<'_, '_>, flags: &str| profile.number("dcb", flags).unwrap_or(0) & 1 != 0;
    for (key, flags) in [
        ("app-fcoe-priority", "app-fcoe-flags"),
        ("app-iscsi-priority", "app-iscsi-flags"),
        ("app-fip-priority", "app-fip-flags"),
    ] {
        if profile.number("dcb", key).is_some_and(|priority| priority >= 0) && !is_on(profile, flags) {
            profile.refuse("dcb", key, &format!("is set, and {flags} does not enable it"), "add 1 to the flags");
        }
    }
    for (key, flags, greatest, other, sum) in LISTS {
        let is_on = is_on(profile, flags);
        let Some(entry) = profile.entry("dcb", key) else {
            if sum.is_some() && is_on {
                profile.refuse("dcb", key, "is missing, and the sum must be 100", "add it");
            }
            continue;
        };
        let items = entry.raw().trim_end().trim_end_matches(';').split(';');
        let numbers: Option<Vec<i128>> = items.map(integer).collect();
        let Some(numbers) = numbers.filter(|numbers| numbers.len() == 8) else {
            profile.reads_only("dcb", key, "a list of eight numbers");
            continue;
        };
        if !is_on && numbers.iter().any(|number| *number != 0) {
            profile.refuse("dcb", key, &format!("is set, and {flags} does not enable it"), "add 1 to the flags");
        } else if numbers.iter().any(|number| *number > greatest && *number != other) {
            profile.must_be("dcb", key, &format!("a list of eight numbers up to {greatest}"));
        } else if is_on && sum.is_some_and(|sum| numbers.iter().sum::<i128>() != sum) {
            profile.must_be("dcb", key, "a list of eight numbers of which the sum is 100");
        }
    }
}
