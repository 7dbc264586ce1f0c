use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use proptest::prelude::*;

use super::geometry::{Geometry, Root, Width};
use super::*;
use crate::overlay::{Content, Overlay, Segment, Sizes};
use crate::source::Role;

fn path(text: &str) -> FatPath {
    text.parse().unwrap()
}

fn image(segments: Vec<Segment>) -> Vec<u8> {
    let overlay = Overlay::concatenated(&Sizes::new(), segments).unwrap();
    let mut image = vec![0; usize::try_from(overlay.size()).unwrap()];
    overlay.read_at(&(Role::Esp, Bytes::new()), 0, &mut image).unwrap();
    image
}

fn contents() -> BTreeMap<FatPath, Vec<u8>> {
    let mut contents = BTreeMap::from([
        (path("EFI/BOOT/BOOTX64.EFI"), vec![b'E'; 70_000]),
        (path("EFI/BOOT/grub.cfg"), b"linux /vmlinuz".to_vec()),
        (path("loader/entries/ein längerer Name.conf"), vec![b'#'; 5000]),
        (path("leer.cfg"), Vec::new()),
    ]);
    for number in 0..80 {
        contents.insert(path(&format!("many/file {number}.txt")), vec![b't'; number]);
    }
    contents
}

/// FAT12, FAT16 and FAT32 with the same files.
static IMAGES: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    let with = |padding: usize| {
        let mut files: BTreeMap<FatPath, Vec<Segment>> = BTreeMap::new();
        for (path, content) in contents() {
            files.insert(path, vec![Segment::Own(Content::Bytes(content.into()))]);
        }
        files.insert(path("padding"), vec![Segment::Own(Content::Zeros(padding as u64))]);
        files
    };
    let new = |files| NewFat { label: "TEST".parse().unwrap(), id: 7, files };
    let (small, large) = (with(1), with(9 << 20));
    [
        image(new(&small).data_drive().unwrap()),
        image(new(&large).data_drive().unwrap()),
        image(new(&small).partition(0).unwrap().into_segments()),
    ]
});

fn open(image: &[u8]) -> Result<FatImage, FatError> {
    FatImage::open(&image, 0..image.len() as u64)
}

fn applied(image: &[u8], image_edits: &FatImage, edits: &[(FatPath, FatEdit)]) -> Vec<u8> {
    applied_to(image.to_vec(), image_edits, edits)
}

fn applied_to(mut image: Vec<u8>, image_edits: &FatImage, edits: &[(FatPath, FatEdit)]) -> Vec<u8> {
    for patch in image_edits.edit(edits).unwrap() {
        let Content::Bytes(bytes) = &patch.content else { panic!("bytes") };
        let start = usize::try_from(patch.offset).unwrap();
        image[start..start + bytes.len()].copy_from_slice(bytes);
    }
    image
}

#[test]
fn what_is_laid_out_is_read_and_edited() {
    for (image, width) in IMAGES.iter().zip(["FAT12", "FAT16", "FAT32"]) {
        assert!(image.windows(5).take(100).any(|bytes| bytes == width.as_bytes()), "{width}");
        let read = open(image).unwrap();
        let found: BTreeMap<&str, usize> =
            read.files().iter().map(|file| (file.path.as_str(), file.size as usize)).collect();
        for (path, content) in contents() {
            assert_eq!(found.get(path.as_str()), Some(&content.len()), "{path}");
        }
        assert_eq!(read.read("loader/entries/ein längerer Name.conf").unwrap(), vec![b'#'; 5000]);
        assert_eq!(read.read("leer.cfg").unwrap(), b"");
        let edits = [
            (path("leer.cfg"), FatEdit::Append(Bytes::from_static(b"not any more"))),
            (path("EFI/BOOT/grub.cfg"), FatEdit::Write(Bytes::new())),
            (path("loader/new.conf"), FatEdit::Write(vec![b'n'; 9000].into())),
        ];
        let edited = applied(image, &read, &edits);
        let again = open(&edited).unwrap();
        assert_eq!(again.read("leer.cfg").unwrap(), b"not any more");
        assert_eq!(again.read("EFI/BOOT/grub.cfg").unwrap(), b"");
        assert_eq!(again.read("loader/new.conf").unwrap(), vec![b'n'; 9000]);
        assert!(again.free() < read.free());
    }
}

