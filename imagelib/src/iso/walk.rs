//! All entries of a tree, one after the other.

use std::collections::BTreeSet;

use super::IsoError;
use super::directory::{self, FileEntry};
use super::record::Naming;
use crate::source::Source;

/// The most that all directories of a tree may take, in bytes. An installation DVD has 2 MiB.
const MAX_TREE_BYTES: u64 = 32 << 20;

/// ECMA-119 §6.8.2.1 allows eight levels, Rock Ridge as many as a path can have.
pub(super) const DEEPEST: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) root: FileEntry,
    pub(super) names: Naming,
}

/// An iterator over the entries of a tree with their paths (`/EFI/BOOT/grub.cfg`). It ends after an error.
pub struct Walk<'a> {
    source: &'a dyn Source,
    base: u64,
    names: Naming,
    /// The directories entered, each with its path and what is left of its entries.
    open: Vec<(String, std::vec::IntoIter<FileEntry>)>,
    seen: BTreeSet<u64>,
    read: u64,
    error: Option<IsoError>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(source: &'a dyn Source, base: u64, tree: Option<&Tree>) -> Self {
        let names = tree.map_or(Naming::Iso, |tree| tree.names);
        let mut walk = Self { source, base, names, open: Vec::new(), seen: BTreeSet::new(), read: 0, error: None };
        if let Some(tree) = tree {
            walk.error = walk.enter(String::new(), &tree.root).err();
        }
        walk
    }

    fn enter(&mut self, path: String, directory: &FileEntry) -> Result<(), IsoError> {
        for extent in directory.extents.iter().filter(|extent| extent.length > 0) {
            if !self.seen.insert(extent.offset) || self.open.len() >= DEEPEST {
                return Err(IsoError::Nesting(extent.offset));
            }
            self.read = self.read.saturating_add(extent.length);
            if self.read > MAX_TREE_BYTES {
                return Err(IsoError::DirectoriesTooLarge { offset: extent.offset, limit: MAX_TREE_BYTES });
            }
        }
        let entries = directory::list(self.source, self.base, self.names, directory)?;
        self.open.push((path, entries.into_iter()));
        Ok(())
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<(String, FileEntry), IsoError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.error.take() {
            self.open.clear();
            return Some(Err(error));
        }
        loop {
            let (directory, entries) = self.open.last_mut()?;
            let Some(entry) = entries.next() else {
                self.open.pop();
                continue;
            };
            let path = format!("{directory}/{}", entry.name);
            if entry.is_directory() {
                self.error = self.enter(path.clone(), &entry).err();
            }
            return Some(Ok((path, entry)));
        }
    }
}
