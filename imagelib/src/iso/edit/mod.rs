//! Edits ISO 9660 images: patches over the image, and segments after its end. An edit costs what it changes, not what the
//! image contains.
//!
//! A file that has no room for its new content moves to the end of the image. The editor updates every record of the file:
//! in the trees of ISO 9660, Rock Ridge and Joliet, and in a second set of trees for systems that mount the partition. It
//! also updates the size of the volume (ECMA-119 §8.4.8), the partition tables and the boot catalog, and removes the
//! checksum that isomd5sum or SUSE's `tagmedia` writes into the descriptor.
//!
//! The partition of a volume grows with the volume, unless another partition follows it, such as the EFI system partition on
//! the ISOs of Fedora and RHEL (lorax). A file that has then moved behind the partition's end can be read from the whole
//! disk, but not from the partition (`/dev/sda1`). On a USB disk, `/dev/disk/by-label` and so dracut's `root=live:CDLABEL=`
//! lead to the partition: disk and partition have the same label, and udev prefers the later device. In such an image,
//! replace only what boot loaders read, such as initramfs images and boot menus: GRUB searches the whole disk before the
//! partitions. Do not replace files of the running system. [`ChangeKind::PartitionKept`] reports this case.
//!
//! A directory without room for a new name moves to the end of the image, too. The kernel, boot loaders, xorriso, isoinfo and
//! 7-Zip read it there. libarchive (`bsdtar`) does not: it reads an image once from its beginning to its end, and leaves out
//! what stands in front of its directory, such as other directories, and long Rock Ridge names. Use another program to verify
//! such an image. [`ChangeKind::DirectoryMoved`] reports this case.
//!
//! [`Editor::open`] reads everything that the edits need; [`Editor::plan`] reads nothing.

mod boot;
mod bytes;
mod capture;
mod changes;
mod checksum_files;
mod checksums;
mod cuts;
mod draft;
mod error;
mod layout;
mod medium_checksum;
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
use cuts::Cuts;
use draft::Draft;
use tree::{Found, Image};

/// An edit of an image. Names in paths match as [`Volume::find`] has it; a symbolic link of Rock Ridge stands for the
/// file it leads to.
#[derive(Debug, Clone)]
pub enum Edit {
    /// Replaces the content of an existing file, under all its names.
    Replace {
        /// Its path.
        path: String,
        /// The content: bytes, and ranges of files of the base.
        content: Vec<Segment>,
    },
    /// Changes bytes of an existing file, whose size does not change.
    Patch {
        /// Its path.
        path: String,
        /// The new bytes, with their offsets in the file.
        patches: Vec<Patch>,
    },
    /// Removes a file under all its names, and cuts its content out of the image: what follows moves down. The old content of files
    /// that [`Edit::Replace`] moves is cut out, too.
    Remove {
        /// Its path.
        path: String,
    },
    /// Adds a new file. Missing directories above it are added with mode 0755.
    AddFile {
        /// Its path.
        path: String,
        /// The content: bytes, and ranges of files of the base.
        content: Vec<Segment>,
        /// Its permissions, for Rock Ridge. It belongs to root.
        mode: u32,
    },
    /// Adds a directory, if it does not exist, and missing directories above it.
    AddDirectory {
        /// Its path.
        path: String,
        /// Its permissions, for Rock Ridge. It belongs to root.
        mode: u32,
    },
    /// Changes bytes outside the files of the volume, such as in a partition after it.
    PatchImage {
        /// The name of the changed structure, for the list of changes.
        name: String,
        /// The new bytes, with their offsets in the image.
        patches: Vec<Patch>,
    },
    /// Puts new content behind the end of the image in place of what begins at an offset outside the files of the volume. The
    /// partitions that begin there, and the boot images there, follow. The old content stays where it is.
    MoveRegion {
        /// The name of the structure, for the list of changes.
        name: String,
        /// The offset in the image.
        start: u64,
        /// The content: bytes, and ranges of files of the base.
        content: Vec<Segment>,
    },
    /// Writes a note into the image that dayone has changed it, if other edits change it. An image with the note cannot be a
    /// base.
    Mark,
}