/// The file system with room for these edits, and with them.
fn grown(image: &[u8], edits: &[(FatPath, FatEdit)]) -> Vec<u8> {
    let GrownFat { image: read, segments } = open(image).unwrap().grown(Role::Esp, edits).unwrap();
    let overlay = Overlay::concatenated(&Sizes::from([(Role::Esp, image.len() as u64)]), segments).unwrap();
    let mut unedited = vec![0; usize::try_from(overlay.size()).unwrap()];
    overlay.read_at(&(Role::Esp, image), 0, &mut unedited).unwrap();
    assert_eq!(open(&unedited).unwrap().free(), read.free(), "without the edits");
    applied_to(unedited, &read, edits)
}

fn files(image: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let place = |at: u64| usize::try_from(at).unwrap();
    let content = |file: &FatFile| {
        file.extents.iter().map(|range| &image[place(range.start)..place(range.end)]).collect::<Vec<_>>().concat()
    };
    open(image).unwrap().files().iter().map(|file| (file.path.clone(), content(file))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 10))]

    #[test]
    fn a_grown_file_system_has_all_it_had_and_what_was_added(
        which in 0_usize..3,
        sizes in prop::collection::vec(0_usize..300_000, 1..4),
        appended in 0_usize..5000,
    ) {
        let image = &IMAGES[which];
        let mut edits = vec![(path("many/file 7.txt"), FatEdit::Append(vec![b'a'; appended].into()))];
        edits.push((path("new"), FatEdit::Directory));
        for (number, size) in sizes.iter().enumerate() {
            edits.push((path(&format!("new/a long name {number}.bin")), FatEdit::Write(vec![b'n'; *size].into())));
        }
        let mut expected = files(image);
        expected.get_mut("many/file 7.txt").unwrap().extend(vec![b'a'; appended]);
        for (number, size) in sizes.iter().enumerate() {
            expected.insert(format!("new/a long name {number}.bin"), vec![b'n'; *size]);
        }
        let made = grown(image, &edits);
        prop_assert!(files(&made) == expected);
        // Once more, from what it is now.
        let again = grown(&made, &[(path("more"), FatEdit::Write(vec![b'm'; 700_000].into()))]);
        expected.insert("more".to_owned(), vec![b'm'; 700_000]);
        prop_assert!(files(&again) == expected);
    }
}

#[test]
fn fat12_becomes_fat16_and_fat16_does_not_become_fat32() {
    let [small, large, _] = &*IMAGES;
    let width = |image: &[u8]| Geometry::read(&image[..512]).unwrap().width;
    assert_eq!(width(small), Width::Fat12);
    let made = grown(small, &[(path("large"), FatEdit::Write(vec![b'l'; 9 << 20].into()))]);
    assert_eq!(width(&made), Width::Fat16);
    assert_eq!(&made[54..62], b"FAT16   ");
    let edits = [(path("large"), FatEdit::Write(vec![0; 140 << 20].into()))];
    let error = open(large).unwrap().grown(Role::Esp, &edits).err();
    assert!(matches!(error, Some(FatError::Full { .. })), "{error:?}");
}

/// The first entry of an allocation table is the kind of medium, and all bits above it are 1 (Microsoft's fatgen103).
#[test]
fn the_kind_of_medium_stays_when_fat12_becomes_fat16() {
    let mut small = IMAGES[0].clone();
    let sectors = |image: &[u8], at: usize| usize::from(u16::from_le_bytes([image[at], image[at + 1]])) * 512;
    let (table, length) = (sectors(&small, 14), sectors(&small, 22));
    for at in [21, table, table + length] {
        small[at] = 0xF0;
    }
    let made = grown(&small, &[(path("large"), FatEdit::Write(vec![b'l'; 9 << 20].into()))]);
    let (table, length) = (sectors(&made, 14), sectors(&made, 22));
    for at in [table, table + length] {
        assert_eq!(made[at..at + 4], [0xF0, 0xFF, 0xFF, 0xFF]);
    }
}

