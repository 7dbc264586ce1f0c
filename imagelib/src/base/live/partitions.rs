//! The EFI system partitions of an ISO, from which firmware starts it as a CD and as a disk.

use std::ops::Range;

use crate::boot_medium::Program;
use crate::disk::SECTOR;
use crate::disk::fat::{FatError, FatImage};
use crate::disk::gpt::Gpt;
use crate::disk::guid::Guid;
use crate::disk::mbr::{self, Mbr, MbrPartition};
use crate::iso::el_torito::{self, BootEntry, Platform};
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
            let first = program(&first_loader(architecture))?;
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
    // Several entries may start the same partition.
    let is_known = |places: &[(Range<u64>, EspPlace)], start: u64| places.iter().any(|(known, _)| known.start == start);
    let catalog = el_torito::read(source, volume)?;
    let entries = catalog.iter().flat_map(|catalog| &catalog.entries);
    for entry in entries.clone().filter(|entry| entry.platform == Platform::Uefi) {
        if !is_known(&places, entry.image.offset) {
            places.push(place_of(source, entry));
        }
    }
    for range in partitions(source) {
        if !is_known(&places, range.start) {
            places.push((range, EspPlace::Partition));
        }
    }
    for entry in entries.filter(|entry| may_be_for_uefi(entry)) {
        let (range, place) = place_of(source, entry);
        if !is_known(&places, range.start) && FatImage::open(source, range.clone()).is_ok_and(|fat| has_loader(&fat)) {
            places.push((range, place));
        }
    }
    Ok(open(source, places))
}

/// The place of the EFI system partition that an entry of the boot catalog starts, and its range, which may be too long.
fn place_of(source: &dyn Source, entry: &BootEntry) -> (Range<u64>, EspPlace) {
    let offset = entry.image.offset;
    match &entry.path {
        Some(path) => (entry.image.range(), EspPlace::File { path: path.clone(), offset }),
        None => (offset..source.size(), EspPlace::Partition),
    }
}

/// Whether UEFI may start the image although the entry is for BIOSes: UEFI does not look at the platform.
fn may_be_for_uefi(entry: &BootEntry) -> bool {
    entry.platform == Platform::Bios && entry.bootable && entry.no_emulation
}

/// Whether UEFI finds something to start on the file system.
fn has_loader(fat: &FatImage) -> bool {
    ARCHITECTURES.iter().any(|architecture| fat.file(&first_loader(architecture)).is_some())
}

