//! `[ethtool]`.

use super::properties::property;
use super::{Effect, Profile};

const GROUP: &str = "ethtool";

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
