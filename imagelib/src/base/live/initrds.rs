//! The initramfs images that boot menus load.

use std::ops::Range;

use super::partitions::EspVolume;
use crate::delivery::{self, CasperScript, Detected, Drivers};
use crate::initramfs::{self, InitramfsError, Tree};
use crate::iso::IsoError;
use crate::iso::edit::{Editor, NotEditable};
use crate::overlay::{Overlay, OverlaySource, Segment, Sizes};
use crate::source::{Role, Source};

/// How many lists of files that end with one initramfs are read. No real menu has so many.
const MAX_LISTS: usize = 16;

/// The bytes of a file, as ranges of the ISO. A file on FAT may have several.
type Extents = Vec<Range<u64>>;

/// The files that a menu loads together, by their bytes.
type FileList = Vec<Extents>;

/// An initramfs on an ISO.
#[derive(Debug, Clone)]
pub struct LiveInitrd {
    /// Its path on its file system. If it has several names, the first one that a menu uses.
    pub path: String,
    /// The index of its EFI system partition; `None` for the ISO file system.
    pub(crate) esp: Option<usize>,
    /// Its bytes.
    pub(crate) extents: Extents,
    /// What dayone has found in it, or why dayone cannot extend it.
    pub state: Result<Surveyed, UnusableInitrd>,
    /// The lists of files that menus load and of which it is the last.
    lists: Vec<FileList>,
}

impl LiveInitrd {
    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.extents.iter().map(|range| range.end.saturating_sub(range.start)).sum()
    }
}

/// A file that a boot menu names.
#[derive(Debug, Clone)]
pub(super) enum NamedFile {
    /// On the ISO file system.
    Iso(String),
    /// On one of the EFI system partitions.
    Esp(usize, String),
}

/// A file that a boot menu names, and where its bytes are.
struct FoundFile {
    path: String,
    esp: Option<usize>,
    extents: Extents,
    editable: Result<(), NotEditable>,
}

/// An initramfs that dayone has read.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// The system that it starts.
    pub detected: Detected,
    /// The file system that it unpacks to, together with the initramfs images that the menu loads before it.
    pub(crate) tree: Tree,
    /// Whether it has the drivers for a RAM disk.
    pub(crate) drivers: Drivers,
    /// What its casper can do, if it has one.
    pub(crate) casper: CasperScript,
    /// Whether its systemd writes the files in a credential.
    pub(crate) reads_credentials: bool,
}

impl Surveyed {
    /// What holds of both, if the same archive can be added to both.
    fn and(self, other: &Self) -> Option<Self> {
        let Self { detected, tree, drivers, casper, reads_credentials } = self;
        if (&detected, &drivers, &casper) != (&other.detected, &other.drivers, &other.casper) {
            return None;
        }
        let reads_credentials = reads_credentials && other.reads_credentials;
        Some(Self { detected, tree: tree.common(&other.tree)?, drivers, casper, reads_credentials })
    }
}

/// Why an initramfs cannot be extended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableInitrd {
    /// Its file cannot be edited.
    #[error("{0}")]
    File(#[from] NotEditable),
    /// It is not an initramfs, or cannot be read to its end: the message of an [`InitramfsError`].
    #[error("{0}")]
    Initramfs(String),
    /// Menus load it behind other files, and what it may be extended with depends on these.
    #[error(
        "boot entries load it behind different files, and what dayone adds to it would be right for some of these alone"
    )]
    Shared,
}

/// The initramfs images found so far. Each is read once for every list of files that it is the last of.
pub(super) struct Collection<'a> {
    source: &'a dyn Source,
    editor: Option<&'a Editor>,
    esps: &'a [EspVolume],
    found: Vec<LiveInitrd>,
}

impl<'a> Collection<'a> {
    pub(super) fn new(source: &'a dyn Source, editor: Option<&'a Editor>, esps: &'a [EspVolume]) -> Self {
        Self { source, editor, esps, found: Vec::new() }
    }

    pub(super) fn done(self) -> Vec<LiveInitrd> {
        self.found
    }

