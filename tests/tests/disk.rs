//! Disks and FAT file systems against the tools that everybody reads them with: fsck.fat, mtools, sgdisk, fdisk, 7z, GRUB.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use acceptance::peers::{run, run_text};
use bytes::Bytes;
use imagelib::digest::Digest;
use imagelib::disk::fat::{FatEdit, FatError, FatImage, FatPath, NewFat};
use imagelib::disk::gpt::Gpt;
use imagelib::disk::hybrid::{self, Hybrid};
use imagelib::disk::usb::UsbDisk;
use imagelib::overlay::{self, Content, Overlay, Patch, Segment, Sizes};
use imagelib::source::Role;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// The bytes of an image, patched.
fn patched(base: &Vec<u8>, patches: Vec<Patch>) -> Vec<u8> {
    let overlay = Overlay::patched(Role::Esp, base.len() as u64, patches).unwrap();
    let mut bytes = vec![0; base.len()];
    overlay.read_at(&(Role::Esp, base), 0, &mut bytes).unwrap();
    bytes
}

fn mtools(tool: &str, image: &Path, arguments: &[&str]) -> Vec<u8> {
    run(Command::new(tool).arg("-i").arg(image).args(arguments).env("MTOOLSRC", "/dev/null").env("LC_ALL", "C.UTF-8"))
}

fn clean(image: &Path) {
    let output = Command::new("fsck.fat").args(["-n", "-v"]).arg(image).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A file system made by mkfs.fat with files put in by mtools.
fn made(image: &Path, options: &[&str], kibibytes: u32, files: &BTreeMap<String, Vec<u8>>) {
    let _ = fs::remove_file(image);
    run(Command::new("mkfs.fat").args(options).arg("-C").arg(image).arg(kibibytes.to_string()));
    for directory in ["EFI", "EFI/BOOT", "loader"] {
        mtools("mmd", image, &[&format!("::{directory}")]);
    }
    let directory = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let file = directory.path().join("file");
        fs::write(&file, content).unwrap();
        mtools("mcopy", image, &[file.to_str().unwrap(), &format!("::{path}")]);
    }
}

fn content_of(image: &Path, path: &str) -> Vec<u8> {
    mtools("mtype", image, &[&format!("::{path}")])
}

fn path(text: &str) -> FatPath {
    text.parse().unwrap()
}

const KINDS: [(&[&str], u32); 6] = [
    (&["-F12", "-s1"], 1440),
    (&["-F12", "-s8", "-f1"], 8192),
    (&["-F12", "-S2048", "-s1"], 4096),
    (&["-F16", "-s2", "-r", "32"], 16384),
    (&["-F32", "-s1"], 40960),
    (&["-F32", "-s2", "-S512", "-R", "8"], 81920),
];

