// A slice is not a source of known size, as a trait object needs it.
#![allow(clippy::ptr_arg)]

use proptest::prelude::*;

use super::*;
use crate::iso::el_torito::{self, Platform};
use crate::iso::{TreeKind, Volume};
use crate::overlay::Content;

/// The bytes of an image that has no ranges of a base.
fn bytes(iso: &NewIso) -> Vec<u8> {
    let mut image = Vec::new();
    for segment in iso.layout().unwrap() {
        match segment {
            Segment::Own(Content::Bytes(bytes)) => image.extend(bytes),
            Segment::Own(Content::Zeros(length)) => image.extend(vec![0; usize::try_from(length).unwrap()]),
            Segment::Own(Content::Counter(_)) | Segment::Base { .. } => panic!("neither bytes nor zeros"),
        }
    }
    image
}

fn iso<'a>(files: impl IntoIterator<Item = (&'a str, Vec<u8>)>) -> NewIso {
    let files = files.into_iter().map(|(path, bytes)| (path.parse().unwrap(), NewFile::literal(0o600, bytes)));
    NewIso { volume_id: "cidata".to_owned(), files: files.collect(), ..NewIso::default() }
}

fn paths(image: &Vec<u8>, tree: TreeKind) -> Vec<String> {
    let volume = Volume::open(image).unwrap();
    let mut paths: Vec<String> = volume.walk(image, tree).map(|step| step.unwrap().0).collect();
    paths.sort();
    paths
}

/// A loader as far as this module sees one.
fn loader() -> Vec<u8> {
    (0..5_001_u32).map(|index| index.to_le_bytes()[0] ^ 0x5a).collect()
}

fn bootable() -> NewIso {
    let mut iso = iso([("isolinux/isolinux.bin", loader()), ("boot/efi.img", vec![7; 5000]), ("vmlinuz", vec![1])]);
    let path = |path: &str| Some(path.parse().unwrap());
    iso.boot = Some(ElTorito { bios: path("isolinux/isolinux.bin"), uefi: path("boot/efi.img") });
    iso
}

#[test]
fn both_trees_have_the_files() {
    let image = bytes(&iso([("a/b.txt", b"one".to_vec()), ("a/Größe.txt", b"two".to_vec()), ("empty", vec![])]));
    let volume = Volume::open(&image).unwrap();
    assert!(volume.has_rock_ridge() && volume.has_joliet());
    assert_eq!((volume.id(), volume.space_size()), ("cidata", image.len() as u64));
    for tree in [TreeKind::Primary, TreeKind::Joliet] {
        assert_eq!(paths(&image, tree), ["/a", "/a/Größe.txt", "/a/b.txt", "/empty"]);
        for (path, content) in [("/a/b.txt", "one"), ("/a/Größe.txt", "two"), ("/empty", "")] {
            let file = volume.find_in(&image, tree, path).unwrap().unwrap();
            assert_eq!(file.read(&image, 100).unwrap(), content.as_bytes(), "{path}");
        }
    }
}

#[test]
fn names_without_rock_ridge_are_short_and_unique() {
    let names =
        ["kargs.json", "igninfo.json", "ignition.img", "ignition.image", "IGNITION.IMG", "vmlinuz", "x.y.z", ".a"];
    let image = bytes(&iso(names.map(|name| (name, vec![]))));
    let volume = Volume::open(&image).unwrap();
    let root = volume.root(TreeKind::Primary).unwrap().clone();
    let entries = volume.list(&image, TreeKind::Primary, &root).unwrap();
    let found: Vec<_> = entries.iter().map(|entry| (entry.tree_name.as_str(), entry.name.as_str())).collect();
    assert_eq!(
        found,
        [
            ("IGNINFO.JSO", "igninfo.json"),
            ("IGNITIO1.IMG", "ignition.img"),
            ("IGNITION.IMA", "ignition.image"),
            ("IGNITION.IMG", "IGNITION.IMG"),
            ("KARGS.JSO", "kargs.json"),
            ("VMLINUZ", "vmlinuz"),
            ("X_Y.Z", "x.y.z"),
            ("_A", ".a"),
        ]
    );
}

#[test]
fn firmware_finds_what_it_starts() {
    let image = bytes(&bootable());
    let catalog = el_torito::read(&image, &Volume::open(&image).unwrap()).unwrap().unwrap();
    let found: Vec<_> =
        catalog.entries.iter().map(|entry| (entry.platform, entry.path.as_deref(), entry.load_size)).collect();
    let expected =
        [(Platform::Bios, Some("/isolinux/isolinux.bin"), 2048), (Platform::Uefi, Some("/boot/efi.img"), 5120)];
    assert_eq!(found, expected);

    let mut iso = bootable();
    iso.boot.as_mut().unwrap().bios = None;
    let image = bytes(&iso);
    let catalog = el_torito::read(&image, &Volume::open(&image).unwrap()).unwrap().unwrap();
    assert_eq!(catalog.entries.iter().map(|entry| entry.platform).collect::<Vec<_>>(), [Platform::Uefi]);
}

#[test]
fn the_loader_is_told_where_it_stands() {
    let image = bytes(&bootable());
    let file = Volume::open(&image).unwrap().find(&image, "/isolinux/isolinux.bin").unwrap().unwrap();
    let placed = file.read(&image, 10_000).unwrap();
    let word = |at: usize| u32::from_le_bytes(placed[at..at + 4].try_into().unwrap());
    assert_eq!([word(8), word(12), word(16)], [16, u32::try_from(file.extents[0].offset / 2048).unwrap(), 5001]);
    let mut padded = loader()[64..].to_vec();
    padded.resize(padded.len().next_multiple_of(4), 0);
    let sum = padded.chunks(4).fold(0_u32, |sum, word| sum.wrapping_add(u32::from_le_bytes(word.try_into().unwrap())));
    assert_eq!(word(20), sum);
    assert!(placed[24..64].iter().all(|byte| *byte == 0));
    assert_eq!((&placed[..8], &placed[64..]), (&loader()[..8], &loader()[64..]));
}

