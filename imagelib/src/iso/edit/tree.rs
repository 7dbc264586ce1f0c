//! What of an image is kept in memory: its descriptors and directories, as their own bytes, and an index of them.

use std::collections::{BTreeMap, BTreeSet};

use super::boot::BootCatalog;
use super::checksums::{ChecksumFile, Hashes};
use super::error::NotEditable;
use super::names::NameStyle;
use super::partitions::Partitions;
use super::record_id::{DirectoryId, RecordId};
use crate::iso::record::{Naming, Record};
use crate::iso::{BLOCK, Extent};

/// Symbolic links followed on the way to one file.
pub(super) const MAX_LINKS: usize = 8;

/// All that is known of an image.
#[derive(Debug, Default)]
pub(super) struct Image {
    pub(super) size: u64,
    /// Where its volumes begin. An image may have a second set of descriptors, for those who mount a partition of it;
    /// both are about the same files.
    pub(super) bases: Vec<u64>,
    pub(super) descriptors: Vec<DescriptorBlock>,
    pub(super) trees: Vec<Tree>,
    pub(super) directories: Vec<Directory>,
    /// The records of files that have content, by where it begins.
    pub(super) contents: BTreeMap<u64, Vec<RecordId>>,
    pub(super) occupied: Occupied,
    pub(super) boot: BootCatalog,
    pub(super) partitions: Partitions,
    pub(super) checksums: Vec<ChecksumFile>,
    /// The hashes of files that are going to grow, by where they begin.
    pub(super) hashes: BTreeMap<u64, (Extent, Hashes)>,
}

/// A descriptor that has a directory tree.
#[derive(Debug)]
pub(super) struct DescriptorBlock {
    pub(super) offset: u64,
    pub(super) block: Vec<u8>,
    /// Where block 0 of its volume stands in the image.
    pub(super) base: u64,
    /// Its tree, in [`Image::trees`].
    pub(super) tree: usize,
}

/// A tree of directories.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) base: u64,
    pub(super) names: Naming,
    pub(super) form: NameStyle,
    pub(super) root: DirectoryId,
    pub(super) path_tables: Vec<PathTableBytes>,
}

/// A path table of a tree (ECMA-119 §9.4).
#[derive(Debug)]
pub(super) struct PathTableBytes {
    /// Where in the descriptor its block is written (§8.4.14).
    pub(super) field: usize,
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

impl Tree {
    /// What it is called in messages.
    pub(super) fn label(&self) -> &'static str {
        match self.names {
            Naming::Iso => "ISO 9660",
            Naming::RockRidge(_) => "Rock Ridge",
            Naming::Joliet => "Joliet",
        }
    }
}

/// A directory.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) tree: usize,
    /// With a slash in front of every name; that of the root is empty.
    pub(super) path: String,
    pub(super) extent: Extent,
    pub(super) bytes: Vec<u8>,
    /// The record of it in its parent; the root has none.
    pub(super) record: Option<RecordId>,
    /// Its directories, by where their records begin.
    pub(super) children: BTreeMap<usize, DirectoryId>,
    pub(super) entries: Vec<Entry>,
    /// It, or a directory in it, is not where its path says.
    pub(super) relocation: bool,
}

/// A name in a directory.
#[derive(Debug)]
pub(super) struct Entry {
    /// Where its record begins in the directory's bytes: the first, where it has several.
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) node: Node,
}

/// What has the name.
#[derive(Debug)]
pub(super) enum Node {
    Directory,
    File(File),
    Symlink(String),
}

#[derive(Debug)]
pub(super) struct File {
    /// The content; all of it, where it is contiguous.
    pub(super) extent: Extent,
    pub(super) reason: Option<NotEditable>,
}

impl Directory {
    /// The name as the tree has it, without Rock Ridge.
    fn tree_name(&self, names: Naming, at: usize) -> Option<String> {
        Record::parse(self.bytes.get(at..)?, 0).ok().map(|record| names.decode(record.name))
    }

    /// The entry of a name: as it is written, or else in letters of either case and in the tree's own form.
    pub(super) fn entry(&self, names: Naming, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name).or_else(|| {
            self.entries.iter().find(|entry| {
                entry.name.eq_ignore_ascii_case(name)
                    || self.tree_name(names, entry.at).is_some_and(|other| other.eq_ignore_ascii_case(name))
            })
        })
    }
}

/// What a path leads to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found<'a> {
    Directory(DirectoryId),
    File(RecordId, &'a File),
}

impl Image {
    pub(super) fn directory(&self, id: DirectoryId) -> Option<&Directory> {
        self.directories.get(id.0)
    }

    /// The file of a record that begins at `at`.
    pub(super) fn entry(&self, (directory, at): RecordId) -> Option<&Entry> {
        let entries = &self.directory(directory)?.entries;
        entries.get(entries.binary_search_by_key(&at, |entry| entry.at).ok()?)
    }

