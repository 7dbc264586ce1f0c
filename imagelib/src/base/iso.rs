//! ISO bases.

use std::ops::Range;

use super::live::{self, LiveIso, NotCustomisable};
use super::{BaseError, Format, Role};
use crate::delivery::{self, Drivers};
use crate::disk::mbr::{EFI_SYSTEM, Mbr, PROTECTIVE};
use crate::initramfs;
use crate::iso::coreos::{CoreosIso, Growth, MinimalIso};
use crate::iso::el_torito::{self, Platform};
use crate::iso::{FileEntry, Volume};
use crate::overlay::{Overlay, OverlaySource, Segment, Sizes};
use crate::source::Source;
use vocabulary::network_files::NetworkManagerVersion;
use vocabulary::report::{DocumentPath, Report};

/// The size in bytes from which BMCs with an older Linux cut an emulated CD-ROM off: 1,152,000 blocks of 2048 bytes
/// (`drivers/usb/gadget/function/storage_common.c`).
pub const CUT_OFF_BY_CD_EMULATION: u64 = 1_152_000 * 2048;

/// The code of the finding about an ISO without a partition table.
pub(crate) const NOT_HYBRID: &str = "not-hybrid";

/// The code of the finding about a disk that a BIOS does not start, from a base that it starts as a CD.
pub(crate) const BIOS_ONLY_FROM_CD: &str = "bios-only-from-cd";

/// The size in bytes of the boot code in the first sector of a disk.
const BOOT_CODE: u64 = 440;

/// The size in bytes of the system area at the beginning of an ISO, which other formats may use (ECMA-119 §6.2.1).
const SYSTEM_AREA: u64 = 32 << 10;

/// A bootable ISO.
#[derive(Debug, Clone)]
pub struct IsoBase {
    /// The volume identifier, by which live systems find their medium.
    pub volume_id: String,
    /// Length in bytes.
    pub size: u64,
    /// Whether it also boots from a BMC that presents it as a disk.
    pub disk: DiskTable,
    /// Whether a BIOS starts it as a CD, and not as a disk, because it has no boot code in its first sector.
    pub bios_only_from_cd: bool,
    /// The system on it.
    pub system: IsoSystem,
}

/// Whether an ISO boots as a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiskTable {
    /// The ISO has a partition table from which firmware starts, or may start.
    Present,
    /// The ISO has a partition table from which no firmware starts.
    StartsNothing,
    /// The ISO has no partition table, but dayone can add one that names its EFI system partition.
    Possible {
        /// The EFI system partition, as a range of bytes of the ISO.
        esp: Range<u64>,
    },
    /// dayone cannot add a partition table, for this reason.
    Impossible(&'static str),
}

/// What dayone can do with the system on an ISO.
#[derive(Debug, Clone)]
pub enum IsoSystem {
    /// A CoreOS live system with embed areas.
    Coreos(Box<CoreosBase>),
    /// Another live system or installer, whose boot menus and initramfs images dayone can change.
    Live(LiveIso),
    /// A system that dayone cannot customise, with the reason.
    Other(NotCustomisable),
}

/// What dayone needs to make images from a CoreOS live ISO.
#[derive(Debug, Clone)]
pub struct CoreosBase {
    /// The embed areas.
    pub areas: CoreosIso,
    /// How to enlarge the embed areas.
    pub growth: Growth,
    /// The ISO without its root file system, or why dayone cannot make one.
    pub minimal: Result<MinimalIso, String>,
    /// The files for network boot, if the ISO has them.
    pub live: Option<LiveFiles>,
    /// The release of NetworkManager in its initramfs, if [`Base::survey_initramfs`](super::Base::survey_initramfs)
    /// has found it.
    pub network_manager_version: Option<NetworkManagerVersion>,
    /// Whether its initramfs has the drivers for a RAM disk, found in the same way.
    pub(crate) drivers: Option<Drivers>,
}

/// The files for network boot on a CoreOS ISO, as ranges of bytes of the ISO.
#[derive(Debug, Clone)]
pub struct LiveFiles {
    /// The kernel.
    pub kernel: Range<u64>,
    /// The initramfs.
    pub initrd: Range<u64>,
    /// The root file system.
    pub rootfs: Option<Range<u64>>,
}

