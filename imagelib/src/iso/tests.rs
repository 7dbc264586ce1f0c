// A slice is not a source of known size, as a trait object needs it.
#![allow(clippy::ptr_arg)]

use proptest::prelude::*;

use super::testing::{change, image, put_both};
use super::*;
use crate::overlay::{Overlay, Segment};
use crate::source::{Role, Source};

fn open(image: &Vec<u8>) -> Volume {
    Volume::open(image).unwrap()
}

fn paths(image: &Vec<u8>, tree: TreeKind) -> Vec<String> {
    let mut paths: Vec<String> = open(image).walk(image, tree).map(|step| step.unwrap().0).collect();
    paths.sort();
    paths
}

fn content(image: &Vec<u8>, path: &str) -> Option<String> {
    let entry = open(image).find(image, path).unwrap()?;
    Some(String::from_utf8(entry.read(image, 1024).unwrap()).unwrap())
}

#[test]
fn the_descriptors_say_what_the_volume_is() {
    let image = image("coreos");
    let volume = open(&image);
    assert_eq!(volume.id(), "fedora-coreos-40.20240101.3.0");
    assert!(volume.space_size() <= image.len() as u64 && volume.space_size() > 300_000);
    assert!(volume.has_rock_ridge() && volume.has_joliet() && !volume.is_udf_bridge());
    let catalog = volume.find(&image, "/isolinux/boot.cat").unwrap().unwrap();
    assert_eq!(volume.boot_catalog(), Some(catalog.extents[0].offset));
    let kinds: Vec<_> = volume.descriptors().iter().map(|descriptor| (descriptor.offset, descriptor.kind)).collect();
    assert_eq!(
        kinds,
        [(32768, DescriptorKind::Primary), (34816, DescriptorKind::ElTorito), (36864, DescriptorKind::Joliet)]
    );
}

#[test]
fn a_tree_is_walked_with_all_its_names() {
    let image = image("tree");
    let long = format!("/names/{}.conf", "n".repeat(200));
    let mut expected: Vec<String> = (1..=100).map(|number| format!("/many/file-number-{number}.txt")).collect();
    let mut deep = String::new();
    for level in 1..=10 {
        deep = format!("{deep}/{level}");
        expected.push(deep.clone());
    }
    expected.push(format!("{deep}/deep.txt"));
    expected.extend(["/boot", "/many", "/names", "/rr_moved", &long].map(str::to_owned));
    expected.extend(
        ["configurable.txt", "configuration.txt", "vmlinuz", "vmlinuz-6.1.0-amd64"].map(|name| format!("/boot/{name}")),
    );
    expected
        .extend(["README", "empty", "link", "readme", "Ünïcode", "Ünïcode/däta"].map(|name| format!("/names/{name}")));
    expected.sort();
    assert_eq!(paths(&image, TreeKind::Primary), expected);

    // Joliet has 103 characters for a name.
    let joliet = paths(&image, TreeKind::Joliet);
    assert!(joliet.contains(&"/names/Ünïcode/däta".to_owned()) && joliet.contains(&format!("{deep}/deep.txt")));
    assert!(!joliet.contains(&long));
}

#[test]
fn files_are_found_by_any_of_their_names() {
    let image = image("tree");
    for (path, expected) in [
        ("/boot/configuration.txt", "one\n"),
        ("boot//./configurable.txt", "two\n"),
        ("/BOOT/CONFI000.TXT", "two\n"),
        ("/Boot/Configuration.TXT", "one\n"),
        ("/names/readme", "lower\n"),
        ("/names/README", "upper\n"),
        ("/names/Ünïcode/däta", "umlaut\n"),
        ("/names/empty", ""),
        ("/1/2/3/4/5/6/7/8/9/10/deep.txt", "deep\n"),
        ("/many/file-number-100.txt", "100\n"),
    ] {
        assert_eq!(content(&image, path).as_deref(), Some(expected), "{path}");
    }
    for absent in ["/nothing", "/boot/configuration.txt/x", "/boot/../names/readme", "/names/link/x"] {
        assert_eq!(open(&image).find(&image, absent).unwrap(), None, "{absent}");
    }
    let volume = open(&image);
    assert_eq!(volume.find(&image, "/names/link").unwrap().unwrap().kind, EntryKind::Symlink);
    assert!(matches!(volume.find(&image, "/boot").unwrap().unwrap().read(&image, 9), Err(IsoError::Kind { .. })));
    let limit = volume.find(&image, "/names/readme").unwrap().unwrap().read(&image, 5);
    assert!(matches!(limit, Err(IsoError::FileTooLarge { size: 6, limit: 5, .. })));
}

