//! ISO images that dayone writes, as everybody else reads them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::peers::{run, run_text};
use imagelib::iso::author::{ElTorito, Hybrid, IsoPath, NewFile, NewIso};
use imagelib::overlay::{Content, Segment};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

type Files = BTreeMap<String, Vec<u8>>;

fn write(iso: &NewIso, path: &Path) {
    let mut image = Vec::new();
    for segment in iso.layout().unwrap() {
        match segment {
            Segment::Own(Content::Bytes(bytes)) => image.extend(bytes),
            Segment::Own(Content::Zeros(length)) => image.resize(image.len() + usize::try_from(length).unwrap(), 0),
            Segment::Own(Content::Counter(_)) | Segment::Base { .. } => panic!("neither bytes nor zeros"),
        }
    }
    fs::write(path, image).unwrap();
}

fn iso(files: &Files) -> NewIso {
    let file =
        |(path, bytes): (&String, &Vec<u8>)| (path.parse::<IsoPath>().unwrap(), NewFile::literal(0o640, bytes.clone()));
    NewIso {
        volume_id: "config-2".to_owned(),
        publisher: "host 0001".to_owned(),
        preparer: "dayone".to_owned(),
        files: files.iter().map(file).collect(),
        ..NewIso::default()
    }
}

fn some_files() -> Files {
    let mut files: Files = (0..120).map(|n| (format!("many/a-file-with-a-long-name-{n}.txt"), vec![65; n])).collect();
    files.insert("openstack/latest/network_data.json".to_owned(), b"{}".to_vec());
    files.insert("1/2/3/4/5/6/7/deep".to_owned(), b"deep".to_vec());
    files.insert("Größe & co (1).txt".to_owned(), vec![0xa5; 5000]);
    files.insert("empty".to_owned(), vec![]);
    files
}

/// The files below a directory, and their permissions.
fn read_tree(root: &Path) -> Files {
    let listing = run(Command::new("find").arg(root).args(["-type", "f", "-printf", "%P\\0"]));
    let names = String::from_utf8(listing).unwrap();
    names
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(|name| (name.to_owned(), fs::read(root.join(name)).unwrap()))
        .collect()
}

fn xorriso_extract(image: &Path, options: &[&str], to: &Path) -> Files {
    run(Command::new("xorriso")
        .args(["-abort_on", "WARNING", "-osirrox", "on:auto_chmod_on"])
        .args(options)
        .arg("-indev")
        .arg(image)
        .args(["-extract", "/"])
        .arg(to)
        .env("LC_ALL", "C.UTF-8"));
    read_tree(to)
}

#[test]
fn every_reader_finds_the_same_files() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (image, files) = (directory.join("image.iso"), some_files());
    write(&iso(&files), &image);

    assert!(xorriso_extract(&image, &[], &directory.join("rock-ridge")) == files);
    assert!(xorriso_extract(&image, &["-read_fs", "norock"], &directory.join("joliet")) == files);

    let tree = directory.join("bsdtar");
    fs::create_dir(&tree).unwrap();
    run(Command::new("bsdtar").arg("-xf").arg(&image).arg("-C").arg(&tree).env("LC_ALL", "C.UTF-8"));
    assert!(read_tree(&tree) == files);

    let tree = directory.join("7z");
    run(Command::new("7z").arg("x").arg(format!("-o{}", tree.display())).arg(&image).env("LC_ALL", "C.UTF-8"));
    assert!(read_tree(&tree) == files);

    for (options, name) in [
        (&["-f"][..], "/OPENSTAC/LATEST/NETWORK_.JSO;1"),
        (&["-R", "-f"], "/many/a-file-with-a-long-name-119.txt"),
        (&["-J", "-f"], "/1/2/3/4/5/6/7/deep;1"),
    ] {
        // Joliet names are printed in ISO 8859-1.
        let listing = run(Command::new("isoinfo").arg("-i").arg(&image).args(options));
        let listing = String::from_utf8_lossy(&listing);
        assert!(listing.lines().any(|line| line == name), "{options:?}: {listing}");
    }
    let information = run_text(Command::new("isoinfo").args(["-d", "-i"]).arg(&image));
    for line in ["Volume id: config-2", "Publisher id: host 0001", "Data preparer id: dayone"] {
        assert!(information.lines().any(|found| found == line), "{information}");
    }
    let report = run_text(Command::new("isovfy").arg(&image));
    assert!(report.contains("No errors found"), "{report}");

    let listing = run_text(Command::new("xorriso").arg("-indev").arg(&image).args(["-lsl", "/openstack/latest/"]));
    assert!(
        listing.contains("-rw-r-----    1 0        0               2 Jan  1  1980 'network_data.json'"),
        "{listing}"
    );
}

