//! The embed areas of CoreOS live ISOs (Fedora CoreOS, RHCOS, SCOS): reserved space for an initramfs archive and for kernel
//! arguments. Filling them changes neither the size of the ISO nor the place of anything in it.
//!
//! The layout is the one in coreos-installer's `src/live/embed.rs`. dayone also reads its oldest forms, of 2020.

mod error;
mod features;
mod growth;
mod ignition;
mod kargs;
mod minimal;
#[cfg(test)]
mod tests;

pub use error::CoreosIsoError;
pub use features::Features;
pub use growth::{Grown, Growth, GrowthError, NotGrowable};
pub use ignition::IgnitionArea;
pub use kargs::{KernelArgumentArea, KernelArgumentAreas};
pub use minimal::{MinimalIso, MinimalIsoError};

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::{FileEntry, Volume};
use crate::kernel_arguments::KernelArguments;
use crate::overlay::Patch;
use crate::source::Source;

/// The largest of the small JSON files that describe the areas, in bytes. Real ones have less than one KiB.
const MAX_JSON_BYTES: u64 = 64 << 10;

/// A CoreOS live ISO and its embed areas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreosIso {
    ignition: IgnitionArea,
    kernel_arguments: Option<KernelArgumentAreas>,
    features: Features,
}

impl CoreosIso {
    /// Finds the areas of a CoreOS live ISO. `None` if the volume is something else. An error if it is a CoreOS live ISO, but
    /// its description does not fit.
    pub fn probe(source: &dyn Source, volume: &Volume) -> Result<Option<Self>, CoreosIsoError> {
        let Some(ignition) = IgnitionArea::probe(source, volume)? else { return Ok(None) };
        let kernel_arguments = KernelArgumentAreas::probe(source, volume)?;
        let features = Features::probe(source, volume)?;
        let iso = Self { ignition, kernel_arguments, features };
        iso.check_overlap()?;
        Ok(Some(iso))
    }

    /// The area for an initramfs archive.
    pub fn ignition(&self) -> &IgnitionArea {
        &self.ignition
    }

    /// The areas for kernel arguments. The first ISOs, and those for s390x from before July 2023, have none.
    pub fn kernel_arguments(&self) -> Option<&KernelArgumentAreas> {
        self.kernel_arguments.as_ref()
    }

    /// What the operating system in the image can do.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Whether the image is as it was published: nothing embedded, kernel arguments unchanged.
    pub fn is_pristine(&self) -> bool {
        self.ignition.is_empty()
            && self.kernel_arguments.as_ref().is_none_or(|areas| areas.current() == areas.default())
    }

    /// The patches that put `archive` into the Ignition area and `kernel_arguments` into all areas for these.
    ///
    /// The archive is in cpio's newc format, compressed or not, or several such archives in a row. It replaces everything that
    /// was embedded before; an empty one empties the area. Without kernel arguments, the current ones stay. An error if
    /// something does not fit.
    pub fn embed(
        &self,
        archive: impl Into<Bytes>,
        kernel_arguments: Option<&KernelArguments>,
    ) -> Result<Vec<Patch>, CoreosIsoError> {
        let mut patches = self.ignition.embed(archive.into())?;
        if let Some(arguments) = kernel_arguments {
            let areas = self.kernel_arguments.as_ref().ok_or(CoreosIsoError::NoKernelArgumentAreas)?;
            patches.extend(areas.embed(arguments)?);
        }
        patches.sort_by_key(|patch| patch.offset);
        Ok(patches)
    }

    /// Reads the Ignition area with the zeros at its end, which may belong to an archive. It contains secrets.
    pub fn embedded(&self, source: &dyn Source) -> Result<Vec<u8>, CoreosIsoError> {
        self.ignition.read(source)
    }

    fn check_overlap(&self) -> Result<(), CoreosIsoError> {
        let mut areas = vec![(self.ignition.offset(), self.ignition.length())];
        if let Some(kargs) = &self.kernel_arguments {
            areas.extend(kargs.areas().iter().map(|area| (area.offset(), kargs.size())));
        }
        areas.sort_unstable();
        for pair in areas.windows(2) {
            if let [(first, length), (second, _)] = pair
                && first.saturating_add(*length) > *second
            {
                return Err(CoreosIsoError::Overlap { first: *first, second: *second });
            }
        }
        Ok(())
    }
}

/// Finds a file of the ISO by its path, also if the ISO has only names of the form 8.3.
fn find(source: &dyn Source, volume: &Volume, path: &str) -> Result<Option<FileEntry>, CoreosIsoError> {
    if let Some(entry) = volume.find(source, path)? {
        return Ok(Some(entry));
    }
    Ok(volume.find(source, &level_1(path))?)
}

/// The path in the form of ISO 9660 level 1 (ECMA-119 §10.1): `COREOS/KARGS.JSO`.
fn level_1(path: &str) -> String {
    let cut = |text: &str, length| text.chars().take(length).collect::<String>();
    let parts: Vec<String> = path
        .split('/')
        .map(|name| match name.rsplit_once('.') {
            Some((stem, extension)) => format!("{}.{}", cut(stem, 8), cut(extension, 3)),
            None => cut(name, 8),
        })
        .collect();
    parts.join("/").to_ascii_uppercase()
}

/// Reads one of the files that describe the ISO.
fn read_json<T: DeserializeOwned>(
    source: &dyn Source,
    volume: &Volume,
    path: &'static str,
) -> Result<Option<(T, FileEntry)>, CoreosIsoError> {
    let Some(entry) = find(source, volume, path)? else { return Ok(None) };
    let content = entry.read(source, MAX_JSON_BYTES)?;
    serde_json::from_slice(&content)
        .map(|json| Some((json, entry)))
        .map_err(|error| CoreosIsoError::Json { path, error })
}