#[test]
fn a_disk_has_the_partitions_of_both_firmwares() {
    let mut iso = bootable();
    iso.hybrid = Some(Hybrid { boot_code: Some(vec![0x90; 432].into()) });
    let image = bytes(&iso);
    assert_eq!(image.len() % (1 << 20), 0);
    let number = |at: usize| u64::from(u32::from_le_bytes(image[at..at + 4].try_into().unwrap()));
    let volume = Volume::open(&image).unwrap();
    let sector = |path| volume.find(&image, path).unwrap().unwrap().extents[0].offset / 512;
    assert_eq!(number(432), sector("/isolinux/isolinux.bin"));
    let (whole, esp) = (446, 462);
    assert_eq!((image[whole], image[whole + 4], image[esp], image[esp + 4]), (0x80, 0, 0, 0xef));
    assert_eq!((number(whole + 8), number(whole + 12)), (0, image.len() as u64 / 512));
    assert_eq!((number(esp + 8), number(esp + 12)), (sector("/boot/efi.img"), 10));
    assert_eq!(image[510..512], [0x55, 0xaa]);
}

#[test]
fn what_does_not_fit_is_refused() {
    for path in ["/a", "a//b", "a/..", "a:b", "a\nb", "1/2/3/4/5/6/7/8/9", &"x".repeat(104), &"ß".repeat(65)] {
        assert!(matches!(path.parse::<IsoPath>(), Err(AuthorError::Path { .. })), "{path}");
    }
    let message = |iso: &NewIso| iso.layout().unwrap_err().to_string();
    assert!(message(&iso([("a", vec![]), ("a/b", vec![])])).contains("both a file and a directory"));
    let mut large = iso([]);
    let content = vec![Segment::Own(Content::Zeros(1 << 32))];
    large.files.insert("large".parse().unwrap(), NewFile { content, mode: 0o644 });
    assert!(message(&large).contains("4 GiB"));
    for label in ["", "ü", &"x".repeat(33)] {
        assert!(message(&NewIso { volume_id: label.to_owned(), ..iso([]) }).contains("volume identifier"), "{label}");
    }
    let mut boot = bootable();
    boot.hybrid = Some(Hybrid { boot_code: Some(vec![0; 512].into()) });
    assert!(message(&boot).contains("512 bytes"));
    boot.boot = Some(ElTorito::default());
    assert!(message(&boot).contains("nothing to boot"));
    boot.boot = Some(ElTorito { bios: None, uefi: Some("missing".parse().unwrap()) });
    assert!(message(&boot).contains("no file \"missing\""));
    boot.hybrid = None;
    boot.boot = Some(ElTorito { bios: Some("vmlinuz".parse().unwrap()), uefi: None });
    assert!(message(&boot).contains("shorter than a block"));
}

#[test]
fn a_large_image_is_planned_with_few_bytes_in_memory() {
    let mut iso = bootable();
    for (path, size) in [("initrd", u64::from(u32::MAX)), ("rootfs", 3 << 30)] {
        let content = vec![Segment::Own(Content::Zeros(size))];
        iso.files.insert(path.parse().unwrap(), NewFile { content, mode: 0o644 });
    }
    let segments = iso.layout().unwrap();
    let own = |segment: &Segment| match segment {
        Segment::Own(Content::Bytes(bytes)) => bytes.len(),
        _ => 0,
    };
    assert!(segments.iter().map(own).sum::<usize>() < 64 << 10);
    let size: u64 = segments.iter().map(Segment::length).sum();
    assert_eq!(size % BLOCK, 0);
    assert!(size > 7 << 30);
}

/// Files with names that collide, fill blocks and nest.
fn files() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let name = "[a-cA-C]{1,3}|[a-zäß ._-]{1,40}[a-z]|file-with-a-long-name-[0-9]{1,3}\\.conf";
    let path = prop::collection::vec(name, 1..8).prop_map(|names| names.join("/"));
    // Of a length that no block is a multiple of, so that no two blocks are alike. Byte by byte, proptest takes longer than the rest.
    let content = (any::<[u8; 17]>(), 0_usize..5000).prop_map(|(piece, length)| {
        let mut content = piece.repeat(length / piece.len() + 1);
        content.truncate(length);
        content
    });
    prop::collection::btree_map(path, content, 0..60).prop_map(|mut files| {
        let all: Vec<String> = files.keys().cloned().collect();
        files.retain(|path, _| !all.iter().any(|other| other.starts_with(&format!("{path}/"))));
        files
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn whatever_is_written_is_read_again(files in files()) {
        let new = iso(files.iter().map(|(path, content)| (path.as_str(), content.clone())));
        let image = bytes(&new);
        prop_assert_eq!(image.len() % 2048, 0);
        let volume = Volume::open(&image).unwrap();
        for tree in [TreeKind::Primary, TreeKind::Joliet] {
            let mut found = BTreeMap::new();
            for step in volume.walk(&image, tree) {
                let (path, entry) = step.unwrap();
                if !entry.is_directory() {
                    found.insert(path[1..].to_owned(), entry.read(&image, 10_000).unwrap());
                }
            }
            prop_assert_eq!(&found, &files);
        }
    }
}