/// libarchive (`bsdtar --format iso9660`) gives empty files the block 0xfffffff0.
#[test]
fn an_empty_file_whose_place_is_outside_can_be_read_and_written() {
    let mut image = image("tree");
    for tree in [TreeKind::Primary, TreeKind::Joliet] {
        let entry = open(&image).find_in(&image, tree, "/names/empty").unwrap().unwrap();
        put_both(&mut image, usize::try_from(entry.records[0]).unwrap() + 2, 0xffff_fff0);
    }
    assert_eq!(content(&image, "/names/empty").as_deref(), Some(""));

    let editor = edit::Editor::open(&image, &open(&image)).unwrap();
    let old = editor.file("/names/empty").unwrap().extent;
    let content_of = vec![Segment::base(Role::Iso, old.range()), Segment::bytes("no longer empty\n")];
    let plan = editor.plan(vec![edit::Edit::Replace { path: "/names/empty".to_owned(), content: content_of }]).unwrap();
    let sizes = [(Role::Iso, image.len() as u64)].into();
    let overlay = Overlay::concatenated(&sizes, plan.segments().unwrap()).unwrap();
    let mut edited = vec![0; usize::try_from(overlay.size()).unwrap()];
    overlay.read_at(&(Role::Iso, image.as_slice()), 0, &mut edited).unwrap();
    for tree in [TreeKind::Primary, TreeKind::Joliet] {
        let entry = open(&edited).find_in(&edited, tree, "/names/empty").unwrap().unwrap();
        assert_eq!(entry.read(&edited, 1024).unwrap(), b"no longer empty\n");
    }
}

#[test]
fn records_are_where_an_edit_has_to_go() {
    let image = image("tree");
    let volume = open(&image);
    for tree in [TreeKind::Primary, TreeKind::Joliet] {
        let entry = volume.find_in(&image, tree, "/boot/vmlinuz").unwrap().unwrap();
        let record = usize::try_from(entry.records[0]).unwrap();
        let block = u32::from_le_bytes(image[record + 2..record + 6].try_into().unwrap());
        assert_eq!(u64::from(block) * BLOCK, entry.extents[0].offset);
        assert_eq!(u32::from_be_bytes(image[record + 14..record + 18].try_into().unwrap()), 7);
        // The other name of the same file has a record of its own.
        let other = volume.find_in(&image, tree, "/boot/vmlinuz-6.1.0-amd64").unwrap().unwrap();
        assert_eq!(other.extents, entry.extents);
        assert_ne!(other.records, entry.records);
    }
}

#[test]
fn an_image_without_rock_ridge_and_joliet_has_its_level_1_names() {
    let mut image = image("tree");
    change(&mut image, b"SP\x07\x01\xbe\xef", b"XX\x07\x01\xbe\xef");
    // The second descriptor is Joliet's; it ends the list instead.
    image[34816] = 255;
    let volume = open(&image);
    assert!(!volume.has_rock_ridge() && !volume.has_joliet());
    assert_eq!(content(&image, "/boot/configur.txt").as_deref(), Some("one\n"));
    assert_eq!(content(&image, "/names/empty").as_deref(), Some(""));
    assert_eq!(content(&image, "/boot/configuration.txt"), None);
    assert_eq!(volume.root(TreeKind::Joliet), None);
    assert_eq!(volume.walk(&image, TreeKind::Joliet).count(), 0);
}

/// Makes the first two files of `/many` the two extents of one file, whose path is returned.
fn two_extents(image: &mut Vec<u8>) -> String {
    let volume = open(image);
    let many = volume.find(image, "/many").unwrap().unwrap();
    let entries = volume.list(image, TreeKind::Primary, &many).unwrap();
    let [first, second] = [0, 1].map(|index| usize::try_from(entries[index].records[0]).unwrap());
    image[first + 25] |= 0x80;
    let name = image[first + 33..first + 33 + usize::from(image[first + 32])].to_vec();
    image[second + 33..second + 33 + name.len()].copy_from_slice(&name);
    format!("/many/{}", entries[0].name)
}