    /// Returns the indexes of the initramfs images to which dayone can append for an entry: the last one of each list that
    /// the entry may load, as far as its files exist. None if dayone does not know the files of one of the lists.
    pub(super) fn add(&mut self, lists: impl Iterator<Item = Vec<Option<NamedFile>>>) -> Result<Vec<usize>, IsoError> {
        let Some(lists) = lists.map(|list| list.into_iter().collect()).collect::<Option<Vec<Vec<NamedFile>>>>() else {
            return Ok(Vec::new());
        };
        let mut indexes = Vec::new();
        for list in lists {
            // A script tests whether such a file exists. Without such a test, the loader reports an error.
            let Some(files) = list.into_iter().map(|file| self.find(file)).collect::<Option<Vec<_>>>() else {
                continue;
            };
            if let Some(index) = self.add_list(&files)? {
                indexes.retain(|known| *known != index);
                indexes.push(index);
            }
        }
        Ok(indexes)
    }

    fn add_list(&mut self, files: &[FoundFile]) -> Result<Option<usize>, IsoError> {
        let Some(last) = files.last() else { return Ok(None) };
        let together: FileList = files.iter().map(|file| file.extents.clone()).collect();
        // One file may have several names, so its bytes identify it.
        let known = self.found.iter().position(|known| known.esp == last.esp && known.extents == last.extents);
        let lists = known.and_then(|known| self.found.get(known)).map_or(&[][..], |known| known.lists.as_slice());
        if lists.contains(&together) {
            return Ok(known);
        }
        let state = match &last.editable {
            Err(reason) => Err(reason.clone().into()),
            Ok(()) if lists.len() >= MAX_LISTS => Err(UnusableInitrd::Shared),
            Ok(()) => survey_ranges(self.source, together.iter().map(Vec::as_slice))?,
        };
        let Some((index, known)) = known.and_then(|known| Some((known, self.found.get_mut(known)?))) else {
            let FoundFile { path, esp, extents, .. } = last;
            let (path, extents) = (path.clone(), extents.clone());
            self.found.push(LiveInitrd { path, esp: *esp, extents, state, lists: vec![together] });
            return Ok(Some(self.found.len() - 1));
        };
        known.lists.push(together);
        known.state = match (known.state.clone(), state) {
            (Ok(one), Ok(other)) => one.and(&other).ok_or(UnusableInitrd::Shared),
            (Err(reason), _) | (_, Err(reason)) => Err(reason),
        };
        Ok(Some(index))
    }

    fn find(&self, file: NamedFile) -> Option<FoundFile> {
        match file {
            NamedFile::Iso(path) => {
                let file = self.editor?.file(&path)?;
                let extents = vec![file.extent.range()];
                Some(FoundFile { path: file.path, esp: None, extents, editable: file.editable })
            }
            NamedFile::Esp(esp, path) => {
                let file = self.esps.get(esp)?.fat.file(path.trim_start_matches('/'))?;
                let (path, extents) = (format!("/{}", file.path), file.extents.clone());
                Some(FoundFile { path, esp: Some(esp), extents, editable: Ok(()) })
            }
        }
    }
}

/// Reads what the kernel unpacks from these files. The boot loader puts each at a multiple of 4 behind the one before.
pub(super) fn survey_ranges<'f>(
    source: &dyn Source,
    files: impl Iterator<Item = &'f [Range<u64>]>,
) -> Result<Result<Surveyed, UnusableInitrd>, IsoError> {
    let mut segments = Vec::new();
    for extents in files {
        let ranges: Vec<Segment> = extents.iter().map(|range| Segment::base(Role::Iso, range.clone())).collect();
        let size = ranges.iter().fold(0_u64, |sum, range| sum.saturating_add(range.length()));
        segments.extend(ranges);
        segments.push(Segment::zeros(size.wrapping_neg() % 4));
    }
    let sizes = Sizes::from([(Role::Iso, source.size())]);
    // The readers of ISO and FAT have checked that all extents lie within the image.
    let Ok(joined) = Overlay::concatenated(&sizes, segments) else {
        return Ok(Err(UnusableInitrd::Initramfs("it lies outside of the image".to_owned())));
    };
    let joined = OverlaySource::new(&joined, (Role::Iso, source));
    let surveyed = initramfs::survey(&joined, &delivery::release_files(), delivery::RELEASE_FILE_LIMIT);
    let surveyed = surveyed.and_then(|survey| {
        let detected = delivery::detect(&survey);
        let (drivers, casper) = (Drivers::of(&survey), CasperScript::of(&survey));
        let reads_credentials = delivery::reads_credentials(&survey);
        survey.outcome.complete().map(|()| Surveyed { detected, tree: survey.tree, drivers, casper, reads_credentials })
    });
    match surveyed {
        Err(InitramfsError::Read(source)) => Err(IsoError::Read { offset: 0, source }),
        other => Ok(other.map_err(|error| UnusableInitrd::Initramfs(error.to_string()))),
    }
}
