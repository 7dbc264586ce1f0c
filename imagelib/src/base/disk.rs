//! Bases that are the image of a disk.

use std::io;

use super::live::{LiveIso, NotCustomisable, esps_of_disk};
use super::{BaseError, DeliveryProfile, Format};
use crate::disk::{self, gpt};
use crate::source::{Role, Source};
use crate::talos::meta::MetaPartition;

/// Why a disk becomes nothing but a disk.
const ONLY_A_DISK: &str = "it is the image of a disk; ask for 'usb'";

/// The image of a disk with an EFI system partition.
#[derive(Debug, Clone)]
pub struct DiskBase {
    /// Length in bytes.
    pub size: u64,
    /// The system on it, or why dayone cannot customise it.
    pub system: Result<Box<LiveIso>, NotCustomisable>,
    /// The META partition of Talos, if the disk has one.
    pub talos_meta: Option<MetaPartition>,
}

impl DiskBase {
    /// Reads the EFI system partitions. `None` if the file is not the image of a disk with one. An error if the end of the file is
    /// missing, or if the disk has sectors of 4096 bytes.
    pub(super) fn probe(source: &dyn Source) -> Result<Option<Self>, BaseError> {
        let (esps, others) = esps_of_disk(source);
        if esps.is_empty() && others.is_empty() {
            let large = has_large_sectors(source).map_err(|error| BaseError::Read(Role::Iso, error))?;
            return if large { Err(BaseError::LargeSectors) } else { Ok(None) };
        }
        disk::check_complete(source).map_err(|error| BaseError::Read(Role::Iso, error))??;
        let system = if esps.is_empty() {
            Err(NotCustomisable::UnreadablePartition)
        } else {
            LiveIso::probe_disk(source, esps, &others)?.map(Box::new)
        };
        let talos_meta = MetaPartition::find(source).map_err(|error| BaseError::Read(Role::Iso, error))?;
        // Another system may have a partition of this name, too.
        let may_be_talos = |live: &LiveIso| matches!(live.profile(), DeliveryProfile::Talos | DeliveryProfile::Unknown);
        let talos_meta = talos_meta.filter(|_| system.as_ref().map_or(true, |live| may_be_talos(live)));
        Ok(Some(Self { size: source.size(), system, talos_meta }))
    }

    /// The formats that images of this base can have.
    pub(super) fn formats(&self) -> Vec<Format> {
        match &self.system {
            Ok(live) if !live.is_customised() => vec![Format::Usb],
            Err(_) if self.talos_meta.is_some() => vec![Format::Usb],
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    /// The delivery profile of its system, as detected.
    pub(super) fn profile(&self) -> DeliveryProfile {
        match (&self.talos_meta, &self.system) {
            (Some(_), _) => DeliveryProfile::Talos,
            (None, Ok(live)) => live.profile(),
            (None, Err(_)) => DeliveryProfile::Unknown,
        }
    }

    /// Whether somebody has put a configuration on it.
    pub fn is_customised(&self) -> bool {
        let meta = self.talos_meta.as_ref().is_some_and(MetaPartition::has_network);
        meta || self.system.as_ref().is_ok_and(|live| live.is_customised())
    }

    /// Why images of it are impossible.
    pub fn problem(&self) -> Option<NotCustomisable> {
        match &self.system {
            Ok(live) => live.is_customised().then_some(NotCustomisable::Customised),
            Err(_) if self.talos_meta.is_some() => None,
            Err(reason) => Some(reason.clone()),
        }
    }

    /// An error with the reason if images of a disk never have the format.
    pub(super) fn check_format(format: Format) -> Result<(), &'static str> {
        if format == Format::Usb { Ok(()) } else { Err(ONLY_A_DISK) }
    }
}

/// Whether a GPT begins where the second sector of 4096 bytes does. Publishers offer such images beside the usual ones (Fedora CoreOS:
/// `metal4k`).
fn has_large_sectors(source: &dyn Source) -> io::Result<bool> {
    const SECOND: u64 = 4096;
    let length = gpt::SIGNATURE.len() as u64;
    Ok(source.size() >= SECOND + length && source.read_vec(SECOND, length)? == gpt::SIGNATURE)
}