#[test]
fn files_of_a_foreign_file_system_are_found_and_edited() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("esp.img");
    let loader: Vec<u8> = (0..200_000_u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
    let files = BTreeMap::from([
        ("EFI/BOOT/BOOTX64.EFI".to_owned(), loader.clone()),
        ("EFI/BOOT/grub.cfg".to_owned(), b"linux /vmlinuz quiet\n".to_vec()),
        ("loader/a long name with many letters.conf".to_owned(), vec![b'#'; 5000]),
    ]);
    for (options, kibibytes) in KINDS {
        made(&image, options, kibibytes, &files);
        clean(&image);
        let dates = mtools("mdir", &image, &["::EFI/BOOT"]);
        // Somewhere in a larger image.
        let mut base = vec![0xEE; 4096];
        base.extend(fs::read(&image).unwrap());
        base.extend([0xEE; 100]);
        let end = base.len() as u64 - 100;
        let file_system = FatImage::open(&base, 4096..end).unwrap();
        let found: BTreeMap<String, u64> =
            file_system.files().iter().map(|file| (file.path.clone(), u64::from(file.size))).collect();
        let expected = files.iter().map(|(path, content)| (path.clone(), content.len() as u64)).collect();
        assert_eq!(found, expected, "{options:?}");
        assert_eq!(file_system.read("efi/boot/GRUB.CFG").unwrap(), files["EFI/BOOT/grub.cfg"]);
        assert_eq!(file_system.read("EFI/BOOT/BOOTX64.EFI"), None);

        let longer = vec![b'x'; 70_000];
        let edits = [
            (path("EFI/BOOT/grub.cfg"), FatEdit::Write(longer.clone().into())),
            (path("loader/a long name with many letters.conf"), FatEdit::Write(Bytes::from_static(b"short"))),
            (path("loader/new entry.conf"), FatEdit::Write(Bytes::from_static(b"title new"))),
            (path("EFI/BOOT/BOOTX64.EFI"), FatEdit::Append(Bytes::from_static(b"behind"))),
        ];
        let patches = file_system.edit(&edits).unwrap();
        assert_eq!(patches, file_system.edit(&edits).unwrap());
        assert!(patches.iter().all(|patch| patch.offset >= 4096 && patch.end() <= end));
        let own: u64 = patches.iter().map(|patch| patch.content.len()).sum();
        assert!(own < 90_000 && patches.len() < 60, "{options:?}: {own} bytes in {}", patches.len());
        let result = patched(&base, patches);
        fs::write(&image, &result[4096..result.len() - 100]).unwrap();
        clean(&image);
        assert!(content_of(&image, "EFI/BOOT/grub.cfg") == longer, "{options:?}");
        assert_eq!(content_of(&image, "loader/a long name with many letters.conf"), b"short");
        assert_eq!(content_of(&image, "loader/new entry.conf"), b"title new");
        assert!(content_of(&image, "EFI/BOOT/BOOTX64.EFI") == [loader.as_slice(), b"behind"].concat());
        // Sizes have changed, and dates have not.
        let date = |listing: &[u8]| {
            let listing = String::from_utf8_lossy(listing).into_owned();
            let line = listing.lines().find(|line| line.starts_with("grub")).unwrap().to_owned();
            line.split_whitespace()
                .filter(|word| word.contains(':') || word.contains("-"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(date(&mtools("mdir", &image, &["::EFI/BOOT"])), date(&dates));
        let again = FatImage::open(&result, 4096..end).unwrap();
        assert_eq!(again.read("loader/new entry.conf").unwrap(), b"title new");
        grub_reads(&image, "", "EFI/BOOT/grub.cfg", &longer);
        grub_reads(&image, "", "loader/new entry.conf", b"title new");
    }
}

/// What GRUB reads: firmware and boot loaders have their own drivers, and this is one of them.
fn grub_reads(image: &Path, partition: &str, path: &str, content: &[u8]) {
    let mut theirs = Command::new("grub-fstest");
    theirs.arg(image).args(["cat", &format!("(loop0{partition})/{path}")]);
    assert!(run(&mut theirs) == content, "{path}");
}

#[test]
fn a_file_system_that_is_full_says_by_how_much() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("esp.img");
    made(&image, &["-F12"], 1440, &BTreeMap::from([("a.cfg".to_owned(), vec![1; 1_000_000])]));
    let base = fs::read(&image).unwrap();
    let file_system = FatImage::open(&base, 0..base.len() as u64).unwrap();
    let edit = |name: &str, edit| file_system.edit(&[(path(name), edit)]);
    let error = edit("b.cfg", FatEdit::Write(vec![2; 600_000].into())).unwrap_err();
    assert!(matches!(error, FatError::Full { free, .. } if free == file_system.free()), "{error}");
    assert!(edit("b.cfg", FatEdit::Write(vec![2; usize::try_from(file_system.free()).unwrap()].into())).is_ok());
    let nothing = FatEdit::Write(Bytes::new());
    assert!(matches!(edit("EFI", nothing.clone()), Err(FatError::Twice(_))));
    assert!(matches!(edit("none/x", nothing), Err(FatError::NotFound { kind: "directory", .. })));
    let append = FatEdit::Append(Bytes::from_static(b"x"));
    assert!(matches!(edit("none", append), Err(FatError::NotFound { kind: "file", .. })));
    let many: Vec<_> = (0..600).map(|n| (path(&format!("{n}")), FatEdit::Write(Bytes::new()))).collect();
    assert!(matches!(file_system.edit(&many), Err(FatError::DirectoryFull(_))));
}

#[test]
fn random_edits_of_random_file_systems_are_read_back_by_mtools() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("esp.img");
    let name = prop::sample::select(vec![
        "a.cfg",
        "B.CFG",
        "EFI/c.conf",
        "EFI/BOOT/long name of a file.cfg",
        "EFI/BOOT/D",
        "loader/Ünïcode.conf",
        "loader/x.y.z",
    ]);
    let size = prop_oneof![Just(0_usize), 1_usize..2000, 1_usize..60_000, Just(4096), Just(2048)];
    let before = prop::collection::btree_map(name.clone(), size.clone(), 0..6);
    let edits = prop::collection::vec((name, size, any::<bool>()), 1..8);
    let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    runner
        .run(&(0..KINDS.len(), before, edits), |(kind, before, edits)| {
            let (options, kibibytes) = KINDS[kind];
            let filled =
                |seed: usize, size: usize| (0..size).map(|n| u8::try_from((n * 7 + seed) % 251).unwrap()).collect();
            let mut files: BTreeMap<String, Vec<u8>> =
                before.iter().map(|(name, size)| ((*name).to_owned(), filled(1, *size))).collect();
            made(&image, options, kibibytes, &files);
            let base = fs::read(&image).unwrap();
            let file_system = FatImage::open(&base, 0..base.len() as u64).unwrap();
            let mut plan = Vec::new();
            for (index, (name, size, append)) in edits.into_iter().enumerate() {
                let content: Vec<u8> = filled(index, size);
                if append && before.contains_key(name) {
                    plan.push((path(name), FatEdit::Append(content.clone().into())));
                    files.get_mut(name).unwrap().extend(content);
                } else {
                    plan.push((path(name), FatEdit::Write(content.clone().into())));
                    files.insert(name.to_owned(), content);
                }
            }
            let patches = file_system.edit(&plan).unwrap();
            fs::write(&image, patched(&base, patches)).unwrap();
            clean(&image);
            for (name, content) in &files {
                prop_assert!(&content_of(&image, name) == content, "{name}");
            }
            let bytes = fs::read(&image).unwrap();
            let again = FatImage::open(&bytes, 0..bytes.len() as u64).unwrap();
            let found: Vec<&str> = again.files().iter().map(|file| file.path.as_str()).collect();
            prop_assert_eq!(found.len(), files.len(), "{:?}", found);
            Ok(())
        })
        .unwrap();
}

/// What segments over one base make, in a file.
fn write(image: &Path, base: &[u8], segments: Vec<Segment>) -> u64 {
    let sizes = Sizes::from([(Role::Iso, base.len() as u64)]);
    let overlay = Overlay::concatenated(&sizes, segments).unwrap();
    let mut file = fs::File::create(image).unwrap();
    let mut buffer = vec![0; 1 << 20];
    let mut position = 0;
    // In pieces of an odd length, so that cuts fall anywhere.
    while position < overlay.size() {
        let count = overlay.read_at(&(Role::Iso, base), position, &mut buffer[..(1 << 20) - 3]).unwrap();
        file.write_all(&buffer[..count]).unwrap();
        position += count as u64;
    }
    overlay.patch_size()
}

fn literal(bytes: impl Into<Bytes>) -> Vec<Segment> {
    vec![Segment::Own(Content::Bytes(bytes.into()))]
}

/// A data drive of its own making: empty files, long names, many files, and a size for each kind of table.
#[test]
fn a_data_drive_is_what_everybody_reads() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("data.img");
    for (size, kind) in [(0_usize, "12"), (100, "12"), (6_000_000, "12"), (8_000_000, "16"), (60_000_000, "16")] {
        let mut files = BTreeMap::from([
            (path("openstack/latest/meta_data.json"), Bytes::from_static(b"{}")),
            (path("openstack/latest/network_data.json"), Bytes::from(vec![b' '; size])),
            (path("ec2/latest/meta-data.json"), Bytes::from_static(b"[]")),
        ]);
        for number in 0..200 {
            files.insert(path(&format!("A file with a long name, {number}.txt")), Bytes::from(number.to_string()));
        }
        let segments = files.iter().map(|(path, content)| (path.clone(), literal(content.clone()))).collect();
        let drive = NewFat { label: "config-2".parse().unwrap(), id: 0x1234_ABCD, files: &segments };
        let own = write(&image, &[], drive.data_drive().unwrap());
        // The tables of FAT16 are in memory, as the files of a data drive are.
        assert!(own < size as u64 + 30_000 + size as u64 / 400, "{own}");
        clean(&image);
        for (path, content) in files.iter().take(20).chain(files.iter().skip(198)) {
            assert!(content_of(&image, path.as_str()) == *content, "{path}");
        }
        let found = run_text(Command::new("blkid").args(["-p", "-o", "export"]).arg(&image));
        for line in ["LABEL=CONFIG-2", "UUID=1234-ABCD", &format!("VERSION=FAT{kind}")] {
            assert!(found.lines().any(|found| found == line), "{line} in {found}");
        }
        run(Command::new("7z").arg("t").arg(&image));
        let bytes = fs::read(&image).unwrap();
        let read = FatImage::open(&bytes, 0..bytes.len() as u64).unwrap();
        assert_eq!(read.files().len(), files.len());
        grub_reads(&image, "", "ec2/latest/meta-data.json", b"[]");
        grub_reads(&image, "", "openstack/latest/network_data.json", &vec![b' '; size]);
    }
}

