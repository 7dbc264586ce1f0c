//! A disk that forgets: what may be on it after a power failure at any moment.
//!
//! Everything that was not synchronised may be there or not, independently of everything else: of a file, any of its writes, in part
//! or as zeros; of a directory, any change of a name. Only a rename is atomic. No file system forgets as freely. See ALICE (Pillai
//! et al., OSDI 2014), whose idea this is.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::trace::{Call, Event};
use crate::soak::random::Random;

/// A change, and when it begins and is certain to survive.
#[derive(Debug)]
struct Change<T> {
    begin: usize,
    end: usize,
    /// The end of the synchronisation that covers it.
    durable: Option<usize>,
    what: T,
}

#[derive(Debug)]
enum Data {
    Write(u64, Vec<u8>),
    Resize { length: u64, only_grows: bool },
}

/// The names that change together, each with its directory, and the directories that still have to be synchronised.
#[derive(Debug)]
struct Names {
    names: Vec<(usize, OsString, Option<usize>)>,
    unsynchronised: BTreeSet<usize>,
}

#[derive(Debug, Default)]
struct Inode {
    is_directory: bool,
    data: Vec<Change<Data>>,
}

/// Which synchronisations count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syncs {
    All,
    /// Those of directories are forgotten: what a program without them would leave.
    OfFiles,
    /// Those of files are forgotten.
    OfDirectories,
}

/// How much of what may be there is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Luck {
    Nothing,
    Everything,
    /// All names, and no data that was not synchronised.
    Names,
    /// Random parts.
    Some(u64),
}

/// The content of the disk after a power failure: the directories, and the files with their bytes.
pub(crate) type Content = BTreeMap<PathBuf, Option<Vec<u8>>>;

#[derive(Debug)]
pub(crate) struct Disk {
    root: PathBuf,
    inodes: Vec<Inode>,
    names: Vec<Change<Names>>,
    /// As the running system sees it.
    paths: BTreeMap<PathBuf, usize>,
}

impl Disk {
    /// A disk with an empty directory `root`.
    pub(crate) fn new(root: &Path) -> Self {
        let inodes = vec![Inode { is_directory: true, data: Vec::new() }];
        Self { root: root.to_owned(), inodes, names: Vec::new(), paths: BTreeMap::from([(root.to_owned(), 0)]) }
    }

    /// Plays what one process did.
    pub(crate) fn play(&mut self, events: &[Event], syncs: Syncs) {
        let mut open: BTreeMap<i32, (usize, u64)> = BTreeMap::new();
        for event in events {
            let &Event { begin, end, ref call } = event;
            match call {
                Call::Open { path, creates, truncates, file } => {
                    if !self.paths.contains_key(path) && *creates {
                        let inode = self.inode(false);
                        self.rename(event, vec![(path, Some(inode))]);
                    }
                    let inode = *self.paths.get(path).unwrap_or_else(|| panic!("{} is unknown", path.display()));
                    if *truncates {
                        self.change(event, inode, Data::Resize { length: 0, only_grows: false });
                    }
                    open.insert(*file, (inode, 0));
                }
                Call::Write { file, offset, bytes } => {
                    let Some((inode, position)) = open.get_mut(file) else { continue };
                    let at = offset.unwrap_or(*position);
                    if offset.is_none() {
                        *position += bytes.len() as u64;
                    }
                    let inode = *inode;
                    self.change(event, inode, Data::Write(at, bytes.clone()));
                }
                Call::Copy { from, from_offset, file, offset, length } => {
                    let Some((inode, _)) = open.get(file).copied() else { continue };
                    let mut bytes = vec![0; usize::try_from(*length).unwrap()];
                    File::open(from).unwrap().read_exact_at(&mut bytes, *from_offset).expect("the source is unchanged");
                    self.change(event, inode, Data::Write(*offset, bytes));
                }
                Call::Resize { file, length, only_grows } => {
                    let Some((inode, _)) = open.get(file).copied() else { continue };
                    self.change(event, inode, Data::Resize { length: *length, only_grows: *only_grows });
                }
                Call::Seek { file, offset } => {
                    open.entry(*file).and_modify(|(_, position)| *position = *offset);
                }
                Call::Close { file } => drop(open.remove(file)),
                Call::Rename { from, to } => {
                    let inode = self.paths.get(from).copied();
                    self.rename(event, vec![(from, None), (to, inode)]);
                }
                Call::Link { from, to } => {
                    let inode = self.paths.get(from).copied();
                    self.rename(event, vec![(to, inode)]);
                }
                Call::Unlink { path } => self.rename(event, vec![(path, None)]),
                Call::MakeDirectory { path } => {
                    let inode = self.inode(true);
                    self.rename(event, vec![(path, Some(inode))]);
                }
                Call::Sync { file } => {
                    let Some((inode, _)) = open.get(file).copied() else { continue };
                    let counts = match syncs {
                        Syncs::All => true,
                        Syncs::OfFiles => !self.inodes[inode].is_directory,
                        Syncs::OfDirectories => self.inodes[inode].is_directory,
                    };
                    if counts {
                        self.synchronise(inode, begin, end);
                    }
                }
            }
        }
    }

    fn inode(&mut self, is_directory: bool) -> usize {
        self.inodes.push(Inode { is_directory, data: Vec::new() });
        self.inodes.len() - 1
    }

