use std::io::Cursor;

use ::gpt::GptConfig;
use ::gpt::disk::LogicalBlockSize;
use ::gpt::partition::file_read_partitions;
use proptest::prelude::*;

use super::*;
use crate::digest::Digest;
use crate::disk::mbr::{Mbr, MbrPartition};
use crate::overlay::Content;

fn partition(first: u64, last: u64) -> Partition {
    let identity = Digest::of(&first.to_le_bytes());
    Partition { kind: Guid::EFI_SYSTEM, id: Guid::derived(&identity, "p"), first, last, name: "EFI System".to_owned() }
}

fn apply(disk: &mut [u8], patch: Patch) {
    let Content::Bytes(bytes) = patch.content else { panic!("bytes") };
    put(disk, usize::try_from(patch.offset).unwrap(), &bytes);
}

fn own(segments: Vec<Segment>) -> Vec<u8> {
    let bytes = |segment| match segment {
        Segment::Own(Content::Bytes(bytes)) => bytes.to_vec(),
        Segment::Own(other) => vec![0; usize::try_from(other.len()).unwrap()],
        Segment::Base { .. } => panic!("no base"),
    };
    segments.into_iter().flat_map(bytes).collect()
}

/// The partitions that the crate gpt reads from a disk. It must find a backup that says the same.
fn read_by_gpt(disk: &[u8]) -> Vec<(usize, Partition)> {
    let mut device = Cursor::new(disk.to_vec());
    let read = GptConfig::new().only_valid_headers(true).open_from_device(device.clone()).unwrap();
    let backup = read.backup_header().unwrap().clone();
    assert_eq!((backup.current_lba, backup.backup_lba), (disk.len() as u64 / SECTOR - 1, 1));
    assert_eq!(backup.disk_guid, *read.guid());
    assert_eq!(&file_read_partitions(&mut device, &backup, LogicalBlockSize::Lb512).unwrap(), read.partitions());
    let partition = |(number, found): (&u32, &::gpt::partition::Partition)| {
        let found = Partition {
            kind: Guid::from_bytes(found.part_type_guid.guid.to_bytes_le()),
            id: Guid::from_bytes(found.part_guid.to_bytes_le()),
            first: found.first_lba,
            last: found.last_lba,
            name: found.name.clone(),
        };
        (*number as usize - 1, found)
    };
    read.partitions().iter().map(partition).collect()
}

/// The disk of `size` bytes that `gpt` is laid over. The crate gpt must read the same partitions from it.
fn disk(gpt: &Gpt, size: u64) -> Result<Vec<u8>, GptError> {
    let mut disk = vec![0; usize::try_from(size).unwrap()];
    lay_over(&mut disk, gpt)?;
    assert_eq!(read_by_gpt(&disk), gpt.partitions().collect::<Vec<_>>());
    Ok(disk)
}

fn lay_over(disk: &mut [u8], gpt: &Gpt) -> Result<(), GptError> {
    let size = disk.len() as u64;
    let ResizedGpt { patches, backup } = gpt.resized(size)?;
    for patch in patches {
        apply(disk, patch);
    }
    let backup = own(backup);
    assert_eq!(backup.len() as u64, gpt.backup_size());
    let start = disk.len() - backup.len();
    put(disk, start, &backup);
    apply(disk, Mbr::new([Some(MbrPartition::protective(size)), None, None, None]).table());
    Ok(())
}

#[test]
fn what_is_written_is_read_and_can_be_resized() {
    let guid = Guid::derived(&Digest::of(b""), "disk");
    let partitions = [partition(64, 99), partition(34, 63)];
    let gpt = Gpt::new(guid, &partitions).unwrap();
    let small = disk(&gpt, 1 << 20).unwrap();
    let mut read = Gpt::read(&small).unwrap().unwrap();
    assert_eq!(read.partitions().map(|(_, partition)| partition).collect::<Vec<_>>(), partitions);
    assert_eq!(read.sectors(), [1..2, 2..34]);
    assert_eq!(read.backup_sector(), 2047);

    read.place(0, 64, 2500);
    let large = disk(&read, 2 << 20).unwrap();
    let again = Gpt::read(&large).unwrap().unwrap();
    assert_eq!(again.partitions().next().unwrap().1.last, 2500);
    assert_eq!(again.backup_sector(), 4095);
    // The backup points back.
    let backup = &large[4095 * 512..];
    assert_eq!((u64_le(backup, 24), u64_le(backup, 32), u64_le(backup, 72)), (Some(4095), Some(1), Some(4095 - 32)));
    assert_eq!(u32_le(backup, 16), Some(header_checksum(&backup[..HEADER])));
}