#[test]
fn the_extents_of_one_file_are_one_entry() {
    let mut image = image("tree");
    let names = paths(&image, TreeKind::Primary);
    let path = two_extents(&mut image);
    let volume = open(&image);
    let entry = volume.find(&image, &path).unwrap().unwrap();
    assert_eq!((entry.extents.len(), entry.records.len()), (2, 2));
    let content = entry.read(&image, 100).unwrap();
    assert_eq!(content.len() as u64, entry.size());
    assert_eq!(content.split_inclusive(|&byte| byte == b'\n').count(), 2);
    assert_eq!(paths(&image, TreeKind::Primary).len(), names.len() - 1);

    // The second extent of another file.
    let mut other = image.clone();
    other[usize::try_from(entry.records[1]).unwrap() + 33] = b'G';
    let error = open(&other).find(&other, &path).unwrap_err().to_string();
    assert!(error.contains("does not continue the file before it"), "{error}");
    // A file that goes on in nothing.
    let all = open(&image);
    let many = all.find(&image, "/many").unwrap().unwrap();
    let last = all.list(&image, TreeKind::Primary, &many).unwrap().pop().unwrap();
    image[usize::try_from(last.records[0]).unwrap() + 25] = 0x80;
    let error = open(&image).find(&image, &path).unwrap_err().to_string();
    assert!(error.contains("announces another extent"), "{error}");
}

/// An image of which only the beginning is at hand; the rest are zeros.
struct Beginning(Vec<u8>, u64);

impl Source for Beginning {
    fn size(&self) -> u64 {
        self.1
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        buffer.fill(0);
        let count = self.0.read_at(offset, buffer)?;
        Ok(if count == 0 { buffer.len() } else { count })
    }
}

#[test]
fn a_file_of_more_than_4_gib_is_one_entry() {
    let image = Beginning(image("split-file"), 4_614_113_280);
    let volume = Volume::open(&image).unwrap();
    for tree in [TreeKind::Primary, TreeKind::Joliet] {
        let entry = volume.find_in(&image, tree, "/dir/big.bin").unwrap().unwrap();
        assert_eq!(entry.size(), 4_613_734_403);
        let [first, second] = entry.extents[..] else { panic!("{:?}", entry.extents) };
        assert_eq!((first.offset, first.length), (33 * BLOCK, 0xffff_f800));
        assert_eq!(second.offset, first.offset + first.length);
        assert_eq!(entry.records.len(), 2);
        assert!(volume.find_in(&image, tree, "/z.txt").unwrap().is_some());
    }
}

type Damage = fn(&mut Vec<u8>, usize);

#[test]
fn damaged_images_say_what_is_wrong() {
    let good = image("tree");
    let root = 32768 + 156;
    let root_block = usize::try_from(open(&good).root(TreeKind::Primary).unwrap().extents[0].offset).unwrap();
    let cases: [(&str, Damage); 9] = [
        ("not an ISO 9660 image: there is no volume descriptor at offset 32768", |image, _| image[32769] = b'X'),
        ("not an ISO 9660 image: there is no volume descriptor at offset 32768", |image, _| image.truncate(34815)),
        ("is incomplete: its volume takes", |image, _| image.truncate(image.len() - 200 * 2048)),
        ("volume descriptors have no primary one", |image, _| image[32768] = 255),
        ("volume descriptors have no terminator", |image, _| image[34817] = b'X'),
        ("blocks of 512 bytes", |image, _| image[32768 + 128..32768 + 130].copy_from_slice(&512_u16.to_le_bytes())),
        ("location of a file at offset 32926 is not the same in both", |image, root| image[root + 6] ^= 1),
        ("points to 2048 bytes at offset 8796093020160, outside", |image, root| put_both(image, root + 2, u32::MAX)),
        ("take more than 8388608 bytes", |image, root| {
            put_both(image, root + 10, 9 << 20);
            image.extend(vec![0; 20 << 20]);
        }),
    ];
    for (expected, damage) in cases {
        let mut image = good.clone();
        damage(&mut image, root);
        let walked = |volume: Volume| volume.walk(&image, TreeKind::Primary).find_map(Result::err).map_or(Ok(()), Err);
        let error = Volume::open(&image).and_then(walked).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
    }
    // The record after those of the root itself and its parent.
    let record =
        root_block + usize::from(good[root_block]) + usize::from(good[root_block + usize::from(good[root_block])]);
    for (at, byte, expected) in [
        (0, 20, "is too short"),
        (26, 1, "interleaved"),
        (32, 0, "has no name"),
        (32, 255, "is shorter than its name"),
        (25, 0x82, "does not continue"),
    ] {
        let mut image = good.clone();
        image[record + at] = byte;
        let error = open(&image).walk(&image, TreeKind::Primary).find_map(Result::err).unwrap().to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
    }
}

