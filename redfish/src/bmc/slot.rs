//! Which slot an image goes into.

use super::error::BmcError;
use super::medium::Medium;
use super::survey::{Slot, Survey};
use super::vendor::{self, Vendor};

/// The slots that suit, the best first. Where one is refused as meant for something else, the next is tried.
pub(super) fn choose(survey: &Survey, medium: Medium) -> Result<Vec<Slot>, BmcError> {
    if survey.slots.is_empty() {
        return Err(BmcError::NoSlots { vendor: survey.vendor });
    }
    let mut suitable: Vec<(Rank, &Slot)> = survey
        .slots
        .iter()
        .enumerate()
        .filter(|(_, slot)| suits(slot, medium) && is_usable(survey, slot))
        .map(|(position, slot)| (rank(survey, slot, medium, position), slot))
        .collect();
    // Without the action, a slot is for the remote console (OpenBMC), or is changed by PATCH (Lenovo XCC1, iLO 4): only
    // where none has it, it is the second.
    if suitable.iter().any(|(_, slot)| slot.insert.is_some()) {
        suitable.retain(|(_, slot)| slot.insert.is_some());
    }
    if suitable.is_empty() {
        let slots =
            survey.slots.iter().map(|slot| format!("{} ({})", slot.path, slot.media_types.join(", "))).collect();
        return Err(BmcError::NoSuitableSlot { medium, slots });
    }
    suitable.sort_by_key(|(rank, _)| *rank);
    Ok(suitable.into_iter().map(|(_, slot)| slot.clone()).collect())
}

/// Smaller is better: what is known of the vendor, how well the media types fit, the BMC's order.
type Rank = (u8, u8, usize);

fn rank(survey: &Survey, slot: &Slot, medium: Medium, position: usize) -> Rank {
    let preferred = match (survey.vendor, medium) {
        (Vendor::Hpe, Medium::Cd) => Some("2"),
        (Vendor::Hpe, Medium::Usb) => Some("1"),
        (Vendor::Dell, _) if is_idrac_10(survey) => Some("1"),
        (Vendor::Dell, Medium::Cd) => Some("CD"),
        (Vendor::Dell, Medium::Usb) => Some("RemovableDisk"),
        _ => None,
    };
    let by_vendor = u8::from(preferred.is_some_and(|preferred| preferred != slot.id));
    let has = |name: &str| slot.media_types.iter().any(|media_type| media_type.eq_ignore_ascii_case(name));
    let by_type = match medium {
        Medium::Cd if has("CD") => 0,
        Medium::Cd if has("DVD") => 1,
        Medium::Usb if has("USBStick") => 0,
        _ => 2,
    };
    (by_vendor, by_type, position)
}

fn suits(slot: &Slot, medium: Medium) -> bool {
    let has = |name: &str| slot.media_types.iter().any(|media_type| media_type.eq_ignore_ascii_case(name));
    if slot.media_types.is_empty() {
        let id = slot.id.to_ascii_lowercase();
        return match medium {
            Medium::Cd => ["cd", "dvd", "ext"].iter().any(|word| id.contains(word)),
            Medium::Usb => ["usb", "removable", "hd"].iter().any(|word| id.contains(word)),
        };
    }
    match medium {
        Medium::Cd => has("CD") || has("DVD"),
        Medium::Usb => has("USBStick"),
    }
}

/// Lenovo's other slots are for uploads (`RDOC`, 50 MB) and for the remote console (`Remote`).
fn is_usable(survey: &Survey, slot: &Slot) -> bool {
    survey.vendor != Vendor::Lenovo || !(slot.id.starts_with("RDOC") || slot.id.starts_with("Remote"))
}

pub(super) fn is_idrac_10(survey: &Survey) -> bool {
    let models = survey.managers.iter().map(|manager| manager.model.as_deref());
    models.into_iter().any(|model| vendor::idrac_generation(model) == Some(10))
}
