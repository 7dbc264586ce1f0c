//! The directories that a new image's files need.

use std::collections::BTreeMap;

use super::{AuthorError, IsoPath, NewFile};

/// An entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node<'a> {
    /// By its place in [`Tree::directories`], with its name.
    Directory(usize, &'a str),
    /// By its place in [`Tree::files`].
    File(usize),
}

/// A directory's entries by name.
pub(super) type Entries<'a> = BTreeMap<&'a str, Node<'a>>;

/// A file with what has been checked about it.
#[derive(Debug)]
pub(super) struct File<'a> {
    pub(super) path: &'a IsoPath,
    pub(super) new: &'a NewFile,
    pub(super) size: u32,
}

/// All files and directories. The first directory is the root.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    pub(super) directories: Vec<Entries<'a>>,
    pub(super) files: Vec<File<'a>>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(files: &'a BTreeMap<IsoPath, NewFile>) -> Result<Self, AuthorError> {
        let mut tree = Self { directories: vec![Entries::new()], files: Vec::with_capacity(files.len()) };
        for (path, file) in files {
            let size = file.size();
            let size = u32::try_from(size).map_err(|_| AuthorError::FileTooLarge { path: path.to_string(), size })?;
            tree.insert(path)?;
            tree.files.push(File { path, new: file, size });
        }
        Ok(tree)
    }

    /// Makes the entry of the next file, and those of its directories.
    fn insert(&mut self, path: &'a IsoPath) -> Result<(), AuthorError> {
        let both = || AuthorError::FileAndDirectory(path.to_string());
        let mut names = path.names();
        let last = names.next_back().unwrap_or_default();
        let mut directory = 0;
        for name in names {
            let new = self.directories.len();
            let Some(entries) = self.directories.get_mut(directory) else { return Err(both()) };
            match *entries.entry(name).or_insert(Node::Directory(new, name)) {
                Node::Directory(index, _) => directory = index,
                Node::File(_) => return Err(both()),
            }
            if directory == new {
                self.directories.push(Entries::new());
            }
        }
        let node = Node::File(self.files.len());
        let before = self.directories.get_mut(directory).and_then(|entries| entries.insert(last, node));
        if before.is_some() { Err(both()) } else { Ok(()) }
    }

    /// The place of a file in [`Tree::files`].
    pub(super) fn find(&self, path: &IsoPath) -> Option<usize> {
        self.files.iter().position(|file| file.path == path)
    }
}
