//! Whether a system runs from a RAM disk. UEFI HTTP boot puts the medium into memory, and the kernel sees it as `/dev/pmem0` if it
//! has the drivers for that.

use serde::Serialize;
use utoipa::ToSchema;
use vocabulary::text_as_serde;

use crate::base::live::{self, LiveIso, Surveyed};
use crate::base::{Base, CoreosBase, Format, IsoSystem};
use crate::delivery::{self, DRIVERS, DeliveryProfile, Drivers};

/// Whether an image boots by UEFI HTTP boot, as far as its system needs the medium for that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = HttpBoot)]
pub struct RamDisk {
    /// `possible`, `impossible` or `unknown`.
    #[schema(value_type = String, example = "possible")]
    pub verdict: RamDiskVerdict,
    /// Why, and what to do if it is not possible.
    pub reason: String,
}

/// Whether a system finds its medium in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RamDiskVerdict {
    /// Nothing that dayone sees prevents it.
    Possible,
    /// It certainly does not.
    Impossible,
    /// dayone cannot tell.
    Unknown,
}

text_as_serde!(RamDiskVerdict);

impl RamDisk {
    /// Examines images of this format; `None` for formats that firmware does not boot. For a CoreOS live ISO, call
    /// [`Base::survey_initramfs`] first.
    pub fn of(base: &Base, format: Format) -> Option<Self> {
        match (base, format) {
            (_, Format::Initrd | Format::Data) | (Base::Nothing, _) => None,
            (Base::KernelInitrd(_), _) => {
                Some(Self::possible("its medium has only the kernel and the initramfs, which the boot loader reads"))
            }
            (Base::Iso(iso), _) => {
                let found = match &iso.system {
                    IsoSystem::Coreos(_) | IsoSystem::Live(_) if format == Format::MinimalIso => {
                        Self::possible("its system fetches its root file system over the network")
                    }
                    IsoSystem::Coreos(coreos) => Self::of_coreos(coreos),
                    IsoSystem::Live(live) => Self::of_live(live),
                    IsoSystem::Other(_) => return None,
                };
                Some(found.or_minimal(base))
            }
            (Base::Disk(disk), _) => disk.system.as_ref().ok().map(|live| Self::of_live(live)),
        }
    }

    fn of_coreos(base: &CoreosBase) -> Self {
        base.drivers.as_ref().map_or_else(|| Self::unknown("dayone cannot read its initramfs"), Self::by)
    }

    fn of_live(iso: &LiveIso) -> Self {
        let mut found: Vec<(&str, Self)> = Vec::new();
        for initrd in iso.entries().filter(live::EntryView::is_for_uefi).flat_map(live::EntryView::initrds) {
            if found.iter().any(|(path, _)| *path == initrd.path) {
                continue;
            }
            let of_initrd = match &initrd.state {
                Err(_) => Self::unknown("dayone cannot read its initramfs"),
                Ok(surveyed) => Self::of_system(surveyed),
            };
            found.push((&initrd.path, of_initrd));
        }
        // Their initramfs is in them, and no menu names it.
        for uki in iso.ukis() {
            let of_uki = match &uki.state {
                Err(reason) => {
                    Self::unknown(&format!("dayone does not see what this unified kernel image starts: {reason}"))
                }
                Ok(usable) => Self::of_system(&usable.surveyed),
            };
            found.push((&uki.path, of_uki));
        }
        let all = |verdict| found.iter().all(|(_, found)| found.verdict == verdict);
        let Some((_, first)) = found.first() else {
            return Self::unknown("dayone found neither a boot menu for UEFI nor a unified kernel image on it");
        };
        if all(RamDiskVerdict::Possible) || all(RamDiskVerdict::Impossible) {
            return first.clone();
        }
        let several = found.iter().filter(|(_, found)| found.verdict != RamDiskVerdict::Possible);
        let several: Vec<String> = several.map(|(path, found)| format!("{path}: {}", found.reason)).collect();
        Self::unknown(&several.join("; "))
    }

    fn of_system(surveyed: &Surveyed) -> Self {
        if delivery::is_debian_installer(&surveyed.tree) {
            return Self::unknown("it is the Debian installer, which looks for its packages on a CD");
        }
        match surveyed.detected.profile {
            DeliveryProfile::RootInInitramfs
            | DeliveryProfile::Networkd
            | DeliveryProfile::Flatcar
            | DeliveryProfile::Talos => Self::possible("its initramfs is the whole system"),
            _ => Self::by(&surveyed.drivers),
        }
    }

    fn by(drivers: &Drivers) -> Self {
        match drivers {
            Drivers::Present => {
                Self::possible(&format!("its initramfs has the drivers for a RAM disk ({})", DRIVERS.join(", ")))
            }
            Drivers::Missing(missing) => Self {
                verdict: RamDiskVerdict::Impossible,
                reason: format!(
                    "its initramfs lacks {}, so its system does not find the medium that the firmware has put into memory",
                    missing.join(", ")
                ),
            },
            Drivers::Unknown(why) => Self::unknown(&format!(
                "dayone cannot tell whether its initramfs has the drivers for a RAM disk ({}): {why}",
                DRIVERS.join(", ")
            )),
        }
    }

    fn possible(reason: &str) -> Self {
        Self { verdict: RamDiskVerdict::Possible, reason: reason.to_owned() }
    }

    fn unknown(reason: &str) -> Self {
        Self { verdict: RamDiskVerdict::Unknown, reason: reason.to_owned() }
    }

    /// Adds what to do, if the base has an image that needs no RAM disk.
    fn or_minimal(mut self, base: &Base) -> Self {
        if self.verdict != RamDiskVerdict::Possible && base.formats().contains(&Format::MinimalIso) {
            self.reason += "; the format minimal-iso needs none";
        }
        self
    }
}
