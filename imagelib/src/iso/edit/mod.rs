//! Edits of an ISO 9660 image in O(change): what another mastering run would write, as patches over the image and as
//! segments behind its end.
//!
//! A file that has no room for its new content moves to the real end of the image, and every record of it follows: in
//! the trees of ISO 9660, Rock Ridge and Joliet, and in those of a second set of descriptors for those who mount the
//! partition. So do the sizes of the volume (ECMA-119 §8.4.8), the partition tables, the boot catalog, and the
//! checksum that isomd5sum writes into the descriptor goes.
//!
//! The partition of a volume grows with it, unless another partition follows it: on Fedora's and RHEL's ISOs (lorax) the
//! EFI system partition does. The directories in there name files that have moved behind the partition's end, and
//! Linux, which does not read past it, fails to read them from the partition (`/dev/sda1`). That is the device that
//! `/dev/disk/by-label`, hence dracut's `root=live:CDLABEL=`, leads to on a USB disk: disk and partition have the same
//! label, and of equals udev prefers the one that comes later. So what a system reads after its boot loader must stay
//! where it is in such an image: replace initramfs images and boot menus there, which GRUB reads from the whole disk,
//! which it searches before the partitions, and no files of the running system. [`ChangeKind::PartitionKept`] tells.
//!
//! [`Editor::open`] reads once all that this needs; [`Editor::plan`] reads nothing.

mod boot;
mod bytes;
mod capture;
mod changes;
mod checksum_files;
mod checksums;
mod draft;
mod error;
mod layout;
mod names;
mod overlaps;
mod partitions;
mod path_table;
mod record_id;
mod rock_ridge;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

pub use changes::{Change, ChangeKind};
pub use error::{EditError, NotEditable, OpenError};

use super::{Extent, Volume};
use crate::overlay::{OverlayError, Patch, Segment, patched};
use crate::source::{Role, Source};
use checksums::Hashes;
use draft::Draft;
use tree::Image;

/// An edit of an image. Naming in paths match as [`Volume::find`] has it; a symbolic link of Rock Ridge stands for the
/// file it leads to.
#[derive(Debug, Clone)]
pub enum Edit {
    /// Other content for a file that is there, under all names that it has.
    Replace {
        /// Its path.
        path: String,
        /// The content: bytes, and ranges of files of the base.
        content: Vec<Segment>,
    },
    /// Other bytes in a file that is there. Its size stays.
    Patch {
        /// Its path.
        path: String,
        /// The bytes, with their offsets in the file.
        patches: Vec<Patch>,
    },
    /// A file that is not there yet. Directories that it needs and that are not there either are made, with 0755.
    AddFile {
        /// Its path.
        path: String,
        /// The content: bytes, and ranges of files of the base.
        content: Vec<Segment>,
        /// Its permissions, for Rock Ridge. It belongs to root.
        mode: u32,
    },
    /// A directory, if it is not there yet, and those that it needs.
    AddDirectory {
        /// Its path.
        path: String,
        /// Its permissions, for Rock Ridge. It belongs to root.
        mode: u32,
    },
    /// Other bytes where no file of the volume stands: in a partition behind it.
    PatchImage {
        /// What it is, for the list of changes.
        name: String,
        /// The bytes, with their offsets in the image.
        patches: Vec<Patch>,
    },
    /// A note that dayone has changed the image, where other edits change it. What has it is not a base.
    Mark,
}

/// What edits make of an image: its bytes with `patches`, and then `appended`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditPlan {
    base_size: u64,
    /// What stands elsewhere than in the image. In order; no two overlap.
    pub patches: Vec<Patch>,
    /// What follows the image's last byte.
    pub appended: Vec<Segment>,
    /// The size of the result, in bytes.
    pub size: u64,
    /// What became of the image, for people to read.
    pub changes: Vec<Change>,
}

