//! `[ethernet]`.

use super::values::hardware_address;
use super::{Effect, Profile};

const GROUP: &str = "802-3-ethernet";
/// Flags of Wake-on-LAN that stand for themselves alone: the default of NetworkManager, and what the NIC has.
const EXCLUSIVE: i128 = 0x8001;
const MAGIC: i128 = 0x40;

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    for key in ["mac-address-blacklist", "mac-address-denylist"] {
        if profile.list(GROUP, key).iter().any(|mac| hardware_address(mac, 6).is_none()) {
            profile.must_be(GROUP, key, Effect::Refused, "a list of MAC addresses");
        }
    }
    if profile.entry(GROUP, "s390-subchannels").is_some()
        && !matches!(profile.list(GROUP, "s390-subchannels").len(), 2 | 3)
    {
        profile.must_be(GROUP, "s390-subchannels", Effect::Refused, "a list of two or three subchannels");
    }
    let wake = profile.number(GROUP, "wake-on-lan").unwrap_or(1);
    if wake & EXCLUSIVE != 0 && wake & (wake - 1) != 0 {
        profile.must_be(GROUP, "wake-on-lan", Effect::Refused, "1, 32768, or a sum of other bits");
    }
    if profile.entry(GROUP, "wake-on-lan-password").is_some() && wake & MAGIC == 0 {
        let what = "is set, and wake-on-lan has no magic packets";
        profile.refuse(GROUP, "wake-on-lan-password", what, "remove it, or add 64 to wake-on-lan");
    }
    if let Some(mask) = profile.text(GROUP, "generate-mac-address-mask") {
        let mut words = mask.split_ascii_whitespace().peekable();
        let is_mask =
            mask.is_empty() || (words.peek().is_some() && words.all(|mac| hardware_address(mac, 6).is_some()));
        if !is_mask {
            profile.must_be(GROUP, "generate-mac-address-mask", Effect::Refused, "MAC addresses separated by blanks");
        }
    }
    let speed = profile.number(GROUP, "speed").is_some_and(|speed| speed != 0);
    let duplex = profile.entry(GROUP, "duplex").is_some();
    for (key, is_alone, other) in [("speed", speed && !duplex, "duplex"), ("duplex", duplex && !speed, "speed")] {
        if is_alone {
            profile.dropped(GROUP, key, &format!("NetworkManager accepts it only with {other}"));
        }
    }
}