#[test]
fn an_edit_that_changes_nothing_is_no_patch() {
    for image in IMAGES.iter() {
        let edits = [(path("EFI/BOOT/grub.cfg"), FatEdit::Write(Bytes::from_static(b"linux /vmlinuz")))];
        assert_eq!(open(image).unwrap().edit(&edits).unwrap(), vec![]);
    }
}

#[test]
fn a_wrong_number_of_free_clusters_does_not_pass_zero() {
    // The second sector has it.
    let count = |image: &[u8]| u32::from_le_bytes(*image[1000..].first_chunk().unwrap());
    let after = |recorded: u32, edits: &[(FatPath, FatEdit)]| {
        let mut image = IMAGES[2].clone();
        image[1000..1004].copy_from_slice(&recorded.to_le_bytes());
        count(&applied(&image, &open(&image).unwrap(), edits))
    };
    let larger = (path("EFI/BOOT/grub.cfg"), FatEdit::Append(vec![b'#'; 70_000].into()));
    let edited = |recorded| after(recorded, std::slice::from_ref(&larger));
    let right = count(&IMAGES[2]);
    let taken = right - edited(right);
    assert!(taken > 100, "{taken}");
    assert_eq!([edited(0), edited(taken - 1), edited(u32::MAX)], [u32::MAX; 3]);
    let another = (path("leer.cfg"), FatEdit::Write(vec![b'#'; 5000].into()));
    assert_eq!(after(1, &[larger.clone(), another]), u32::MAX);
    // The base's number stays wrong if it does not pass zero.
    assert_eq!(edited(taken), 0);
    assert_eq!(after(0, &[(path("leer.cfg"), FatEdit::Write(Bytes::new()))]), 0);
    assert_eq!(edited(right - 1), right - 1 - taken);
}

#[test]
fn other_things_are_not_fat() {
    let image = &IMAGES[0];
    let with = |at: usize, bytes: &[u8]| {
        let mut image = image.clone();
        image[at..at + bytes.len()].copy_from_slice(bytes);
        open(&image).unwrap_err()
    };
    assert!(matches!(open(&[0; 100]), Err(FatError::NotFat(_))));
    assert!(matches!(open(&[0; 1000]), Err(FatError::NotFat(_))));
    assert!(matches!(open(&image[..image.len() - 512]), Err(FatError::Incomplete { .. })));
    assert!(matches!(with(11, &[0, 3]), FatError::NotFat(_)));
    assert!(matches!(with(13, &[3]), FatError::NotFat(_)));
    assert!(matches!(with(16, &[3]), FatError::NotFat(_)));
    // The first entry of the first table.
    assert!(matches!(with(512 + 3, &[1]), FatError::Damaged(_)));
}

/// A chain that comes back to itself, and one that is the end of another.
#[test]
fn chains_that_are_none_are_refused() {
    let table = |image: &[u8]| usize::from(u16::from_le_bytes([image[14], image[15]])) * 512;
    let mut image = IMAGES[2].clone();
    let (start, length) = (table(&image), u32::from_le_bytes(image[36..40].try_into().unwrap()) as usize * 512);
    let padding = u32::from_le_bytes(image[start + 20..start + 24].try_into().unwrap());
    assert_eq!(padding, 0x0FFF_FFFF, "a directory of one cluster");
    for (entry, to) in [(5_usize, 5_u32), (5, 4), (5, 0), (5, 1), (5, 0x0FFF_FFF7), (5, 0x0FFF_0000)] {
        for copy in [start, start + length] {
            image[copy + entry * 4..copy + entry * 4 + 4].copy_from_slice(&to.to_le_bytes());
        }
        let error = open(&image).unwrap_err();
        assert!(matches!(error, FatError::Damaged(_) | FatError::TooLarge { .. }), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 8))]
    /// Damage anywhere in the metadata gives an answer, and never patches outside.
    #[test]
    fn damage_gives_an_answer(
        which in 0_usize..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 1..6),
        both in any::<bool>(),
    ) {
        let mut image = IMAGES[which].clone();
        let sectors = |at: usize| usize::from(u16::from_le_bytes([image[at], image[at + 1]]));
        let (table, length) = (sectors(14) * 512, if which == 2 { sectors(36) } else { sectors(22) } * 512);
        let data = table + 2 * length;
        for (index, byte, place) in changes {
            let range = match place {
                0 => 0..90,
                1 => table..table + 200,
                _ => data..data + 24_000,
            };
            let at = range.start + index.index(range.len());
            image[at] = byte;
            if both && place == 1 {
                image[at + length] = byte;
            }
        }
        if let Ok(read) = open(&image) {
            let mut edits: Vec<_> = read.files().iter().filter_map(|file| file.path.parse().ok()).take(3)
                .map(|path| (path, FatEdit::Append(vec![b'a'; 5000].into()))).collect();
            edits.push((path("new name.cfg"), FatEdit::Write(vec![b'n'; 5000].into())));
            if let Ok(patches) = read.edit(&edits) {
                prop_assert!(patches.iter().all(|patch| patch.end() <= image.len() as u64));
            }
            if let Ok(GrownFat { image: grown, segments }) = read.grown(Role::Esp, &edits) {
                let size: u64 = segments.iter().map(Segment::length).sum();
                prop_assert_eq!(size, grown.range().end);
                if let Ok(patches) = grown.edit(&edits) {
                    prop_assert!(patches.iter().all(|patch| patch.end() <= size));
                }
            }
        }
    }
}