/// The result of edits: the image's bytes with `patches`, without the content of removed files, followed by `appended`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditPlan {
    base_size: u64,
    /// What is left out of the image, after the patches.
    cuts: Cuts,
    /// What has moved to the end, from and to.
    pub(crate) moved: Vec<(Extent, Extent)>,
    /// Patches of the image, in order and without overlaps. Their offsets are those before anything is cut out.
    pub patches: Vec<Patch>,
    /// What follows the image's last byte.
    pub appended: Vec<Segment>,
    /// The size of the result, in bytes.
    pub size: u64,
    /// The changes, for people to read.
    pub changes: Vec<Change>,
}

impl EditPlan {
    /// The result as segments.
    pub fn segments(&self) -> Result<Vec<Segment>, OverlayError> {
        let mut segments = self.cuts.apply(patched(Role::Iso, self.base_size, self.patches.clone())?);
        segments.extend(self.appended.iter().cloned());
        Ok(segments)
    }
}

/// A file in an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// Its path without symbolic links, in the image's spelling.
    pub path: String,
    /// Its content. If the file has several extents, which `editable` reports, only the offset is certain.
    pub extent: Extent,
    /// Other paths of the same content in the same tree.
    pub aliases: Vec<String>,
    /// Whether the editor can replace and patch it.
    pub editable: Result<(), NotEditable>,
}

/// Edits an image. It holds the image's directories, but no content of files. Cloning it costs nothing.
#[derive(Debug, Clone)]
pub struct Editor {
    image: Arc<Image>,
}

impl Editor {
    /// Reads what edits need. `volume` is the volume at the beginning of the image.
    pub fn open(source: &dyn Source, volume: &Volume) -> Result<Self, OpenError> {
        Ok(Self { image: Arc::new(capture::read(source, volume)?) })
    }

    /// The size of the image, in bytes.
    pub fn size(&self) -> u64 {
        self.image.size
    }

    /// Hashes the files at these paths, so that the editor can update their checksums in lists such as `md5sum.txt` when
    /// something is appended to them. Reads only files that a list contains. Without this, the editor removes the line of a
    /// file that grows.
    pub fn hash_beginnings(self, source: &dyn Source, paths: &[&str]) -> io::Result<Self> {
        let mut hashes = BTreeMap::new();
        for (record, file) in paths.iter().filter_map(|path| draft::find(&self.image, path).ok()) {
            if !self.image.listed_paths(record, file).is_empty() {
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

    /// Whether two paths lead to the same content.
    pub fn is_same_file(&self, one: &str, other: &str) -> bool {
        let find = |path| draft::find(&self.image, path).ok();
        let (Some((record, file)), Some((other, _))) = (find(one), find(other)) else { return false };
        record == other || self.image.records(record, file).contains(&other)
    }

    /// Finds a file by its path.
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

    /// The names of the files in a directory, and of symbolic links to files.
    pub(crate) fn file_names(&self, directory: &str) -> Vec<String> {
        let mut trees = self.image.trees.iter().enumerate().filter(|(_, tree)| tree.base == 0);
        let found = trees.find_map(|(index, _)| match self.image.find(index, directory)? {
            Found::Directory(id) => self.image.directory(id),
            Found::File(..) => None,
        });
        let names = found.into_iter().flat_map(|found| &found.entries).map(|entry| entry.name.as_str());
        let is_file = |name: &&str| draft::find(&self.image, &format!("{directory}/{name}")).is_ok();
        names.filter(is_file).map(str::to_owned).collect()
    }

    /// Plans edits. The same edits always give the same result. On an error, change the edits; the editor stays usable.
    pub fn plan(&self, edits: Vec<Edit>) -> Result<EditPlan, EditError> {
        let mut draft = Draft::new(&self.image, &edits)?;
        for edit in edits {
            match edit {
                Edit::Remove { path } => draft.remove(&path)?,
                Edit::Replace { path, content } => draft.replace(&path, content)?,
                Edit::AddFile { path, content, mode } => draft.add_file(&path, content, mode)?,
                Edit::AddDirectory { path, mode } => draft.add_directory(&path, mode)?,
                Edit::Patch { path, patches } => draft.patch(&path, patches)?,
                Edit::PatchImage { name, patches } => draft.patch_image(name, patches)?,
                Edit::MoveRegion { name, start, content } => draft.move_region(name, start, content)?,
                Edit::Mark => draft.mark(),
            }
        }
        draft.finish()
    }
}
