//! Edits of a live medium: of its ISO file system, and of its EFI system partitions.

use std::collections::BTreeMap;

use super::ImageError;
use crate::base::live::{EspPlace, LiveIso};
use crate::disk::fat::{FatEdit, FatPath};
use crate::iso::edit::Edit;
use crate::overlay::Patch;

/// The name of an EFI system partition outside the files of the ISO, in the list of changes.
pub(super) const PARTITION: &str = "EFI system partition";

/// Edits of a medium.
#[derive(Default)]
pub(super) struct MediumEdits {
    /// Of the ISO file system.
    pub(super) iso: Vec<Edit>,
    /// Of the EFI system partitions, by index.
    pub(super) esps: BTreeMap<usize, Vec<(FatPath, FatEdit)>>,
}

impl MediumEdits {
    pub(super) fn in_esp(&mut self, esp: usize, path: &str, edit: FatEdit) -> Result<(), ImageError> {
        self.esps.entry(esp).or_default().push((path.trim_start_matches('/').parse()?, edit));
        Ok(())
    }

    /// All of them as patches of the disk, which has nothing else to edit.
    pub(super) fn of_disk(self, live: &LiveIso) -> Result<Vec<Patch>, ImageError> {
        let mut patches = Vec::new();
        for (esp, files) in self.esps {
            if let Some(esp) = live.esps().get(esp) {
                patches.extend(esp.fat.edit(&files)?);
            }
        }
        Ok(patches)
    }

    /// All of them as edits of the ISO.
    pub(super) fn of_iso(self, live: &LiveIso) -> Result<Vec<Edit>, ImageError> {
        let mut edits = self.iso;
        for (esp, files) in self.esps {
            let Some(esp) = live.esps().get(esp) else { continue };
            let patches = esp.fat.edit(&files)?;
            edits.push(match &esp.place {
                EspPlace::Partition => Edit::PatchImage { name: PARTITION.to_owned(), patches },
                EspPlace::File { path, offset } => {
                    Edit::Patch { path: path.clone(), patches: relative(patches, *offset) }
                }
            });
        }
        Ok(edits)
    }
}

fn relative(patches: Vec<Patch>, start: u64) -> Vec<Patch> {
    let patches = patches.into_iter();
    patches.map(|Patch { offset, content }| Patch { offset: offset.saturating_sub(start), content }).collect()
}
