//! The file systems of a medium, and the EFI programs on them.

use std::ops::Range;

use crate::base::live::{EspPlace, esps_and_unreadable, esps_of_disk};
use crate::disk::fat::FatImage;
use crate::iso::{Extent, IsoError, Volume};
use crate::source::Source;
use crate::uki::{CREDENTIAL_NAME, is_credential_of_dayone};

/// What follows the path of a file in a partition.
const IN_PARTITION: &str = " in the EFI system partition";
/// The most programs that are looked at. Real media have ten.
pub(super) const MAX_PROGRAMS: usize = 64;

/// The file systems of a medium that a boot reads.
pub(super) struct Medium<'a> {
    source: &'a dyn Source,
    volume: Option<Volume>,
    esps: Vec<Esp>,
    /// Whether there is an EFI system partition that dayone cannot read.
    pub(super) unreadable: bool,
}

struct Esp {
    /// What follows the path of a file in it.
    name: String,
    fat: FatImage,
}

/// A file by its path on one of the file systems of a medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The index of the EFI system partition; `None` for the ISO file system.
    pub(super) esp: Option<usize>,
    /// The path, with a slash in front.
    pub(super) path: String,
}

/// A file and where its bytes are on the medium.
#[derive(Debug, Clone)]
pub(super) struct Located {
    pub(super) place: Place,
    /// The path for people to read.
    pub(super) name: String,
    pub(super) extents: Vec<Range<u64>>,
}

impl<'a> Medium<'a> {
    /// An ISO, perhaps with a partition table.
    pub(super) fn iso(source: &'a dyn Source) -> Result<Self, IsoError> {
        let volume = Volume::open(source)?;
        let (volumes, others) = esps_and_unreadable(source, &volume)?;
        let esp = |volume: crate::base::live::EspVolume| {
            let name = match volume.place {
                EspPlace::File { path, .. } => format!(" in {path}"),
                EspPlace::Partition => IN_PARTITION.to_owned(),
            };
            Esp { name, fat: volume.fat }
        };
        let esps = volumes.into_iter().map(esp).collect();
        Ok(Self { source, volume: Some(volume), esps, unreadable: !others.is_empty() })
    }

    /// A disk with a partition table.
    pub(super) fn disk(source: &'a dyn Source) -> Self {
        let (volumes, others) = esps_of_disk(source);
        let unreadable = !others.is_empty() || volumes.is_empty();
        let esps = volumes.into_iter().map(|volume| Esp { name: IN_PARTITION.to_owned(), fat: volume.fat }).collect();
        Self { source, volume: None, esps, unreadable }
    }

    /// An EFI system partition alone.
    pub(super) fn esp(source: &'a dyn Source) -> Self {
        let mut medium = Self { source, volume: None, esps: Vec::new(), unreadable: false };
        medium.add(0..source.size());
        medium
    }

    fn add(&mut self, range: Range<u64>) {
        match FatImage::open(self.source, range) {
            Ok(fat) => self.esps.push(Esp { name: IN_PARTITION.to_owned(), fat }),
            Err(_) => self.unreadable = true,
        }
    }

    /// Whether it has an ISO file system.
    pub(super) fn is_iso(&self) -> bool {
        self.volume.is_some()
    }

    /// The number of EFI system partitions.
    pub(super) fn esps(&self) -> usize {
        self.esps.len()
    }

    /// The programs, the credentials and other files in the EFI system partitions: all files whose names end so. Those in `EFI/BOOT` come
    /// first.
    pub(super) fn in_esps(&self, suffix: &str) -> Vec<Located> {
        let mut found = Vec::new();
        for (index, esp) in self.esps.iter().enumerate() {
            for file in esp.fat.files() {
                if file.path.to_ascii_lowercase().ends_with(suffix) {
                    let place = Place { esp: Some(index), path: format!("/{}", file.path) };
                    let name = format!("{}{}", place.path, esp.name);
                    found.push(Located { place, name, extents: file.extents.clone() });
                }
            }
        }
        found.sort_by_key(|file| !file.place.path.to_ascii_lowercase().starts_with("/efi/boot/"));
        found
    }

    /// The credentials that dayone has written beside unified kernel images.
    pub(super) fn credentials_of_dayone(&self) -> Vec<Place> {
        let named = self.in_esps(CREDENTIAL_NAME).into_iter();
        let of_dayone = named.filter(|file| is_credential_of_dayone(self.source, &file.extents));
        of_dayone.map(|file| file.place).collect()
    }

    /// A file by its place; `None` if it is not there.
    pub(super) fn find(&self, place: &Place) -> Result<Option<Located>, IsoError> {
        let (name, extents) = if let Some(index) = place.esp {
            let Some(esp) = self.esps.get(index) else { return Ok(None) };
            let Some(file) = esp.fat.file(place.path.trim_start_matches('/')) else { return Ok(None) };
            (esp.name.as_str(), file.extents.clone())
        } else {
            let Some(volume) = &self.volume else { return Ok(None) };
            let Some(file) = volume.find(self.source, &place.path)? else { return Ok(None) };
            ("", file.extents.iter().map(Extent::range).collect())
        };
        Ok(Some(Located { place: place.clone(), name: format!("{}{name}", place.path), extents }))
    }
}
