//! Disks that are laid out by us against the tools that everybody reads them with: sgdisk, fdisk, fsck.fat, mtools, GRUB.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use acceptance::fat::{clean, content_of, grub_reads, made, mtools, path, write, write_with_holes};
use acceptance::peers::{run, run_text};
use bytes::Bytes;
use imagelib::digest::Digest;
use imagelib::disk::fat::{FatError, FatImage, NewFat};
use imagelib::disk::gpt::Gpt;
use imagelib::disk::hybrid::{self, Hybrid};
use imagelib::disk::usb::UsbDisk;
use imagelib::overlay::{self, Content, Segment};
use imagelib::source::Role;

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

/// Files up to nearly the largest that FAT can hold, none of which is read.
#[test]
fn a_disk_of_many_gibibytes_is_a_few_kibibytes_of_tables() {
    let directory = tempfile::tempdir().unwrap();
    // fsck.fat counts the bytes of a chain in 32 bits, so that the very largest has none for it.
    let largest = u64::from(u32::MAX) - (64 << 10);
    let file = |length| vec![Segment::Base { file: Role::Iso, offset: 0, length }];
    for sizes in [vec![200 << 20], vec![1_500_000_000, 1], vec![largest, largest - 1, largest, 40_000, largest]] {
        let files: BTreeMap<_, _> =
            (0..).zip(&sizes).map(|(number, size)| (path(&format!("large/{number}.img")), file(*size))).collect();
        let disk = UsbDisk { label: "LARGE".parse().unwrap(), identity: Digest::of(b""), files: &files };
        let segments = disk.layout().unwrap();
        let own = |segment: &Segment| match segment {
            Segment::Own(Content::Bytes(bytes)) => bytes.len(),
            Segment::Own(_) | Segment::Base { .. } => 0,
        };
        assert!(segments.iter().map(own).sum::<usize>() < 8 << 10);
        let image = directory.path().join("large.img");
        write_with_holes(&image, &segments);
        let found = run_text(Command::new("sgdisk").arg("-v").arg(&image));
        assert!(found.contains("No problems found"), "{found}");
        // Without the sectors before the partition.
        let first = segments.iter().scan(0, |end, segment| {
            *end += segment.length();
            Some(*end)
        });
        let skip = first.take_while(|end| *end <= 1 << 20).count();
        let esp = directory.path().join("esp.img");
        write_with_holes(&esp, &segments[skip..]);
        clean(&esp);
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
