//! What an edit has to know of the boot catalog: which files firmware starts, and where it says so.

use super::cuts::Cuts;
use crate::fields::{u32_le, u64_le};
use crate::iso::el_torito::{self, BootEntry};
use crate::iso::fields::read_bytes;
use crate::iso::{BLOCK, Extent, IsoError, Volume};
use crate::overlay::Patch;
use crate::source::Source;

/// The unit in which the catalog counts what is loaded.
const SECTOR: u64 = 512;

/// The boot catalog; without entries, where the image has none.
#[derive(Debug, Default)]
pub(super) struct BootCatalog {
    offset: Option<u64>,
    entries: Vec<BootImage>,
}

#[derive(Debug)]
struct BootImage {
    entry: BootEntry,
    /// It knows its place.
    placed: bool,
}

impl BootCatalog {
    pub(super) fn read(source: &dyn Source, volume: &Volume) -> Result<Self, IsoError> {
        let Some(catalog) = el_torito::read(source, volume)? else { return Ok(Self::default()) };
        let mut entries = Vec::new();
        for entry in catalog.entries {
            let placed = is_placed(source, entry.image.offset)?;
            entries.push(BootImage { entry, placed });
        }
        Ok(Self { offset: Some(catalog.offset), entries })
    }

    /// Whether the catalog itself stands in the extent.
    pub(super) fn is_in(&self, extent: Extent) -> bool {
        self.offset.is_some_and(|offset| contains(extent, offset))
    }

    /// Whether a boot image that knows its place stands in the extent.
    pub(super) fn is_placed_in(&self, extent: Extent) -> bool {
        self.entries.iter().any(|image| image.placed && contains(extent, image.entry.image.offset))
    }

    /// Whether a boot image begins in the extent.
    pub(super) fn starts_in(&self, extent: Extent) -> bool {
        self.entries.iter().any(|image| contains(extent, image.entry.image.offset))
    }

    /// Whether a boot image begins at this offset.
    pub(super) fn starts_at(&self, offset: u64) -> bool {
        self.entries.iter().any(|image| image.entry.image.offset == offset)
    }

    /// The end of what cannot move: the catalog, and the beginnings of boot images that know their place.
    pub(super) fn fixed_end(&self) -> u64 {
        let placed = self.entries.iter().filter(|image| image.placed).map(|image| image.entry.image.offset + 1);
        placed.chain(self.offset.map(|offset| offset + 1)).max().unwrap_or(0)
    }

    /// The patches after which the boot images are found where the cuts put them, except for those in extents that moved elsewhere.
    pub(super) fn cut(&self, cuts: &Cuts, elsewhere: &[(Extent, Extent)]) -> Vec<Patch> {
        let kept = self.entries.iter().map(|image| &image.entry);
        let kept = kept.filter(|entry| !elsewhere.iter().any(|(from, _)| contains(*from, entry.image.offset)));
        let moved = kept.filter_map(|BootEntry { record, image, .. }| {
            let place = cuts.place(image.offset);
            let block = u32::try_from(place / BLOCK).unwrap_or_default();
            (place != image.offset).then(|| Patch::bytes(record + 8, block.to_le_bytes().to_vec()))
        });
        moved.collect()
    }

    /// The patches after which the boot image that filled `from` is found where it fills `to`.
    pub(super) fn follow(&self, from: Extent, to: Extent) -> Vec<Patch> {
        let mut patches = Vec::new();
        for BootEntry { record, load_size, image, .. } in self.entries.iter().map(|image| &image.entry) {
            if !contains(from, image.offset) {
                continue;
            }
            let block = (to.offset + (image.offset - from.offset)) / BLOCK;
            patches.push(Patch::bytes(record + 8, u32::try_from(block).unwrap_or_default().to_le_bytes().to_vec()));
            // Loaders that load the rest themselves say 1 or 4 here, whatever their size.
            if load_size.div_ceil(SECTOR) == from.length.div_ceil(SECTOR) {
                let sectors = u16::try_from(to.length.div_ceil(SECTOR)).unwrap_or(u16::MAX);
                patches.push(Patch::bytes(record + 6, sectors.to_le_bytes().to_vec()));
            }
        }
        patches
    }
}

fn contains(extent: Extent, offset: u64) -> bool {
    offset.checked_sub(extent.offset).is_some_and(|within| within < extent.length)
}

/// Whether the boot image at this offset has its place in it: in isolinux's boot-info-table (block of the primary
/// descriptor, own block), or in GRUB's (the sector behind its first block).
fn is_placed(source: &dyn Source, offset: u64) -> Result<bool, IsoError> {
    let length = (2 * BLOCK).min(source.size().saturating_sub(offset));
    let head = read_bytes(source, offset, length)?;
    let block = u32::try_from(offset / BLOCK).ok();
    let table = u32_le(&head, 8) == Some(16) && u32_le(&head, 12) == block;
    Ok(table || u64_le(&head, 2548) == Some(offset / SECTOR + 5))
}
