//! An image while it is being edited: directories taken apart, patches, and what follows the end.

mod add;
mod checksums;
mod cut;
mod directories;
mod finish;

use std::collections::{BTreeMap, BTreeSet};

use super::Edit;
use super::changes::{Change, ChangeKind};
use super::checksums::Hashes;
use super::cuts::Cuts;
use super::error::{EditError, NotEditable};
use super::layout::{DraftDirectory, Origin};
use super::record_id::{DirectoryId, RecordId};
use super::tree::{Directory, File, Found, Image};
use crate::iso::{BLOCK, Extent, IsoError};
use crate::overlay::{Patch, Segment};
use crate::source::Role;

/// The largest file that one record describes: what is longer, others split into several extents.
const MAX_FILE_BYTES: u64 = (1 << 32) - BLOCK;

/// A directory that is not in the image.
#[derive(Debug)]
struct NewDirectory {
    tree: usize,
    parent: DirectoryId,
    /// The name as the tree has it.
    raw_name: Vec<u8>,
}

/// An image that is being edited.
pub(super) struct Draft<'a> {
    image: &'a Image,
    directories: BTreeMap<DirectoryId, DraftDirectory>,
    /// The descriptors, in the image's order.
    descriptors: Vec<Vec<u8>>,
    /// Directories that are not in the image: their ids follow those of the image's.
    new: Vec<NewDirectory>,
    /// The names that have been added, with the directories that some of them are.
    added: BTreeMap<(DirectoryId, String), Option<DirectoryId>>,
    /// How many files and directories have been added.
    additions: u32,
    patches: Vec<Patch>,
    appended: Vec<Segment>,
    /// What is cut out. Offsets of patches are those before, and offsets of extents in records those after the cuts.
    cuts: Cuts,
    /// The end of all that has a place.
    end: u64,
    /// The records that have been edited.
    edited: BTreeSet<RecordId>,
    /// The hashes of what has been edited, by path, as far as they are known.
    contents: BTreeMap<String, Option<Hashes>>,
    /// Extents that have moved, from and to.
    moved: Vec<(Extent, Extent)>,
    changes: Vec<Change>,
    /// Whether the image is to say that it was changed.
    marked: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn new(image: &'a Image, edits: &[Edit]) -> Result<Self, EditError> {
        let cuts = cut::cuts(image, edits)?;
        let mut draft = Self {
            image,
            directories: BTreeMap::new(),
            descriptors: image.descriptors.iter().map(|descriptor| descriptor.block.clone()).collect(),
            new: Vec::new(),
            added: BTreeMap::new(),
            additions: 0,
            patches: Vec::new(),
            appended: Vec::new(),
            end: cuts.place(image.size),
            cuts,
            edited: BTreeSet::new(),
            contents: BTreeMap::new(),
            moved: Vec::new(),
            changes: Vec::new(),
            marked: false,
        };
        draft.cut()?;
        Ok(draft)
    }

    /// Gives a file other content, under all its names.
    pub(super) fn replace(&mut self, path: &str, content: Vec<Segment>) -> Result<(), EditError> {
        let (record, file) = find(self.image, path)?;
        let own_path = self.begin(path, record, file)?;
        let size = file_size(path, &content)?;
        let old = file.extent;
        self.remember(record, file, Some(&content));
        let (kind, offset) = if let Some(patches) = in_place(self.image, old, &content, size) {
            self.patches.extend(patches);
            (ChangeKind::FileRewritten, self.cuts.place(old.offset))
        } else {
            let offset = self.append(content)?;
            let new = Extent { offset, length: u64::from(size) };
            self.patches.extend(self.image.boot.follow(old, new));
            self.moved.push((old, new));
            (ChangeKind::FileMoved, offset)
        };
        for record in self.image.records(record, file) {
            self.point(record, offset, size)?;
        }
        self.changes.push(Change::sizes(own_path, kind, Some(old.length), u64::from(size)));
        Ok(())
    }

    /// Changes bytes of a file where they are.
    pub(super) fn patch(&mut self, path: &str, patches: Vec<Patch>) -> Result<(), EditError> {
        let (record, file) = find(self.image, path)?;
        let own_path = self.begin(path, record, file)?;
        let Extent { offset, length } = file.extent;
        self.remember(record, file, None);
        for patch in patches {
            within(path, &patch, length)?;
            self.patches.push(Patch { offset: offset + patch.offset, content: patch.content });
        }
        self.changes.push(Change::sizes(own_path, ChangeKind::BytesPatched, Some(length), length));
        Ok(())
    }

    /// Changes bytes that belong to no file.
    pub(super) fn patch_image(&mut self, name: String, patches: Vec<Patch>) -> Result<(), EditError> {
        for patch in &patches {
            within(&name, patch, self.image.size)?;
        }
        self.patches.extend(patches);
        self.changes.push(Change::structure(name, ChangeKind::BytesPatched));
        Ok(())
    }

    /// Puts other content in place of what begins there and belongs to no file.
    pub(super) fn move_region(&mut self, name: String, start: u64, content: Vec<Segment>) -> Result<(), EditError> {
        let olds = self.image.partitions.beginning_at(start);
        // Without a partition, a boot image.
        let first = olds.first().copied().unwrap_or(Extent { offset: start, length: BLOCK });
        if olds.is_empty() && !self.image.boot.starts_in(first) {
            return Err(EditError::NothingThere { name, start });
        }
        let offset = self.append(content)?;
        let new = Extent { offset, length: self.end - offset };
        self.patches.extend(self.image.boot.follow(first, new));
        self.moved.push((first, new));
        self.moved.extend(olds.into_iter().skip(1).map(|old| (old, new)));
        self.changes.push(Change::sizes(name, ChangeKind::FileMoved, Some(first.length), new.length));
        Ok(())
    }

    /// Keeps the hashes of a file's new content, under all its names that a list of checksums has.
    fn remember(&mut self, record: RecordId, file: &File, content: Option<&[Segment]>) {
        let paths = self.image.listed_paths(record, file);
        if !paths.is_empty() {
            let hashes = content.and_then(|content| Hashes::of_content(content, &self.image.hashes));
            self.contents.extend(paths.into_iter().map(|path| (path, hashes.clone())));
        }
    }

    /// Lets the image say that it was changed.
    pub(super) fn mark(&mut self) {
        self.marked = true;
    }

    /// Marks a file as edited, and says what its own path is.
    fn begin(&mut self, path: &str, record: RecordId, file: &File) -> Result<String, EditError> {
        if let Some(reason) = file.reason.clone() {
            return Err(EditError::File { path: path.to_owned(), reason });
        }
        for record in self.image.records(record, file) {
            if !self.edited.insert(record) {
                return Err(EditError::Twice(path.to_owned()));
            }
        }
        Ok(self.image.path(record).unwrap_or_else(|| path.to_owned()))
    }

    /// Puts content behind the end, at the beginning of a block, and says where.
    fn append(&mut self, content: Vec<Segment>) -> Result<u64, EditError> {
        let offset = self.align();
        for segment in content {
            self.end = self.end.checked_add(segment.length()).ok_or(EditError::TooLarge("it has too many bytes"))?;
            self.appended.push(segment);
        }
        self.align();
        Ok(offset)
    }

    /// Fills the last block.
    fn align(&mut self) -> u64 {
        let end = self.end.next_multiple_of(BLOCK);
        if end > self.end {
            self.appended.push(Segment::zeros(end - self.end));
            self.end = end;
        }
        end
    }

    /// Makes a record of a file point to an extent of the image.
    fn point(&mut self, (directory, at): RecordId, offset: u64, size: u32) -> Result<(), EditError> {
        let block = self.block(directory, offset)?;
        if let Some(record) = self.directory(directory)?.record(Origin::Image(at)) {
            record.set_extent(block, size);
        }
        Ok(())
    }

    /// The block of an offset, as the directory's volume counts them.
    fn block(&self, directory: DirectoryId, offset: u64) -> Result<u32, EditError> {
        let tree = self.tree(directory).and_then(|tree| self.image.trees.get(tree));
        block(offset, tree.map_or(0, |tree| tree.base))
    }

    /// The tree of a directory.
    fn tree(&self, id: DirectoryId) -> Option<usize> {
        self.image.directory(id).map(|directory| directory.tree).or(self.new_directory(id).map(|new| new.tree))
    }

    fn new_directory(&self, id: DirectoryId) -> Option<&NewDirectory> {
        self.new.get(id.0.checked_sub(self.image.directories.len())?)
    }

    /// A directory, taken apart.
    fn directory(&mut self, id: DirectoryId) -> Result<&mut DraftDirectory, EditError> {
        let image = self.image;
        match self.directories.entry(id) {
            std::collections::btree_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let draft = image.directory(id).map(of_image);
                Ok(entry.insert(draft.transpose()?.unwrap_or_default()))
            }
        }
    }
}

