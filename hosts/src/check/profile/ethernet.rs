//! `[ethernet]`.

use super::Profile;

const GROUP: &str = "802-3-ethernet";
/// The flag of Wake-on-LAN for magic packets.
const MAGIC: i128 = 0x40;

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    if profile.entry(GROUP, "s390-subchannels").is_some()
        && !matches!(profile.list(GROUP, "s390-subchannels").len(), 2 | 3)
    {
        profile.must_be(GROUP, "s390-subchannels", "a list of two or three subchannels");
    }
    let wake = profile.number(GROUP, "wake-on-lan").unwrap_or(1);
    if profile.entry(GROUP, "wake-on-lan-password").is_some() && wake & MAGIC == 0 {
        let what = "is set, and wake-on-lan has no magic packets";
        profile.refuse(GROUP, "wake-on-lan-password", what, "remove it, or add 64 to wake-on-lan");
    }
    let speed = profile.number(GROUP, "speed").is_some_and(|speed| speed != 0);
    let duplex = profile.entry(GROUP, "duplex").is_some();
    for (key, is_alone, other) in [("speed", speed && !duplex, "duplex"), ("duplex", duplex && !speed, "speed")] {
        if is_alone {
            profile.dropped(GROUP, key, &format!("NetworkManager accepts it only with {other}"));
        }
    }
}
