//! An EFI system partition as a file, with the boot loader of UEFI machines.

use std::io;

use super::program::Program;
use crate::disk::fat::{FatError, FatFile, FatImage};
use crate::source::Source;

/// What firmware starts from a removable medium (UEFI 2.10 §3.5.1.1), on PCs and on 64-bit ARM.
const REMOVABLE: [&str; 2] = ["EFI/BOOT/BOOTX64.EFI", "EFI/BOOT/BOOTAA64.EFI"];

/// By this text in a program, systemd-boot finds itself among others (`src/boot/efi/boot.c`).
const SYSTEMD_BOOT: &[u8] = b"#### LoaderInfo: systemd-boot ";

/// The largest program that is looked into. systemd-boot has 200 KiB.
const MAX_PROGRAM_BYTES: u32 = 8 << 20;

/// Why an image is no EFI system partition that can be started from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EspError {
    /// Not a file system, or a damaged one.
    #[error("the ESP is not the image of an EFI system partition: {0}")]
    Fat(#[from] FatError),
    /// A file of it could not be read.
    #[error("the ESP cannot be read: {0}")]
    Read(#[from] io::Error),
    /// Nothing that firmware starts.
    #[error(
        "the ESP has no EFI/BOOT/BOOTX64.EFI or EFI/BOOT/BOOTAA64.EFI, which is what firmware starts from a removable \
         medium"
    )]
    NoRemovableLoader,
}

/// The image of an EFI system partition.
#[derive(Debug, Clone)]
pub struct Esp {
    pub(super) size: u64,
    pub(super) fat: FatImage,
    systemd_boot: bool,
    unified_kernel_image: bool,
}

impl Esp {
    /// Looks into an image.
    pub fn open(source: &dyn Source) -> Result<Self, EspError> {
        let size = source.size();
        let fat = FatImage::open(source, 0..size)?;
        let programs: Vec<_> = REMOVABLE.iter().filter_map(|path| fat.file(path)).collect();
        if programs.is_empty() {
            return Err(EspError::NoRemovableLoader);
        }
        let is_unified =
            |program: &&&FatFile| matches!(Program::at(source, &program.extents), Program::UnifiedKernelImage { .. });
        let unified_kernel_image = programs.iter().any(|program| is_unified(&program));
        let mut systemd_boot = false;
        for program in programs.iter().filter(|program| program.size <= MAX_PROGRAM_BYTES) {
            // A program in many pieces is one: what is looked for may lie across two of them.
            let extents = program.extents.iter();
            let pieces = extents.map(|extent| source.read_vec(extent.start, extent.end.saturating_sub(extent.start)));
            let bytes = pieces.collect::<io::Result<Vec<_>>>()?.concat();
            systemd_boot |= bytes.windows(SYSTEMD_BOOT.len()).any(|window| window == SYSTEMD_BOOT);
        }
        Ok(Self { size, fat, systemd_boot, unified_kernel_image })
    }

    /// How long it is, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether firmware starts a unified kernel image from it, which boots its own kernel with its own initrd.
    pub fn starts_unified_kernel_image(&self) -> bool {
        self.unified_kernel_image
    }

    /// Whether firmware starts systemd-boot from it, which reads no other file system than its own partition.
    pub fn starts_systemd_boot(&self) -> bool {
        self.systemd_boot
    }
}