/// The patches that make the extent's blocks hold the content, where nothing else stands on them and no byte has
/// to come from elsewhere.
fn in_place(image: &Image, extent: Extent, content: &[Segment], size: u32) -> Option<Vec<Patch>> {
    let blocks_end = (extent.offset + extent.length).next_multiple_of(BLOCK);
    let end = blocks_end.min(image.size);
    if extent.offset + u64::from(size) > end || !image.occupied.is_alone(extent.offset, blocks_end) {
        return None;
    }
    let mut at = extent.offset;
    let mut patches = Vec::new();
    for segment in content {
        match segment {
            Segment::Own(content) => patches.push(Patch { offset: at, content: content.clone() }),
            Segment::Base { file: Role::Iso, offset, .. } if *offset == at => {}
            Segment::Base { length: 0, .. } => {}
            Segment::Base { .. } => return None,
        }
        at += segment.length();
    }
    patches.push(Patch::zeros(at, end - at));
    Some(patches)
}

/// Directories were read once without an error, so that there is none now.
fn of_image(directory: &Directory) -> Result<DraftDirectory, EditError> {
    let overlap = |_: IsoError| NotEditable::Overlap(directory.extent.offset);
    Ok(DraftDirectory::of(directory).map_err(overlap)?)
}

/// The block of an offset in a volume that begins at `base`.
fn block(offset: u64, base: u64) -> Result<u32, EditError> {
    let block = offset.checked_sub(base).and_then(|within| u32::try_from(within / BLOCK).ok());
    block.ok_or(EditError::TooLarge("it would have more than 2^32 blocks"))
}