#[test]
fn the_bytes_of_a_new_table_do_not_change() {
    let named = |first, last, name: &str| Partition { name: name.to_owned(), ..partition(first, last) };
    let long = "ä name of more than the 36 units that have room 🖴";
    let partitions = [named(1000, 1999, "EFI System Partition"), named(34, 999, ""), named(2000, 1 << 40, long)];
    let table = disk(&Gpt::new(Guid::derived(&Digest::of(b"golden"), "disk"), &partitions).unwrap(), 1 << 20).unwrap();
    let empty = disk(&Gpt::new(Guid::BASIC_DATA, &[]).unwrap(), 67 * 512).unwrap();
    let digests = [table, empty].map(|disk| Digest::of(&disk).to_string());
    assert_eq!(
        digests,
        [
            "0fb17004366576e153ec8684dde71c6d24c0777027966f553fbf489f4d9edde8",
            "5da01def63504ec75f59a671b46c4b447dd91cc9148b671f37ed83611dbb14c6",
        ]
    );
}

#[test]
fn partitions_that_overlap_are_refused() {
    let gpt = |partitions: &[Partition]| Gpt::new(Guid::BASIC_DATA, partitions);
    assert!(matches!(gpt(&[partition(34, 70), partition(70, 80)]), Err(GptError::NoRoom { first: 70, last: 80 })));
    assert!(matches!(gpt(&[partition(33, 70)]), Err(GptError::NoRoom { .. })));
    assert!(matches!(gpt(&[partition(50, 49)]), Err(GptError::NoRoom { .. })));
    assert!(matches!(gpt(&vec![partition(34, 34); 129]), Err(GptError::NoRoom { .. })));
    let many: Vec<Partition> = (0..129).map(|n| partition(34 + n, 34 + n)).collect();
    assert!(matches!(gpt(&many), Err(GptError::TooMany(129))));
    assert!(gpt(&many[..128]).is_ok());
}

#[test]
fn a_disk_that_is_too_small_is_refused() {
    let gpt = Gpt::new(Guid::BASIC_DATA, &[]).unwrap();
    for size in [0, 511, 512, 66 * 512, (1 << 20) + 1] {
        assert!(matches!(gpt.resized(size), Err(GptError::TooSmall { .. })), "{size}");
    }
    assert!(gpt.resized(67 * 512).is_ok());
}

#[test]
fn damage_is_told_from_absence() {
    let gpt = Gpt::new(Guid::BASIC_DATA, &[partition(34, 40)]).unwrap();
    let good = disk(&gpt, 1 << 20).unwrap();
    let with = |at: usize, byte: u8| {
        let mut disk = good.clone();
        disk[at] ^= byte;
        Gpt::read(&disk)
    };
    assert!(with(512, 1).unwrap().is_none());
    assert!(matches!(with(512 + 60, 1), Err(GptError::Checksum("header"))));
    assert!(matches!(with(1024 + 60, 1), Err(GptError::Checksum("entries"))));
    assert!(matches!(Gpt::read(&good[..2000].to_vec()), Err(GptError::Damaged(_))));
    assert!(Gpt::read(&good[..1000].to_vec()).unwrap().is_none());
    let sealed = |at: usize, value: &[u8]| {
        let mut disk = good.clone();
        put(&mut disk, 512 + at, value);
        seal(&mut disk[512..512 + HEADER]);
        Gpt::read(&disk)
    };
    assert!(matches!(sealed(84, &200_u32.to_le_bytes()), Err(GptError::Entries { size: 200, .. })));
    assert!(matches!(sealed(80, &u32::MAX.to_le_bytes()), Err(GptError::Entries { .. })));
    assert!(matches!(sealed(24, &2_u64.to_le_bytes()), Err(GptError::Damaged(_))));
    assert!(matches!(sealed(72, &u64::MAX.to_le_bytes()), Err(GptError::Damaged(_))));
    assert!(matches!(sealed(12, &91_u32.to_le_bytes()), Err(GptError::Damaged(_))));
    assert!(matches!(sealed(12, &513_u32.to_le_bytes()), Err(GptError::Damaged(_))));
}

