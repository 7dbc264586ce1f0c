//! Disks from ISOs, for BMCs that present every medium as a disk: the ISO itself if it has a partition table, or else the ISO
//! with a new one.

use super::changes::Change;
use super::live::PlannedMedium;
use super::{FileName, Image, ImageError};
use crate::base::{BIOS_ONLY_FROM_CD, DiskTable, Format, IsoBase, NOT_HYBRID};
use crate::digest::Digest;
use crate::disk::hybrid;
use crate::overlay::{self, Overlay, Sizes};
use crate::recipe::{Recipe, RootfsUrl};
use crate::source::Role;
use vocabulary::report::{DocumentPath, Report};

/// Plans the ISO and makes it a disk.
pub(super) fn plan(recipe: &Recipe, base: &IsoBase, rootfs_url: Option<&RootfsUrl>) -> Result<Image, ImageError> {
    let as_iso = Recipe { format: Format::Iso, ..recipe.clone() };
    let PlannedMedium { mut image, moved } = Image::plan_iso(&as_iso, base, rootfs_url)?;
    let Some(iso) = image.files.remove(&FileName::BootIso) else { return Ok(image) };
    base.disk.check().map_err(|reason| ImageError::Format { format: recipe.format, reason })?;
    let disk = match &base.disk {
        DiskTable::Possible { esp } => {
            let identity = Digest::of(recipe.id().as_bytes());
            let grown = moved.iter().find(|(from, _)| from.offset == esp.start).map(|(_, to)| to.range());
            let hybrid = hybrid::gpt(iso.size(), grown.as_ref().unwrap_or(esp), &identity)?;
            let mut segments = overlay::patched(Role::Iso, iso.size(), hybrid.patches)?;
            segments.extend(hybrid.appended);
            let over_iso = Overlay::concatenated(&Sizes::from([(Role::Iso, iso.size())]), segments)?;
            let disk = over_iso.laid_over(&iso)?;
            let sizes = (iso.size(), disk.size());
            image.changes.push(Change::new("GPT", "laid over the ISO", sizes, "to be started from a disk"));
            disk
        }
        DiskTable::Present | DiskTable::StartsNothing | DiskTable::Impossible(_) => iso,
    };
    image.report.forget(NOT_HYBRID);
    if base.bios_only_from_cd {
        warn_of_bios(&mut image.report);
    }
    image.files.insert(FileName::BootDisk, disk);
    Ok(image)
}

/// Warns of a disk that only UEFI starts, although the base is made for a BIOS, too.
pub(super) fn warn_of_bios(report: &mut Report) {
    let message = "has boot code for a BIOS on a CD, and none for a BIOS on a disk: this image starts only under UEFI";
    report.warning(BIOS_ONLY_FROM_CD, &DocumentPath::document("base"), message);
}
