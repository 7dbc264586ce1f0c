//! Enlarges embed areas that are too small: the files that contain them move to the end of the image, and the files that
//! describe them are updated.
//!
//! coreos-installer accepts larger areas. It takes the size of the Ignition area from the file's directory record or
//! `igninfo.json`, and the size of the areas for kernel arguments from `kargs.json`. `iso reset` empties the larger areas:
//! the image then boots like the published one, and keeps its new size. The old places of the areas keep their published
//! content, so that the description of the minimal ISO stays true.

mod arguments;
mod error;
mod ignition;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use serde::Serialize;

pub use error::{GrowthError, NotGrowable};

use self::arguments::ArgumentFiles;
use self::ignition::IgnitionFile;
use super::{CoreosIso, CoreosIsoError};
use crate::iso::edit::{Change, Edit, Editor, OpenError};
use crate::iso::fields::read_bytes;
use crate::iso::{BLOCK, Extent, IsoError, Volume, hfs};
use crate::kernel_arguments::KernelArguments;
use crate::overlay::{Overlay, Patch, Segment, Sizes};
use crate::source::{Role, Source};

/// The headers of images before 2022, which say where the areas are. coreos-installer has long preferred the files; a
/// version that does not would use areas that nothing boots from any more.
const HEADERS: [(u64, &[u8]); 2] = [(32_744, b"coreiso+"), (32_672, b"coreKarg")];

/// What dayone needs to enlarge the areas of an image. Probing reads it once; planning reads nothing.
#[derive(Debug, Clone)]
pub struct Growth {
    size: u64,
    editor: Option<Editor>,
    ignition: Result<IgnitionFile, NotGrowable>,
    kernel_arguments: Result<ArgumentFiles, NotGrowable>,
    headers: Vec<Patch>,
}

/// An image with embedded data.
#[derive(Debug, Clone)]
pub struct Grown {
    /// The image.
    pub overlay: Overlay,
    /// What has moved, for people to read. Empty if everything fits into the existing areas.
    pub changes: Vec<Change>,
}

impl Growth {
    /// Finds out which areas of an image dayone can enlarge.
    pub fn probe(source: &dyn Source, volume: &Volume, areas: &CoreosIso) -> Result<Self, IsoError> {
        let size = source.size();
        let none = |reason: NotGrowable| {
            let (ignition, kernel_arguments) = (Err(reason.clone()), Err(reason));
            Ok(Self { size, editor: None, ignition, kernel_arguments, headers: Vec::new() })
        };
        if hfs::beside(source).is_some() {
            return none(NotGrowable::HfsPlus);
        }
        let editor = match Editor::open(source, volume) {
            Ok(editor) => editor,
            Err(OpenError::NotEditable(reason)) => return none(reason.into()),
            Err(OpenError::Iso(error)) => return Err(error),
        };
        let mut headers = Vec::new();
        for (offset, magic) in HEADERS {
            if read_bytes(source, offset, 8)? == magic {
                headers.push(Patch::zeros(offset, 8));
            }
        }
        let ignition = IgnitionFile::find(&areas.ignition, &editor);
        let kernel_arguments = ArgumentFiles::find(areas.kernel_arguments.as_ref(), &editor);
        Ok(Self { size, editor: Some(editor), ignition, kernel_arguments, headers })
    }

    /// The image with `archive` in the Ignition area and `arguments` in the areas for kernel arguments, like
    /// [`CoreosIso::embed`]. Enlarges only areas that are too small.
    pub fn plan(
        &self,
        areas: &CoreosIso,
        archive: impl Into<Bytes>,
        arguments: Option<&KernelArguments>,
    ) -> Result<Grown, GrowthError> {
        let mut edits = Vec::new();
        let mut patches = self.embed_archive(areas, archive.into(), &mut edits)?;
        if let Some(arguments) = arguments {
            patches.extend(self.embed_arguments(areas, arguments, &mut edits)?);
        }
        let Some(editor) = self.editor.as_ref().filter(|_| !edits.is_empty()) else {
            return Ok(Grown { overlay: Overlay::patched(Role::Iso, self.size, patches)?, changes: Vec::new() });
        };
        patches.extend(self.headers.iter().cloned());
        let plan = editor.plan(edits)?;
        let edited = Overlay::concatenated(&Sizes::from([(Role::Iso, self.size)]), plan.segments()?)?;
        let overlay = Overlay::patched(Role::Iso, edited.size(), patches)?.laid_over(&edited)?;
        Ok(Grown { overlay, changes: plan.changes })
    }

    /// If the area moves, its old place becomes empty.
    fn embed_archive(
        &self,
        areas: &CoreosIso,
        archive: Bytes,
        edits: &mut Vec<Edit>,
    ) -> Result<Vec<Patch>, GrowthError> {
        match areas.ignition.embed(archive.clone()) {
            Err(CoreosIsoError::ArchiveTooLarge { size, capacity }) => {
                let refused = |reason| GrowthError::Ignition { size, capacity, reason };
                let file = self.ignition.as_ref().map_err(|reason| refused(reason.clone()))?;
                edits.extend(file.edits(&areas.ignition, archive)?);
                Ok(areas.ignition.embed(Bytes::new())?)
            }
            embedded => Ok(embedded?),
        }
    }

    fn embed_arguments(
        &self,
        areas: &CoreosIso,
        arguments: &KernelArguments,
        edits: &mut Vec<Edit>,
    ) -> Result<Vec<Patch>, GrowthError> {
        let known = areas.kernel_arguments.as_ref().ok_or(CoreosIsoError::NoKernelArgumentAreas)?;
        match known.embed(arguments) {
            Err(CoreosIsoError::KernelArgumentsTooLong { size, capacity }) => {
                let refused = |reason| GrowthError::KernelArguments { size, capacity, reason };
                let files = self.kernel_arguments.as_ref().map_err(|reason| refused(reason.clone()))?;
                edits.extend(files.edits(known, arguments)?);
                Ok(if known.current() == known.default() { Vec::new() } else { known.embed(known.default())? })
            }
            embedded => Ok(embedded?),
        }
    }
}

/// A file: its path for the editor, and its place.
type Described = (String, Extent);

/// The file that the image's description names.
fn editable(editor: &Editor, path: &str) -> Result<Described, NotGrowable> {
    let found = editor.file(path).or_else(|| editor.file(&super::level_1(path)));
    let file = found.ok_or_else(|| NotGrowable::NoFile(path.to_owned()))?;
    match file.editable {
        Ok(()) => Ok((file.path, file.extent)),
        Err(reason) => Err(NotGrowable::File { path: path.to_owned(), reason }),
    }
}

/// One of the files that describe the image, with other content at another place: the minimal ISO has what it was
/// published with. It moves because it is longer than its blocks; what follows the JSON are spaces.
fn describe((path, extent): &Described, name: &'static str, json: &impl Serialize) -> Result<Edit, CoreosIsoError> {
    let mut text = serde_json::to_vec_pretty(json).map_err(|error| CoreosIsoError::Json { path: name, error })?;
    let blocks = extent.length.next_multiple_of(BLOCK).max(BLOCK);
    let longer = usize::try_from(blocks + 1).unwrap_or_default().max(text.len());
    text.resize(longer, b' ');
    Ok(Edit::Replace { path: path.clone(), content: vec![Segment::bytes(text)] })
}
