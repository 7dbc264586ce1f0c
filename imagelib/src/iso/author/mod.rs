//! Makes new ISO 9660 images (ECMA-119) as segments, with names of level 1, Rock Ridge (IEEE P1282) and Joliet, and with an El
//! Torito boot catalog.
//!
//! Only the metadata is in memory. Files may be ranges of a base, and are neither copied nor read. The same files give the
//! same image: all dates are 1 January 1980, the first day of FAT's calendar.
//!
//! So that all readers see the same files, the module refuses names that Joliet cannot have, more than eight levels of
//! directories (§6.8.2.1), and files of 4 GiB and more.

mod boot;
mod descriptor;
mod directory;
mod error;
mod names;
mod partition_table;
mod path;
mod path_table;
mod rock_ridge;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bytes::Bytes;

pub use error::AuthorError;
pub use path::IsoPath;

use super::BLOCK;
use crate::overlay::Segment;
use directory::Directories;
use tree::Tree;

/// The blocks before the volume descriptors (§6.2.1), which may hold a partition table.
const SYSTEM_AREA: u32 = 16;

/// The size of a hybrid image is a multiple of this number of bytes: BIOSes guess a disk's geometry from its partitions, and
/// isohybrid images have cylinders of this size.
const CYLINDER: u64 = 1 << 20;

/// A new image.
#[derive(Debug, Clone, Default)]
pub struct NewIso {
    /// The volume identifier, which Linux calls the label: at most 32 characters of ASCII.
    pub volume_id: String,
    /// Who publishes the image: at most 128 characters of ASCII. Ironic compares it with `ir_pub_id`.
    pub publisher: String,
    /// The program that makes the image: at most 128 characters of ASCII.
    pub preparer: String,
    /// The files. Their paths determine the directories.
    pub files: BTreeMap<IsoPath, NewFile>,
    /// What firmware starts if the image is a CD.
    pub boot: Option<ElTorito>,
    /// The partition table, if the image must also boot as a disk.
    pub hybrid: Option<Hybrid>,
}

/// A file of a new image.
#[derive(Debug, Clone)]
pub struct NewFile {
    /// Its bytes.
    pub content: Vec<Segment>,
    /// Its permissions, such as `0o600`. It belongs to root.
    pub mode: u16,
}

impl NewFile {
    /// A file of bytes in memory.
    pub fn literal(mode: u16, bytes: impl Into<Bytes>) -> Self {
        Self { content: vec![Segment::bytes(bytes)], mode }
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.content.iter().fold(0, |sum, segment| sum.saturating_add(segment.length()))
    }
}

/// What firmware starts from a CD ("El Torito" Bootable CD-ROM Format Specification 1.0). At least one of the two.
#[derive(Debug, Clone, Default)]
pub struct ElTorito {
    /// The file that BIOSes start without emulation, such as `isolinux/isolinux.bin`. Its boot information table is filled in,
    /// so its content must be in memory: a single segment of at most 256 KiB.
    pub bios: Option<IsoPath>,
    /// The FAT image that is the EFI system partition.
    pub uefi: Option<IsoPath>,
}

/// A partition table in the system area, with which the image also boots from a USB stick or from a BMC that presents every
/// medium as a disk.
#[derive(Debug, Clone, Default)]
pub struct Hybrid {
    /// The code in the first sector that starts the BIOS loader (`isohdpfx.bin` of ISOLINUX). Without it only UEFI
    /// starts the image from a disk.
    pub boot_code: Option<Bytes>,
}

/// The first block of each part of the image.
struct BlockMap {
    descriptors: u32,
    path_tables: [u32; 4],
    catalog: Option<u32>,
    /// One for each file, in the tree's order.
    files: Vec<u32>,
    end: u32,
}

