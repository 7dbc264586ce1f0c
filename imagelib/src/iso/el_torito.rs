//! The boot catalog ("El Torito" Bootable CD-ROM Format Specification 1.0, §2; UEFI Specification §13.3.2.1): the
//! images that firmware starts from a CD.

use super::directory::{EntryKind, Extent};
use super::fields::read_bytes;
use super::volume::TreeKind;
use super::{BLOCK, IsoError, Volume};
use crate::fields::{u16_le, u32_le};
use crate::source::Source;

/// The size of a catalog's records, in bytes.
const RECORD: usize = 32;

/// The unit of load sizes in bytes, whatever the medium's block size is.
const SECTOR: u64 = 512;

/// The platform that an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// PCs with a BIOS.
    Bios,
    /// PowerPC.
    PowerPc,
    /// Macintosh.
    Mac,
    /// UEFI: the image is an EFI system partition.
    Uefi,
    /// Something else.
    Other(u8),
}

impl From<u8> for Platform {
    fn from(code: u8) -> Self {
        match code {
            0 => Self::Bios,
            1 => Self::PowerPc,
            2 => Self::Mac,
            0xef => Self::Uefi,
            other => Self::Other(other),
        }
    }
}

/// A boot image in the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootEntry {
    /// The offset of its record in the ISO, in bytes.
    pub record: u64,
    /// The platform that it is for.
    pub platform: Platform,
    /// Whether the catalog marks it as bootable.
    pub bootable: bool,
    /// Whether the BIOS starts it directly, instead of emulating a floppy or a hard disk.
    pub no_emulation: bool,
    /// The number of bytes that firmware loads. For UEFI, 0 and 512 mean everything up to the end (UEFI §13.3.2.1).
    pub load_size: u64,
    /// Its bytes: the file that begins at its place, or else what firmware loads. An EFI system partition outside the
    /// volume's files may be longer; its own file system has the size.
    pub image: Extent,
    /// Its path in the primary tree, such as `/isolinux/isolinux.bin`. `None` if it is not a file.
    pub path: Option<String>,
}

/// A boot catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalog {
    /// Its offset in the ISO, in bytes.
    pub offset: u64,
    /// Its entries, the default entry first.
    pub entries: Vec<BootEntry>,
}

impl Catalog {
    /// The first bootable entry for a platform.
    pub fn first(&self, platform: Platform) -> Option<&BootEntry> {
        self.entries.iter().find(|entry| entry.bootable && entry.platform == platform)
    }
}

/// Reads the boot catalog of a volume. `None` if the volume has no boot record. Reads only the first block of the catalog; no
/// program writes more.
pub fn read(source: &dyn Source, volume: &Volume) -> Result<Option<Catalog>, IsoError> {
    let Some(mut catalog) = without_files(source, volume)? else { return Ok(None) };
    name_files(source, volume, &mut catalog.entries)?;
    Ok(Some(catalog))
}

/// Like [`read`], but does not search the volume's files for the images: it reads one block, and each image is as long as what
/// firmware loads.
pub fn without_files(source: &dyn Source, volume: &Volume) -> Result<Option<Catalog>, IsoError> {
    let Some(offset) = volume.boot_catalog() else { return Ok(None) };
    let damaged = |reason| IsoError::BootCatalog { offset, reason };
    if offset.checked_add(BLOCK).is_none_or(|end| end > source.size()) {
        return Err(damaged("lies outside the image"));
    }
    let block = read_bytes(source, offset, BLOCK)?;
    let mut records = block.chunks_exact(RECORD).zip((offset..).step_by(RECORD));
    let (validation, _) = records.next().ok_or(damaged("is empty"))?;
    if validation.first() != Some(&1) || validation.get(30..32) != Some(&[0x55, 0xaa]) {
        return Err(damaged("does not begin with a validation entry"));
    }
    let words = (0..RECORD).step_by(2).filter_map(|at| u16_le(validation, at));
    if words.fold(0, u16::wrapping_add) != 0 {
        return Err(damaged("has a wrong checksum"));
    }
    let platform = Platform::from(validation.get(1).copied().unwrap_or_default());
    let mut entries: Vec<BootEntry> = Vec::new();
    entries.extend(records.next().and_then(|(record, at)| entry(source, volume, platform, record, at)));
    // Sections: a header each, and as many entries as it says, which others may follow that only refine them (44).
    'sections: while let Some((header, _)) = records.next() {
        let (Some(indicator @ (0x90 | 0x91)), Some(platform), Some(count)) =
            (header.first(), header.get(1), u16_le(header, 2))
        else {
            break;
        };
        let mut count = count;
        while count > 0 {
            let Some((record, at)) = records.next() else { break 'sections };
            if record.first() != Some(&0x44) {
                entries.extend(entry(source, volume, Platform::from(*platform), record, at));
                count -= 1;
            }
        }
        if *indicator == 0x91 {
            break;
        }
    }
    Ok(Some(Catalog { offset, entries }))
}

