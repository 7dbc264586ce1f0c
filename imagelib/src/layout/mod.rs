//! Tells which file or structure each byte of an image belongs to.
//!
//! A BMC reads ranges of an image, and an operator wants to know how much of the kernel it has read. The module reads the
//! directory trees of the finished image, so it finds files that dayone has moved.

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

/// A good limit for [`Layout::reduced`]: all files that a boot reads are among them.
pub const MAX_FILES: usize = 64;

/// The name for bytes outside of all files and structures.
const BETWEEN: &str = "between files";
/// The name for the files that a reduced layout does not list.
const OTHERS: &str = "other files";

/// The files of an image and their places. The parts follow each other without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    files: Vec<LaidFile>,
    /// Ranges of the image, each of the file with this index.
    parts: Vec<(Range<u64>, usize)>,
}

/// A file, or a structure, of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaidFile {
    /// The path of the file, such as `/images/pxeboot/vmlinuz`, or the name of the structure, such as `directories`. A file in a
    /// file system image has that image's path and a colon in front.
    pub name: String,
    /// Whether it is a file.
    pub is_file: bool,
    /// Its role in a boot, if it has one.
    pub role: Option<BootRole>,
    /// The number of its bytes in the image. For a file system image, the bytes outside of its files.
    pub size: u64,
}

impl Layout {
    /// The layout of a file of an image, over the files of its base. Reads directories, but no content of files.
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
            FileName::Rootfs | FileName::RootSquashfs | FileName::RootIso => {
                Ok(Self::whole(name.as_str(), Some(BootRole::Rootfs), file.size()))
            }
            FileName::Initrd => Ok(Self::of_initrd(file)),
        }
    }

    /// The layout of an ISO 9660 image.
    pub fn of_iso(source: &dyn Source, roles: &Roles) -> Result<Self, IsoError> {
        iso::layout(source, roles)
    }

    /// The layout of an image that is a single file.
    pub fn whole(name: &str, role: Option<BootRole>, size: u64) -> Self {
        let mut builder = Builder::new(size);
        builder.file(name, role, [0..size]);
        builder.finish()
    }

    /// The layout of an initramfs with appended archives.
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

    /// The same layout with at most `most` files: those with a role, and the largest.
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

    /// The number of bytes of each file in these ranges, which must be in ascending order and must not overlap.
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
