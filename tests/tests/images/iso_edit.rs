//! Edited ISOs and everybody who reads ISOs: what was edited is new, all else is as it was, in every tree and for
//! every reader.

pub(crate) mod layouts;
mod moved_region;
pub(crate) mod readers;
mod removed;
pub(crate) mod structures;

use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::peers::run;
use imagelib::iso::edit::{ChangeKind, Edit, EditPlan, Editor};
use imagelib::iso::{EntryKind, TreeKind, Volume};
use imagelib::overlay::{Content, Overlay, Segment};
use imagelib::source::Role;
use layouts::{LAYOUTS, Layout, Random};
use readers::{Names, READERS, Tree};

/// The boot image for UEFI, where it is a file.
const EFI: &str = "/boot/grub/efi.img";

/// A base, and what it holds.
struct Base {
    layout: &'static Layout,
    bytes: Vec<u8>,
    editor: Editor,
}

impl Base {
    fn of(layout: &'static Layout, seed: u64) -> Self {
        Self::open(layout, fs::read(layout.make(seed).path()).unwrap())
    }

    fn open(layout: &'static Layout, bytes: Vec<u8>) -> Self {
        let volume = Volume::open(&bytes).unwrap();
        let editor = Editor::open(&bytes, &volume).unwrap();
        Self { layout, bytes, editor }
    }

    /// The paths of all files that have content and can be edited, each content once; without the boot image, whose
    /// place others know.
    fn files(&self) -> Vec<String> {
        let volume = Volume::open(&self.bytes).unwrap();
        let mut files: Vec<String> = Vec::new();
        for (path, entry) in volume.walk(&self.bytes, TreeKind::Primary).map(Result::unwrap) {
            if entry.kind == EntryKind::File
                && entry.size() > 0
                && path != EFI
                && let Some(file) = self.editor.file(&path)
                && file.editable.is_ok()
                && !file.aliases.iter().any(|alias| files.contains(alias))
            {
                files.push(path);
            }
        }
        files
    }

    fn content(&self, path: &str) -> &[u8] {
        let extent = self.editor.file(path).unwrap().extent;
        let start = usize::try_from(extent.offset).unwrap();
        &self.bytes[start..start + usize::try_from(extent.length).unwrap()]
    }

    fn segment(&self, path: &str) -> Segment {
        let extent = self.editor.file(path).unwrap().extent;
        Segment::Base { file: Role::Iso, offset: extent.offset, length: extent.length }
    }

    fn image(&self, plan: &EditPlan) -> Vec<u8> {
        bytes_of(&self.bytes, plan.segments().unwrap())
    }
}

