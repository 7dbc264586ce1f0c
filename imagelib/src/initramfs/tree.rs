//! The file system that the kernel would unpack, without the contents of most files.

use std::collections::{BTreeMap, BTreeSet};

use crate::cpio::{Entry, FileKind, MemberPath, MemberPathError};

/// How many symbolic links the kernel follows on one path (`MAXSYMLINKS`).
const LINKS: usize = 40;
/// How many files' contents a tree keeps.
const MAX_CONTENTS: usize = 256;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A directory with these permission bits.
    Directory {
        /// Permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Symlink {
        /// Where it points, as it is written in the link.
        target: Vec<u8>,
    },
    /// A regular file.
    File,
    /// A device, a pipe or a socket.
    Special,
}

/// The place for a new file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The path with all symbolic links above the file resolved.
    pub path: MemberPath,
    /// The missing directories above it, the outermost first. The archive must contain these directories, and no others,
    /// before the file.
    pub missing: Vec<MemberPath>,
}

/// Why the kernel would not unpack a file to a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// A part of the path is a file.
    #[error("{path} cannot be added to this initramfs: {parent} is not a directory there")]
    ParentNotDirectory {
        /// The file.
        path: MemberPath,
        /// The part of the path that is a file.
        parent: String,
    },
    /// The path is a directory, or a symbolic link to one.
    #[error("{0} cannot be added to this initramfs: it is a directory there")]
    Directory(MemberPath),
    /// Symbolic links above the path form a circle or lead nowhere.
    #[error("{0} cannot be added to this initramfs: the symbolic links above it go in a circle or lead nowhere")]
    Links(MemberPath),
    /// A directory that a symbolic link leads to has an invalid name.
    #[error("a symbolic link above the file leads out of what can be written: {0}")]
    Name(#[from] MemberPathError),
}

/// The file system that an initramfs unpacks to. Made by [`super::survey`].
#[derive(Clone)]
pub struct Tree {
    /// By path without symbolic links: what is above a key is a key, and a directory.
    nodes: BTreeMap<Vec<u8>, Node>,
    /// The paths of regular files that had other names in the image (hard links).
    linked: BTreeSet<Vec<u8>>,
    /// The contents of some files, which may be secrets.
    contents: BTreeMap<Vec<u8>, Vec<u8>>,
    open: bool,
}

debug_only!(Tree { nodes, open });

/// A file in a directory.
#[derive(Clone)]
pub(crate) struct FileIn<'t> {
    /// Its name.
    pub(crate) name: String,
    /// Its path without symbolic links above it.
    pub(crate) path: &'t [u8],
    /// Its content, if the tree keeps it.
    pub(crate) content: Option<&'t [u8]>,
}

impl Default for Tree {
    /// The files of every kernel before it unpacks an initramfs (`usr/default_cpio_list`).
    fn default() -> Self {
        let directory = |mode| Node::Directory { mode };
        let nodes = [("dev", directory(0o755)), ("dev/console", Node::Special), ("root", directory(0o700))];
        Self {
            nodes: nodes.map(|(path, node)| (path.into(), node)).into(),
            linked: BTreeSet::new(),
            contents: BTreeMap::new(),
            open: false,
        }
    }
}

/// A path, followed as far as it exists.
#[derive(Default)]
struct Followed {
    /// The path without symbolic links, the missing components included.
    real: Vec<u8>,
    /// The missing directories, the outermost first.
    missing: Vec<Vec<u8>>,
}

enum Blocked {
    NotDirectory(Vec<u8>),
    Links,
}

impl Tree {
    /// The node at a path. Follows symbolic links above it, but not at the path itself.
    pub fn node(&self, path: &MemberPath) -> Option<&Node> {
        self.landing(path.as_str().as_bytes()).and_then(|real| self.nodes.get(&real))
    }

    /// The node at a path. Follows all symbolic links.
    pub fn resolve(&self, path: &MemberPath) -> Option<&Node> {
        let followed = self.follow(path.as_str().as_bytes()).ok()?;
        self.nodes.get(&followed.real)
    }

    /// Whether the image ends in a compressed stream without an end mark. Appended data then needs zeros in front.
    pub fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn set_open(&mut self) {
        self.open = true;
    }

