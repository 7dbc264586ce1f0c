//! Edited ISOs and disks of our making, mounted by Linux: its file systems find what was edited, and all else as it was.

mod guest;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::bases::fixtures;
use acceptance::fat::{path, write};
use acceptance::peers::run;
use guest::{Mount, Tree, UNREADABLE, mounted};
use imagelib::digest::Digest;
use imagelib::disk::fat::{FatEdit, FatImage};
use imagelib::disk::gpt::Gpt;
use imagelib::disk::usb::UsbDisk;
use imagelib::iso::Volume;
use imagelib::iso::edit::{Edit, Editor};
use imagelib::overlay::{Content, Patch, Segment};
use imagelib::source::Role;

/// The trees of an ISO, as options of isofs: Rock Ridge, Joliet, and ISO 9660 itself.
const TREES: [&str; 3] = ["ro", "ro,norock", "ro,norock,nojoliet"];

const INITRD: &str = "/images/pxeboot/initrd.img";
const MENU: &str = "/EFI/BOOT/grub.cfg";
/// In a directory that has room for it.
const ADDED: &str = "/EFI/BOOT/new.cfg";
const NEW_DIRECTORY: &str = "/dayone";
/// A directory that gets so many files that it moves.
const CROWDED: &str = "/crowd";
/// In the EFI system partition.
const ESP_ADDED: &str = "/EFI/BOOT/A new file with a long name.cfg";

fn bytes(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 256 + at * seed) as u8).collect()
}

fn own(bytes: Vec<u8>) -> Segment {
    Segment::Own(Content::Bytes(bytes.into()))
}

fn range(offset: u64, length: u64) -> Segment {
    Segment::Base { file: Role::Iso, offset, length }
}

fn entry(attributes: &str, content: &[u8]) -> String {
    format!("{attributes} {}", Digest::of(content))
}

/// What vfat says of a file.
fn fat_file(content: &[u8]) -> String {
    entry("81ed 0:0", content)
}

/// A base, and what becomes of it.
struct Edited {
    old: PathBuf,
    new: PathBuf,
    replaced: Vec<(&'static str, Vec<u8>)>,
    added: Vec<(String, Vec<u8>)>,
}

impl Edited {
    fn make(layout: &str, directory: &Path) -> Self {
        let [old, new] = ["old", "new"].map(|age| directory.join(format!("{layout}-{age}.iso")));
        let (tree, initrd) = (directory.join(layout), bytes(5, 50_003));
        let mut files = vec![
            ("EFI/BOOT/grub.cfg".to_owned(), bytes(7, 1700)),
            ("boot/grub/grub.cfg".to_owned(), bytes(9, 700)),
            ("images/pxeboot/vmlinuz".to_owned(), bytes(11, 90_001)),
            ("images/pxeboot/initrd.img".to_owned(), initrd.clone()),
            ("a/b/A name that ISO 9660 itself has no room for.squashfs.img".to_owned(), bytes(13, 4096)),
            ("Verzeichnis für 文字/naïve.txt".to_owned(), bytes(15, 2049)),
            ("empty".to_owned(), Vec::new()),
            (format!("../{layout}.esp/EFI/BOOT/BOOTX64.EFI"), bytes(17, 70_000)),
        ];
        files.extend((0..12).map(|number| (format!("crowd/old{number}.bin"), bytes(100 + number, 2500))));
        for (name, content) in files {
            let file = tree.join(name);
            fs::create_dir_all(&tree).unwrap();
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        symlink("../images/pxeboot/vmlinuz", tree.join("boot/linux")).unwrap();
        run(Command::new(fixtures("bases").join("make-layout-iso.sh")).arg(layout).args([&tree, &old]));

        let base = fs::read(&old).unwrap();
        let editor = Editor::open(&base, &Volume::open(&base).unwrap()).unwrap();
        let extent = editor.file(INITRD).unwrap().extent;
        let (more, menu) = (bytes(19, 300_000), b"linux /images/pxeboot/vmlinuz\n".to_vec());
        let mut added = vec![
            (ADDED.to_owned(), bytes(21, 3000)),
            ("/EFI/BOOT/nothing".to_owned(), Vec::new()),
            (format!("{NEW_DIRECTORY}/network/keyfile"), bytes(23, 10)),
        ];
        added.extend((10..50).map(|number| (format!("{CROWDED}/added{number}.bin"), bytes(25, 100 + number))));
        let grown = vec![range(extent.offset, extent.length), own(more.clone())];
        let mut edits = vec![
            Edit::Replace { path: INITRD.to_owned(), content: grown },
            Edit::Replace { path: MENU.to_owned(), content: vec![own(menu.clone())] },
            Edit::AddDirectory { path: NEW_DIRECTORY.to_owned(), mode: 0o700 },
        ];
        edits.extend(added.iter().cloned().map(|(path, content)| {
            let content = vec![own(content)];
            Edit::AddFile { path, content, mode: 0o600 }
        }));
        if layout == "lorax" {
            edits.push(Edit::PatchImage { name: "EFI system partition".to_owned(), patches: esp_patches(&old) });
        }
        write(&new, &base, editor.plan(edits).unwrap().segments().unwrap());
        Self { old, new, replaced: vec![(INITRD, [initrd, more].concat()), (MENU, menu)], added }
    }

    /// What Linux must find after the edits, from what it found before.
    fn expected(&self, before: &Tree, options: &str) -> Tree {
        let mut tree = before.clone();
        for (path, content) in &self.replaced {
            let value = tree.get_mut(&name(path, options)).unwrap();
            *value = entry(attributes(value), content);
        }
        // Without Rock Ridge, everything may be read, and may be run.
        let rock_ridge = options == TREES[0];
        let [file, directory, subdirectory] =
            if rock_ridge { ["8180 0:0", "41c0 0:0", "41ed 0:0"] } else { ["816d 0:0", "416d 0:0", "416d 0:0"] };
        tree.insert(NEW_DIRECTORY.to_owned(), directory.to_owned());
        tree.insert(format!("{NEW_DIRECTORY}/network"), subdirectory.to_owned());
        tree.extend(self.added.iter().map(|(path, content)| (name(path, options), entry(file, content))));
        tree
    }
}

/// A file replaced and one added in the EFI system partition of lorax.
fn esp_patches(iso: &Path) -> Vec<Patch> {
    let base = fs::read(iso).unwrap();
    let gpt = Gpt::read(&base).unwrap().unwrap();
    let (_, esp) = gpt.partitions().nth(1).unwrap();
    let image = FatImage::open(&base, esp.first * 512..(esp.last + 1) * 512).unwrap();
    let added = path(ESP_ADDED.trim_start_matches('/'));
    let edits = [(path("grub.cfg"), bytes(27, 9000)), (added, bytes(29, 600))];
    image.edit(&edits.map(|(path, content)| (path, FatEdit::Write(content.into())))).unwrap()
}

/// A path as isofs has it: names of ISO 9660 itself in lower case.
fn name(path: &str, options: &str) -> String {
    if options == TREES[2] { path.to_ascii_lowercase() } else { path.to_owned() }
}

/// An entry without its content.
fn attributes(entry: &str) -> &str {
    entry.rsplit_once(' ').unwrap().0
}

/// What of the edited image of lorax the first partition shows, which ends where the EFI system partition begins: of
/// files that have moved or are new no content, and of such directories nothing at all.
fn cut_off(mut tree: Tree, options: &str) -> Tree {
    for directory in [NEW_DIRECTORY, CROWDED] {
        tree.retain(|path, _| !path.starts_with(&format!("{directory}/")));
        tree.insert(directory.to_owned(), UNREADABLE.to_owned());
    }
    for path in [INITRD, ADDED] {
        let value = tree.get_mut(&name(path, options)).unwrap();
        *value = format!("{} {UNREADABLE}", attributes(value));
    }
    tree
}

/// Says which entries differ, and no more.
#[track_caller]
fn same(what: Mount, expected: &Tree, found: &Tree) {
    let others = |one: &Tree, other: &Tree| -> Vec<String> {
        let differ = one.iter().filter(|(path, value)| other.get(*path) != Some(value));
        differ.map(|(path, value)| format!("{path}: {value}")).collect()
    };
    let (missing, surplus) = (others(expected, found), others(found, expected));
    assert!(missing.is_empty() && surplus.is_empty(), "{what}: expected {missing:#?}, found {surplus:#?}");
}

#[test]
fn linux_finds_what_was_edited_and_all_else_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let [lorax, debian] = ["lorax", "debian"].map(|layout| Edited::make(layout, directory.path()));
    let (usb, base) = (directory.path().join("usb.img"), fs::read(&lorax.old).unwrap());
    let files = BTreeMap::from([
        (path("EFI/BOOT/BOOTX64.EFI"), vec![own(bytes(31, 100_000))]),
        (path("loader/entries/dayone of a long name.conf"), vec![own(b"title x".to_vec())]),
        (path("vmlinuz"), vec![range(0, 200_001), own(b"x".to_vec()), range(77, 99_999)]),
        (path("empty"), Vec::new()),
    ]);
    let disk = UsbDisk { label: "DAYONE".parse().unwrap(), identity: Digest::of(b""), files: &files };
    write(&usb, &base, disk.layout().unwrap());