    pub(super) fn node_mut(&mut self, (directory, at): RecordId) -> Option<&mut Node> {
        let entries = &mut self.directories.get_mut(directory.0)?.entries;
        let index = entries.binary_search_by_key(&at, |entry| entry.at).ok()?;
        entries.get_mut(index).map(|entry| &mut entry.node)
    }

    /// The path of what has that record.
    pub(super) fn path(&self, record: RecordId) -> Option<String> {
        Some(format!("{}/{}", self.directory(record.0)?.path, self.entry(record)?.name))
    }

    /// What a path leads to in a tree, through symbolic links.
    pub(super) fn find(&self, tree: usize, path: &str) -> Option<Found<'_>> {
        let tree = self.trees.get(tree)?;
        let mut pending: Vec<&str> = names(path);
        let mut open = vec![tree.root];
        let mut links = 0;
        loop {
            let current = *open.last()?;
            let Some(name) = pending.pop() else { return Some(Found::Directory(current)) };
            if name == ".." && links > 0 {
                open.truncate((open.len() - 1).max(1));
                continue;
            }
            let directory = self.directory(current)?;
            let entry = directory.entry(tree.names, name)?;
            match &entry.node {
                Node::Directory => open.push(*directory.children.get(&entry.at)?),
                Node::File(file) if pending.is_empty() => return Some(Found::File((current, entry.at), file)),
                Node::File(_) => return None,
                Node::Symlink(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return None;
                    }
                    if target.starts_with('/') {
                        open.truncate(1);
                    }
                    pending.extend(names(target));
                }
            }
        }
    }

    /// The records of a file's content: those of the same extent in all trees, and where it has none, those of the
    /// same path.
    pub(super) fn records(&self, record: RecordId, file: &File) -> Vec<RecordId> {
        if file.extent.length > 0 {
            let all = self.contents.get(&file.extent.offset).map(Vec::as_slice).unwrap_or_default();
            return all.iter().copied().filter(|other| self.extent(*other) == Some(file.extent)).collect();
        }
        let Some(path) = self.path(record) else { return Vec::new() };
        let empty = |tree| match self.find(tree, &path)? {
            Found::File(record, file) if file.extent.length == 0 => Some(record),
            _ => None,
        };
        (0..self.trees.len()).filter_map(empty).collect()
    }

    /// The paths under which lists of checksums have a file's content.
    pub(super) fn listed_paths(&self, record: RecordId, file: &File) -> BTreeSet<String> {
        let mut listed = BTreeSet::new();
        for record in self.records(record, file) {
            let path = self.path(record);
            for list in &self.checksums {
                listed.extend(path.iter().filter(|path| list.lines.contains_key(*path)).cloned());
                listed.extend(list.others.get(&record).into_iter().flatten().cloned());
            }
        }
        listed
    }

    fn extent(&self, record: RecordId) -> Option<Extent> {
        match &self.entry(record)?.node {
            Node::File(file) => Some(file.extent),
            _ => None,
        }
    }
}

/// The parts of a path, the first one last.
pub(super) fn names(path: &str) -> Vec<&str> {
    path.split('/').rev().filter(|name| !matches!(*name, "" | ".")).collect()
}

/// The extents of an image that something stands on, in whole blocks.
#[derive(Debug, Default)]
pub(super) struct Occupied {
    /// By where they begin, each with the end of the longest one, and with how far those before it reach at most.
    extents: Vec<(u64, u64, u64)>,
}

impl Occupied {
    pub(super) fn new(extents: impl IntoIterator<Item = Extent>) -> Self {
        let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
        for extent in extents.into_iter().filter(|extent| extent.length > 0) {
            let end = ends.entry(extent.offset).or_default();
            *end = (*end).max(extent.offset.saturating_add(extent.length).next_multiple_of(BLOCK));
        }
        let mut reach = 0;
        let extents = ends.into_iter().map(|(start, end)| {
            let before = reach;
            reach = reach.max(end);
            (start, end, before)
        });
        Self { extents: extents.collect() }
    }

    /// Whether nothing else stands on the blocks from `start` to `end` than what begins at `start` and ends there.
    pub(super) fn is_alone(&self, start: u64, end: u64) -> bool {
        let from = self.extents.partition_point(|extent| extent.0 < start);
        let rest = self.extents.get(from..).unwrap_or_default();
        let before = match (rest.first(), from.checked_sub(1).and_then(|last| self.extents.get(last))) {
            (Some(next), _) => next.2,
            (None, Some(last)) => last.1.max(last.2),
            (None, None) => 0,
        };
        before <= start
            && rest.iter().take_while(|extent| extent.0 < end).all(|extent| (extent.0, extent.1) == (start, end))
    }
}