    /// Whether a path without symbolic links is one of several names of a file. The kernel opens such a file and overwrites it under all its
    /// names, unless something of another kind takes the place of the name first.
    pub(crate) fn is_linked(&self, path: &MemberPath) -> bool {
        self.linked.contains(path.as_str().as_bytes())
    }

    /// Notes two names of one file. A name that something else has taken since then may stay noted.
    pub(super) fn set_linked(&mut self, first: &[u8], other: Vec<u8>) {
        if first != other {
            self.linked.extend([first.to_vec(), other]);
        }
    }

    /// All nodes by their paths without symbolic links, sorted.
    pub fn nodes(&self) -> impl Iterator<Item = (&[u8], &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_slice(), node))
    }

    /// The files and the links directly in a directory, sorted by their names.
    pub(crate) fn files_in(&self, directory: &str) -> Vec<FileIn<'_>> {
        let real = self.follow(directory.as_bytes()).ok().filter(|followed| followed.missing.is_empty());
        let Some(prefix) = real.map(|followed| join(&followed.real, b"")) else { return Vec::new() };
        let beneath = self.nodes.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
        let files = beneath.filter_map(|(path, node)| {
            let name = path.get(prefix.len()..).filter(|name| !name.contains(&b'/'))?;
            let content = match node {
                Node::File => self.contents.get(path).map(Vec::as_slice),
                Node::Symlink { .. } => {
                    let followed = self.follow(path).ok()?;
                    // systemd and NetworkManager read nothing there, and so hide another file of this name.
                    if followed.real == b"dev/null" {
                        Some(<&[u8]>::default())
                    } else {
                        self.contents.get(&followed.real).map(Vec::as_slice)
                    }
                }
                Node::Directory { .. } | Node::Special => return None,
            };
            Some(FileIn { name: String::from_utf8_lossy(name).into_owned(), path, content })
        });
        files.collect()
    }

    /// Keeps the content of the file at a path without symbolic links, until something else is unpacked there.
    pub(super) fn keep(&mut self, real: Vec<u8>, content: Vec<u8>) {
        if self.contents.len() < MAX_CONTENTS {
            self.contents.insert(real, content);
        }
    }

    /// Finds the place for a new regular file or symbolic link at `path`, and the directories that it needs.
    pub fn place(&self, path: &MemberPath) -> Result<Placement, PlacementError> {
        let not_directory = |parent: &[u8]| PlacementError::ParentNotDirectory {
            path: path.clone(),
            parent: String::from_utf8_lossy(parent).into_owned(),
        };
        let (parent, name) = split(path.as_str().as_bytes());
        let followed = self.follow(parent).map_err(|blocked| match blocked {
            Blocked::NotDirectory(parent) => not_directory(&parent),
            Blocked::Links => PlacementError::Links(path.clone()),
        })?;
        if followed.missing.is_empty() && !self.is_directory(&followed.real) {
            return Err(not_directory(&followed.real));
        }
        let real = join(&followed.real, name);
        if self.is_directory(&real) || self.leads_to_directory(&real) {
            return Err(PlacementError::Directory(path.clone()));
        }
        let member = |path: &[u8]| String::from_utf8_lossy(path).parse::<MemberPath>();
        let missing = followed.missing.iter().map(|path| member(path)).collect::<Result<_, _>>()?;
        Ok(Placement { path: member(&real)?, missing })
    }

    /// What is in this tree and in another one, for an archive that is to be right for both. None if an archive that is right for
    /// one of them could remove something of the other, or change the permissions of a directory there.
    pub(crate) fn common(self, other: &Self) -> Option<Self> {
        const NEW_DIRECTORY: Node = Node::Directory { mode: 0o755 };
        let can_be_missing = |node: &Node| matches!(node, Node::File) || *node == NEW_DIRECTORY;
        let only_there = other.nodes.iter().filter(|(path, _)| !self.nodes.contains_key(*path));
        if self.open != other.open || !only_there.map(|(_, node)| node).all(can_be_missing) {
            return None;
        }
        let mut nodes = BTreeMap::new();
        let linked = self.linked.union(&other.linked).cloned().collect();
        for (path, node) in self.nodes {
            match (&node, other.nodes.get(&path)) {
                (_, None) if can_be_missing(&node) => {}
                (Node::Directory { .. }, Some(Node::Directory { .. })) => drop(nodes.insert(path, node)),
                (_, Some(same)) if *same == node => drop(nodes.insert(path, node)),
                _ => return None,
            }
        }
        let contents = self.contents.into_iter().filter(|(path, content)| other.contents.get(path) == Some(content));
        Some(Self { nodes, linked, contents: contents.collect(), open: self.open })
    }

    /// Unpacks an entry as the kernel does, and returns its path. `None` if its parent is missing, or a directory with content
    /// is in its place.
    pub(super) fn insert(&mut self, entry: &Entry, target: Vec<u8>) -> Option<Vec<u8>> {
        let real = self.landing(&entry.name)?;
        let node = match entry.kind() {
            FileKind::Directory => Node::Directory { mode: entry.mode & 0o7777 },
            FileKind::Symlink => Node::Symlink { target },
            FileKind::File => Node::File,
            FileKind::Special => Node::Special,
        };
        let keeps = matches!(node, Node::Directory { .. }) || !self.is_directory(&real) || !self.has_children(&real);
        keeps.then(|| {
            self.contents.remove(&real);
            self.nodes.insert(real.clone(), node);
            real
        })
    }

    /// The path without links of something that is, or can be created, in an existing directory.
    fn landing(&self, name: &[u8]) -> Option<Vec<u8>> {
        let (parent, last) = split(name);
        if matches!(last, b"" | b"." | b"..") {
            return None;
        }
        let plain = parent.strip_prefix(b"./").or_else(|| parent.strip_prefix(b"/")).unwrap_or(parent);
        if self.is_directory(plain) {
            return Some(join(plain, last));
        }
        let Followed { real, missing } = self.follow(parent).ok()?;
        (missing.is_empty() && self.is_directory(&real)).then(|| join(&real, last))
    }

    fn is_directory(&self, real: &[u8]) -> bool {
        real.is_empty() || matches!(self.nodes.get(real), Some(Node::Directory { .. }))
    }

    fn leads_to_directory(&self, real: &[u8]) -> bool {
        self.follow(real).is_ok_and(|followed| followed.missing.is_empty() && self.is_directory(&followed.real))
    }

    fn has_children(&self, real: &[u8]) -> bool {
        let prefix = join(real, b"");
        self.nodes.range(prefix.clone()..).next().is_some_and(|(path, _)| path.starts_with(&prefix))
    }

    fn follow(&self, path: &[u8]) -> Result<Followed, Blocked> {
        let mut followed = Followed::default();
        // The components still to come, the next one last.
        let mut rest: Vec<&[u8]> = components(path).rev().collect();
        let mut links = 0;
        while let Some(component) = rest.pop() {
            if component == b".." {
                if !followed.missing.is_empty() {
                    return Err(Blocked::Links);
                }
                followed.real = split(&followed.real).0.to_vec();
                continue;
            }
            let real = join(&followed.real, component);
            match self.nodes.get(&real) {
                Some(Node::Directory { .. }) => followed.real = real,
                Some(Node::Symlink { target }) => {
                    links += 1;
                    if links > LINKS {
                        return Err(Blocked::Links);
                    }
                    if target.starts_with(b"/") {
                        followed.real.clear();
                    }
                    rest.extend(components(target).rev());
                }
                Some(Node::File | Node::Special) if rest.is_empty() => followed.real = real,
                Some(Node::File | Node::Special) => return Err(Blocked::NotDirectory(real)),
                None => {
                    followed.missing.push(real.clone());
                    followed.real = real;
                }
            }
        }
        Ok(followed)
    }
}

fn components(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|component| !matches!(*component, b"" | b"."))
}

/// What is above the last component, and that.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (path.get(..slash).unwrap_or_default(), path.get(slash + 1..).unwrap_or_default()),
        None => (&[], path),
    }
}

fn join(parent: &[u8], name: &[u8]) -> Vec<u8> {
    if parent.is_empty() { name.to_vec() } else { [parent, name].join(&b'/') }
}