/// The file of a path: in the primary tree or else in Joliet's, of the volume at the beginning.
pub(super) fn find<'a>(image: &'a Image, path: &str) -> Result<(RecordId, &'a File), EditError> {
    let mut trees = image.trees.iter().enumerate().filter(|(_, tree)| tree.base == 0);
    match trees.find_map(|(index, _)| image.find(index, path)) {
        Some(Found::File(record, file)) => Ok((record, file)),
        Some(Found::Directory(_)) => Err(EditError::NotAFile(path.to_owned())),
        None => Err(EditError::NotFound(path.to_owned())),
    }
}

fn file_size(path: &str, content: &[Segment]) -> Result<u32, EditError> {
    let size = content.iter().fold(0_u64, |sum, segment| sum.saturating_add(segment.length()));
    let too_large = || EditError::FileTooLarge { path: path.to_owned(), size, limit: MAX_FILE_BYTES };
    u32::try_from(size).ok().filter(|_| size <= MAX_FILE_BYTES).ok_or_else(too_large)
}

fn within(path: &str, Patch { offset, content }: &Patch, size: u64) -> Result<(), EditError> {
    let (offset, length) = (*offset, content.len());
    match offset.checked_add(length) {
        Some(end) if end <= size => Ok(()),
        _ => Err(EditError::Outside { path: path.to_owned(), offset, length, size }),
    }
}