/// What was deleted long ago, or was never a record. With the record of a new file in place of the end, every reader would take it for files.
#[test]
fn nothing_is_added_to_a_directory_with_records_behind_its_end() {
    let mut image = IMAGES[0].clone();
    let Root::Fixed { offset, length } = Geometry::read(&image[..512]).unwrap().root else { panic!("FAT12") };
    let last = usize::try_from(offset + length).unwrap() - 32;
    image[last..last + 11].copy_from_slice(b"OLD     TXT");
    let read = open(&image).unwrap();
    let added = [(path("new.cfg"), FatEdit::Write(Bytes::new()))];
    assert!(matches!(read.edit(&added), Err(FatError::RecordsBehindEnd(directory)) if directory.is_empty()));
    let changed =
        [(path("leer.cfg"), FatEdit::Append(Bytes::from_static(b"x"))), (path("EFI/new.cfg"), added[0].1.clone())];
    assert_eq!(files(&applied(&image, &read, &changed))["leer.cfg"], b"x");
}

/// fatfs reads what follows the end of a long name. It must not make a second file of the name.
#[test]
fn a_file_that_fatfs_does_not_find_is_not_added_beside_the_one_that_is_there() {
    let mut image = IMAGES[0].clone();
    let name: Vec<u8> = "Name.conf\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let is_last = |record: &[u8]| record[0] == 0x42 && record[11] == 0x0F && record[1..11] == name[..10];
    let record = image.chunks(32).position(is_last).unwrap() * 32;
    assert_eq!(image[record + 30..record + 32], [0xFF, 0xFF]);
    image[record + 30] = 0x41;
    image[record + 31] = 0;
    let read = open(&image).unwrap();
    let file = path("loader/entries/ein längerer Name.conf");
    assert_eq!(read.read(file.as_str()).unwrap().len(), 5000);
    let edits = [(file, FatEdit::Append(Bytes::from_static(b"x")))];
    assert!(matches!(read.edit(&edits), Err(FatError::Edit { .. })), "{:?}", read.edit(&edits));
}

/// The content of a file may look like the records that fatfs makes in a new directory.
#[test]
fn a_file_with_the_records_of_a_new_directory_stays_as_it_is() {
    let record = |name: &[u8; 11], attributes: u8| [name.as_slice(), &[attributes], &[1; 20]].concat();
    let content = [
        record(b"long name  ", 0x0F),
        record(b".          ", 0x10),
        record(b"long name  ", 0x0F),
        record(b"..         ", 0x10),
    ]
    .concat();
    let edits = [(path("records"), FatEdit::Write(content.clone().into())), (path("new"), FatEdit::Directory)];
    for image in IMAGES.iter() {
        assert_eq!(files(&applied(image, &open(image).unwrap(), &edits))["records"], content);
    }
}