#[test]
fn what_fat_cannot_hold_is_refused() {
    let drive = |files: &[(&str, u64)]| {
        let segments = |size| vec![Segment::Own(Content::Zeros(size))];
        let files = files.iter().map(|(name, size)| (path(name), segments(*size))).collect();
        NewFat { label: "X".parse().unwrap(), id: 1, files: &files }.data_drive()
    };
    assert!(matches!(drive(&[("a", 1), ("A", 1)]), Err(FatError::Twice(_))));
    assert!(matches!(drive(&[("a", 1), ("A/b", 1)]), Err(FatError::Twice(_))));
    assert!(matches!(drive(&[("a/b", 1), ("a/c", 1 << 32)]), Err(FatError::FileTooLarge(_))));
    assert!(matches!(drive(&[("a", 200 << 20)]), Err(FatError::TooLarge { .. })));
    assert!(drive(&[("a", 1), ("b/A", 1)]).is_ok());
}

#[test]
fn a_usb_disk_has_a_table_and_files_that_everybody_reads() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("boot.img");
    let base: Vec<u8> =
        (0..220_u32 << 20).map(|n| u8::try_from(n / 4096 % 251).unwrap() ^ n.to_le_bytes()[0]).collect();
    let range = |offset, length| Segment::Base { file: Role::Iso, offset, length };
    let (mut kernel, mut initrd) = (vec![range(0, 100 << 20)], vec![range((110 << 20) + 1, 100 << 20)]);
    kernel.extend(literal(&b"x"[..]));
    initrd.extend(literal(vec![b'k'; 7000]));
    for large in [false, true] {
        let mut files = BTreeMap::from([
            (path("EFI/BOOT/BOOTX64.EFI"), literal(vec![b'E'; 100_000])),
            (path("EFI/BOOT/grub.cfg"), literal(&b"linux /vmlinuz"[..])),
            (path("loader/entries/dayone of a long name.conf"), literal(&b"title x"[..])),
            (path("empty"), literal(&b""[..])),
        ]);
        if large {
            files.insert(path("vmlinuz"), kernel.clone());
            files.insert(path("initrd.img"), initrd.clone());
        }
        let identity = Digest::of(&[u8::from(large)]);
        let disk = UsbDisk { label: "DAYONE".parse().unwrap(), identity, files: &files };
        assert_eq!(disk.layout().unwrap(), disk.layout().unwrap());
        let own = write(&image, &base, disk.layout().unwrap());
        assert!(own < 100_000 + 8000 + 24_000, "{own}");

        let found = run_text(Command::new("sgdisk").arg("-v").arg(&image));
        assert!(found.contains("No problems found"), "{found}");
        let found = run_text(Command::new("fdisk").args(["-l"]).arg(&image));
        assert!(found.contains("EFI System") && found.contains("Disklabel type: gpt"), "{found}");
        run(Command::new("7z").arg("l").arg(&image));

        let bytes = fs::read(&image).unwrap();
        let gpt = Gpt::read(&bytes).unwrap().unwrap();
        let (_, partition) = gpt.partitions().next().unwrap();
        let esp = directory.path().join("esp.img");
        let place =
            usize::try_from(partition.first * 512).unwrap()..usize::try_from((partition.last + 1) * 512).unwrap();
        fs::write(&esp, &bytes[place]).unwrap();
        clean(&esp);
        for (path, content) in &files {
            let copy = directory.path().join("copy");
            let theirs = directory.path().join("theirs");
            write(&copy, &base, content.clone());
            let _ = fs::remove_file(&theirs);
            mtools("mcopy", &esp, &[&format!("::{path}"), theirs.to_str().unwrap()]);
            assert!(fs::read(copy).unwrap() == fs::read(theirs).unwrap(), "{path}");
        }
        let found = run_text(Command::new("blkid").args(["-p", "-o", "export"]).arg(&esp));
        assert!(found.contains("LABEL=DAYONE\n") && found.contains("VERSION=FAT32\n"), "{found}");
        grub_reads(&image, ",gpt1", "loader/entries/dayone of a long name.conf", b"title x");
        grub_reads(&image, ",gpt1", "EFI/BOOT/BOOTX64.EFI", &vec![b'E'; 100_000]);
    }
}