impl NewIso {
    /// Lays the image out. Its size is a multiple of the block size.
    pub fn layout(&self) -> Result<Vec<Segment>, AuthorError> {
        descriptor::check(self)?;
        let tree = Tree::new(&self.files)?;
        let boot = self.boot.as_ref().map(|boot| boot::Boot::new(boot, &tree)).transpose()?;
        let mut primary = Directories::new(&tree, names::Form::Level1)?;
        let mut joliet = Directories::new(&tree, names::Form::Joliet)?;
        let places = self.place(&tree, &mut primary, &mut joliet)?;
        let locate = |file: usize| places.files.get(file).copied().unwrap_or_default();

        let size = match self.hybrid {
            Some(_) => (u64::from(places.end) * BLOCK).next_multiple_of(CYLINDER),
            None => u64::from(places.end) * BLOCK,
        };
        let mut image = Image::default();
        if let Some(hybrid) = &self.hybrid {
            image.bytes(partition_table::master_boot_record(hybrid, boot.as_ref(), &tree, locate, size)?);
        }
        image.fill_to(places.descriptors);
        image.blocks(descriptor::volume(self, &places, &primary));
        image.blocks(places.catalog.map(descriptor::boot_record).unwrap_or_default());
        image.blocks(descriptor::volume(self, &places, &joliet));
        image.blocks(descriptor::terminator());
        for (table, place) in [&primary, &joliet].into_iter().flat_map(path_table::both_orders).zip(places.path_tables)
        {
            image.fill_to(place);
            image.blocks(table);
        }
        for directories in [&primary, &joliet] {
            directories.contents(&tree, locate).into_iter().for_each(|content| image.blocks(content));
        }
        if let Some(boot) = &boot {
            image.blocks(boot.catalog(&tree, locate));
        }
        for (index, file) in tree.files.iter().enumerate() {
            image.fill_to(locate(index));
            match &boot {
                Some(boot) if boot.bios == Some(index) => {
                    image.segments(boot::with_information_table(file, SYSTEM_AREA, locate(index))?);
                }
                _ => image.segments(file.new.content.clone()),
            }
        }
        image.fill(size);
        Ok(image.segments)
    }

    /// Decides the order of the parts: descriptors, path tables, directories, catalog, files.
    fn place(
        &self,
        tree: &Tree<'_>,
        primary: &mut Directories<'_>,
        joliet: &mut Directories<'_>,
    ) -> Result<BlockMap, AuthorError> {
        let mut next = Position(SYSTEM_AREA);
        let descriptors = next.take(if self.boot.is_some() { 4 } else { 3 })?;
        let mut path_tables = [0; 4];
        let [primary_size, joliet_size] = [primary.path_table_size(), joliet.path_table_size()];
        for (place, size) in path_tables.iter_mut().zip([primary_size, primary_size, joliet_size, joliet_size]) {
            *place = next.take_bytes(u64::from(size))?;
        }
        for extents in [primary.extents(), joliet.extents()] {
            for (size, block) in extents {
                *block = next.take_bytes(u64::from(size))?;
            }
        }
        let catalog = self.boot.as_ref().map(|_| next.take(1)).transpose()?;
        let files = tree.files.iter().map(|file| next.take_bytes(u64::from(file.size))).collect::<Result<_, _>>()?;
        Ok(BlockMap { descriptors, path_tables, catalog, files, end: next.0 })
    }
}

/// The next free block.
struct Position(u32);

impl Position {
    fn take(&mut self, blocks: u32) -> Result<u32, AuthorError> {
        let start = self.0;
        self.0 = start.checked_add(blocks).ok_or(AuthorError::TooLarge)?;
        Ok(start)
    }

    fn take_bytes(&mut self, bytes: u64) -> Result<u32, AuthorError> {
        self.take(u32::try_from(bytes.div_ceil(BLOCK)).map_err(|_| AuthorError::TooLarge)?)
    }
}

/// The image as far as it has been written.
#[derive(Default)]
struct Image {
    segments: Vec<Segment>,
    size: u64,
}

impl Image {
    fn segments(&mut self, segments: Vec<Segment>) {
        self.size += segments.iter().map(Segment::length).sum::<u64>();
        self.segments.extend(segments);
    }

    fn bytes(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.segments(vec![Segment::bytes(bytes)]);
        }
    }

    /// Bytes, and zeros up to the end of their last block.
    fn blocks(&mut self, bytes: Vec<u8>) {
        self.bytes(bytes);
        self.fill(self.size.next_multiple_of(BLOCK));
    }

    fn fill_to(&mut self, block: u32) {
        self.fill(u64::from(block) * BLOCK);
    }

    fn fill(&mut self, end: u64) {
        if end > self.size {
            self.segments(vec![Segment::zeros(end - self.size)]);
        }
    }
}
