//! Directories as they stand in an image: one record for each entry (ECMA-119 §9.1), none across the end of a block.

use super::AuthorError;
use super::names::{self, Form, Identifier};
use super::rock_ridge::{self, Attributes, DATE};
use super::tree::{Node, Tree};
use crate::fields::both_endian;

const BLOCK_LENGTH: usize = 2048;
const FLAG_DIRECTORY: u8 = 0x02;

/// The record of an extent.
pub(super) fn record(identifier: &[u8], is_directory: bool, block: u32, size: u32, system_use: &[u8]) -> Vec<u8> {
    let mut record = vec![0, 0];
    record.extend(both_endian(block));
    record.extend(both_endian(size));
    record.extend(DATE);
    record.extend([if is_directory { FLAG_DIRECTORY } else { 0 }, 0, 0]);
    // Volume 1 of the set.
    record.extend([1, 0, 0, 1]);
    // Names and system use are bounded so that a record is shorter than 256 bytes.
    record.push(u8::try_from(identifier.len()).unwrap_or(u8::MAX));
    record.extend(identifier);
    record.resize(record.len().next_multiple_of(2), 0);
    record.extend(system_use);
    record.resize(record.len().next_multiple_of(2), 0);
    let length = u8::try_from(record.len()).unwrap_or(u8::MAX);
    if let Some(first) = record.first_mut() {
        *first = length;
    }
    record
}

/// A directory of one tree.
#[derive(Debug)]
pub(super) struct Directory<'a> {
    /// The place of its parent in [`Directories::all`]; the root is its own.
    pub(super) parent: usize,
    pub(super) identifier: Identifier,
    /// How many directories are in it.
    directories: u32,
    entries: Vec<(Identifier, Node<'a>)>,
    pub(super) block: u32,
    size: u32,
}

/// All directories with the names of one tree, in the order of a path table (§6.9.1): by level, parent, and name.
#[derive(Debug)]
pub(super) struct Directories<'a> {
    pub(super) form: Form,
    pub(super) all: Vec<Directory<'a>>,
    /// Where the tree's directories are in `all`.
    places: Vec<usize>,
}

impl<'a> Directories<'a> {
    /// The directories, of known size, nowhere yet.
    pub(super) fn new(tree: &Tree<'a>, form: Form) -> Result<Self, AuthorError> {
        let mut directories = Self { form, all: Vec::new(), places: vec![0; tree.directories.len()] };
        let mut next = vec![(0, 0, vec![0])];
        while !next.is_empty() {
            let mut below = Vec::new();
            for (node, parent, identifier) in next {
                let entries = match tree.directories.get(node) {
                    Some(entries) => names::identifiers(entries, form)?,
                    None => Vec::new(),
                };
                let place = directories.all.len();
                if let Some(known) = directories.places.get_mut(node) {
                    *known = place;
                }
                let before = below.len();
                for (identifier, entry) in &entries {
                    if let Node::Directory(node, _) = entry {
                        below.push((*node, place, identifier.clone()));
                    }
                }
                let inside = u32::try_from(below.len() - before).unwrap_or(u32::MAX);
                directories.all.push(Directory { parent, identifier, directories: inside, entries, block: 0, size: 0 });
            }
            next = below;
        }
        // A path table counts its directories with 16 bits.
        if u16::try_from(directories.all.len()).is_err() {
            return Err(AuthorError::TooMany("/".to_owned()));
        }
        for place in 0..directories.all.len() {
            let length = directories.content(tree, place, &|_| 0).len().next_multiple_of(BLOCK_LENGTH);
            let size = u32::try_from(length).map_err(|_| AuthorError::TooMany("/".to_owned()))?;
            if let Some(directory) = directories.all.get_mut(place) {
                directory.size = size;
            }
        }
        Ok(directories)
    }

    /// The size of each extent, and the block in which it begins, to be said.
    pub(super) fn extents(&mut self) -> Vec<(u32, &mut u32)> {
        self.all.iter_mut().map(|directory| (directory.size, &mut directory.block)).collect()
    }

    /// All extents in their order, without the zeros at the end of each: most of a small directory's block is these.
    /// `locate` says in which block a file begins.
    pub(super) fn contents(&self, tree: &Tree<'_>, locate: impl Fn(usize) -> u32) -> Vec<Vec<u8>> {
        (0..self.all.len()).map(|place| self.content(tree, place, &locate)).collect()
    }

    /// The root directory's record, as the volume descriptor has it.
    pub(super) fn root_record(&self) -> Vec<u8> {
        self.all.first().map(|root| record(&[0], true, root.block, root.size, &[])).unwrap_or_default()
    }

    /// The size of a path table, in bytes.
    pub(super) fn path_table_size(&self) -> u32 {
        let length = |directory: &Directory<'_>| 8 + directory.identifier.len().next_multiple_of(2);
        u32::try_from(self.all.iter().map(length).sum::<usize>()).unwrap_or(u32::MAX)
    }

    fn content(&self, tree: &Tree<'_>, place: usize, locate: &impl Fn(usize) -> u32) -> Vec<u8> {
        let Some(directory) = self.all.get(place) else { return Vec::new() };
        let mut content = self.own_record(directory, place == 0);
        if let Some(parent) = self.all.get(directory.parent) {
            content.extend(self.record_of(parent, &[1], None));
        }
        for (identifier, node) in &directory.entries {
            let record = match *node {
                Node::Directory(node, name) => {
                    let child = self.places.get(node).and_then(|place| self.all.get(*place));
                    child.map(|child| self.record_of(child, identifier, Some(name)))
                }
                Node::File(index) => tree.files.get(index).map(|file| {
                    let attributes = Attributes::File(file.new.mode);
                    let system_use = self.system_use(attributes, file.path.names().next_back());
                    record(identifier, false, locate(index), file.size, &system_use)
                }),
            };
            let record = record.unwrap_or_default();
            let rest = BLOCK_LENGTH - content.len() % BLOCK_LENGTH;
            if record.len() > rest {
                content.resize(content.len() + rest, 0);
            }
            content.extend(record);
        }
        content
    }

    /// The record of a directory in itself.
    fn own_record(&self, directory: &Directory<'_>, is_root: bool) -> Vec<u8> {
        let system_use = self.system_use(Attributes::Directory(directory.directories), None);
        let system_use = if is_root && self.form == Form::Level1 { rock_ridge::root(&system_use) } else { system_use };
        record(&[0], true, directory.block, directory.size, &system_use)
    }

    /// The record of a directory in another one.
    fn record_of(&self, directory: &Directory<'_>, identifier: &[u8], name: Option<&str>) -> Vec<u8> {
        let system_use = self.system_use(Attributes::Directory(directory.directories), name);
        record(identifier, true, directory.block, directory.size, &system_use)
    }

    /// Rock Ridge belongs to the primary tree.
    fn system_use(&self, attributes: Attributes, name: Option<&str>) -> Vec<u8> {
        match self.form {
            Form::Level1 => rock_ridge::entries(attributes, name),
            Form::Joliet => Vec::new(),
        }
    }
}