#[test]
fn an_iso_image_gets_a_table_that_names_its_system_partition() {
    let directory = tempfile::tempdir().unwrap();
    let (esp, tree) = (directory.path().join("tree/efi.img"), directory.path().join("tree"));
    fs::create_dir(&tree).unwrap();
    made(&esp, &["-F12"], 1440, &BTreeMap::from([("EFI/BOOT/BOOTX64.EFI".to_owned(), vec![b'E'; 5000])]));
    let iso = directory.path().join("plain.iso");
    run(Command::new("genisoimage").args(["-quiet", "-r", "-e", "efi.img", "-no-emul-boot", "-o"]).args([&iso, &tree]));
    let mut base = fs::read(&iso).unwrap();
    assert!(base[..32768].iter().all(|byte| *byte == 0));
    base.resize(base.len().next_multiple_of(2048), 0);
    let content = fs::read(&esp).unwrap();
    let start = (0..base.len()).step_by(2048).find(|at| base[*at..].starts_with(&content)).unwrap();
    let range = start as u64..(start + content.len()) as u64;

    let Hybrid { patches, appended } = hybrid::gpt(base.len() as u64, &range, &Digest::of(b"")).unwrap();
    let mut segments = overlay::patched(Role::Iso, base.len() as u64, patches).unwrap();
    segments.extend(appended);
    let image = directory.path().join("hybrid.iso");
    assert!(write(&image, &base, segments) < 1000);
    assert_eq!(fs::metadata(&image).unwrap().len() % 2048, 0);
    let found = run_text(Command::new("sgdisk").arg("-v").arg(&image));
    assert!(found.contains("No problems found"), "{found}");
    let found = run_text(Command::new("fdisk").args(["-l", "-o", "Start,End,Type"]).arg(&image));
    let entry = format!("{} {} EFI System", start / 512, (start + content.len()) / 512 - 1);
    assert!(found.split_whitespace().collect::<Vec<_>>().join(" ").ends_with(&entry), "{found}");
    // The ISO file system is what it was.
    run(Command::new("isoinfo").args(["-l", "-i"]).arg(&image));

    let Hybrid { patches, .. } = hybrid::mbr(base.len() as u64, &range).unwrap();
    write(&image, &base, overlay::patched(Role::Iso, base.len() as u64, patches).unwrap());
    let found = run_text(Command::new("fdisk").args(["-l"]).arg(&image));
    assert!(found.contains("Disklabel type: dos") && found.contains(" ef EFI"), "{found}");
}