/// The path of what UEFI starts first.
fn first_loader(architecture: &str) -> String {
    format!("EFI/BOOT/BOOT{architecture}.EFI")
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

/// Checks that the file has the EFI system partitions behind the volume, which the volume's own size does not count: a download that
/// was cut off there has all files of the ISO, and UEFI machines do not start it.
///
/// Partitions of other types do not count: nothing on them starts a host, and tools round the last one up to a whole cylinder, beyond the
/// end of the file. For the same reason, an EFI system partition is complete if its file system is.
pub(in crate::base) fn check_complete(source: &dyn Source, volume: &Volume) -> Result<(), IsoError> {
    let (behind, actual) = (volume.base().saturating_add(volume.space_size()), source.size());
    let named = partitions(source);
    let appended = named.iter().filter(|range| range.start >= behind && range.end > actual);
    let mut ends: Vec<u64> = appended.filter_map(|range| missing_end(source, range)).collect();
    // Others report the errors of the catalog.
    let catalog = el_torito::without_files(source, volume).ok().flatten();
    let entries = catalog.iter().flat_map(|catalog| &catalog.entries);
    let uefi = entries.filter(|entry| entry.platform == Platform::Uefi || may_be_for_uefi(entry));
    let uefi = uefi.map(|entry| entry.image.offset);
    let unnamed = uefi.filter(|start| *start >= behind && !named.iter().any(|range| range.start == *start));
    // Nothing says where these end but their file systems.
    ends.extend(unnamed.filter_map(|start| missing_end(source, &(start..start.saturating_add(SECTOR)))));
    match ends.into_iter().max() {
        Some(expected) => Err(IsoError::IncompletePartition { expected, actual }),
        None => Ok(()),
    }
}

/// Returns where the content of a partition ends, if that is behind the end of the file.
fn missing_end(source: &dyn Source, partition: &Range<u64>) -> Option<u64> {
    let is_missing_whole = source.size() < partition.start.saturating_add(SECTOR);
    if is_missing_whole { Some(partition.end) } else { file_system_end(source, partition.start) }
}

/// Returns where the FAT file system that begins at this offset ends, if that is behind the end of the file.
fn file_system_end(source: &dyn Source, start: u64) -> Option<u64> {
    match FatImage::open(source, start..source.size()) {
        Err(FatError::Incomplete { expected, .. }) => Some(start.saturating_add(expected)),
        _ => None,
    }
}

/// The byte ranges of the EFI system partitions that the partition tables name.
fn partitions(source: &dyn Source) -> Vec<Range<u64>> {
    let mut sectors: Vec<Range<u64>> = Vec::new();
    if let Ok(Some(gpt)) = Gpt::read(source) {
        let esps = gpt.partitions().filter(|(_, partition)| partition.kind == Guid::EFI_SYSTEM);
        sectors.extend(esps.map(|(_, partition)| partition.first..partition.last.saturating_add(1)));
    }
    // A boot sector without a table has code or text in its place.
    if let Ok(Some(table)) = Mbr::read(source).map(|table| table.filter(Mbr::is_plausible)) {
        let esps = table.partitions().filter(|(_, partition)| partition.kind == mbr::EFI_SYSTEM);
        sectors.extend(esps.map(|(_, MbrPartition { first_sector, sectors, .. })| {
            u64::from(first_sector)..u64::from(first_sector) + u64::from(sectors)
        }));
    }
    sectors.sort_by_key(|sectors| sectors.start);
    sectors.dedup_by_key(|sectors| sectors.start);
    sectors.into_iter().map(|Range { start, end }| start.saturating_mul(SECTOR)..end.saturating_mul(SECTOR)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::base::{Base, Role};
    use crate::disk::fat::NewFat;
    use crate::fields::put;
    use crate::iso::author::{NewFile, NewIso};
    use crate::overlay::{Content, Overlay, Patch, Segment, Sizes};

    fn bytes_of(segments: Vec<Segment>) -> Vec<u8> {
        let overlay = Overlay::concatenated(&Sizes::new(), segments).unwrap();
        let mut bytes = vec![0; usize::try_from(overlay.size()).unwrap()];
        overlay.read_at(&(Role::Iso, Vec::<u8>::new()), 0, &mut bytes).unwrap();
        bytes
    }

    /// An ISO with a FAT file system behind its volume, as xorriso appends it; where that begins and ends; and a master boot record with
    /// this one partition for it, which is larger by `more` sectors.
    fn with_appended(kind: u8, more: u32) -> (Vec<u8>, Range<usize>) {
        let files = BTreeMap::from([("a".parse().unwrap(), NewFile::literal(0o644, vec![7_u8; 5000]))]);
        let iso = NewIso { volume_id: "APPENDED".to_owned(), files, ..NewIso::default() };
        let mut iso = bytes_of(iso.layout().unwrap());
        let loader = BTreeMap::from([("A.EFI".parse().unwrap(), vec![Segment::bytes(vec![7_u8; 5000])])]);
        let esp = NewFat { label: "ESP".parse().unwrap(), id: 7, files: &loader };
        let esp = bytes_of(esp.data_drive().unwrap());
        let start = iso.len();
        let sector = |bytes: usize| u32::try_from(bytes / 512).unwrap();
        let partition =
            MbrPartition { bootable: false, kind, first_sector: sector(start), sectors: sector(esp.len()) + more };
        let Patch { offset, content: Content::Bytes(table) } = Mbr::new([None, Some(partition), None, None]).table()
        else {
            panic!("bytes")
        };
        put(&mut iso, usize::try_from(offset).unwrap(), &table);
        iso.extend(esp);
        let end = iso.len();
        (iso, start..end)
    }

    fn cut(iso: &[u8], length: usize) -> Result<(), String> {
        let iso = iso[..length].to_vec();
        check_complete(&iso, &Volume::open(&iso).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_appended_efi_system_partition_must_be_in_the_file() {
        for more in [0, 3000] {
            let (iso, Range { start, end }) = with_appended(mbr::EFI_SYSTEM, more);
            // A partition that is larger than its file system is one that a tool rounded up.
            assert_eq!(cut(&iso, end), Ok(()), "{more}");
            let partition_end = end + usize::try_from(more).unwrap() * 512;
            for (length, expected) in
                [(end - 512, end), (start + 512, end), (start + 100, partition_end), (start, partition_end)]
            {
                let found = cut(&iso, length).unwrap_err();
                let message = format!(
                    "the ISO image is incomplete: its EFI system partition ends at offset {expected}, the file has {length} bytes; \
                     download it again and compare its checksum"
                );
                assert_eq!(found, message, "{more}");
            }
            let files = (Role::Iso, iso[..end - 512].to_vec());
            let error = Base::probe(&files).unwrap_err().to_string();
            assert!(error.contains("is incomplete"), "{error}");
        }
    }

    #[test]
    fn partitions_that_firmware_does_not_read_may_end_behind_the_file() {
        let (iso, Range { start, end }) = with_appended(0x83, 3000);
        for length in [end, end - 512, start] {
            assert_eq!(cut(&iso, length), Ok(()), "{length}");
        }
        // As isohybrid makes it: the whole image, rounded up to a cylinder, and the partition in one of its files.
        let (mut iso, Range { start, .. }) = with_appended(mbr::EFI_SYSTEM, 0);
        let sectors = u32::try_from(start / 512).unwrap();
        let whole =
            MbrPartition { bootable: true, kind: 0x17, first_sector: 0, sectors: sectors.next_multiple_of(2048) };
        let inside = MbrPartition { bootable: false, kind: mbr::EFI_SYSTEM, first_sector: 64, sectors: sectors + 2048 };
        let Patch { offset, content: Content::Bytes(table) } =
            Mbr::new([Some(whole), Some(inside), None, None]).table()
        else {
            panic!("bytes")
        };
        put(&mut iso, usize::try_from(offset).unwrap(), &table);
        assert_eq!(cut(&iso, start), Ok(()));
    }
}