#[test]
fn labels_are_those_that_udev_links() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("image.iso");
    for label in ["config-2", "cidata", "combustion", "A_LABEL-OF.32-CHARACTERS-1234567"] {
        write(&NewIso { volume_id: label.to_owned(), ..iso(&some_files()) }, &image);
        let found = run_text(Command::new("blkid").args(["-p", "-o", "export"]).arg(&image));
        for line in [format!("LABEL={label}"), "TYPE=iso9660".to_owned(), "PUBLISHER_ID=host\\ 0001".to_owned()] {
            assert!(found.lines().any(|found| found == line), "{line}: {found}");
        }
    }
}

/// Images of a loader and of an EFI system partition, as far as a reader that does not boot them looks.
fn bootable() -> NewIso {
    let mut iso = iso(&some_files());
    let loader = fs::read("/usr/lib/ISOLINUX/isolinux.bin").expect("isolinux; run scripts/setup-peers.sh");
    iso.files.insert("isolinux/isolinux.bin".parse().unwrap(), NewFile::literal(0o644, loader));
    iso.files.insert("boot/efi.img".parse().unwrap(), NewFile::literal(0o644, vec![7; 3 << 20]));
    let path = |path: &str| Some(path.parse().unwrap());
    iso.boot = Some(ElTorito { bios: path("isolinux/isolinux.bin"), uefi: path("boot/efi.img") });
    iso
}

#[test]
fn firmware_would_find_the_loaders() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("image.iso");
    let mut iso = bootable();
    let report = |image: &Path| {
        run_text(Command::new("xorriso").arg("-indev").arg(image).args([
            "-report_el_torito",
            "plain",
            "-report_system_area",
            "plain",
        ]))
    };
    let has = |report: &str, words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let found = report.lines().any(|line| line.split_whitespace().collect::<Vec<_>>().starts_with(&words));
        assert!(found, "{words:?}: {report}");
    };
    write(&iso, &image);
    let cd = report(&image);
    has(&cd, "El Torito boot img : 1 BIOS y none 0x0000 0x00 4");
    has(&cd, "El Torito boot img : 2 UEFI y none 0x0000 0x00 6144");
    has(&cd, "El Torito img path : 1 /isolinux/isolinux.bin");
    has(&cd, "El Torito img opts : 1 boot-info-table isohybrid-suitable");
    has(&cd, "El Torito img path : 2 /boot/efi.img");

    let code = fs::read("/usr/lib/ISOLINUX/isohdpfx.bin").unwrap();
    iso.hybrid = Some(Hybrid { boot_code: Some(code.into()) });
    write(&iso, &image);
    let disk = report(&image);
    has(&disk, "System area options: 0x00000102");
    has(&disk, "System area summary: MBR isohybrid");
    has(&disk, "MBR partition path : 2 /boot/efi.img");

    let partitions = run_text(Command::new("sfdisk").arg("--dump").arg(&image));
    assert!(partitions.contains("type=0, bootable") && partitions.contains("type=ef"), "{partitions}");
}

#[test]
fn any_tree_of_files_comes_out_again() {
    let name = "[a-cA-C]{1,3}|[a-zäß ._-]{1,40}[a-z]|file-with-a-long-name-[0-9]{1,3}\\.conf";
    let path = prop::collection::vec(name, 1..8).prop_map(|names| names.join("/"));
    let files = prop::collection::btree_map(path, prop::collection::vec(any::<u8>(), 0..5000), 1..60);
    let files = files.prop_map(|mut files: Files| {
        let all: Vec<String> = files.keys().cloned().collect();
        files.retain(|path, _| !all.iter().any(|other| other.starts_with(&format!("{path}/"))));
        files
    });
    TestRunner::new(Config::with_cases(12))
        .run(&files, |files| {
            let directory = tempfile::tempdir().unwrap();
            let image = directory.path().join("image.iso");
            write(&iso(&files), &image);
            prop_assert!(xorriso_extract(&image, &[], &directory.path().join("rock-ridge")) == files);
            prop_assert!(xorriso_extract(&image, &["-read_fs", "norock"], &directory.path().join("joliet")) == files);
            let report = run_text(Command::new("isovfy").arg(&image));
            prop_assert!(report.contains("No errors found"), "{}", report);
            Ok(())
        })
        .unwrap();
}