impl IsoBase {
    pub(super) fn probe(source: &dyn Source) -> Result<Self, BaseError> {
        let volume = Volume::open(source)?;
        live::check_complete(source, &volume)?;
        let system = match CoreosIso::probe(source, &volume)? {
            Some(areas) => IsoSystem::Coreos(Box::new(CoreosBase::probe(source, &volume, areas)?)),
            None => match LiveIso::probe(source, &volume)? {
                Ok(live) => IsoSystem::Live(live),
                Err(reason) => IsoSystem::Other(reason),
            },
        };
        let disk = DiskTable::probe(source, &volume)?;
        let bios_only_from_cd = bios_only_from_cd(source, &volume)?;
        Ok(Self { volume_id: volume.id().to_owned(), size: source.size(), disk, bios_only_from_cd, system })
    }

    /// Whether the ISO has a partition table, and so also boots from a BMC that presents it as a disk.
    pub fn is_hybrid(&self) -> bool {
        self.disk == DiskTable::Present
    }

    /// Warnings about the ISO itself, whatever is added to it.
    pub fn report(&self) -> Report {
        self.report_at(self.size)
    }

    /// The same for a medium of another size that is made of the ISO.
    pub(crate) fn report_at(&self, size: u64) -> Report {
        let mut report = Report::new();
        let path = DocumentPath::document("base");
        if size >= CUT_OFF_BY_CD_EMULATION {
            let message = format!(
                "has {size} bytes: BMCs with an older Linux that emulate a CD-ROM cut images off at \
                 {CUT_OFF_BY_CD_EMULATION}"
            );
            report.warning("cut-off-by-cd-emulation", &path, message);
        }
        if !size.is_multiple_of(2048) {
            let message =
                format!("has {size} bytes, which is not a multiple of 2048: a CD-ROM drive cuts off the rest");
            report.warning("partial-last-block", &path, message);
        }
        let as_disk = "a BMC that shows it to the host as a disk, as OpenBMC does, cannot boot it";
        match &self.disk {
            DiskTable::Present => {}
            DiskTable::Possible { .. } => {
                let message = format!("has no partition table: {as_disk}; use the format 'usb', which adds one");
                report.warning(NOT_HYBRID, &path, message);
            }
            DiskTable::StartsNothing => {
                report.warning(
                    NOT_HYBRID,
                    &path,
                    format!("has a partition table from which nothing starts: {as_disk}"),
                );
            }
            DiskTable::Impossible(_) => report.warning(NOT_HYBRID, &path, format!("has no partition table: {as_disk}")),
        }
        report
    }

    pub(super) fn formats(&self) -> Vec<Format> {
        let mut formats = match &self.system {
            IsoSystem::Coreos(coreos) => coreos.formats(),
            IsoSystem::Live(live) if live.is_customised() => vec![],
            IsoSystem::Live(live) if live.starts_from_network() => vec![Format::Iso, Format::Initrd],
            IsoSystem::Live(live) if live.minimal().is_ok() => vec![Format::Iso, Format::MinimalIso],
            IsoSystem::Live(_) => vec![Format::Iso],
            IsoSystem::Other(_) => vec![],
        };
        if !formats.is_empty() && self.disk.check().is_ok() {
            formats.push(Format::Usb);
        }
        formats
    }
}

/// Whether the first sector has code that a BIOS starts.
fn has_boot_code(source: &dyn Source) -> Result<bool, BaseError> {
    let code = source.read_vec(0, BOOT_CODE).map_err(|error| BaseError::Read(Role::Iso, error))?;
    Ok(code.iter().any(|byte| *byte != 0))
}

/// Whether a BIOS finds what to start in the boot catalog alone.
fn bios_only_from_cd(source: &dyn Source, volume: &Volume) -> Result<bool, BaseError> {
    if has_boot_code(source)? {
        return Ok(false);
    }
    // What a damaged catalog has in it is unknown.
    let catalog = el_torito::read(source, volume).ok().flatten();
    Ok(catalog.is_some_and(|catalog| catalog.first(Platform::Bios).is_some()))
}

