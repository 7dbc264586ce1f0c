//! Edits of a live medium: of its ISO file system, and of its EFI system partitions.

use std::collections::BTreeMap;

use super::ImageError;
use crate::base::live::{EspPlace, EspVolume, LiveIso};
use crate::disk::fat::{FatEdit, FatError, FatPath, GrownFat};
use crate::iso::edit::Edit;
use crate::overlay::{Overlay, Patch, Sizes};
use crate::source::Role;

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
            let patches = match esp.fat.edit(&files) {
                Err(FatError::Full { .. }) => {
                    edits.push(grown(esp, &files)?);
                    continue;
                }
                patches => patches?,
            };
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

/// A larger EFI system partition at the end of the ISO, in place of one in which these edits have no room.
fn grown(esp: &EspVolume, files: &[(FatPath, FatEdit)]) -> Result<Edit, ImageError> {
    let GrownFat { image, segments } = esp.fat.grown(Role::Iso, files)?;
    let old = esp.fat.range();
    let unedited = Overlay::concatenated(&Sizes::from([(Role::Iso, old.end)]), segments)?;
    let edited = Overlay::patched(Role::Iso, unedited.size(), image.edit(files)?)?.laid_over(&unedited)?;
    let content = edited.segments(0..edited.size()).collect();
    Ok(match &esp.place {
        EspPlace::Partition => Edit::MoveRegion { name: PARTITION.to_owned(), start: old.start, content },
        EspPlace::File { path, .. } => Edit::Replace { path: path.clone(), content },
    })
}

fn relative(patches: Vec<Patch>, start: u64) -> Vec<Patch> {
    let patches = patches.into_iter();
    patches.map(|Patch { offset, content }| Patch { offset: offset.saturating_sub(start), content }).collect()
}
