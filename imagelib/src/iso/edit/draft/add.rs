//! New files and directories: a record in every tree.

use super::{Draft, NewDirectory};
use crate::iso::edit::changes::{Change, ChangeKind};
use crate::iso::edit::error::{EditError, NotEditable};
use crate::iso::edit::layout::{DraftDirectory, DraftRecord, Origin};
use crate::iso::edit::record_id::DirectoryId;
use crate::iso::edit::rock_ridge;
use crate::iso::edit::tree::Found;
use crate::iso::record::Naming;
use crate::overlay::Segment;

/// How deep directories may be nested (ECMA-119 §6.8.2.1), without the root.
const DEEPEST: usize = 7;
const PARENT_MODE: u32 = 0o755;
const FILE: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
/// File serial numbers of new files: far from those that mastering programs count up to.
const FIRST_NUMBER: u32 = 0x8000_0000;

/// What is added.
#[derive(Clone, Copy)]
enum New {
    File { offset: Option<u64>, size: u32 },
    Directory,
}

impl Draft<'_> {
    /// Adds a file.
    pub(in crate::iso::edit) fn add_file(
        &mut self,
        path: &str,
        content: Vec<Segment>,
        mode: u32,
    ) -> Result<(), EditError> {
        let names = names(path)?;
        let Some((_, parents)) = names.split_last() else { return Err(exists(path)) };
        let size = super::file_size(path, &content)?;
        self.add_directories(path, parents, PARENT_MODE)?;
        let offset = if size > 0 { Some(self.append(content)?) } else { None };
        self.add(path, &names, New::File { offset, size }, FILE | mode & 0o7777)?;
        self.changes.push(Change::sizes(joined(&names), ChangeKind::FileAdded, None, u64::from(size)));
        Ok(())
    }

    /// Adds a directory, if it is not there.
    pub(in crate::iso::edit) fn add_directory(&mut self, path: &str, mode: u32) -> Result<(), EditError> {
        let names = names(path)?;
        let Some((_, parents)) = names.split_last() else { return Ok(()) };
        self.add_directories(path, parents, PARENT_MODE)?;
        self.add_directories(path, &names, mode)
    }

    /// Adds those directories of a path that are not there.
    fn add_directories(&mut self, path: &str, names: &[&str], mode: u32) -> Result<(), EditError> {
        let (_, present) = self.descend(0, path, names)?;
        for count in present + 1..=names.len() {
            let names = names.get(..count).unwrap_or_default();
            self.add(path, names, New::Directory, DIRECTORY | mode & 0o7777)?;
            self.changes.push(Change::structure(joined(names), ChangeKind::DirectoryAdded));
        }
        Ok(())
    }

    /// Adds a name to each tree that has its directory. One that has it not was told to hide it.
    fn add(&mut self, path: &str, names: &[&str], new: New, mode: u32) -> Result<(), EditError> {
        let Some((name, parents)) = names.split_last() else { return Err(exists(path)) };
        self.additions += 1;
        for tree in 0..self.image.trees.len() {
            let (parent, present) = self.descend(tree, path, parents)?;
            if present < parents.len() {
                continue;
            }
            let found = self.image.find(tree, &joined(names));
            if matches!((new, found), (New::Directory, Some(Found::Directory(_)))) {
                continue;
            }
            if found.is_some() || self.added.contains_key(&(parent, (*name).to_owned())) {
                return Err(exists(path));
            }
            if matches!(new, New::Directory) && self.is_too_deep(tree, names.len()) {
                return Err(EditError::Path { path: path.to_owned(), reason: "it has more than seven directories" });
            }
            self.add_to(tree, parent, path, name, new, mode)?;
        }
        Ok(())
    }

    fn is_too_deep(&self, tree: usize, depth: usize) -> bool {
        let directories = self.image.directories.iter().filter(|directory| directory.tree == tree);
        let deepest = directories.map(|directory| directory.path.matches('/').count()).max();
        depth > deepest.unwrap_or(0).max(DEEPEST)
    }

    /// The deepest directory of a path that is there, and how many of the names lead to it.
    fn descend(&self, tree: usize, path: &str, names: &[&str]) -> Result<(DirectoryId, usize), EditError> {
        let file = || EditError::Path { path: path.to_owned(), reason: "one of its directories is a file" };
        let mut directory = self.image.trees.get(tree).map_or(DirectoryId(0), |tree| tree.root);
        let mut present = 0;
        for count in 1..=names.len() {
            match self.image.find(tree, &joined(names.get(..count).unwrap_or_default())) {
                Some(Found::Directory(id)) => (directory, present) = (id, count),
                Some(Found::File(..)) => return Err(file()),
                None => break,
            }
        }
        while let Some(name) = names.get(present)
            && let Some(added) = self.added.get(&(directory, (*name).to_owned()))
        {
            directory = added.ok_or_else(file)?;
            present += 1;
        }
        Ok((directory, present))
    }

    /// Adds a name to a directory of one tree.
    fn add_to(
        &mut self,
        tree_index: usize,
        parent: DirectoryId,
        path: &str,
        name: &str,
        new: New,
        mode: u32,
    ) -> Result<(), EditError> {
        let Some(tree) = self.image.trees.get(tree_index) else { return Ok(()) };
        let cannot = |reason| EditError::Name { path: path.to_owned(), tree: tree.label(), reason };
        let number = FIRST_NUMBER + self.additions;
        let id = DirectoryId(self.image.directories.len() + self.new.len());
        let origin = match new {
            New::File { .. } => Origin::File,
            New::Directory => Origin::Directory(id),
        };
        let is_directory = matches!(new, New::Directory);
        let alone = self.image.trees.iter().all(|tree| tree.names == Naming::Iso);
        let target = match new {
            New::File { offset, size } => Some((self.block(parent, offset.unwrap_or(tree.base))?, size)),
            New::Directory => None,
        };
        let draft = self.directory(parent)?;
        let Some((own, _)) = draft.head() else {
            return Err(EditError::File { path: path.to_owned(), reason: NotEditable::DirectoryHead });
        };
        let own = own.clone();
        let raw_name = if tree.names == Naming::Joliet {
            tree.form.joliet(name, is_directory).map_err(cannot)?
        } else {
            let taken = |name: &[u8]| {
                let name = without_version(name);
                let rest = |record: &DraftRecord| record.name().strip_prefix(name).map(|rest| rest.first().copied());
                draft.records.iter().any(|record| matches!(rest(record), Some(None | Some(b';'))))
            };
            tree.form.iso(name, is_directory, taken).ok_or_else(|| cannot("a thousand names already begin like it"))?
        };
        if alone && !tree.names.decode(&raw_name).eq_ignore_ascii_case(name) {
            return Err(cannot("it has characters, or a length, that only Rock Ridge and Joliet allow"));
        }
        let system_use = match tree.names {
            Naming::RockRidge(0) => {
                let links = if is_directory { 2 } else { 1 };
                rock_ridge::entries(&own, mode, links, number, Some(name)).ok_or_else(|| cannot("it is too long"))?
            }
            Naming::RockRidge(_) => {
                return Err(EditError::File { path: path.to_owned(), reason: NotEditable::SystemUse });
            }
            _ => Vec::new(),
        };
        let record = DraftRecord::new(&own, origin, &raw_name, &system_use);
        let mut record = record.ok_or_else(|| cannot("it is too long for a directory record"))?;
        if let Some((block, size)) = target {
            record.set_extent(block, size);
        }
        draft.insert(tree.names, record);
        if is_directory {
            let head = head(&own, origin, tree.names, mode, number).ok_or_else(|| cannot("it is too long"))?;
            self.directories.insert(id, head);
            self.new.push(NewDirectory { tree: tree_index, parent, raw_name });
        }
        self.added.insert((parent, name.to_owned()), is_directory.then_some(id));
        Ok(())
    }
}