impl EditPlan {
    /// The result as segments.
    pub fn segments(&self) -> Result<Vec<Segment>, OverlayError> {
        let mut segments = patched(Role::Iso, self.base_size, self.patches.clone())?;
        segments.extend(self.appended.iter().cloned());
        Ok(segments)
    }
}

/// A file in an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// Its path as the image has it, without symbolic links.
    pub path: String,
    /// Its content. Where it is stored in pieces, which `editable` says, only where the first one begins is certain.
    pub extent: Extent,
    /// Other paths of the same content, in the tree that `path` is of.
    pub aliases: Vec<String>,
    /// Whether it can be replaced and patched.
    pub editable: Result<(), NotEditable>,
}

/// Edits an image. It holds the image's directories and can be cloned at no cost; it holds no bytes of files.
#[derive(Debug, Clone)]
pub struct Editor {
    image: Arc<Image>,
}

impl Editor {
    /// Reads what is needed to edit the image whose volume at the beginning is `volume`.
    pub fn open(source: &dyn Source, volume: &Volume) -> Result<Self, OpenError> {
        Ok(Self { image: Arc::new(capture::read(source, volume)?) })
    }

    /// The size of the image, in bytes.
    pub fn size(&self) -> u64 {
        self.image.size
    }

    /// Reads the files at these paths, so that lists of checksums in the image stay right for them when something is
    /// appended to them. Where no list has a file, or there is none, nothing is read. Without this, a line of a file
    /// that grows is removed.
    pub fn hash_beginnings(self, source: &dyn Source, paths: &[&str]) -> io::Result<Self> {
        let mut hashes = BTreeMap::new();
        for (record, file) in paths.iter().filter_map(|path| draft::find(&self.image, path).ok()) {
            let listed = |path: String| self.image.checksums.iter().any(|file| file.lines.contains_key(&path));
            let mut names = self.image.records(record, file).into_iter().filter_map(|other| self.image.path(other));
            if names.any(listed) {
                hashes.insert(file.extent.offset, (file.extent, Hashes::of(source, file.extent)?));
            }
        }
        let mut image = self.image;
        match Arc::get_mut(&mut image) {
            Some(image) => image.hashes.extend(hashes),
            None => return Err(io::Error::other("the editor is in use already")),
        }
        Ok(Self { image })
    }

    /// Whether two paths lead to one file: its content stands at one place, under several names.
    pub fn is_same_file(&self, one: &str, other: &str) -> bool {
        let find = |path| draft::find(&self.image, path).ok();
        let (Some((record, file)), Some((other, _))) = (find(one), find(other)) else { return false };
        record == other || self.image.records(record, file).contains(&other)
    }

    /// Finds a file.
    pub fn file(&self, path: &str) -> Option<FileInfo> {
        let (record, file) = draft::find(&self.image, path).ok()?;
        let tree = self.image.directory(record.0)?.tree;
        let same_tree =
            |other: &record_id::RecordId| self.image.directory(other.0).is_some_and(|other| other.tree == tree);
        let others = self.image.records(record, file).into_iter().filter(|other| *other != record && same_tree(other));
        Some(FileInfo {
            path: self.image.path(record)?,
            extent: file.extent,
            aliases: others.filter_map(|other| self.image.path(other)).collect(),
            editable: file.reason.clone().map_or(Ok(()), Err),
        })
    }

    /// What the edits make of the image. The same edits always make the same of it.
    pub fn plan(&self, edits: Vec<Edit>) -> Result<EditPlan, EditError> {
        let mut draft = Draft::new(&self.image);
        for edit in edits {
            match edit {
                Edit::Replace { path, content } => draft.replace(&path, content)?,
                Edit::AddFile { path, content, mode } => draft.add_file(&path, content, mode)?,
                Edit::AddDirectory { path, mode } => draft.add_directory(&path, mode)?,
                Edit::Patch { path, patches } => draft.patch(&path, patches)?,
                Edit::PatchImage { name, patches } => draft.patch_image(name, patches)?,
                Edit::Mark => draft.mark(),
            }
        }
        draft.finish()
    }
}
