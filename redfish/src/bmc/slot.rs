//! Chooses the slots for an image.

use super::error::BmcError;
use super::medium::Medium;
use super::survey::{Slot, Survey};
use super::vendor::{self, Vendor};

/// The slots that accept the medium, the best first. If a slot turns out to be for something else, the next one is
/// tried. Slots that do not say what they take are used only if there are no others.
pub(super) fn suitable(survey: &Survey, medium: Medium) -> Result<Vec<Slot>, BmcError> {
    if survey.slots.is_empty() {
        if !survey.unknown_managers.is_empty() {
            let (system, managers) = (survey.system.path.clone(), survey.unknown_managers.clone());
            return Err(BmcError::UnknownManager { system, managers });
        }
        return Err(match &survey.refused_slots {
            Some(refusal) => BmcError::SlotsRefused { vendor: survey.vendor, refusal: refusal.clone() },
            None => BmcError::NoSlots(survey.vendor),
        });
    }
    let ranked = |suits: fn(&Slot, Medium) -> bool| {
        let slots = survey.slots.iter().enumerate().filter(|(_, slot)| suits(slot, medium) && is_usable(survey, slot));
        slots.map(|(position, slot)| (rank(survey, slot, medium, position), slot)).collect::<Vec<_>>()
    };
    let mut suitable = ranked(suits);
    if suitable.is_empty() {
        suitable = ranked(may_suit);
    }
    // A slot without the action is for the remote console (OpenBMC), or is changed by PATCH (Lenovo XCC1, iLO 4). It
    // can only be the latter if no slot has the action.
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

/// Smaller is better. Compares first whether the vendor prefers another slot, then how well the media types fit, then
/// the BMC's order.
type Rank = (u8, u8, usize);

fn rank(survey: &Survey, slot: &Slot, medium: Medium, position: usize) -> Rank {
    let preferred: &[&str] = match (survey.vendor, medium) {
        (Vendor::Hpe, Medium::Cd) => &["2"],
        (Vendor::Hpe, Medium::Usb) => &["1"],
        (Vendor::Dell, _) if is_idrac_10(survey) => &["1"],
        // The BMC may list the System's slots, which have numbers, in any order. Some machines boot only from slot 1.
        (Vendor::Dell, Medium::Cd) => &["CD", "1"],
        (Vendor::Dell, Medium::Usb) => &["RemovableDisk", "1"],
        _ => &[],
    };
    let by_vendor = u8::from(!preferred.contains(&slot.id.as_str()));
    let by_type = match medium {
        Medium::Cd if has(slot, "CD") => 0,
        Medium::Cd if has(slot, "DVD") => 1,
        Medium::Usb if has(slot, "USBStick") => 0,
        _ => 2,
    };
    (by_vendor, by_type, position)
}

fn suits(slot: &Slot, medium: Medium) -> bool {
    if slot.media_types.is_empty() {
        return names(&slot.id, medium)
            || may_suit(slot, medium) && slot.name.as_ref().is_some_and(|name| names(name, medium));
    }
    match medium {
        Medium::Cd => has(slot, "CD") || has(slot, "DVD"),
        Medium::Usb => has(slot, "USBStick"),
    }
}

/// Whether a slot takes the medium, or may take it, although it does not say so.
pub(super) fn may_take(slot: &Slot, medium: Medium) -> bool {
    suits(slot, medium) || may_suit(slot, medium)
}

/// Whether a slot may take the medium, although it does not say so: `MediaTypes` is optional.
fn may_suit(slot: &Slot, medium: Medium) -> bool {
    let other = match medium {
        Medium::Cd => Medium::Usb,
        Medium::Usb => Medium::Cd,
    };
    slot.media_types.is_empty() && !names(&slot.id, other)
}

/// Whether an `Id` or a `Name` is that of a slot for the medium.
fn names(text: &str, medium: Medium) -> bool {
    let words = match medium {
        Medium::Cd => ["cd", "dvd", "ext"],
        Medium::Usb => ["usb", "removable", "hd"],
    };
    let text = text.to_ascii_lowercase();
    words.iter().any(|word| text.contains(word))
}

fn has(slot: &Slot, media_type: &str) -> bool {
    slot.media_types.iter().any(|known| known.eq_ignore_ascii_case(media_type))
}

/// Lenovo's slots `RDOC` are for uploads of up to 50 MB, and `Remote` for the remote console.
fn is_usable(survey: &Survey, slot: &Slot) -> bool {
    survey.vendor != Vendor::Lenovo || !(slot.id.starts_with("RDOC") || slot.id.starts_with("Remote"))
}

pub(super) fn is_idrac_10(survey: &Survey) -> bool {
    let models = survey.managers.iter().map(|manager| manager.model.as_deref());
    models.into_iter().any(|model| vendor::idrac_generation(model) == Some(10))
}