/// A directory with nothing but the records of itself and its parent, whose own record is `parent`.
fn head(parent: &DraftRecord, origin: Origin, names: Naming, mode: u32, number: u32) -> Option<DraftDirectory> {
    let (mut own, mut above) = (Vec::new(), Vec::new());
    if let Naming::RockRidge(_) = names {
        own = rock_ridge::entries(parent, mode, 2, number, None)?;
        above = [*b"RR", *b"PX", *b"TF"]
            .iter()
            .filter_map(|kind| parent.entry(*kind))
            .flat_map(|found| found.1)
            .copied()
            .collect();
    }
    let (own, above) = (DraftRecord::new(parent, origin, &[0], &own)?, DraftRecord::new(parent, origin, &[1], &above)?);
    Some(DraftDirectory::new(own, above))
}

/// The names of a path.
fn names(path: &str) -> Result<Vec<&str>, EditError> {
    let wrong = |reason| EditError::Path { path: path.to_owned(), reason };
    let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    if names.contains(&"..") {
        return Err(wrong("it has a part that is \"..\""));
    }
    if path.chars().any(char::is_control) {
        return Err(wrong("it has a control character"));
    }
    Ok(names)
}

fn joined(names: &[&str]) -> String {
    names.iter().fold(String::new(), |path, name| path + "/" + name)
}

fn exists(path: &str) -> EditError {
    EditError::Exists(path.to_owned())
}

fn without_version(raw: &[u8]) -> &[u8] {
    raw.split(|byte| *byte == b';').next().unwrap_or_default()
}