#[test]
fn directories_that_hold_themselves_are_an_error() {
    let mut image = image("tree");
    let volume = open(&image);
    let root = volume.root(TreeKind::Primary).unwrap().extents[0];
    let boot = volume.find(&image, "/boot").unwrap().unwrap();
    put_both(&mut image, usize::try_from(boot.records[0]).unwrap() + 2, u32::try_from(root.offset / BLOCK).unwrap());
    let steps: Vec<_> = open(&image).walk(&image, TreeKind::Primary).collect();
    assert!(matches!(steps.last(), Some(Err(IsoError::Nesting { .. }))));
    assert!(steps.len() < 200);
    // Looking something up goes as deep as the path.
    assert!(open(&image).find(&image, "/boot/boot/boot/names/readme").unwrap().is_some());
}

#[test]
fn names_that_continue_in_themselves_are_an_error() {
    let mut image = image("tree");
    // The first entry in the continuation area becomes one that points to that area.
    let path = format!("/names/{}.conf", "n".repeat(200));
    let entry = open(&image).find(&image, &path).unwrap().unwrap();
    let record = usize::try_from(entry.records[0]).unwrap();
    let ce = (record..image.len()).find(|&at| &image[at..at + 4] == b"CE\x1c\x01").unwrap();
    let read = |at: usize| u32::from_le_bytes(image[at..at + 4].try_into().unwrap());
    let area = usize::try_from(read(ce + 4) * 2048 + read(ce + 12)).unwrap();
    let entry = image[ce..ce + 28].to_vec();
    image[area..area + 28].copy_from_slice(&entry);
    let error = open(&image).walk(&image, TreeKind::Primary).find_map(Result::err).unwrap();
    assert!(error.to_string().contains("continue without end"), "{error}");
}

#[test]
fn a_volume_can_begin_anywhere() {
    let image = image("tree");
    let shifted = [vec![0xaa; 16 * 2048], image.clone()].concat();
    let volume = Volume::open_at(&shifted, 16 * BLOCK).unwrap();
    let entry = volume.find(&shifted, "/names/Ünïcode/däta").unwrap().unwrap();
    assert_eq!(entry.read(&shifted, 100).unwrap(), b"umlaut\n");
    assert_eq!(
        entry.extents[0].offset,
        open(&image).find(&image, "/names/Ünïcode/däta").unwrap().unwrap().extents[0].offset + 32768
    );
    assert_eq!(volume.descriptors()[0].offset, 65536);
}

/// Everything there is to ask of an image; what matters is that it ends.
fn exercise(image: &Vec<u8>) {
    let Ok(volume) = Volume::open(image) else { return };
    let _ = el_torito::read(image, &volume);
    for tree in [TreeKind::Primary, TreeKind::Joliet] {
        for step in volume.walk(image, tree) {
            let Ok((_, entry)) = step else { break };
            let _ = entry.read(image, 4096);
        }
    }
    let _ = volume.find(image, "/1/2/3/4/5/6/7/8/9/10/deep.txt");
    let _ = coreos::CoreosIso::probe(image, &volume);
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_or_refused(tail in proptest::collection::vec(any::<u8>(), 0..4096), kind in 0_u8..3) {
        let mut image = vec![0; 16 * 2048];
        image.extend([kind]);
        image.extend(b"CD001\x01");
        image.extend(tail);
        image.resize(40 * 2048, 0);
        exercise(&image);
    }

    #[test]
    fn damaged_images_are_read_or_refused(
        name in prop_oneof![Just("tree"), Just("coreos"), Just("coreos-s390x"), Just("coreos-headers")],
        flips in proptest::collection::vec((0_usize..80 * 2048, any::<u8>()), 1..64),
        cut in proptest::option::of(0_usize..800_000),
    ) {
        let mut image = image(name);
        for (at, byte) in flips {
            // The system area says nothing to this reader but in its last 96 bytes.
            let at = at.max(32768 - 96);
            if let Some(there) = image.get_mut(at) {
                *there = byte;
            }
        }
        if let Some(cut) = cut {
            image.truncate(cut);
        }
        exercise(&image);
    }
}
