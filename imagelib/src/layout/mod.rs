//! What the bytes of an image file are: which file of the system on it they belong to, or which structure.
//!
//! A BMC reads ranges of an image; an operator wants to know how much of the kernel has been read. The directory tree is
//! walked as it stands in the image, so that what moved to its end is found there.

#![expect(clippy::single_range_in_vec_init, reason = "most files lie at one range")]

mod builder;
mod disk;
mod iso;
mod roles;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::base::Base;
use crate::image::FileName;
use crate::iso::IsoError;
use crate::overlay::{Overlay, OverlaySource, Segment};
use crate::source::{Source, Sources};
use builder::Builder;

pub use roles::{BootRole, Roles};

/// How many files are told apart in what is kept of a layout. All that a boot reads are among them.
pub const MOST_FILES: usize = 64;

/// What is in no file.
const BETWEEN: &str = "between files";
/// The files that are not told apart.
const OTHERS: &str = "other files";

/// Where files lie in an image. Its parts follow each other without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    files: Vec<LaidFile>,
    /// Ranges of the image, each of the file with this index.
    parts: Vec<(Range<u64>, usize)>,
}

/// A file, or a structure, of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaidFile {
    /// Its path, such as `/images/pxeboot/vmlinuz`, behind that of the file system image that it is in and a colon; or
    /// what it is, such as `directories`.
    pub name: String,
    /// Whether it is a file.
    pub is_file: bool,
    /// What it is to a boot.
    pub role: Option<BootRole>,
    /// How many bytes of the image are its own: of a file system image, those that are in none of its files.
    pub size: u64,
}

impl Layout {
    /// The layout of a file of an image, over the files of its base. Reads directories, and nothing of the files in them.
    pub fn of_file<S>(name: FileName, file: &Overlay, base: &Base, sources: S) -> Result<Self, IsoError>
    where
        S: Sources + Send + Sync,
    {
        let roles = Roles::of(base);
        let source = OverlaySource::new(file, sources);
        match name {
            FileName::BootIso | FileName::DataIso => Self::of_iso(&source, &roles),
            FileName::BootDisk | FileName::DataDisk => {
                // A hybrid ISO is a disk, too.
                Self::of_iso(&source, &roles).or_else(|_| Ok(disk::layout(&source, &roles)))
            }
            FileName::Kernel => Ok(Self::whole(name.as_str(), Some(BootRole::Kernel), file.size())),
            FileName::Rootfs => Ok(Self::whole(name.as_str(), Some(BootRole::Rootfs), file.size())),
            FileName::Initrd => Ok(Self::of_initrd(file)),
        }
    }

    /// The layout of an ISO 9660 image.
    pub fn of_iso(source: &dyn Source, roles: &Roles) -> Result<Self, IsoError> {
        iso::layout(source, roles)
    }

    /// One file that is all of the image.
    pub fn whole(name: &str, role: Option<BootRole>, size: u64) -> Self {
        let mut builder = Builder::new(size);
        builder.file(name, role, [0..size]);
        builder.finish()
    }

    /// An initramfs, and what was put behind it.
    fn of_initrd(file: &Overlay) -> Self {
        let mut builder = Builder::new(file.size());
        let (mut base, mut added, mut position) = (Vec::new(), Vec::new(), 0);
        for segment in file.segments(0..file.size()) {
            let range = position..position + segment.length();
            position = range.end;
            match segment {
                Segment::Base { .. } => base.push(range),
                Segment::Own(_) => added.push(range),
            }
        }
        builder.file("the base's initrd", Some(BootRole::Initrd), base);
        builder.file("the archive behind it", Some(BootRole::Initrd), added);
        builder.finish()
    }

    /// The same with no more than some files told apart: those that have a role, and the largest.
    #[must_use]
    pub fn reduced(self, most: usize) -> Self {
        builder::reduce(self, most)
    }

    /// The files and structures.
    pub fn files(&self) -> &[LaidFile] {
        &self.files
    }

    /// The parts of the image in order, each with the file that it belongs to.
    pub fn parts(&self) -> impl Iterator<Item = (Range<u64>, &LaidFile)> {
        self.parts.iter().filter_map(|(range, index)| Some((range.clone(), self.files.get(*index)?)))
    }

    /// The index among [`files`](Self::files) of the one that a byte belongs to.
    pub fn at(&self, offset: u64) -> Option<usize> {
        let index = self.parts.partition_point(|(range, _)| range.end <= offset);
        self.parts.get(index).map(|(_, file)| *file)
    }

    /// How many bytes of each file are in these ranges, which are in ascending order and do not overlap.
    pub fn count(&self, ranges: &[Range<u64>]) -> Vec<u64> {
        let mut counts = vec![0; self.files.len()];
        for range in ranges {
            let first = self.parts.partition_point(|(part, _)| part.end <= range.start);
            let parts = self.parts.get(first..).unwrap_or_default();
            for (part, file) in parts.iter().take_while(|(part, _)| part.start < range.end) {
                let common = part.end.min(range.end).saturating_sub(part.start.max(range.start));
                if let Some(count) = counts.get_mut(*file) {
                    *count += common;
                }
            }
        }
        counts
    }
}
