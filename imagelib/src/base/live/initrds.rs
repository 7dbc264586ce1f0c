//! The initramfs images that boot menus load.

use std::ops::Range;

use crate::delivery::{self, Detected};
use crate::initramfs::{self, Ending, InitramfsError, StopReason, Tree};
use crate::iso::IsoError;
use crate::iso::edit::{Editor, NotEditable};
use crate::overlay::{Content, Overlay, OverlaySource, Segment, Sizes};
use crate::source::{Role, Source};

/// An initramfs on an ISO.
#[derive(Debug, Clone)]
pub struct LiveInitrd {
    /// Its path on the ISO file system.
    pub path: String,
    /// Its bytes, as a range of the ISO.
    pub range: Range<u64>,
    /// What it is, or why it cannot be extended.
    pub state: Result<Surveyed, UnusableInitrd>,
}

/// An initramfs that was looked into.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// What it was found to be.
    pub detected: Detected,
    /// What it unpacks to, with those that are loaded before it.
    pub(crate) tree: Tree,
}

/// Why an initramfs cannot be extended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableInitrd {
    /// How it lies on the ISO.
    #[error("{0}")]
    File(#[from] NotEditable),
    /// Its bytes.
    #[error("it can be read only up to offset {offset}: {reason}")]
    Unreadable {
        /// Where the archive begins that cannot be read, in bytes.
        offset: u64,
        /// Why not.
        reason: String,
    },
    /// It is none.
    #[error("{0}")]
    NotAnInitramfs(String),
}

impl UnusableInitrd {
    fn stopped(offset: u64, reason: &StopReason) -> Self {
        Self::Unreadable { offset, reason: reason.to_string() }
    }
}

/// The initramfs images found so far. Each is looked into once.
pub(super) struct Collection<'a> {
    source: &'a dyn Source,
    editor: &'a Editor,
    found: Vec<LiveInitrd>,
}

impl<'a> Collection<'a> {
    pub(super) fn new(source: &'a dyn Source, editor: &'a Editor) -> Self {
        Self { source, editor, found: Vec::new() }
    }

    pub(super) fn done(self) -> Vec<LiveInitrd> {
        self.found
    }

    /// The initramfs that an entry loads last, behind which files can be added. None where one of those that it loads is
    /// not on the ISO file system.
    pub(super) fn add(&mut self, paths: impl Iterator<Item = Option<String>>) -> Result<Option<usize>, IsoError> {
        let files = paths.map(|path| self.editor.file(&path?)).collect::<Option<Vec<_>>>();
        let Some((last, before)) = files.as_deref().and_then(<[_]>::split_last) else { return Ok(None) };
        if let Some(known) = self.found.iter().position(|known| known.path == last.path) {
            return Ok(Some(known));
        }
        let range = |file: &crate::iso::edit::FileInfo| {
            file.extent.offset..file.extent.offset.saturating_add(file.extent.length)
        };
        let state = match &last.editable {
            Err(reason) => Err(reason.clone().into()),
            Ok(()) => self.survey(before.iter().chain([last]).map(range).collect())?,
        };
        self.found.push(LiveInitrd { path: last.path.clone(), range: range(last), state });
        Ok(Some(self.found.len() - 1))
    }

    /// What the kernel unpacks these ranges to, which the boot loader puts behind each other, each at a multiple of 4.
    fn survey(&self, ranges: Vec<Range<u64>>) -> Result<Result<Surveyed, UnusableInitrd>, IsoError> {
        let mut segments = Vec::new();
        for Range { start, end } in ranges {
            let length = end.saturating_sub(start);
            segments.push(Segment::Base { file: Role::Iso, offset: start, length });
            segments.push(Segment::Own(Content::Zeros(length.wrapping_neg() % 4)));
        }
        let sizes = Sizes::from([(Role::Iso, self.source.size())]);
        // The reader has seen to it that extents lie within the image.
        let Ok(joined) = Overlay::concatenated(&sizes, segments) else {
            return Ok(Err(UnusableInitrd::NotAnInitramfs("it lies outside of the image".to_owned())));
        };
        let joined = OverlaySource::new(&joined, (Role::Iso, self.source));
        let survey = match initramfs::survey(&joined, &delivery::release_files(), delivery::RELEASE_FILE_LIMIT) {
            Ok(survey) => survey,
            Err(InitramfsError::Read(source)) => return Err(IsoError::Read { offset: 0, source }),
            Err(error) => return Ok(Err(UnusableInitrd::NotAnInitramfs(error.to_string()))),
        };
        Ok(match survey.ending {
            Ending::Stopped { offset, reason } => Err(UnusableInitrd::stopped(offset, &reason)),
            Ending::Complete => Ok(Surveyed { detected: delivery::detect(&survey), tree: survey.tree }),
        })
    }
}
