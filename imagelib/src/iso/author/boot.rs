//! The boot catalog ("El Torito" Bootable CD-ROM Format Specification 1.0, §2), and what a boot loader is told about
//! where it stands.

use bytes::Bytes;

use super::tree::{File, Tree};
use super::{AuthorError, BLOCK, ElTorito, IsoPath};
use crate::overlay::{Content, Segment};

const PLATFORM_BIOS: u8 = 0;
const PLATFORM_UEFI: u8 = 0xef;

/// Four sectors of 512 bytes are what a BIOS loads of ISOLINUX and of GRUB; they load the rest themselves.
const BIOS_SECTORS: u16 = 4;

/// The largest loader that is held in memory. ISOLINUX has 40 KiB.
const MAX_LOADER_BYTES: usize = 256 << 10;

/// Where the boot information table begins in a loader, and where what it sums up begins (mkisofs(8), `-boot-info-table`).
const TABLE: usize = 8;
const TABLE_END: usize = 64;

/// What is started, by its place among the tree's files.
#[derive(Debug)]
pub(super) struct Boot {
    pub(super) bios: Option<usize>,
    pub(super) uefi: Option<usize>,
}

impl Boot {
    pub(super) fn new(boot: &ElTorito, tree: &Tree<'_>) -> Result<Self, AuthorError> {
        let find = |path: &Option<IsoPath>| {
            let missing = |path: &IsoPath| AuthorError::NoBootFile(path.to_string());
            path.as_ref().map(|path| tree.find(path).ok_or_else(|| missing(path))).transpose()
        };
        let boot = Self { bios: find(&boot.bios)?, uefi: find(&boot.uefi)? };
        if boot.bios.is_none() && boot.uefi.is_none() { Err(AuthorError::NothingToBoot) } else { Ok(boot) }
    }

    /// The catalog: what is for BIOSes first, as they read no more than the default entry.
    pub(super) fn catalog(&self, tree: &Tree<'_>, locate: impl Fn(usize) -> u32) -> Vec<u8> {
        let bios = self.bios.map(|file| entry(BIOS_SECTORS, locate(file)));
        let uefi = self.uefi.map(|index| {
            let size = tree.files.get(index).map_or(0, |file| file.size);
            // Zero is for all that follows, where 16 bits cannot count the sectors (UEFI §13.3.2.1).
            entry(u16::try_from(size.div_ceil(512)).unwrap_or(0), locate(index))
        });
        let mut catalog = validation(if bios.is_some() { PLATFORM_BIOS } else { PLATFORM_UEFI });
        match (bios, uefi) {
            (Some(bios), Some(uefi)) => {
                catalog.extend(bios);
                catalog.extend(section(PLATFORM_UEFI));
                catalog.extend(uefi);
            }
            (bios, uefi) => catalog.extend(bios.or(uefi).unwrap_or_default()),
        }
        catalog
    }
}

/// The validation entry: its 16-bit words add up to zero.
fn validation(platform: u8) -> Vec<u8> {
    let mut entry = vec![1, platform];
    entry.resize(28, 0);
    // The only words that are not zero: the first and the last.
    let sum = u16::from_le_bytes([1, platform]).wrapping_add(0xaa55);
    entry.extend(sum.wrapping_neg().to_le_bytes());
    entry.extend([0x55, 0xaa]);
    entry
}

/// The header of the last section, which has one entry.
fn section(platform: u8) -> Vec<u8> {
    let mut header = vec![0x91, platform, 1, 0];
    header.resize(32, 0);
    header
}

/// A bootable entry without emulation, loaded where BIOSes load by default.
fn entry(sectors: u16, block: u32) -> Vec<u8> {
    let mut entry = vec![0x88, 0, 0, 0, 0, 0];
    entry.extend(sectors.to_le_bytes());
    entry.extend(block.to_le_bytes());
    entry.resize(32, 0);
    entry
}

/// The loader with its boot information table: the block of the volume descriptor, its own block and length, and the sum
/// of the 32-bit words behind the table.
pub(super) fn with_information_table(
    file: &File<'_>,
    descriptor: u32,
    block: u32,
) -> Result<Vec<Segment>, AuthorError> {
    let refuse = |reason| AuthorError::BiosLoader { path: file.path.to_string(), reason };
    let [Segment::Own(Content::Bytes(loader))] = file.new.content.as_slice() else {
        return Err(refuse("its bytes must be in memory, in one piece"));
    };
    if loader.len() > MAX_LOADER_BYTES {
        return Err(refuse("it has more than 256 KiB"));
    }
    let (Some(head), true) = (loader.get(..TABLE), loader.len() as u64 > BLOCK) else {
        return Err(refuse("it is shorter than a block; is it isolinux.bin?"));
    };
    let rest = loader.slice(TABLE_END..);
    let sum = rest.chunks(4).fold(0_u32, |sum, word| {
        let mut padded = [0; 4];
        padded.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
        sum.wrapping_add(u32::from_le_bytes(padded))
    });
    let mut start = head.to_vec();
    for number in [descriptor, block, file.size, sum] {
        start.extend(number.to_le_bytes());
    }
    start.resize(TABLE_END, 0);
    Ok([Bytes::from(start), rest].map(Segment::bytes).to_vec())
}