#[test]
fn the_table_of_a_hybrid_iso_image_grows_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("vmlinuz"), vec![b'k'; 100_000]).unwrap();
    let esp = directory.path().join("efi.img");
    made(&esp, &["-F12"], 1440, &BTreeMap::new());
    let iso = directory.path().join("lorax.iso");
    run(Command::new("xorriso")
        .args(["-as", "mkisofs", "-R", "-partition_offset", "16", "-appended_part_as_gpt"])
        .args(["-append_partition", "2", "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"])
        .arg(&esp)
        .args(["-e", "--interval:appended_partition_2:all::", "-no-emul-boot", "-o"])
        .args([&iso, &tree]));
    let base = fs::read(&iso).unwrap();
    let before = Gpt::read(&base).unwrap().unwrap();
    let size = base.len() as u64;
    let total = (size + (3 << 20) + before.backup_size()).next_multiple_of(2048);
    let grown = before.resized(total).unwrap();
    let mut segments = overlay::patched(Role::Iso, size, grown.patches).unwrap();
    segments.push(Segment::Own(Content::Zeros(total - size - before.backup_size())));
    segments.extend(grown.backup);
    let image = directory.path().join("grown.iso");
    write(&image, &base, segments);
    let bytes = fs::read(&image).unwrap();
    let after = Gpt::read(&bytes).unwrap().unwrap();
    assert!(after.partitions().eq(before.partitions()) && after.partitions().count() >= 1);
    assert_eq!(after.backup_sector(), total / 512 - 1);
    let found = run_text(Command::new("sgdisk").arg("-v").arg(&image));
    let problems_before = run_text(Command::new("sgdisk").arg("-v").arg(&iso));
    assert_eq!(found.contains("No problems found"), problems_before.contains("No problems found"), "{found}");
}