fn bytes_of(base: &Vec<u8>, segments: Vec<Segment>) -> Vec<u8> {
    let overlay = Overlay::concatenated(&[(Role::Iso, base.len() as u64)].into(), segments).unwrap();
    let mut bytes = vec![0; usize::try_from(overlay.size()).unwrap()];
    assert_eq!(overlay.read_at(&(Role::Iso, base), 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn own(bytes: Vec<u8>) -> Segment {
    Segment::Own(Content::Bytes(bytes.into()))
}

/// New content for some files, of all the kinds there are.
fn replacements(base: &Base, random: &mut Random) -> Vec<(String, Vec<Segment>)> {
    let files = base.files();
    let mut replaced: Vec<(String, Vec<Segment>)> = Vec::new();
    for _ in 0..1 + random.below(5) {
        let path = files[random.below(files.len())].clone();
        if replaced.iter().any(|(other, _)| *other == path) {
            continue;
        }
        let old = base.content(&path).len();
        let content = match random.below(6) {
            0 => vec![own(random.bytes(old.next_multiple_of(2048).saturating_sub(3).max(1)))],
            1 => vec![own(random.bytes(old / 2 + 1))],
            2 | 3 => {
                // What an initrd gets: padding to four, and an archive.
                let pad = old.next_multiple_of(4) - old;
                let more = 1 + random.below(9000);
                vec![base.segment(&path), Segment::Own(Content::Zeros(pad as u64)), own(random.bytes(more))]
            }
            4 => vec![own(random.bytes(3)), base.segment(&files[random.below(files.len())]), own(random.bytes(2))],
            _ => vec![own(random.bytes(old + 5000))],
        };
        replaced.push((path, content));
    }
    replaced
}

/// What a reader finds after files have been given other content, from what it found before: whatever the reader
/// calls a file, its content tells which it is.
fn expected(before: &Tree, base: &Base, replaced: &[(String, Vec<Segment>)]) -> Tree {
    let mut tree = before.clone();
    for content in tree.values_mut() {
        for (path, segments) in replaced {
            let old = base.content(path);
            if content.as_slice() == old {
                *content = bytes_of(&base.bytes, segments.clone());
                break;
            }
        }
    }
    tree
}

#[track_caller]
fn same(what: &str, expected: &Tree, found: &Tree) {
    let names = |tree: &Tree| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(expected), names(found), "{what}");
    for (path, content) in expected {
        assert!(*content == found[path], "{what}: {path} has {} bytes, not {}", found[path].len(), content.len());
    }
}

/// What has been added, in the form of [`Tree`].
fn additions(base: &Base, random: &mut Random) -> (Vec<Edit>, Tree) {
    let volume = Volume::open(&base.bytes).unwrap();
    let walk = volume.walk(&base.bytes, TreeKind::Primary).map(Result::unwrap);
    let mut directories: Vec<String> =
        walk.filter(|(_, entry)| entry.kind == EntryKind::Directory).map(|(path, _)| path).collect();
    if !base.layout.rock_ridge {
        // Joliet has the names as they are, and those of ISO 9660 match them.
        directories.iter_mut().for_each(|path| path.make_ascii_lowercase());
    }
    directories.push(String::new());
    let (mut edits, mut tree) = (Vec::new(), Tree::new());
    let longest = if base.layout.has_long_names() { 30 } else { 3 };
    // More than fit a block, once in a while.
    let crowded = directories[random.below(directories.len())].clone();
    for index in 0..[3, 20, 70][random.below(3)] {
        let mut directory = directories[random.below(directories.len())].clone();
        if random.below(2) == 0 {
            directory.clone_from(&crowded);
        }
        if random.below(8) == 0 && directory.matches('/').count() < 5 {
            directory = format!("{directory}/{}{index}", random.name(longest));
            tree.insert(format!("{directory}/"), Vec::new());
            directories.push(directory.clone());
            if random.below(2) == 0 {
                edits.push(Edit::AddDirectory { path: directory, mode: 0o700 });
                continue;
            }
        }
        let path = format!("{directory}/{}{index}.{}", random.name(longest), random.name(2));
        let size = [0, 1, 700, 2048, 5000][random.below(5)];
        let content = random.bytes(size);
        edits.push(Edit::AddFile { path: path.clone(), content: vec![own(content.clone())], mode: 0o600 });
        tree.insert(path, content);
    }
    (edits, tree)
}

/// Compares what all readers find in both images.
fn compare(base: &Base, plan: &EditPlan, directory: &Path, replaced: &[(String, Vec<Segment>)], added: &Tree) {
    let after = base.image(plan);
    assert_eq!(after.len() as u64, plan.size);
    // libarchive reads an image from its beginning to its end, and skips what stands in front of its directory.
    let moved = plan.changes.iter().any(|change| change.kind == ChangeKind::DirectoryMoved);
    let (old, new) = (directory.join("old.iso"), directory.join("new.iso"));
    let starts = if base.layout.partition { &[0, 16 * 2048][..] } else { &[0] };
    for start in starts {
        // Who mounts a partition sees what begins there.
        fs::write(&old, &base.bytes[*start..]).unwrap();
        fs::write(&new, &after[*start..]).unwrap();
        for reader in READERS.iter().filter(|reader| base.layout.has(reader) && !(moved && reader.name == "bsdtar")) {
            let before = (reader.read)(&old, directory);
            assert!(before.len() > 3, "{} {}", base.layout.name, reader.name);
            let what = format!("{} read by {} from {start} on", base.layout.name, reader.name);
            let mut expected = expected(&before, base, replaced);
            let mut found = (reader.read)(&new, directory);
            if reader.names == Names::Iso {
                // What it calls a new file is another test's matter; that it finds the content is this one's.
                let contents = |tree: Vec<&Vec<u8>>| tree.into_iter().cloned().collect::<Vec<_>>();
                let more = found.iter().filter(|(path, _)| !expected.contains_key(*path)).map(|(_, content)| content);
                let (mut more, mut wanted) = (contents(more.collect()), contents(added.values().collect()));
                more.sort();
                wanted.sort();
                assert!(more == wanted, "{what}: {} additions, not {}", more.len(), wanted.len());
                found.retain(|path, _| expected.contains_key(path));
            } else {
                expected.extend(added.clone());
            }
            same(&what, &expected, &found);
        }
    }
    fs::write(&old, &base.bytes).unwrap();
    fs::write(&new, &after).unwrap();
    structures::compare(base.layout, &old, &new);
}

/// Edits a base of each layout and asks everybody what came of it.
fn edit(add: bool) {
    let directory = tempfile::tempdir().unwrap();
    for (index, layout) in LAYOUTS.iter().enumerate() {
        let random = &mut Random(index as u64 + if add { 100 } else { 0 });
        let base = Base::of(layout, random.0);
        let replaced = replacements(&base, random);
        let mut edits: Vec<Edit> =
            replaced.iter().cloned().map(|(path, content)| Edit::Replace { path, content }).collect();
        let mut added = Tree::new();
        if add {
            let (more, tree) = additions(&base, random);
            edits.extend(more);
            added = tree;
        }
        let plan = base.editor.plan(edits.clone()).unwrap();
        assert_eq!(plan, base.editor.plan(edits).unwrap());
        println!("{}: {:#?}", layout.name, plan.changes);
        // There, the EFI system partition follows that of a tree.
        let kept = plan.changes.iter().any(|change| change.kind == ChangeKind::PartitionKept);
        let grown = plan.size > base.bytes.len() as u64;
        assert_eq!(kept, grown && ["lorax", "appended"].contains(&layout.name), "{}: {:#?}", layout.name, plan.changes);
        compare(&base, &plan, directory.path(), &replaced, &added);
        let after = base.image(&plan);
        // The result is an image like any other: it can be edited again.
        Editor::open(&after, &Volume::open(&after).unwrap()).unwrap();
    }
}

#[test]
fn replaced_files_are_new_to_every_reader_and_all_else_is_as_it_was() {
    edit(false);
}

#[test]
fn added_files_are_there_for_every_reader_and_all_else_is_as_it_was() {
    edit(true);
}

#[test]
fn a_boot_image_that_moves_is_found_by_the_boot_catalog_and_the_partition_tables() {
    let directory = tempfile::tempdir().unwrap();
    for layout in LAYOUTS.iter().filter(|layout| ["debian", "isohybrid", "uefi"].contains(&layout.name)) {
        let base = Base::of(layout, 7);
        let content = vec![base.segment(EFI), Segment::Own(Content::Zeros(100 << 10))];
        let plan = base.editor.plan(vec![Edit::Replace { path: EFI.to_owned(), content: content.clone() }]).unwrap();
        let (old, new) = (directory.path().join("old.iso"), directory.path().join("new.iso"));
        fs::write(&old, &base.bytes).unwrap();
        fs::write(&new, base.image(&plan)).unwrap();
        structures::compare_moved(layout, &old, &new);
        let loaded = (READERS[0].read)(&new, directory.path());
        assert!(loaded[EFI] == bytes_of(&base.bytes, content), "{}", layout.name);
    }
}

#[test]
fn a_boot_loader_that_knows_its_place_stays() {
    let base = Base::of(&LAYOUTS[8], 7);
    for (path, reason) in [("/isolinux/isolinux.bin", "boot loader"), ("/isolinux/boot.cat", "boot catalog")] {
        let edit = Edit::Replace { path: path.to_owned(), content: vec![own(vec![0])] };
        let error = base.editor.plan(vec![edit]).unwrap_err().to_string();
        assert!(error.contains(path) && error.contains(reason), "{error}");
    }
}

#[test]
fn lists_of_checksums_stay_right() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for (name, size) in [("grub.cfg", 99), ("initrd", 9999), ("vmlinuz", 8888), ("squashfs", 7777)] {
        fs::write(tree.join(name), Random(size as u64).bytes(size)).unwrap();
    }
    let list = "for sum in md5sum sha256sum; do $sum ./grub.cfg initrd vmlinuz squashfs > $sum.txt; done; \
         sha256sum initrd vmlinuz | sed -E 's/(.*)  (.*)/\\2 = sha256:\\1/' >> .treeinfo";
    run(Command::new("bash").args(["-c", list]).current_dir(&tree));
    let mut base = Base::open(&LAYOUTS[0], fs::read(LAYOUTS[0].make_of(&tree).path()).unwrap());
    let editor = Editor::open(&base.bytes, &Volume::open(&base.bytes).unwrap()).unwrap();
    base.editor = editor.hash_beginnings(&base.bytes, &["/initrd", "/nothing"]).unwrap();
    let grown = |path: &str| vec![base.segment(path), own(vec![7; 700])];
    let edits = [
        ("/grub.cfg", vec![own(b"linux".to_vec())]),
        ("/initrd", grown("/initrd")),
        // This one has not been hashed.
        ("/vmlinuz", grown("/vmlinuz")),
    ];
    let edits = edits.map(|(path, content)| Edit::Replace { path: path.to_owned(), content });
    let plan = base.editor.plan(edits.to_vec()).unwrap();
    let kinds = |kind| plan.changes.iter().filter(|change| change.kind == kind).count();
    assert_eq!((kinds(ChangeKind::ChecksumUpdated), kinds(ChangeKind::ChecksumRemoved)), (5, 3), "{:#?}", plan.changes);
    let iso = directory.path().join("new.iso");
    fs::write(&iso, base.image(&plan)).unwrap();
    let to = directory.path().join("extracted");
    run(Command::new("xorriso").args(["-osirrox", "on", "-indev"]).arg(&iso).args(["-extract", "/"]).arg(&to));
    for sum in ["md5sum", "sha256sum"] {
        let checked = run(Command::new(sum).args(["-c", "--strict"]).arg(format!("{sum}.txt")).current_dir(&to));
        assert_eq!(String::from_utf8(checked).unwrap(), "./grub.cfg: OK\ninitrd: OK\nsquashfs: OK\n");
    }
    let digest = String::from_utf8(run(Command::new("sha256sum").arg(to.join("initrd")))).unwrap();
    let expected = format!("initrd = sha256:{}\n", digest.split(' ').next().unwrap());
    assert_eq!(fs::read_to_string(to.join(".treeinfo")).unwrap(), expected);
}
