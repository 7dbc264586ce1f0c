//! Bases that are the image of a disk.

use super::live::{LiveIso, NotCustomisable, esps_of_disk};
use super::{BaseError, Format};
use crate::source::Source;

/// Why a disk becomes nothing but a disk.
const ONLY_A_DISK: &str = "it is the image of a disk; ask for 'usb'";

/// The image of a disk with an EFI system partition.
#[derive(Debug, Clone)]
pub struct DiskBase {
    /// Length in bytes.
    pub size: u64,
    /// The system on it, or why dayone cannot customise it.
    pub system: Result<Box<LiveIso>, NotCustomisable>,
}

impl DiskBase {
    /// Reads the EFI system partitions. `None` if the file is not the image of a disk with one.
    pub(super) fn probe(source: &dyn Source) -> Result<Option<Self>, BaseError> {
        let (esps, others) = esps_of_disk(source);
        let system = match (esps.is_empty(), others) {
            (true, false) => return Ok(None),
            (true, true) => Err(NotCustomisable::UnreadablePartition),
            (false, _) => LiveIso::probe_disk(source, esps)?.map(Box::new),
        };
        Ok(Some(Self { size: source.size(), system }))
    }

    /// The formats that images of this base can have.
    pub(super) fn formats(&self) -> Vec<Format> {
        match &self.system {
            Ok(live) if !live.is_customised() => vec![Format::Usb],
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    /// An error with the reason if images of a disk never have the format.
    pub(super) fn check_format(format: Format) -> Result<(), &'static str> {
        if format == Format::Usb { Ok(()) } else { Err(ONLY_A_DISK) }
    }
}
