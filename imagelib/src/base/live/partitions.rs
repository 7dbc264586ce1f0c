//! The EFI system partitions of an ISO, from which firmware starts it as a CD and as a disk.

use std::ops::Range;

use crate::boot_medium::Program;
use crate::disk::SECTOR;
use crate::disk::fat::FatImage;
use crate::disk::gpt::Gpt;
use crate::disk::guid::Guid;
use crate::disk::mbr::{self, Mbr, MbrPartition};
use crate::iso::el_torito::{self, Platform};
use crate::iso::{IsoError, Volume};
use crate::source::Source;

/// The architectures of UEFI, as the names of what it starts from removable media have them (UEFI 2.10 §3.5.1.1).
const ARCHITECTURES: [&str; 6] = ["X64", "AA64", "IA32", "ARM", "RISCV64", "LOONGARCH64"];

/// An EFI system partition.
#[derive(Debug, Clone)]
pub(crate) struct EspVolume {
    pub(crate) place: EspPlace,
    pub(crate) fat: FatImage,
}

/// The place of an EFI system partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EspPlace {
    /// In a file of the ISO file system, which begins at this offset of the image.
    File { path: String, offset: u64 },
    /// In a partition outside the files of the ISO.
    Partition,
}

/// An EFI system partition with a file system that dayone cannot edit.
#[derive(Debug, Clone)]
pub(crate) struct UnreadableEsp {
    pub(super) place: EspPlace,
    /// Why, as a sentence.
    pub(super) reason: String,
}

impl EspVolume {
    /// Whether it has a file with this path. FAT ignores case.
    pub(super) fn has(&self, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        self.fat.files().iter().any(|file| file.path.eq_ignore_ascii_case(path))
    }

    /// What firmware starts from it, for each architecture: a boot loader, or a unified kernel image. If a shim is before it, what
    /// the shim starts, which SUSE calls `grub.efi`.
    pub(super) fn started(&self, source: &dyn Source) -> Vec<(String, Program)> {
        let program = |path: &str| {
            let file = self.fat.file(path)?;
            Some((file.path.clone(), Program::at(source, &file.extents)))
        };
        let started = ARCHITECTURES.iter().filter_map(|architecture| {
            let first = program(&format!("EFI/BOOT/BOOT{architecture}.EFI"))?;
            if first.1 != Program::Shim {
                return Some(first);
            }
            let second = program(&format!("EFI/BOOT/grub{architecture}.efi"));
            second.or_else(|| program("EFI/BOOT/grub.efi")).or(Some(first))
        });
        started.collect()
    }
}

/// The EFI system partitions with a file system that dayone can edit.
pub(crate) fn find(source: &dyn Source, volume: &Volume) -> Result<Vec<EspVolume>, IsoError> {
    find_all(source, volume).map(|(found, _)| found)
}

/// The EFI system partitions: those with a file system that dayone can edit, and the others.
pub(crate) fn find_all(source: &dyn Source, volume: &Volume) -> Result<(Vec<EspVolume>, Vec<UnreadableEsp>), IsoError> {
    let mut places: Vec<(Range<u64>, EspPlace)> = Vec::new();
    let catalog = el_torito::read(source, volume)?;
    for entry in catalog.iter().flat_map(|catalog| &catalog.entries).filter(|entry| entry.platform == Platform::Uefi) {
        let offset = entry.image.offset;
        // Several entries may start the same partition.
        if places.iter().any(|(known, _)| known.start == offset) {
            continue;
        }
        places.push(match &entry.path {
            Some(path) => (entry.image.range(), EspPlace::File { path: path.clone(), offset }),
            None => (offset..source.size(), EspPlace::Partition),
        });
    }
    for range in partitions(source) {
        if !places.iter().any(|(known, _)| known.start == range.start) {
            places.push((range, EspPlace::Partition));
        }
    }
    Ok(open(source, places))
}

/// The EFI system partitions of a disk: those with a file system that dayone can edit, and the others.
pub(crate) fn find_on_disk(source: &dyn Source) -> (Vec<EspVolume>, Vec<UnreadableEsp>) {
    open(source, partitions(source).into_iter().map(|range| (range, EspPlace::Partition)))
}

fn open(
    source: &dyn Source,
    places: impl IntoIterator<Item = (Range<u64>, EspPlace)>,
) -> (Vec<EspVolume>, Vec<UnreadableEsp>) {
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    for (range, place) in places {
        match FatImage::open(source, range) {
            Ok(fat) => found.push(EspVolume { place, fat }),
            Err(error) => unreadable.push(UnreadableEsp { place, reason: error.to_string() }),
        }
    }
    (found, unreadable)
}

/// The byte ranges of the EFI system partitions that the partition tables name.
fn partitions(source: &dyn Source) -> Vec<Range<u64>> {
    let mut sectors: Vec<Range<u64>> = Vec::new();
    if let Ok(Some(gpt)) = Gpt::read(source) {
        let esps = gpt.partitions().filter(|(_, partition)| partition.kind == Guid::EFI_SYSTEM);
        sectors.extend(esps.map(|(_, partition)| partition.first..partition.last.saturating_add(1)));
    }
    if let Ok(Some(table)) = Mbr::read(source) {
        let esps = table.partitions().filter(|(_, partition)| partition.kind == mbr::EFI_SYSTEM);
        sectors.extend(esps.map(|(_, MbrPartition { first_sector, sectors, .. })| {
            u64::from(first_sector)..u64::from(first_sector) + u64::from(sectors)
        }));
    }
    sectors.sort_by_key(|sectors| sectors.start);
    sectors.dedup_by_key(|sectors| sectors.start);
    sectors.into_iter().map(|Range { start, end }| start.saturating_mul(SECTOR)..end.saturating_mul(SECTOR)).collect()
}