    let vfat = |device| Mount { device, kind: "vfat", options: "ro" };
    let isofs = |device, options| Mount { device, kind: "iso9660", options };
    let pairs = [(&lorax, "vda", "vdb"), (&lorax, "vda1", "vdb1"), (&debian, "vdc", "vdd"), (&debian, "vdc1", "vdd1")];
    let mut mounts = vec![vfat("vda2"), vfat("vdb2"), vfat("vde1")];
    for (_, old, new) in pairs {
        mounts.extend(TREES.iter().flat_map(|options| [isofs(old, options), isofs(new, options)]));
    }
    let disks = [&lorax.old, &lorax.new, &debian.old, &debian.new, &usb];
    let found = mounted(&mounts, &disks.map(PathBuf::as_path), directory.path());

    for (edited, old, new) in pairs {
        for options in TREES {
            let before = &found[&isofs(old, options)];
            assert!(before.len() > 30 && !before.values().any(|value| value.ends_with(UNREADABLE)), "{before:#?}");
            let mut expected = edited.expected(before, options);
            if new == "vdb1" {
                expected = cut_off(expected, options);
            }
            same(isofs(new, options), &expected, &found[&isofs(new, options)]);
        }
    }

    let mut expected = found[&vfat("vda2")].clone();
    assert_eq!(expected["/EFI/BOOT/BOOTX64.EFI"], fat_file(&bytes(17, 70_000)));
    expected.insert("/grub.cfg".to_owned(), fat_file(&bytes(27, 9000)));
    expected.insert(ESP_ADDED.to_owned(), fat_file(&bytes(29, 600)));
    same(vfat("vdb2"), &expected, &found[&vfat("vdb2")]);

    let directories = ["", "/EFI", "/EFI/BOOT", "/loader", "/loader/entries"];
    let mut expected = Tree::from(directories.map(|path| (path.to_owned(), "41ed 0:0".to_owned())));
    for (path, content) in &files {
        let copy = directory.path().join("copy");
        write(&copy, &base, content.clone());
        expected.insert(format!("/{path}"), fat_file(&fs::read(copy).unwrap()));
    }
    same(vfat("vde1"), &expected, &found[&vfat("vde1")]);
}