#[test]
fn entries_of_twice_the_size_and_what_stands_in_unused_ones_are_kept() {
    let gpt = Gpt::new(Guid::BASIC_DATA, &[partition(34, 40)]).unwrap();
    let mut bytes = disk(&gpt, 1 << 20).unwrap();
    put(&mut bytes, 1024 + 200, b"beyond the fields that are known");
    put(&mut bytes, 1024 + 256 * 3 + 40, b"left in an entry that is not used");
    put(&mut bytes, 512 + 80, &64_u32.to_le_bytes());
    put(&mut bytes, 512 + 84, &256_u32.to_le_bytes());
    let entries = crc32fast::hash(&bytes[1024..1024 + 64 * 256]);
    put(&mut bytes, 512 + 88, &entries.to_le_bytes());
    seal(&mut bytes[512..512 + HEADER]);
    let mut read = Gpt::read(&bytes).unwrap().unwrap();
    assert_eq!(read.partitions().collect::<Vec<_>>(), [(0, partition(34, 40))]);
    read.place(0, 34, 50);
    let backup = own(read.resized(1 << 20).unwrap().backup);
    put(&mut bytes, 1024 + 40, &50_u64.to_le_bytes());
    assert!(backup[..64 * 256] == bytes[1024..1024 + 64 * 256]);
}

/// As in an ISO image of xorriso: the entries stand behind the system area, there are 248 of them with gaps between, and
/// two overlap.
#[test]
fn of_a_longer_partition_nothing_stays_behind_a_shorter_one() {
    for before in [0x1_2345, u64::MAX - 1] {
        let unnamed = Partition { name: String::new(), ..partition(64, before) };
        let gpt = Gpt::new(Guid::BASIC_DATA, &[unnamed]).unwrap();
        let mut disk = disk(&gpt, 1 << 20).unwrap();
        let mut shorter = Gpt::read(&disk).unwrap().unwrap();
        shorter.place(0, 64, 99);
        lay_over(&mut disk, &shorter).unwrap();
        assert_eq!(Gpt::read(&disk).unwrap().unwrap().partitions().next().unwrap().1.last, 99);
    }
}

#[test]
fn a_foreign_table_is_patched_where_it_stands() {
    const START: u64 = 64;
    const COUNT: u32 = 248;
    let mut disk = vec![0; 1 << 20];
    let foreign = [(0, partition(200, 299)), (4, partition(250, 260)), (247, partition(400, 400))];
    for (index, partition) in &foreign {
        let (index, size) = (*index as u64, LogicalBlockSize::Lb512);
        let mut device = Cursor::new(&mut disk);
        ::gpt::partition::Partition::from(partition)
            .write_to_device(&mut device, index, START, size, ENTRY_SIZE)
            .unwrap();
    }
    let entries = usize::try_from(START * SECTOR).unwrap();
    let checksum = crc32fast::hash(&disk[entries..entries + COUNT as usize * ENTRY]);
    let fields: [(usize, &[u8]); 10] = [
        (0, &SIGNATURE),
        (8, &0x0001_0000_u32.to_le_bytes()),
        (12, &92_u32.to_le_bytes()),
        (24, &1_u64.to_le_bytes()),
        (40, &200_u64.to_le_bytes()),
        (56, Guid::BASIC_DATA.as_bytes()),
        (72, &START.to_le_bytes()),
        (80, &COUNT.to_le_bytes()),
        (84, &ENTRY_SIZE.to_le_bytes()),
        (88, &checksum.to_le_bytes()),
    ];
    for (at, value) in fields {
        put(&mut disk, 512 + at, value);
    }
    seal(&mut disk[512..512 + HEADER]);

    let mut gpt = Gpt::read(&disk).unwrap().unwrap();
    assert_eq!(gpt.partitions().collect::<Vec<_>>(), foreign);
    gpt.place(4, 250, 3000);
    let mut grown = disk.clone();
    grown.resize(2 << 20, 0);
    lay_over(&mut grown, &gpt).unwrap();
    let mut expected = foreign;
    expected[1].1.last = 3000;
    assert_eq!(read_by_gpt(&grown), expected);
    assert_eq!(Gpt::read(&grown).unwrap().unwrap().sectors(), [1..2, START..START + 62]);
}

proptest! {
    #[test]
    fn any_header_with_right_checksums_gives_an_answer(
        start in any::<u64>(), count in 0_u32..2000, last in any::<u64>(), size in any::<u64>(),
    ) {
        let gpt = Gpt::new(Guid::BASIC_DATA, &[partition(34, 40)]).unwrap();
        let mut disk = disk(&gpt, 1 << 20).unwrap();
        put(&mut disk, 512 + 72, &start.to_le_bytes());
        put(&mut disk, 512 + 80, &count.to_le_bytes());
        put(&mut disk, 1024 + 40, &last.to_le_bytes());
        let entries = crc32fast::hash(disk.get(1024..1024 + count as usize * ENTRY).unwrap());
        put(&mut disk, 512 + 88, &entries.to_le_bytes());
        seal(&mut disk[512..512 + HEADER]);
        if let Ok(Some(gpt)) = Gpt::read(&disk) {
            prop_assert!(gpt.partitions().count() <= count as usize);
            let _ = gpt.resized(size);
        }
    }
}
