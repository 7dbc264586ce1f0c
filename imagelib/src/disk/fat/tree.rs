//! The directories and files of a new file system, with the names by which FAT knows them.

use std::collections::{BTreeMap, BTreeSet};

use super::FatError;
use super::directory::{
    ATTRIBUTE_ARCHIVE, ATTRIBUTE_DIRECTORY, ATTRIBUTE_LONG, ATTRIBUTE_VOLUME, LAST_PART, LONG_PART, RECORD, checksum,
};
use super::name::{FatPath, VolumeLabel, short_name};
use crate::fields::put;
use crate::overlay::Segment;

/// The first of January 1980: there is no clock, and no earlier date.
const DATE: u16 = 1 << 5 | 1;

/// A file: its size and its content.
pub(super) struct File<'a> {
    pub(super) size: u32,
    pub(super) content: &'a [Segment],
}

/// What a directory has.
#[derive(Clone, Copy)]
enum Target {
    Directory(usize),
    File(usize),
}

struct Child {
    short: [u8; 11],
    long: Option<String>,
    target: Target,
}

#[derive(Default)]
pub(super) struct Directory {
    parent: usize,
    children: Vec<Child>,
    short_names: BTreeSet<[u8; 11]>,
    /// The children by their names in upper case.
    names: BTreeMap<String, Target>,
}

impl Directory {
    /// How many records it has: label, or itself and the one above, and its children with their long names.
    pub(super) fn records(&self) -> u64 {
        let long = |name: &String| name.encode_utf16().count().div_ceil(LONG_PART) as u64;
        2 + self.children.iter().map(|child| 1 + child.long.as_ref().map_or(0, long)).sum::<u64>()
    }

    fn add(&mut self, name: &str, target: Target) -> Result<(), FatError> {
        let full = || FatError::DirectoryFull(name.to_owned());
        let (short, long) = short_name(name, &self.short_names).ok_or_else(full)?;
        self.short_names.insert(short);
        self.names.insert(name.to_uppercase(), target);
        self.children.push(Child { short, long: long.then(|| name.to_owned()), target });
        Ok(())
    }
}

/// All of a file system. The first directory is the root.
pub(super) struct Tree<'a> {
    pub(super) directories: Vec<Directory>,
    pub(super) files: Vec<File<'a>>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(files: &'a BTreeMap<FatPath, Vec<Segment>>) -> Result<Self, FatError> {
        let mut tree = Self { directories: vec![Directory::default()], files: Vec::new() };
        for (path, content) in files {
            let size = content.iter().map(Segment::length).try_fold(0, u64::checked_add);
            let size = size.and_then(|size| u32::try_from(size).ok());
            let size = size.ok_or_else(|| FatError::FileTooLarge(path.to_string()))?;
            let mut names = path.names();
            let name = names.next_back().unwrap_or_default();
            let mut parent = 0;
            for name in names {
                parent = tree.directory(parent, name, path)?;
            }
            let directory = tree.directories.get_mut(parent).ok_or_else(|| FatError::Twice(path.to_string()))?;
            if directory.names.contains_key(&name.to_uppercase()) {
                return Err(FatError::Twice(path.to_string()));
            }
            directory.add(name, Target::File(tree.files.len()))?;
            tree.files.push(File { size, content });
        }
        Ok(tree)
    }

    /// The directory of this name in another, made where there is none.
    fn directory(&mut self, parent: usize, name: &str, path: &FatPath) -> Result<usize, FatError> {
        let new = self.directories.len();
        let twice = || FatError::Twice(path.to_string());
        let directory = self.directories.get_mut(parent).ok_or_else(twice)?;
        match directory.names.get(&name.to_uppercase()) {
            Some(Target::Directory(index)) => Ok(*index),
            Some(Target::File(_)) => Err(twice()),
            None => {
                directory.add(name, Target::Directory(new))?;
                self.directories.push(Directory { parent, ..Directory::default() });
                Ok(new)
            }
        }
    }

    /// The records of a directory, where each directory and each file begins with these clusters.
    pub(super) fn records(&self, index: usize, label: VolumeLabel, directories: &[u32], files: &[u32]) -> Vec<u8> {
        let Some(directory) = self.directories.get(index) else { return Vec::new() };
        let first = |index: usize| directories.get(index).copied().unwrap_or(0);
        // Above the root there is nothing, and it counts as 0 from below.
        let above = |index: usize| if index == 0 { 0 } else { first(index) };
        let mut records = Vec::new();
        if index == 0 {
            records.extend(record(label.as_bytes(), ATTRIBUTE_VOLUME, 0, 0));
        } else {
            records.extend(record(b".          ", ATTRIBUTE_DIRECTORY, first(index), 0));
            records.extend(record(b"..         ", ATTRIBUTE_DIRECTORY, above(directory.parent), 0));
        }
        for Child { short, long, target } in &directory.children {
            if let Some(long) = long {
                records.extend(long_records(long, checksum(short)));
            }
            records.extend(match *target {
                Target::Directory(index) => record(short, ATTRIBUTE_DIRECTORY, first(index), 0),
                Target::File(index) => {
                    let size = self.files.get(index).map_or(0, |file| file.size);
                    record(short, ATTRIBUTE_ARCHIVE, files.get(index).copied().unwrap_or(0), size)
                }
            });
        }
        records
    }
}

fn record(short: &[u8; 11], attributes: u8, first: u32, size: u32) -> [u8; RECORD] {
    let [low, next, high, highest] = first.to_le_bytes();
    let mut record = [0; RECORD];
    put(&mut record, 0, short);
    put(&mut record, 11, &[attributes]);
    for date in [16, 18, 24] {
        put(&mut record, date, &DATE.to_le_bytes());
    }
    put(&mut record, 20, &[high, highest]);
    put(&mut record, 26, &[low, next]);
    put(&mut record, 28, &size.to_le_bytes());
    record
}

/// The records of a long name, its end first. What is left of the last part is a zero and then ones.
fn long_records(name: &str, checksum: u8) -> Vec<u8> {
    let units: Vec<u16> = name.encode_utf16().collect();
    let parts: Vec<&[u16]> = units.chunks(LONG_PART).collect();
    let mut records = Vec::new();
    for (index, part) in parts.iter().enumerate().rev() {
        let number = u8::try_from(index + 1).unwrap_or(0);
        let last = index + 1 == parts.len();
        let mut text: Vec<u8> = part.iter().copied().chain([0]).flat_map(u16::to_le_bytes).collect();
        text.resize(2 * LONG_PART, 0xFF);
        text.truncate(2 * LONG_PART);
        let mut record = [0; RECORD];
        put(&mut record, 0, &[if last { number | LAST_PART } else { number }]);
        put(&mut record, 11, &[ATTRIBUTE_LONG]);
        put(&mut record, 13, &[checksum]);
        for (at, range) in [(1, 0..10), (14, 10..22), (28, 22..26)] {
            put(&mut record, at, text.get(range).unwrap_or_default());
        }
        records.extend(record);
    }
    records
}
