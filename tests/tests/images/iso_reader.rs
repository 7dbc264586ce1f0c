//! The ISO 9660 reader and the tools that everybody reads ISOs with: the same files, of the same content.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::bases::{coreos_iso, historical_coreos_isos, made};
use acceptance::peers::{run, run_text};
use imagelib::iso::{EntryKind, FileEntry, TreeKind, Volume};

fn walk(image: &[u8], tree: TreeKind) -> Vec<(String, FileEntry)> {
    Volume::open(&image).unwrap().walk(&image, tree).map(Result::unwrap).collect()
}

fn paths(entries: &[(String, FileEntry)]) -> BTreeSet<String> {
    entries.iter().map(|(path, _)| path.clone()).collect()
}

fn same(name: &str, ours: BTreeSet<String>, theirs: BTreeSet<String>) {
    let differences: Vec<_> = ours.symmetric_difference(&theirs).collect();
    assert!(differences.is_empty(), "{name}: {differences:?}");
}

/// The paths that xorriso finds in the tree that it reads with these options.
fn xorriso(iso: &Path, options: &[&str]) -> BTreeSet<String> {
    let listing = run_text(
        Command::new("xorriso").args(options).arg("-indev").arg(iso).args(["-find", "/"]).env("LC_ALL", "C.UTF-8"),
    );
    // Quoted for a shell.
    let paths = listing.lines().map(|line| line.trim_matches('\'').replace("'\"'\"'", "'"));
    paths.filter(|path| path != "/").collect()
}

/// An image such as Debian's and Fedora's installers have, made by xorriso: hybrid, with long ISO names.
fn xorriso_image(directory: &Path) -> Vec<u8> {
    let tree = directory.join("tree");
    fs::create_dir_all(tree.join("boot/grub/x86_64-efi")).unwrap();
    for index in 0..200 {
        fs::write(tree.join(format!("boot/grub/x86_64-efi/module-with-a-long-name-{index}.mod")), index.to_string())
            .unwrap();
    }
    fs::write(tree.join("boot/grub/grub.cfg"), "linux /vmlinuz quiet").unwrap();
    fs::write(tree.join("Größe, (1) & co.txt"), "name").unwrap();
    std::os::unix::fs::symlink("boot/grub", tree.join("grub")).unwrap();
    let iso = directory.join("made.iso");
    run(Command::new("xorriso")
        .args([
            "-as",
            "mkisofs",
            "-r",
            "-J",
            "-joliet-long",
            "-iso-level",
            "3",
            "-V",
            "MADE",
            "-partition_offset",
            "16",
        ])
        .arg("-o")
        .arg(&iso)
        .arg(&tree)
        .env("LC_ALL", "C.UTF-8"));
    fs::read(iso).unwrap()
}

fn images() -> Vec<(String, Vec<u8>)> {
    let directory = tempfile::tempdir().unwrap();
    let mut images = historical_coreos_isos();
    images.push(("coreos".to_owned(), fs::read(coreos_iso(&[])).unwrap()));
    images.push(("tree".to_owned(), fs::read(made("make-tree-iso.sh", &[])).unwrap()));
    images.push(("xorriso".to_owned(), xorriso_image(directory.path())));
    images
}

#[test]
fn names_are_those_that_xorriso_finds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.iso");
    for (name, image) in images() {
        fs::write(&path, &image).unwrap();
        let volume = Volume::open(&image).unwrap();
        same(&name, paths(&walk(&image, TreeKind::Primary)), xorriso(&path, &[]));
        if volume.has_joliet() {
            same(&name, paths(&walk(&image, TreeKind::Joliet)), xorriso(&path, &["-read_fs", "norock"]));
        }
    }
}

#[test]
fn names_of_iso_9660_are_those_that_isoinfo_finds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.iso");
    let (mut with, mut without) = (0, 0);
    for (name, image) in images().into_iter().filter(|(name, _)| name != "tree") {
        fs::write(&path, &image).unwrap();
        // The last part of each path: above it, our paths have the names of Rock Ridge.
        let listing = run_text(Command::new("isoinfo").args(["-f", "-i"]).arg(&path));
        let mut theirs: Vec<&str> = listing.lines().filter_map(|line| line.rsplit('/').next()).collect();
        for name in &mut theirs {
            *name = name.trim_end_matches(";1").trim_end_matches('.');
        }
        let entries = walk(&image, TreeKind::Primary);
        let mut ours: Vec<&str> = entries.iter().map(|(_, entry)| entry.tree_name.as_str()).collect();
        theirs.sort_unstable();
        ours.sort_unstable();
        assert_eq!(ours, theirs, "{name}");
        if Volume::open(&image).unwrap().has_rock_ridge() { with += 1 } else { without += 1 }
    }
    assert!(with > 5 && without > 0);
}

#[test]
fn contents_are_those_that_xorriso_extracts() {
    for (name, image) in images() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image.iso");
        fs::write(&path, &image).unwrap();
        let extracted = directory.path().join("extracted");
        run(Command::new("xorriso")
            .args(["-osirrox", "on:auto_chmod_on", "-indev"])
            .arg(&path)
            .args(["-extract", "/"])
            .arg(&extracted)
            .env("LC_ALL", "C.UTF-8"));
        let mut compared = 0;
        for (path, entry) in walk(&image, TreeKind::Primary) {
            let theirs = extracted.join(path.trim_start_matches('/'));
            match entry.kind {
                EntryKind::Directory => assert!(theirs.is_dir(), "{name} {path}"),
                EntryKind::Symlink => assert!(theirs.is_symlink(), "{name} {path}"),
                EntryKind::File => {
                    assert!(entry.read(&image, 1 << 24).unwrap() == fs::read(&theirs).unwrap(), "{name} {path}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 5, "{name}");
        run(Command::new("chmod").args(["-R", "u+w"]).arg(&extracted));
    }
}

#[test]
fn the_volume_of_a_partition_has_the_same_files() {
    let directory = tempfile::tempdir().unwrap();
    let image = xorriso_image(directory.path());
    let partition = Volume::open_at(&image, 16 * 2048).unwrap();
    let entries: Vec<_> = partition.walk(&image, TreeKind::Primary).map(Result::unwrap).collect();
    let whole = walk(&image, TreeKind::Primary);
    assert_eq!(paths(&entries), paths(&whole));
    for ((path, one), (_, other)) in entries.iter().zip(&whole).filter(|((_, entry), _)| entry.kind == EntryKind::File)
    {
        assert_eq!(one.extents, other.extents, "{path}");
        assert_ne!(one.records, other.records, "{path}");
    }
}
