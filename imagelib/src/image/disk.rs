//! Disks from ISOs, for BMCs that present every medium as a disk: the ISO itself if it has a partition table, or else the ISO
//! with a new one.

use super::changes::Change;
use super::{FileName, Image, ImageError};
use crate::base::{DiskTable, Format, IsoBase, NOT_HYBRID};
use crate::digest::Digest;
use crate::disk::hybrid;
use crate::overlay::{self, Overlay, Sizes};
use crate::recipe::{Recipe, RootfsUrl};
use crate::source::Role;

/// Plans the ISO and makes it a disk.
pub(super) fn plan(recipe: &Recipe, base: &IsoBase, rootfs_url: Option<&RootfsUrl>) -> Result<Image, ImageError> {
    let as_iso = Recipe { format: Format::Iso, ..recipe.clone() };
    let mut image = Image::plan_iso(&as_iso, base, rootfs_url)?;
    let Some(iso) = image.files.remove(&FileName::BootIso) else { return Ok(image) };
    let disk = match &base.disk {
        DiskTable::Present => iso,
        DiskTable::Possible { esp } => {
            let identity = Digest::of(recipe.id().as_bytes());
            let hybrid = hybrid::gpt(iso.size(), esp, &identity)?;
            let mut segments = overlay::patched(Role::Iso, iso.size(), hybrid.patches)?;
            segments.extend(hybrid.appended);
            let over_iso = Overlay::concatenated(&Sizes::from([(Role::Iso, iso.size())]), segments)?;
            let disk = over_iso.laid_over(&iso)?;
            let sizes = (iso.size(), disk.size());
            image.changes.push(Change::new("GPT", "laid over the ISO", sizes, "to be started from a disk"));
            disk
        }
        DiskTable::Impossible(reason) => return Err(ImageError::Format { format: recipe.format, reason }),
    };
    image.report.forget(NOT_HYBRID);
    image.files.insert(FileName::BootDisk, disk);
    Ok(image)
}