impl DiskTable {
    /// Looks at the partition table and the boot catalog of an ISO.
    pub fn probe(source: &dyn Source, volume: &Volume) -> Result<Self, BaseError> {
        let read = |error| BaseError::Read(Role::Iso, error);
        let area = source.read_vec(0, SYSTEM_AREA).map_err(read)?;
        if let Some(mbr) = Mbr::read(source).map_err(read)? {
            let kinds: Vec<u8> = mbr.partitions().map(|(_, partition)| partition.kind).collect();
            // Behind a protective entry, a GPT names what starts.
            if has_boot_code(source)? || kinds.iter().any(|kind| matches!(*kind, EFI_SYSTEM | PROTECTIVE)) {
                return Ok(Self::Present);
            }
            // genisoimage writes a signature and four unused entries before HFS. Firmware of other machines than PCs needs neither
            // code nor an EFI system partition.
            if !kinds.is_empty() {
                let catalog = el_torito::read(source, volume).ok().flatten();
                let starts = |platform| catalog.as_ref().is_some_and(|catalog| catalog.first(platform).is_some());
                let is_for_a_bios_alone = starts(Platform::Bios) && !starts(Platform::Uefi);
                return Ok(if is_for_a_bios_alone { Self::StartsNothing } else { Self::Present });
            }
        }
        if area.iter().any(|byte| *byte != 0) {
            return Ok(Self::Impossible("its first 32 KiB, where a partition table would be, are in use"));
        }
        if !source.size().is_multiple_of(2048) {
            return Ok(Self::Impossible("its size is not a multiple of 2048"));
        }
        let catalog = el_torito::read(source, volume)?;
        let uefi = catalog.as_ref().and_then(|catalog| catalog.first(Platform::Uefi));
        // If the catalog does not give the whole length of the image, its file does.
        let none = Self::Impossible("it has neither a partition table nor an EFI system partition to name in one");
        Ok(uefi.map_or(none, |entry| Self::Possible { esp: entry.image.range() }))
    }

    /// An error with the reason if dayone makes no disk of such an ISO.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        match self {
            Self::Present | Self::Possible { .. } => Ok(()),
            Self::StartsNothing => {
                Err("its partition table names no EFI system partition, and it has no boot code for a BIOS")
            }
            Self::Impossible(reason) => Err(reason),
        }
    }
}

impl CoreosBase {
    /// A missing or damaged description of the minimal ISO is no reason to refuse the full ISO.
    fn probe(source: &dyn Source, volume: &Volume, areas: CoreosIso) -> Result<Self, BaseError> {
        let growth = Growth::probe(source, volume, &areas)?;
        let minimal = match MinimalIso::probe(source, volume) {
            Ok(minimal) => minimal.ok_or_else(|| "it has no /coreos/miniso.dat, which ISOs have since 2022".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        Ok(Self {
            areas,
            growth,
            minimal,
            live: LiveFiles::find(source, volume)?,
            network_manager_version: None,
            drivers: None,
        })
    }

    pub(super) fn verify(&mut self, source: &dyn Source) {
        if let Some(Err(error)) = self.minimal.as_ref().ok().map(|minimal| minimal.verify(source)) {
            self.minimal = Err(error.to_string());
        }
    }

    /// Looks for NetworkManager and for the drivers of RAM disks in the initramfs, which it reads to the end. Read errors leave
    /// them unknown.
    pub(super) fn survey_initramfs(&mut self, source: &dyn Source) {
        let Some(live) = &self.live else { return };
        let segment = Segment::base(Role::Iso, live.initrd.clone());
        let Ok(initrd) = Overlay::concatenated(&Sizes::from([(Role::Iso, source.size())]), vec![segment]) else {
            return;
        };
        let survey = initramfs::survey(&OverlaySource::new(&initrd, (Role::Iso, source)), &[], 0);
        let Ok(survey) = survey else { return };
        self.network_manager_version = delivery::network_manager_version(&survey.tree);
        self.drivers = Some(Drivers::of(&survey));
    }

    fn formats(&self) -> Vec<Format> {
        let possible =
            [(Format::Iso, true), (Format::MinimalIso, self.minimal.is_ok()), (Format::Initrd, self.live.is_some())];
        possible.into_iter().filter_map(|(format, possible)| possible.then_some(format)).collect()
    }
}

impl LiveFiles {
    fn find(source: &dyn Source, volume: &Volume) -> Result<Option<Self>, BaseError> {
        let range =
            |path| -> Result<_, BaseError> { Ok(volume.find(source, path)?.and_then(|entry| contiguous(&entry))) };
        let (kernel, initrd) = (range("/images/pxeboot/vmlinuz")?, range("/images/pxeboot/initrd.img")?);
        let rootfs = range("/images/pxeboot/rootfs.img")?;
        Ok(kernel.zip(initrd).map(|(kernel, initrd)| Self { kernel, initrd, rootfs }))
    }
}

/// The range of the image that holds a file. `None` if the file has several extents that do not follow each other.
fn contiguous(entry: &FileEntry) -> Option<Range<u64>> {
    let first = entry.extents.first()?;
    let mut end = first.offset;
    for extent in &entry.extents {
        if extent.offset != end {
            return None;
        }
        end = end.checked_add(extent.length)?;
    }
    Some(first.offset..end)
}
