//! Reading once what every edit needs.

use std::collections::{BTreeMap, BTreeSet};

use super::boot::BootCatalog;
use super::checksum_files;
use super::error::{NotEditable, OpenError};
use super::names::NameStyle;
use super::overlaps::Overlaps;
use super::partitions::Partitions;
use super::record_id::{DirectoryId, RecordId};
use super::tree::{DescriptorBlock, Directory, Entry, File, Image, Node, Occupied, PathTableBytes, Tree};
use crate::fields::u16_le;
use crate::iso::descriptor::{PathTable, ROOT_RECORD, path_tables};
use crate::iso::directory::{self, MAX_DIRECTORY_BYTES};
use crate::iso::fields::read_bytes;
use crate::iso::record::{Naming, Record};
use crate::iso::rock_ridge;
use crate::iso::walk::DEEPEST;
use crate::iso::{BLOCK, DescriptorKind, Extent, IsoError, TreeKind, Volume};
use crate::source::Source;

/// The most that all directories and path tables of an image may take. An installation DVD has 5 MiB in all trees.
const MAX_TREES_BYTES: u64 = 64 << 20;

/// Where a descriptor says how many discs belong together (ECMA-119 §8.4.11).
const SET_SIZE: usize = 120;

/// Reads all of an image whose volume at the beginning is `volume`.
pub(super) fn read(source: &dyn Source, volume: &Volume) -> Result<Image, OpenError> {
    if volume.is_udf_bridge() {
        return Err(NotEditable::UdfBridge.into());
    }
    let partitions = Partitions::read(source)?;
    let mut capture = Capture { source, image: Image::default(), seen: BTreeSet::new(), read: 0 };
    capture.set(volume)?;
    let files = capture.offsets(0);
    for base in partitions.starts() {
        let Image { descriptors, trees, directories, .. } = &capture.image;
        let (descriptors, trees, directories) = (descriptors.len(), trees.len(), directories.len());
        match Volume::open_at(source, base) {
            Ok(volume) => capture.set(&volume)?,
            Err(IsoError::NotIso { .. }) => continue,
            Err(error) => return Err(error.into()),
        }
        // A partition may also hold an image of its own, with other files: it stays as it is.
        if !files.is_empty() && capture.offsets(directories).is_disjoint(&files) {
            capture.image.bases.pop();
            capture.image.descriptors.truncate(descriptors);
            capture.image.trees.truncate(trees);
            capture.image.directories.truncate(directories);
        }
    }
    let mut image = capture.image;
    image.size = source.size();
    image.boot = BootCatalog::read(source, volume)?;
    image.partitions = partitions;
    index(&mut image);
    image.checksums = checksum_files::read(source, &image)?;
    Ok(image)
}

/// Fills in what can be looked up by extents.
fn index(image: &mut Image) {
    let mut occupied = vec![Extent { offset: 0, length: 17 * BLOCK }];
    let mut contents: BTreeMap<u64, Vec<RecordId>> = BTreeMap::new();
    occupied.extend(image.descriptors.iter().map(|block| Extent { offset: block.offset, length: BLOCK }));
    for table in image.trees.iter().flat_map(|tree| &tree.path_tables) {
        occupied.push(Extent { offset: table.offset, length: table.bytes.len() as u64 });
    }
    for (index, directory) in image.directories.iter_mut().enumerate() {
        occupied.push(directory.extent);
        for entry in &mut directory.entries {
            let Node::File(file) = &mut entry.node else { continue };
            occupied.push(file.extent);
            if file.extent.length > 0 {
                contents.entry(file.extent.offset).or_default().push((DirectoryId(index), entry.at));
            }
            if image.boot.is_in(file.extent) {
                file.reason.get_or_insert(NotEditable::BootCatalog);
            } else if image.boot.is_placed_in(file.extent) {
                file.reason.get_or_insert(NotEditable::BootLoader);
            }
        }
    }
    image.contents = contents;
    image.occupied = Occupied::new(occupied);
    mark_partly_shared(image);
}