    fn change(&mut self, event: &Event, inode: usize, what: Data) {
        self.inodes[inode].data.push(Change { begin: event.begin, end: event.end, durable: None, what });
    }

    fn rename(&mut self, event: &Event, changes: Vec<(&PathBuf, Option<usize>)>) {
        let mut names = Vec::new();
        for (path, inode) in changes {
            let directory = self.paths[path.parent().unwrap()];
            names.push((directory, path.file_name().unwrap().to_owned(), inode));
            match inode {
                Some(inode) => self.paths.insert(path.clone(), inode),
                None => self.paths.remove(path),
            };
        }
        let unsynchronised = names.iter().map(|(directory, ..)| *directory).collect();
        let what = Names { names, unsynchronised };
        self.names.push(Change { begin: event.begin, end: event.end, durable: None, what });
    }

    /// What ended before the synchronisation began is certain when that ends.
    fn synchronise(&mut self, inode: usize, begin: usize, end: usize) {
        for change in &mut self.inodes[inode].data {
            if change.end < begin && change.durable.is_none() {
                change.durable = Some(end);
            }
        }
        for change in &mut self.names {
            let was_waiting = change.end < begin && change.what.unsynchronised.remove(&inode);
            if was_waiting && change.what.unsynchronised.is_empty() {
                change.durable = Some(end);
            }
        }
    }

    /// What is on the disk if the power fails just after line `moment` of the log.
    pub(crate) fn after_failure(&self, moment: usize, luck: Luck) -> Content {
        let mut random = Random::new(if let Luck::Some(seed) = luck { seed } else { 0 }, "power");
        let mut directories: BTreeMap<usize, BTreeMap<&OsString, usize>> = BTreeMap::new();
        for change in self.names.iter().filter(|change| change.begin <= moment) {
            let is_certain = change.durable.is_some_and(|durable| durable <= moment);
            let is_there = match luck {
                Luck::Nothing => false,
                Luck::Everything | Luck::Names => true,
                Luck::Some(_) => random.percent(50),
            };
            if is_certain || is_there {
                for (directory, name, inode) in &change.what.names {
                    let names = directories.entry(*directory).or_default();
                    match inode {
                        Some(inode) => names.insert(name, *inode),
                        None => names.remove(name),
                    };
                }
            }
        }
        let (mut content, mut left) = (Content::new(), vec![(PathBuf::new(), 0)]);
        while let Some((path, inode)) = left.pop() {
            for (name, inode) in directories.get(&inode).into_iter().flatten() {
                let path = path.join(name);
                if self.inodes[*inode].is_directory {
                    content.insert(path.clone(), None);
                    left.push((path, *inode));
                } else {
                    content.insert(path, Some(self.bytes(*inode, moment, luck, &mut random)));
                }
            }
        }
        content
    }

    fn bytes(&self, inode: usize, moment: usize, luck: Luck, random: &mut Random) -> Vec<u8> {
        let mut bytes = Vec::new();
        let changes = &self.inodes[inode].data;
        // The length reaches the disk before the bytes; or only the first changes do.
        let (as_zeros, first) =
            (random.percent(20), random.percent(50).then(|| random.below(changes.len() as u64 + 1)));
        for (number, change) in changes.iter().enumerate().filter(|(_, change)| change.begin <= moment) {
            let is_certain = change.durable.is_some_and(|durable| durable <= moment);
            let is_there = match (luck, first) {
                (Luck::Nothing | Luck::Names, _) => false,
                (Luck::Everything, _) => true,
                (Luck::Some(_), Some(first)) => (number as u64) < first,
                (Luck::Some(_), None) => random.percent(50),
            };
            if !is_certain && !is_there {
                continue;
            }
            match &change.what {
                Data::Resize { length, only_grows } => {
                    let length = usize::try_from(*length).unwrap();
                    if !only_grows || length > bytes.len() {
                        bytes.resize(length, 0);
                    }
                }
                Data::Write(offset, written) => {
                    let is_random = !is_certain && matches!(luck, Luck::Some(_));
                    let mut written = written.clone();
                    if is_random && random.percent(30) {
                        // Torn within the write.
                        written.truncate(usize::try_from(random.below(written.len() as u64 + 1)).unwrap());
                    }
                    if is_random && as_zeros {
                        written.fill(0);
                    }
                    let offset = usize::try_from(*offset).unwrap();
                    let end = offset + written.len();
                    if end > bytes.len() {
                        bytes.resize(end, 0);
                    }
                    bytes[offset..end].copy_from_slice(&written);
                }
            }
        }
        bytes
    }

    /// Makes the directory as a server finds it after the failure.
    pub(crate) fn write(content: &Content, to: &Path) {
        for (path, file) in content {
            let path = to.join(path);
            match file {
                None => DirBuilder::new().mode(0o700).recursive(true).create(path).unwrap(),
                Some(bytes) => {
                    let mut file = File::options().create_new(true).write(true).mode(0o600).open(path).unwrap();
                    file.write_all(bytes).unwrap();
                }
            }
        }
    }

    /// What the running system sees at the end, to compare it with what really is there.
    pub(crate) fn differences_from_reality(&self) -> Vec<String> {
        let content = self.after_failure(usize::MAX, Luck::Everything);
        let mut wrong = Vec::new();
        for (path, file) in &content {
            let real = fs::read(self.root.join(path)).ok();
            if *file != real {
                wrong.push(format!("{} differs from what the log says", path.display()));
            }
        }
        wrong
    }
}
