//! A USB disk that boots UEFI machines: a GPT with one EFI system partition, FAT32, that has all files.
//!
//! BIOS machines do not boot it. Their loader would have to know the sectors of its own files, as syslinux does, and be in
//! front of the partition.

use std::collections::BTreeMap;

use super::SECTOR;
use super::fat::{FatError, FatPath, NewFat, VolumeLabel};
use super::gpt::{Gpt, GptError, Partition, ResizedGpt};
use super::guid::Guid;
use super::mbr::{Mbr, MbrPartition};
use super::segments::Builder;
use crate::digest::Digest;
use crate::overlay::{Content, Segment};

/// Where the partition begins: at a mebibyte, as everybody aligns them.
const FIRST_SECTOR: u32 = 2048;
/// What a BIOS runs: it asks for the next disk to boot from (INT 18h), and waits where there is none.
const BOOT_CODE: [u8; 5] = [0xCD, 0x18, 0xF4, 0xEB, 0xFD];

/// Why a USB disk with some files is impossible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UsbError {
    /// The file system cannot be made.
    #[error(transparent)]
    Fat(#[from] FatError),
    /// The partition table cannot be made.
    #[error(transparent)]
    Gpt(#[from] GptError),
}

/// A new disk. The same fields give the same bytes.
#[derive(Debug, Clone)]
pub struct UsbDisk<'a> {
    /// The file system's label.
    pub label: VolumeLabel,
    /// The digest of the disk's content, from which all its identifiers are derived.
    pub identity: Digest,
    /// The files with their content, which may be ranges of a base. A firmware looks for `EFI/BOOT/BOOTX64.EFI` or
    /// `EFI/BOOT/BOOTAA64.EFI`.
    pub files: &'a BTreeMap<FatPath, Vec<Segment>>,
}

impl UsbDisk<'_> {
    /// The disk from its first byte to its last.
    pub fn layout(&self) -> Result<Vec<Segment>, UsbError> {
        let id =
            Guid::derived(&self.identity, "volume").as_bytes().first_chunk().map_or(0, |id| u32::from_le_bytes(*id));
        let volume = NewFat { label: self.label, id, files: self.files }.partition(FIRST_SECTOR)?;
        let first = u64::from(FIRST_SECTOR);
        let partition = Partition {
            kind: Guid::EFI_SYSTEM,
            id: Guid::derived(&self.identity, "partition"),
            first,
            last: first + volume.position() / SECTOR - 1,
            name: "EFI System Partition".to_owned(),
        };
        let end = (partition.last + 1) * SECTOR;
        let gpt = Gpt::new(Guid::derived(&self.identity, "disk"), &[partition])?;
        let size = (end + gpt.backup_size()).next_multiple_of(1 << 20);
        let ResizedGpt { patches, backup } = gpt.resized(size)?;

        let mut out = Builder::default();
        out.bytes(&BOOT_CODE);
        let mbr = Mbr::new([Some(MbrPartition::protective(size)), None, None, None]);
        for patch in std::iter::once(mbr.table()).chain(patches) {
            out.zeros_until(patch.offset);
            if let Content::Bytes(bytes) = patch.content {
                out.bytes(&bytes);
            }
        }
        out.zeros_until(first * SECTOR);
        out.segments(volume.into_segments());
        out.zeros_until(size - gpt.backup_size());
        out.segments(backup);
        Ok(out.into_segments())
    }
}
