//! The files of an image that hold checksums of its others.

use std::collections::{BTreeMap, BTreeSet};

use super::checksums::{ChecksumFile, Line, lines};
use super::draft::find;
use super::record_id::{DirectoryId, RecordId};
use super::tree::{File, Found, Image, Node};
use crate::iso::fields::read_bytes;
use crate::iso::record::Naming;
use crate::iso::{Extent, IsoError};
use crate::source::Source;

/// Where distributions put them.
const FILES: [&str; 9] = [
    "/md5sum.txt",
    "/sha1sum.txt",
    "/sha256sum.txt",
    "/MD5SUMS",
    "/SHA1SUMS",
    "/SHA256SUMS",
    "/CHECKSUMS",
    "/sha256sums.txt",
    "/.treeinfo",
];
/// The maximum length of a file with checksums, in bytes. That of a Debian DVD has half a megabyte.
const MAX_LIST_BYTES: u64 = 4 << 20;

/// Reads the files with checksums that an image has.
pub(super) fn read(source: &dyn Source, image: &Image) -> Result<Vec<ChecksumFile>, IsoError> {
    let mut files = Vec::new();
    for path in FILES {
        let Ok((record, File { extent, reason: None })) = find(image, path) else { continue };
        let Extent { offset, length } = *extent;
        if length > MAX_LIST_BYTES || files.iter().any(|file: &ChecksumFile| file.record == record) {
            continue;
        }
        let text = read_bytes(source, offset, length)?;
        let path = image.path(record).unwrap_or_else(|| path.to_owned());
        let lines = lines(&text);
        let others = others(image, &lines);
        files.push(ChecksumFile { path, record, extent: *extent, lines, others });
    }
    Ok(files)
}

/// The paths of lines that are not in the image's own spelling, by the record of the file to which they lead. `find -follow`, with which many
/// lists are made, has a file also under the symbolic links to it. Names without Rock Ridge are in upper case, and Linux shows them in lower
/// case.
fn others(image: &Image, lines: &BTreeMap<String, Line>) -> BTreeMap<RecordId, Vec<String>> {
    let mut files: BTreeMap<String, RecordId> = BTreeMap::new();
    let mut symlinks: BTreeSet<String> = BTreeSet::new();
    let directories = image.directories.iter().enumerate().filter(|(_, directory)| directory.tree == 0);
    for (index, directory) in directories {
        for entry in &directory.entries {
            let path = format!("{}/{}", directory.path, entry.name);
            match &entry.node {
                Node::File(_) => {
                    files.insert(path, (DirectoryId(index), entry.at));
                }
                Node::Symlink(_) => {
                    symlinks.insert(path);
                }
                Node::Directory => {}
            }
        }
    }
    let has_own_case = image.trees.first().is_none_or(|tree| tree.names != Naming::Iso);
    let in_lower_case = files.iter().filter(|_| !has_own_case).map(|(path, file)| (path.to_ascii_lowercase(), *file));
    let in_lower_case: BTreeMap<String, RecordId> = in_lower_case.collect();
    let linked = |path: &str| {
        let mut parts = path.match_indices('/').filter_map(|(end, _)| path.get(..end)).chain([path]);
        if !parts.any(|part| symlinks.contains(part)) {
            return None;
        }
        match image.find(0, path)? {
            Found::File(record, _) => Some(record),
            Found::Directory(_) => None,
        }
    };
    let mut others: BTreeMap<RecordId, Vec<String>> = BTreeMap::new();
    for path in lines.keys().filter(|path| !files.contains_key(*path)) {
        let file = in_lower_case.get(&path.to_ascii_lowercase()).copied().or_else(|| linked(path));
        if let Some(file) = file {
            others.entry(file).or_default().push(path.clone());
        }
    }
    others
}