/// Marks files that share some of their bytes, and not all, with another file: an edit of the one would leave the other
/// with old bytes, or with bytes that are not its own.
fn mark_partly_shared(image: &mut Image) {
    let mut overlaps = Overlaps::default();
    for records in image.contents.values() {
        for record in records {
            if let Some(Entry { node: Node::File(file), .. }) = image.entry(*record) {
                overlaps.add(file.extent, *record);
            }
        }
    }
    for (extent, other) in overlaps.partial() {
        let other = image.path(other).unwrap_or_default();
        for record in image.contents.get(&extent.0).cloned().unwrap_or_default() {
            if let Some(Node::File(file)) = image.node_mut(record)
                && file.extent.length == extent.1
            {
                file.reason.get_or_insert_with(|| NotEditable::PartlyShared(other.clone()));
            }
        }
    }
}

struct Capture<'a> {
    source: &'a dyn Source,
    image: Image,
    /// Where the directories begin that have been read.
    seen: BTreeSet<u64>,
    read: u64,
}

/// A directory to be read.
struct Pending {
    extent: Extent,
    record: Option<RecordId>,
    path: String,
    depth: usize,
    relocation: bool,
}

impl Capture<'_> {
    /// Where the files begin of the directories from this one on.
    fn offsets(&self, from: usize) -> BTreeSet<u64> {
        let directories = self.image.directories.get(from..).unwrap_or_default();
        let extents =
            directories.iter().flat_map(|directory| &directory.entries).filter_map(|entry| match &entry.node {
                Node::File(file) if file.extent.length > 0 => Some(file.extent.offset),
                _ => None,
            });
        extents.collect()
    }

    /// Reads a set of descriptors and all its trees.
    fn set(&mut self, volume: &Volume) -> Result<(), OpenError> {
        let base = volume.base();
        let mut roots: BTreeMap<u64, usize> = BTreeMap::new();
        for descriptor in volume.descriptors() {
            let names = match descriptor.kind {
                DescriptorKind::Primary => volume.tree(TreeKind::Primary).map_or(Naming::Iso, |tree| tree.names),
                DescriptorKind::Joliet => Naming::Joliet,
                DescriptorKind::Supplementary => Naming::Iso,
                DescriptorKind::ElTorito | DescriptorKind::Other(_) => continue,
            };
            let offset = descriptor.offset;
            let block = read_bytes(self.source, offset, BLOCK)?;
            if let Some(discs) = u16_le(&block, SET_SIZE).filter(|discs| *discs > 1) {
                return Err(NotEditable::SeveralDiscs(discs).into());
            }
            let record = block.get(ROOT_RECORD..ROOT_RECORD + 34).unwrap_or_default();
            let Record { block: root, size, .. } = Record::parse(record, offset + ROOT_RECORD as u64)?;
            let root = directory::extent(self.source, base, root, size, offset + ROOT_RECORD as u64)?;
            let tree = match roots.get(&root.offset) {
                Some(tree) => *tree,
                None => self.tree(base, names, root, &block)?,
            };
            roots.insert(root.offset, tree);
            self.image.descriptors.push(DescriptorBlock { offset, block, base, tree });
        }
        self.image.bases.push(base);
        Ok(())
    }

    /// Reads a tree, whose place in the list of trees is returned.
    fn tree(&mut self, base: u64, names: Naming, root: Extent, descriptor: &[u8]) -> Result<usize, OpenError> {
        let tree = self.image.trees.len();
        let path_tables = self.path_tables(base, descriptor)?;
        let id = DirectoryId(self.image.directories.len());
        let mut form = NameStyle::default();
        let pending = Pending { extent: root, record: None, path: String::new(), depth: 0, relocation: false };
        let mut open = vec![pending];
        while let Some(pending) = open.pop() {
            self.directory(tree, base, names, pending, &mut open, &mut form)?;
        }
        self.image.trees.push(Tree { base, names, form, root: id, path_tables });
        Ok(tree)
    }

    fn path_tables(&mut self, base: u64, descriptor: &[u8]) -> Result<Vec<PathTableBytes>, OpenError> {
        let mut tables = Vec::new();
        for PathTable { field, offset, length } in path_tables(descriptor, base) {
            // Readers of today do without path tables, so one outside the image is no reason to refuse it.
            if offset.saturating_add(length) <= self.source.size() {
                self.budget(length)?;
                tables.push(PathTableBytes { field, offset, bytes: read_bytes(self.source, offset, length)? });
            }
        }
        Ok(tables)
    }

    fn directory(
        &mut self,
        tree: usize,
        base: u64,
        names: Naming,
        pending: Pending,
        open: &mut Vec<Pending>,
        form: &mut NameStyle,
    ) -> Result<(), OpenError> {
        let Pending { extent, record, path, depth, mut relocation } = pending;
        let Extent { offset, length } = extent;
        if depth > DEEPEST {
            return Err(IsoError::Nesting(offset).into());
        }
        if length > MAX_DIRECTORY_BYTES {
            return Err(IsoError::DirectoriesTooLarge { offset, limit: MAX_DIRECTORY_BYTES }.into());
        }
        if length > 0 && !self.seen.insert(offset) {
            let same = self.image.directories.iter().any(|other| other.tree == tree && other.extent.offset == offset);
            return Err(if same {
                IsoError::Nesting(offset).into()
            } else {
                NotEditable::SharedDirectory(offset).into()
            });
        }
        self.budget(length)?;
        let bytes = read_bytes(self.source, offset, length)?;
        let id = DirectoryId(self.image.directories.len());
        if let Some((parent, at)) = record
            && let Some(parent) = self.image.directories.get_mut(parent.0)
        {
            parent.children.insert(at, id);
        }
        let mut entries: Vec<Entry> = Vec::new();
        let mut unfinished = false;
        directory::records(&bytes, offset, |record| {
            if record.is_self_or_parent() || record.is_associated() {
                return Ok(());
            }
            let at = usize::try_from(record.offset - offset).unwrap_or_default();
            if std::mem::replace(&mut unfinished, record.continues()) {
                return continued(self.source, base, &record, entries.last_mut());
            }
            form.learn(names, record.name, record.is_directory());
            let Some(found) = self.entry(base, names, &record, at)? else {
                relocation = true;
                return Ok(());
            };
            if let Some((extent, moved)) = found.directory {
                relocation |= moved;
                let path = format!("{path}/{}", found.entry.name);
                let record = Some((id, at));
                open.push(Pending { extent, record, path, depth: depth + 1, relocation: moved });
            }
            entries.push(found.entry);
            Ok(())
        })?;
        let children = BTreeMap::new();
        self.image.directories.push(Directory { tree, path, extent, bytes, record, children, entries, relocation });
        Ok(())
    }

    /// The entry of a record; none for a directory that stands here only because it had to move.
    fn entry(&self, base: u64, names: Naming, record: &Record<'_>, at: usize) -> Result<Option<Found>, IsoError> {
        let additions = rock_ridge::read(self.source, base, names, record)?;
        if additions.relocated_here {
            return Ok(None);
        }
        let name = additions.name.unwrap_or_else(|| names.decode(record.name));
        let extent = directory::extent(self.source, base, record.block, record.size, record.offset)?;
        let mut directory = record.is_directory().then_some((extent, false));
        if let Some(block) = additions.relocated_to {
            directory = Some((directory::moved_directory(self.source, base, block, record.offset)?, true));
        }
        let node = if directory.is_some() {
            Node::Directory
        } else if let Some(link) = additions.symlink {
            Node::Symlink(link.target())
        } else {
            let reason = if additions.compressed {
                Some(NotEditable::Compressed)
            } else if record.has_attributes() {
                Some(NotEditable::ExtendedAttributes)
            } else {
                None
            };
            Node::File(File { extent, reason })
        };
        Ok(Some(Found { entry: Entry { at, name, node }, directory }))
    }

    fn budget(&mut self, length: u64) -> Result<(), NotEditable> {
        self.read = self.read.saturating_add(length);
        if self.read > MAX_TREES_BYTES { Err(NotEditable::DirectoriesTooLarge(MAX_TREES_BYTES)) } else { Ok(()) }
    }
}

/// An entry; with its extent, and whether it was moved there, where it is a directory.
struct Found {
    entry: Entry,
    directory: Option<(Extent, bool)>,
}

/// Adds the extent of a further record of the same file.
fn continued(source: &dyn Source, base: u64, record: &Record<'_>, entry: Option<&mut Entry>) -> Result<(), IsoError> {
    let extent = directory::extent(source, base, record.block, record.size, record.offset)?;
    match entry.map(|entry| &mut entry.node) {
        Some(Node::File(file)) => {
            file.reason.get_or_insert(NotEditable::SeveralExtents);
            if extent.offset == file.extent.offset.saturating_add(file.extent.length) {
                file.extent.length = file.extent.length.saturating_add(extent.length);
            }
            Ok(())
        }
        _ => Err(IsoError::Record { offset: record.offset, reason: "does not continue a file" }),
    }
}
