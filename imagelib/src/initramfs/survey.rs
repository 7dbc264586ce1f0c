//! One pass over an initramfs that collects what later steps need.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use super::{InitramfsError, Member, ReadOutcome, Tree, walk};
use crate::cpio::{CpioError, FileKind, MemberPath};
use crate::source::Source;

/// What is in an initramfs.
#[derive(Debug)]
pub struct Survey {
    /// Its archives, up to the first that cannot be read.
    pub members: Vec<Member>,
    /// How far it could be read.
    pub outcome: ReadOutcome,
    /// The file system that it unpacks to.
    pub tree: Tree,
    /// The contents of the wanted regular files that exist.
    pub files: BTreeMap<MemberPath, Vec<u8>>,
    /// The lists of modules that are part of the kernels (`modules.builtin`), one after the other; `None` if the initramfs has no such list.
    pub modules_builtin: Option<Vec<u8>>,
}

/// The name of these lists, and the size of the largest that is read, in bytes. Usual ones have 10 KiB.
const MODULES_BUILTIN: &[u8] = b"/modules.builtin";
const MAX_LIST_BYTES: u64 = 1 << 20;
/// The size of the largest file in a wanted directory whose content is kept, in bytes.
const MAX_KEPT_BYTES: u64 = 16 << 10;

/// Reads an initramfs once: its tree, and the contents of the regular files in `wanted`, each at most `limit` bytes. If a path
/// occurs twice, the last one counts. An image without entries is an error: nothing in it would start.
///
/// A file is found under the name of its entry, and under the path that this name leads to through earlier symbolic links.
/// It is not found through later links. The content of a hard link is found only if it comes with the last of its names, as
/// dracut and GNU cpio write it.
///
/// A wanted path may also be a directory: the tree then keeps the contents of small files directly in it.
pub fn survey<S>(source: &S, wanted: &[MemberPath], limit: u64) -> Result<Survey, InitramfsError>
where
    S: Source + ?Sized,
{
    let wanted: BTreeSet<&[u8]> = wanted.iter().map(|path| path.as_str().as_bytes()).collect();
    let mut tree = Tree::default();
    let mut files: BTreeMap<MemberPath, Vec<u8>> = BTreeMap::new();
    let mut links: BTreeMap<LinkKey, BTreeSet<MemberPath>> = BTreeMap::new();
    let mut first_names: BTreeMap<LinkKey, Vec<u8>> = BTreeMap::new();
    let mut empty_names: BTreeMap<LinkKey, Vec<Vec<u8>>> = BTreeMap::new();
    let mut modules_builtin: Option<Vec<u8>> = None;
    let mut too_large = None;
    let walked = walk(source, |visit, reader| {
        let entry = visit.entry;
        let kind = entry.kind();
        let target = if kind == FileKind::Symlink { reader.content(entry.size)? } else { Vec::new() };
        let unpacked = tree.insert(entry, target);
        if kind == FileKind::File
            && entry.links > 1
            && let Some(path) = unpacked.clone()
        {
            match first_names.entry((visit.trailers, entry.inode)) {
                Slot::Occupied(first) => tree.set_linked(first.get(), path),
                Slot::Vacant(slot) => {
                    slot.insert(path);
                }
            }
        }
        let own = unpacked.clone().filter(|path| kind == FileKind::File && wanted.contains(parent(path)));
        let mut kept: Vec<Vec<u8>> = own.into_iter().collect();
        // Of a file with several names, the content comes with the last one.
        if kind == FileKind::File && entry.links > 1 {
            let key = (visit.trailers, entry.inode);
            if entry.size > 0 {
                kept.extend(empty_names.remove(&key).unwrap_or_default());
            } else if !kept.is_empty() {
                empty_names.entry(key).or_default().append(&mut kept);
            }
        }
        if !kept.is_empty() && entry.size <= MAX_KEPT_BYTES {
            let content = reader.content(MAX_KEPT_BYTES)?;
            for real in kept {
                tree.keep(real, content.clone());
            }
            return Ok(());
        }
        let names = [Some(entry.path()), unpacked];
        let mut paths: BTreeSet<MemberPath> = names
            .into_iter()
            .flatten()
            .filter(|name| wanted.contains(name.as_slice()))
            .filter_map(|name| String::from_utf8_lossy(&name).parse().ok())
            .collect();
        if kind == FileKind::File && entry.path().ends_with(MODULES_BUILTIN) && entry.size <= MAX_LIST_BYTES {
            let list = reader.content(MAX_LIST_BYTES)?;
            modules_builtin.get_or_insert_default().extend(list);
            return Ok(());
        }
        if kind != FileKind::File {
            for path in &paths {
                files.remove(path);
            }
            return Ok(());
        }
        if entry.links > 1 {
            let linked = links.entry((visit.trailers, entry.inode)).or_default();
            linked.append(&mut paths);
            paths.clone_from(linked);
        }
        let Some(first) = paths.first() else { return Ok(()) };
        let content = match reader.content(limit) {
            Err(CpioError::TooLarge { size, limit }) => {
                too_large = Some(InitramfsError::TooLarge { path: first.to_string(), size, limit });
                Vec::new()
            }
            content => content?,
        };
        for path in paths {
            // The content of a hard link comes with one of its names only.
            let keep = entry.links > 1 && content.is_empty() && files.contains_key(&path);
            if !keep {
                files.insert(path, content.clone());
            }
        }
        Ok(())
    })?;
    if walked.open {
        tree.set_open();
    }
    let is_empty = walked.members.iter().all(|member| member.entries == 0);
    if is_empty && matches!(walked.outcome, ReadOutcome::Complete) {
        return Err(InitramfsError::Empty);
    }
    match too_large {
        Some(error) => Err(error),
        None => Ok(Survey { members: walked.members, outcome: walked.outcome, tree, files, modules_builtin }),
    }
}

/// What is above the last component of a path.
fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').and_then(|slash| path.get(..slash)).unwrap_or_default()
}

/// The number of trailers before an entry, and its inode number and device.
type LinkKey = (u64, (u32, u32, u32));