/// The entry of one record; none where the record is not one, or its image does not begin within the ISO.
fn entry(source: &dyn Source, volume: &Volume, platform: Platform, record: &[u8], offset: u64) -> Option<BootEntry> {
    let bootable = match record.first()? {
        0x88 => true,
        0x00 => false,
        _ => return None,
    };
    let load_size = u64::from(u16_le(record, 6)?) * SECTOR;
    let block = u64::from(u32_le(record, 8)?);
    let start = volume.base().checked_add(block * BLOCK)?;
    // A record of zeros is none.
    let room = source.size().checked_sub(start).filter(|room| *room > 0 && block > 0)?;
    Some(BootEntry {
        record: offset,
        platform,
        bootable,
        // The lower half of the byte names the medium that is emulated.
        no_emulation: record.get(1)? % 16 == 0,
        load_size,
        image: Extent { offset: start, length: load_size.min(room) },
        path: None,
    })
}

/// Finds the entries' images among the volume's files: only a file says how long a boot loader is of which firmware
/// loads the beginning.
fn name_files(source: &dyn Source, volume: &Volume, entries: &mut [BootEntry]) -> Result<(), IsoError> {
    if entries.is_empty() {
        return Ok(());
    }
    for found in volume.walk(source, TreeKind::Primary) {
        let (path, file) = found?;
        let (EntryKind::File, Some(extent)) = (file.kind, file.extents.first()) else { continue };
        for entry in entries.iter_mut().filter(|entry| entry.path.is_none() && extent.length > 0) {
            if entry.image.offset == extent.offset {
                entry.image.length = extent.length;
                entry.path = Some(path.clone());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::image;
    use super::*;

    #[allow(clippy::ptr_arg)] // a slice is not a source of known size
    fn catalog(image: &Vec<u8>) -> Result<Option<Catalog>, IsoError> {
        read(image, &Volume::open(image).unwrap())
    }

    #[allow(clippy::ptr_arg)]
    fn place(image: &Vec<u8>) -> usize {
        usize::try_from(catalog(image).unwrap().unwrap().offset).unwrap()
    }

    #[test]
    fn the_images_of_both_firmwares_are_found_with_their_files() {
        let image = image("coreos");
        let catalog = catalog(&image).unwrap().unwrap();
        let volume = Volume::open(&image).unwrap();
        let mut found = Vec::new();
        for entry in &catalog.entries {
            let path = entry.path.as_deref().unwrap();
            let file = volume.find(&image, path).unwrap().unwrap();
            assert_eq!(file.extents, [entry.image], "{path}");
            assert!(entry.bootable && entry.no_emulation, "{path}");
            found.push((entry.platform, path, entry.load_size.min(2049)));
        }
        let expected =
            [(Platform::Bios, "/isolinux/isolinux.bin", 2048), (Platform::Uefi, "/images/efiboot.img", 2049)];
        assert_eq!(found, expected);
        assert_eq!(catalog.first(Platform::Uefi), catalog.entries.get(1));
        assert_eq!(catalog.first(Platform::Mac), None);
    }

    #[test]
    fn an_image_without_a_boot_record_has_no_catalog() {
        assert_eq!(catalog(&image("tree")).unwrap(), None);
    }

    #[test]
    fn a_catalog_that_is_none_is_an_error() {
        let mut image = image("coreos");
        let at = place(&image);
        image[at + 1] ^= 0xef;
        assert!(catalog(&image).unwrap_err().to_string().contains("checksum"));
        image[at] = 0;
        assert!(catalog(&image).unwrap_err().to_string().contains("validation entry"));
        // The boot record, in the eighteenth block, says where the catalog is.
        image[17 * 2048 + 71..17 * 2048 + 75].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(catalog(&image).unwrap_err().to_string().contains("outside"));
    }

    #[test]
    fn an_image_that_lies_outside_is_left_out() {
        let mut image = image("coreos");
        let at = place(&image);
        image[at + 32 + 8..at + 32 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
        let entries = catalog(&image).unwrap().unwrap().entries;
        assert_eq!(entries.iter().map(|entry| entry.platform).collect::<Vec<_>>(), [Platform::Uefi]);
    }

    proptest! {
        #[test]
        fn entries_of_any_bytes_lie_within_the_image(bytes in prop::collection::vec(any::<u8>(), 32 * 8)) {
            let mut image = image("coreos");
            let at = place(&image) + 32;
            image[at..at + bytes.len()].copy_from_slice(&bytes);
            for entry in catalog(&image).unwrap().unwrap().entries {
                prop_assert!(entry.image.offset + entry.image.length <= image.len() as u64);
            }
        }
    }
}
