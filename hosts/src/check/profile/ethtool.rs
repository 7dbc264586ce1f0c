//! `[ethtool]`.

use super::properties::property;
use super::{Effect, Profile};

const GROUP: &str = "ethtool";

/// Types without hardware of their own, for which the kernel has none of the settings [`OF_HARDWARE`]: NetworkManager 1.42
/// logs that it cannot make them.
const WITHOUT_HARDWARE: [&str; 8] = ["bond", "bridge", "dummy", "macvlan", "veth", "vlan", "vrf", "vxlan"];
const OF_HARDWARE: [&str; 3] = ["coalesce-", "pause-", "ring-"];

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    let Some(group) = profile.group(GROUP) else { return };
    for entry in group.entries().iter().filter(|entry| property(GROUP, entry.key).is_none()) {
        let message = "is not an ethtool option that NetworkManager knows: it ignores the option".to_owned();
        profile.problem(GROUP, Some(entry.key), Effect::Ignored, message);
    }
    for key in ["pause-rx", "pause-tx"] {
        if profile.flag(GROUP, "pause-autoneg") == Some(true) && profile.flag(GROUP, key).is_some() {
            profile.refuse(GROUP, key, "is set, and pause-autoneg is true", "remove one of the two");
        }
    }
}

/// Reports settings that NetworkManager cannot make, of which only its log tells.
pub(super) fn check_activation(profile: &mut Profile<'_, '_>) {
    let kind = profile.kind();
    let Some(group) = profile.group(GROUP).filter(|_| WITHOUT_HARDWARE.contains(&&*kind)) else { return };
    let why = format!(
        "the kernel has no such setting for an interface of type {kind}; write it at the NICs below it, if it has any"
    );
    let is_of_hardware = |key: &str| OF_HARDWARE.iter().any(|prefix| key.starts_with(prefix));
    for entry in group.entries().iter().filter(|entry| is_of_hardware(entry.key)) {
        profile.dropped(GROUP, entry.key, &why);
    }
}
