//! The files of an image that hold checksums of its others.

use std::collections::BTreeMap;

use super::checksums::{ChecksumFile, Line, lines};
use super::draft::find;
use super::record_id::{DirectoryId, RecordId};
use super::tree::{File, Image, MAX_LINKS, Node, names};
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
/// lists are made, has a file also under the symbolic links to it. Names of an image without Rock Ridge and Joliet are in upper case, and
/// Linux shows them in lower case.
///
/// A list may have a hundred thousand lines, and a directory as many entries, so that [`Image::find`] would take too long.
fn others(image: &Image, listed: &BTreeMap<String, Line>) -> BTreeMap<RecordId, Vec<String>> {
    let mut files: BTreeMap<String, RecordId> = BTreeMap::new();
    let mut links: BTreeMap<String, &str> = BTreeMap::new();
    let directories = image.directories.iter().enumerate().filter(|(_, directory)| directory.tree == 0);
    for (index, directory) in directories {
        for entry in &directory.entries {
            let path = format!("{}/{}", directory.path, entry.name);
            match &entry.node {
                Node::File(_) => {
                    files.insert(path, (DirectoryId(index), entry.at));
                }
                Node::Symlink(target) => {
                    links.insert(path, target);
                }
                Node::Directory => {}
            }
        }
    }
    let has_own_case = image.trees.iter().any(|tree| tree.names != Naming::Iso);
    let in_lower_case = files.iter().filter(|_| !has_own_case).map(|(path, file)| (path.to_ascii_lowercase(), *file));
    let in_lower_case: BTreeMap<String, RecordId> = in_lower_case.collect();
    let mut others: BTreeMap<RecordId, Vec<String>> = BTreeMap::new();
    for path in listed.keys().filter(|path| !files.contains_key(*path)) {
        let linked = || files.get(&followed(path, &links)?).copied();
        if let Some(file) = in_lower_case.get(&path.to_ascii_lowercase()).copied().or_else(linked) {
            others.entry(file).or_default().push(path.clone());
        }
    }
    others
}

/// The path without symbolic links. `None` if there are too many of them, as in a circle.
fn followed(path: &str, links: &BTreeMap<String, &str>) -> Option<String> {
    let mut pending = names(path);
    let mut followed = String::new();
    let mut count = 0;
    while let Some(name) = pending.pop() {
        let end = followed.len();
        if name == ".." {
            followed.truncate(followed.rfind('/').unwrap_or(0));
            continue;
        }
        followed.push('/');
        followed.push_str(name);
        if let Some(target) = links.get(&followed) {
            count += 1;
            if count > MAX_LINKS {
                return None;
            }
            followed.truncate(if target.starts_with('/') { 0 } else { end });
            pending.extend(names(target));
        }
    }
    Some(followed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iso::edit::names::NameStyle;
    use crate::iso::edit::tree::{Directory, Entry, Tree};

    /// Joliet has names of its own, and the ISO 9660 name of another file may be one of these in upper case.
    #[test]
    fn names_in_lower_case_count_only_without_others() {
        let lines = lines(b"0123456789abcdef0123456789abcdef  ./a_b.img\n");
        let extent = Extent { offset: 0, length: 0 };
        let tree = |names: &Naming| Tree {
            base: 0,
            names: *names,
            form: NameStyle::default(),
            root: DirectoryId(0),
            path_tables: Vec::new(),
        };
        let of_trees = |trees: &[Naming]| {
            let node = Node::File(File { extent, reason: None });
            let root = Directory {
                tree: 0,
                path: String::new(),
                extent,
                bytes: Vec::new(),
                record: None,
                children: BTreeMap::new(),
                entries: vec![Entry { at: 0, name: "A_B.IMG".to_owned(), node }],
                relocation: false,
            };
            let trees = trees.iter().map(tree).collect();
            let image = Image { trees, directories: vec![root], ..Image::default() };
            others(&image, &lines).into_values().flatten().collect::<Vec<_>>()
        };
        assert_eq!(of_trees(&[Naming::Iso]), ["/a_b.img"]);
        assert!(of_trees(&[Naming::Iso, Naming::Joliet]).is_empty());
    }

    #[test]
    fn links_are_followed() {
        let links = [
            ("/live/initrd", "initrd.img"),
            ("/live/up", "../boot/./grub"),
            ("/install", "/live"),
            ("/debian", "."),
            ("/circle", "live/round"),
            ("/live/round", "../circle"),
            ("/out", "../../../live"),
            ("/gone", "nowhere"),
        ];
        let links = links.into_iter().map(|(link, target)| (link.to_owned(), target)).collect();
        for (path, expected) in [
            ("/live/initrd", Some("/live/initrd.img")),
            ("/install/initrd", Some("/live/initrd.img")),
            ("/install/up/grub.cfg", Some("/boot/grub/grub.cfg")),
            ("/debian/debian/live/vmlinuz", Some("/live/vmlinuz")),
            ("/out/initrd", Some("/live/initrd.img")),
            ("/live/../boot/x", Some("/boot/x")),
            ("/circle/x", None),
            ("/gone", Some("/nowhere")),
            ("/live", Some("/live")),
        ] {
            assert_eq!(followed(path, &links).as_deref(), expected, "{path}");
        }
    }
}
