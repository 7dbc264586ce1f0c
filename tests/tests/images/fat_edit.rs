//! FAT file systems that others have made, edited in place, and the tools that everybody reads them with.

use std::collections::BTreeMap;
use std::fs;

use acceptance::fat::{clean, content_of, grub_reads, made, mtools, path};
use bytes::Bytes;
use imagelib::disk::fat::{FatEdit, FatError, FatImage};
use imagelib::overlay::{Overlay, Patch};
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
            (path("EFI/BOOT"), FatEdit::Directory),
            (path("EFI/BOOT/BOOTX64.EFI.extra.d"), FatEdit::Directory),
            (path("EFI/BOOT/BOOTX64.EFI.extra.d/host.addon.efi"), FatEdit::Write(vec![b'a'; 5000].into())),
            (path("new top"), FatEdit::Directory),
            (path("new top/x"), FatEdit::Write(Bytes::from_static(b"x"))),
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
        assert!(content_of(&image, "EFI/BOOT/BOOTX64.EFI.extra.d/host.addon.efi") == vec![b'a'; 5000]);
        assert_eq!(content_of(&image, "new top/x"), b"x");
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
    assert!(matches!(edit("a.cfg", FatEdit::Directory), Err(FatError::Twice(_))));
    assert!(matches!(edit("none/x", FatEdit::Directory), Err(FatError::NotFound { kind: "directory", .. })));
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
