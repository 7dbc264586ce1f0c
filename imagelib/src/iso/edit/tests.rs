// A slice is not a source of known size, as a trait object needs it.
#![allow(clippy::ptr_arg)]

use proptest::prelude::*;

use super::*;
use crate::disk::gpt::{Gpt, Partition};
use crate::disk::guid::Guid;
use crate::disk::mbr::{EFI_SYSTEM, Mbr, MbrPartition};
use crate::iso::author::{ElTorito, NewFile, NewIso};
use crate::iso::mark::is_marked;
use crate::iso::testing::image;
use crate::iso::{TreeKind, Volume, el_torito};
use crate::overlay::{Content, Overlay, Sizes};

fn open(image: &Vec<u8>) -> Result<Editor, OpenError> {
    Editor::open(image, &Volume::open(image)?)
}

fn own(bytes: &[u8]) -> Vec<Segment> {
    vec![Segment::Own(Content::Bytes(bytes.to_vec().into()))]
}

fn replace(path: &str, content: &[u8]) -> Edit {
    Edit::Replace { path: path.to_owned(), content: own(content) }
}

fn add(path: &str) -> Edit {
    Edit::AddFile { path: path.to_owned(), content: own(b"new"), mode: 0o600 }
}

fn bytes_of(image: &Vec<u8>, plan: &EditPlan) -> Vec<u8> {
    let sizes = [(Role::Iso, image.len() as u64)].into();
    let overlay = Overlay::concatenated(&sizes, plan.segments().unwrap()).unwrap();
    assert_eq!(overlay.size(), plan.size);
    let mut bytes = vec![0; usize::try_from(plan.size).unwrap()];
    assert_eq!(overlay.read_at(&(Role::Iso, image), 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

#[test]
fn what_fits_its_blocks_stays_there_and_what_does_not_moves() {
    let image = image("tree");
    let editor = open(&image).unwrap();
    let rewritten = editor.plan(vec![replace("/boot/VMLINUZ", &[7; 2048])]).unwrap();
    assert_eq!((rewritten.size, rewritten.appended.len()), (image.len() as u64, 0));
    let moved = editor.plan(vec![replace("/boot/vmlinuz", &[7; 2049])]).unwrap();
    assert_eq!(moved.size, (image.len() as u64).next_multiple_of(2048) + 4096);
    for (plan, kind) in [(rewritten, ChangeKind::FileRewritten), (moved, ChangeKind::FileMoved)] {
        assert_eq!((plan.changes[0].subject.as_str(), plan.changes[0].kind), ("/boot/vmlinuz", kind));
        let new = bytes_of(&image, &plan);
        let volume = Volume::open(&new).unwrap();
        for tree in [TreeKind::Primary, TreeKind::Joliet] {
            for path in ["/boot/vmlinuz", "/boot/vmlinuz-6.1.0-amd64"] {
                let file = volume.find_in(&new, tree, path).unwrap().unwrap();
                assert!(file.read(&new, 4096).unwrap().iter().all(|byte| *byte == 7) && file.size() >= 2048, "{path}");
            }
        }
    }
    assert_eq!(
        editor.plan(vec![]).unwrap().segments().unwrap(),
        [Segment::Base { file: Role::Iso, offset: 0, length: image.len() as u64 }]
    );
}

#[test]
fn a_file_is_told_with_all_its_names() {
    let editor = open(&image("tree")).unwrap();
    let file = editor.file("boot/vmlinuz").unwrap();
    assert_eq!((file.path.as_str(), file.extent.length, file.editable), ("/boot/vmlinuz", 7, Ok(())));
    assert_eq!(file.aliases, ["/boot/vmlinuz-6.1.0-amd64"]);
    assert_eq!(editor.file("/boot"), None);
    let editor = open(&image("coreos")).unwrap();
    assert_eq!(editor.file("/isolinux/isolinux.bin").unwrap().editable, Err(NotEditable::BootLoader));
    assert_eq!(editor.file("/isolinux/boot.cat").unwrap().editable, Err(NotEditable::BootCatalog));
}

#[test]
fn edits_that_cannot_be_made_are_refused() {
    let editor = open(&image("tree")).unwrap();
    let deep = "/1/2/3/4/5/6/7";
    let huge = vec![Segment::Own(Content::Zeros(1 << 32))];
    for (edits, expected) in [
        (vec![replace("/nothing", b"")], "no file \"/nothing\""),
        (vec![replace("/boot", b"")], "is not a file"),
        (vec![replace("/boot/vmlinuz", b""), replace("/boot/vmlinuz-6.1.0-amd64", b"")], "is edited twice"),
        (vec![add("/boot/vmlinuz")], "is in the ISO image already"),
        (vec![add("/new"), add("/new")], "is in the ISO image already"),
        (vec![add("/boot/vmlinuz/x")], "is a file"),
        (vec![add("/a/../b")], "\"..\""),
        (vec![add("/a\nb")], "control character"),
        (vec![add("/a:b")], "Joliet does not allow"),
        (vec![add(&format!("/{}", "n".repeat(65)))], "Joliet"),
        (vec![add("/a/b/c/d/e/f/g/h/i/j/k/l")], "more than seven directories"),
        (vec![Edit::Replace { path: "/boot/vmlinuz".into(), content: huge }], "at most 4294965248"),
        (vec![Edit::Patch { path: "/boot/vmlinuz".into(), patches: vec![Patch::zeros(7, 1)] }], "do not fit"),
        ((0..40).map(|index| add(&format!("{deep}/file-{index}"))).collect(), "relocated directory"),
    ] {
        let error = editor.plan(edits).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
    }
}

#[test]
fn bytes_of_a_file_change_where_they_are() {
    let image = image("tree");
    let patches = vec![Patch::bytes(2, &b"X"[..])];
    let plan = open(&image).unwrap().plan(vec![Edit::Patch { path: "/boot/vmlinuz".into(), patches }]).unwrap();
    let new = bytes_of(&image, &plan);
    let differences: Vec<usize> = (0..image.len()).filter(|at| image[*at] != new[*at]).collect();
    assert_eq!(differences.len(), 1);
    assert_eq!(&new[differences[0] - 2..differences[0] + 5], b"keXnel\n");
}

#[test]
fn the_checksum_of_the_medium_goes() {
    let mut image = image("tree");
    image[32768 + 883..32768 + 883 + 14].copy_from_slice(b"ISO MD5SUM = 0");
    let plan = open(&image).unwrap().plan(vec![replace("/boot/vmlinuz", b"x")]).unwrap();
    assert!(bytes_of(&image, &plan)[32768 + 883..32768 + 1395].iter().all(|byte| *byte == b' '));
    assert_eq!(plan.changes.last().unwrap().kind, ChangeKind::MediumChecksumRemoved);
}

/// An image with this text in its descriptor's field for the application's use.
fn tagged(text: &str) -> Vec<u8> {
    let mut image = image("tree");
    let field = &mut image[32768 + 883..32768 + 1395];
    field.fill(b' ');
    field[..text.len()].copy_from_slice(text.as_bytes());
    image
}

/// The tags in that field by the rules of `tagmedia` (`read_tags`), of which Debian has no package.
fn tags(image: &[u8]) -> Vec<String> {
    let field = String::from_utf8(image[32768 + 883..32768 + 1395].to_vec()).unwrap();
    let tags = field.trim_end_matches([' ', '\0']).split(';').map(|tag| tag.trim().to_owned());
    tags.filter(|tag| !tag.is_empty()).collect()
}

#[test]
fn the_checksum_of_suses_media_goes_and_other_tags_stay() {
    let isomd5sum = "ISO MD5SUM = 0;SKIPSECTORS = 15;RHLISOSTATUS=1;FRAGMENT SUMS = 0;FRAGMENT COUNT = 20;\
                     THIS IS NOT THE SAME AS RUNNING MD5SUM ON THIS ISO!!";
    let with_other = format!("{isomd5sum};x=y");
    let none: &[&str] = &[];
    for (text, left) in [
        ("check=1;pad=150;sha256sum=00;partition=64,8,00;signature=64", none),
        ("check=1;pad=150;sha256sum=00;partition=64,8,00;live_password=eA==", &["live_password=eA=="]),
        ("fragment sums=0;fragment count=20;MD5SUM = 00 ; a ;b = c", &["a", "b = c"]),
        ("partition=64,8,00;x=y;", &["x=y"]),
        ("iso sha256sum=00;x=y", &["x=y"]),
        (isomd5sum, none),
        (&with_other, &["x=y"]),
    ] {
        let image = tagged(text);
        let plan = open(&image).unwrap().plan(vec![replace("/boot/vmlinuz", b"x")]).unwrap();
        assert_eq!(tags(&bytes_of(&image, &plan)), left, "{text}");
        assert_eq!(plan.changes.last().unwrap().kind, ChangeKind::MediumChecksumRemoved, "{text}");
    }
    // None of these is a checksum.
    let text = "check=1;pad=150;md5sums;live_password=eA==";
    let image = tagged(text);
    let plan = open(&image).unwrap().plan(vec![replace("/boot/vmlinuz", b"x")]).unwrap();
    assert_eq!(tags(&bytes_of(&image, &plan)).join(";"), text);
    assert!(plan.changes.iter().all(|change| change.kind != ChangeKind::MediumChecksumRemoved), "{:?}", plan.changes);
}

#[test]
fn the_note_is_a_tag_of_its_own() {
    let marked = |image: &Vec<u8>| {
        let plan = open(image).unwrap().plan(vec![replace("/boot/vmlinuz", b"x"), Edit::Mark]).unwrap();
        let is_listed = plan.changes.iter().any(|change| change.kind == ChangeKind::Marked);
        let new = bytes_of(image, &plan);
        assert_eq!(is_marked(&new, &Volume::open(&new).unwrap()).unwrap(), is_listed);
        (is_listed, tags(&new).join("|"))
    };
    let expected = (true, "live_password=eA==|changed by dayone".to_owned());
    assert_eq!(marked(&tagged("live_password=eA==")), expected);
    assert_eq!(marked(&tagged("sha256sum=00;live_password=eA==")), expected);
    assert_eq!(marked(&tagged("sha256sum=00")), (true, "changed by dayone".to_owned()));

    let mut full = image("tree");
    for descriptor in Volume::open(&full).unwrap().descriptors() {
        let start = usize::try_from(descriptor.offset).unwrap();
        full[start + 883..start + 1395].fill(b'x');
    }
    assert_eq!(marked(&full), (false, "x".repeat(512)));
    // The descriptor of Joliet has room.
    assert_eq!(marked(&tagged(&"x".repeat(512))), (false, "x".repeat(512)));
}

fn extent(image: &Vec<u8>, path: &str) -> Extent {
    Volume::open(image).unwrap().find(image, path).unwrap().unwrap().extents[0]
}

fn first_partition(image: &Vec<u8>) -> MbrPartition {
    Mbr::read(image).unwrap().unwrap().partitions().next().unwrap().1
}

/// An ISO with a boot image of 10 sectors, and a file of the same length.
fn with_boot_image() -> Vec<u8> {
    let file = |path: &str| (path.parse().unwrap(), NewFile::literal(0o644, vec![path.as_bytes()[5]; 5000]));
    let iso = NewIso {
        volume_id: "PARTITION".to_owned(),
        files: BTreeMap::from([file("boot/efi.img"), file("boot/other")]),
        boot: Some(ElTorito { bios: None, uefi: Some("boot/efi.img".parse().unwrap()) }),
        ..NewIso::default()
    };
    let iso = Overlay::concatenated(&Sizes::new(), iso.layout().unwrap()).unwrap();
    let mut image = vec![0; usize::try_from(iso.size()).unwrap()];
    iso.read_at(&(Role::Iso, Vec::<u8>::new()), 0, &mut image).unwrap();
    image
}

fn apply(image: &mut [u8], patch: Patch) {
    let Patch { offset, content: Content::Bytes(bytes) } = patch else { panic!("bytes") };
    let at = usize::try_from(offset).unwrap();
    image[at..at + bytes.len()].copy_from_slice(&bytes);
}

/// An ISO with a boot image, and with a partition of so many sectors that begins where the file of this path does.
fn with_partition(path: &str, sectors: u32) -> Vec<u8> {
    let mut image = with_boot_image();
    let first_sector = u32::try_from(extent(&image, path).offset / 512).unwrap();
    let partition = MbrPartition { bootable: false, kind: EFI_SYSTEM, first_sector, sectors };
    apply(&mut image, Mbr::new([Some(partition), None, None, None]).table());
    image
}

#[test]
fn an_entry_of_one_sector_is_not_the_partition_of_the_volume() {
    let active = MbrPartition { bootable: true, kind: 0, first_sector: 0, sectors: 1 };
    for first_sector in [0, 1] {
        let mut image = image("tree");
        let whole = MbrPartition { first_sector, ..MbrPartition::protective(image.len() as u64) };
        apply(&mut image, Mbr::new([Some(whole), Some(active), None, None]).table());
        let plan = open(&image).unwrap().plan(vec![replace("/boot/vmlinuz", &[7; 5000])]).unwrap();
        assert!(plan.size > image.len() as u64);
        assert!(plan.changes.iter().all(|change| change.kind != ChangeKind::PartitionKept), "{:?}", plan.changes);
        let new = Mbr::read(&bytes_of(&image, &plan)).unwrap().unwrap();
        assert_eq!(new.partitions().find(|(index, _)| *index == 1).unwrap().1, active);
    }
}

/// An ISO with a boot image, and with a partition of a GPT that begins where the boot image does, and has this last sector.
fn with_gpt(last: u64) -> Vec<u8> {
    let mut image = with_boot_image();
    let first = extent(&image, "/boot/efi.img").offset / 512;
    let partition = Partition { kind: Guid::EFI_SYSTEM, id: Guid::BASIC_DATA, first, last: first, name: String::new() };
    let mut gpt = Gpt::new(Guid::BASIC_DATA, &[partition]).unwrap();
    gpt.place(0, first, last);
    for patch in gpt.resized(image.len() as u64).unwrap().patches {
        apply(&mut image, patch);
    }
    image
}

#[test]
fn a_partition_goes_along_with_the_boot_image_at_its_beginning_wherever_it_ends() {
    for (path, sectors, moves) in [
        ("/boot/efi.img", 10, true),
        ("/boot/efi.img", 12, true),
        ("/boot/efi.img", 2048, true),
        ("/boot/efi.img", 4, true),
        ("/boot/other", 10, true),
        // It is for more than this file.
        ("/boot/other", 2048, false),
    ] {
        let image = with_partition(path, sectors);
        let plan = open(&image).unwrap().plan(vec![replace(path, &[7; 9000])]).unwrap();
        let new = bytes_of(&image, &plan);
        let (before, after) = (first_partition(&image), first_partition(&new));
        let first_sector = u32::try_from(extent(&new, path).offset / 512).unwrap();
        assert!(first_sector > before.first_sector);
        let expected = if moves { MbrPartition { first_sector, sectors: 18, ..before } } else { before };
        assert_eq!(after, expected, "{path}, {sectors}");
    }
}

#[test]
fn a_partition_goes_along_with_its_boot_image_although_its_end_cannot_be_counted_in_bytes() {
    for last in [u64::MAX, (1 << 55) - 1] {
        let image = with_gpt(last);
        let start = extent(&image, "/boot/efi.img").offset;
        let region = Edit::MoveRegion { name: "partition".to_owned(), start, content: own(&[7; 9000]) };
        for (edit, sectors) in [(replace("/boot/efi.img", &[7; 9000]), 18), (region, 20)] {
            let new = bytes_of(&image, &open(&image).unwrap().plan(vec![edit]).unwrap());
            let (_, partition) = Gpt::read(&new).unwrap().unwrap().partitions().next().unwrap();
            let catalog = el_torito::read(&new, &Volume::open(&new).unwrap()).unwrap().unwrap();
            let boot_image = catalog.entries[0].image.offset;
            assert!(boot_image > start);
            let first = boot_image / 512;
            assert_eq!((partition.first, partition.last), (first, first + sectors - 1), "{last}, {sectors}");
        }
    }
}

proptest! {
    #[test]
    fn damaged_images_are_edited_into_valid_overlays_or_refused(
        name in prop_oneof![Just("tree"), Just("coreos")],
        flips in proptest::collection::vec((0_usize..80 * 2048, any::<u8>()), 0..12),
        cut in proptest::option::of(300_000_usize..800_000),
    ) {
        let mut image = image(name);
        for (at, byte) in flips {
            if let Some(there) = image.get_mut(at) {
                *there = byte;
            }
        }
        if let Some(cut) = cut {
            image.truncate(cut);
        }
        if let Ok(editor) = open(&image) {
            for path in ["/boot/vmlinuz", "/isolinux/isolinux.cfg", "/names/readme", "/1/2/3/4/5/6/7/8/9/10/deep.txt"] {
                for edits in [vec![replace(path, &[1; 5000])], vec![replace(path, b""), add("/boot/x/y"), add("/many/z")]] {
                    if let Ok(plan) = editor.plan(edits) {
                        bytes_of(&image, &plan);
                    }
                }
            }
        }
    }
}
