use proptest::prelude::*;

use super::*;
use crate::disk::gpt::Partition;
use crate::disk::guid::Guid;
use crate::overlay::Content;

const FIRST: u64 = 2048;
const START: usize = 2048 * 512;

/// A disk with one partition of this name and of so many bytes.
fn disk(name: &str, size: u64) -> Vec<u8> {
    let (kind, id) = (Guid::BASIC_DATA, Guid::new(7));
    let partition = Partition { kind, id, first: FIRST, last: FIRST + size / SECTOR - 1, name: name.to_owned() };
    let mut disk = vec![0; START + (3 << 20)];
    let table = Gpt::new(Guid::new(9), &[partition]).unwrap().resized(disk.len() as u64).unwrap();
    write(&mut disk, &table.patches);
    disk
}

fn write(disk: &mut [u8], patches: &[Patch]) {
    for Patch { offset, content } in patches {
        let start = usize::try_from(*offset).unwrap();
        let length = usize::try_from(content.len()).unwrap();
        match content {
            Content::Bytes(bytes) => disk[start..start + length].copy_from_slice(bytes),
            Content::Zeros(_) => disk[start..start + length].fill(0),
            Content::Counter(_) => panic!("no counter"),
        }
    }
}

/// A block that begins with these bytes.
fn block(begin: &[u8]) -> Vec<u8> {
    let mut block = begin.to_vec();
    block.resize(BLOCK - 4, 0);
    block.extend([0xa5, 0xb4, 0xc3, 0xd2]);
    let checksum = Sha256::digest(&block);
    block[BLOCK - 36..BLOCK - 4].copy_from_slice(&checksum);
    block
}

fn find(disk: &[u8]) -> Option<MetaPartition> {
    MetaPartition::find(&disk.to_vec()).unwrap()
}

fn add(disk: &mut [u8], key: u8, value: &[u8]) {
    let patches = find(disk).unwrap().patches(MetaValues::from([(key, value.to_vec())])).unwrap();
    write(disk, &patches);
}

#[test]
fn values_are_added_and_those_that_are_there_stay() {
    let mut disk = disk(NAME, PARTITION);
    assert_eq!(find(&disk).unwrap().keys().count(), 0);
    // What Talos has kept before: as its own writer puts it, byte by byte.
    disk[START..START + BLOCK].copy_from_slice(&block(b"\x5a\x4b\x3c\x2d\0\0\0\x06\0\0\0\x05state"));
    assert_eq!(find(&disk).unwrap().values, MetaValues::from([(6, b"state".to_vec())]));

    add(&mut disk, NETWORK_KEY, b"{}");
    let wanted = MetaValues::from([(6, b"state".to_vec()), (NETWORK_KEY, b"{}".to_vec())]);
    let found = find(&disk).unwrap();
    assert!(found.has_network());
    assert_eq!(found.values, wanted);
    assert_eq!(disk[START..START + BLOCK], disk[START + BLOCK..START + 2 * BLOCK], "two equal copies");
    add(&mut disk, NETWORK_KEY, b"[]");
    assert_eq!(find(&disk).unwrap().values[&NETWORK_KEY], b"[]");
    // Nothing follows the two copies.
    assert!(disk[START + 2 * BLOCK..].iter().all(|byte| *byte == 0));
}

#[test]
fn a_damaged_copy_does_not_count() {
    let mut disk = disk(NAME, PARTITION);
    add(&mut disk, NETWORK_KEY, b"{}");
    for at in [START, START + 9, START + BLOCK - 1, START + BLOCK - 20] {
        let mut damaged = disk.clone();
        damaged[at] ^= 1;
        assert_eq!(find(&damaged), find(&disk), "{at}");
        damaged[at + BLOCK] ^= 1;
        // Not Talos' any more, or without values.
        assert!(find(&damaged).is_none_or(|meta| meta.keys().count() == 0), "{at}");
    }
}

#[test]
fn a_length_beyond_the_block_is_damage() {
    let block = block(&[0x5a, 0x4b, 0x3c, 0x2d, 0, 0, 0, 10, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(read(&block), None);
    assert_eq!(read(&block[..30]), None);
}

#[test]
fn other_partitions_are_not_for_talos() {
    assert_eq!(find(&disk("META-2", PARTITION)), None);
    assert_eq!(find(&disk(NAME, 2 * PARTITION)), None);
    assert_eq!(find(&vec![0; 4096]), None);
    let mut foreign = disk(NAME, PARTITION);
    foreign[START..].fill(7);
    assert_eq!(find(&foreign), None);
    // The table promises more than the disk has.
    let mut short = disk(NAME, PARTITION);
    short.truncate(START + BLOCK);
    assert_eq!(find(&short), None);
}

#[test]
fn values_fill_the_block_to_its_last_byte() {
    let mut disk = disk(NAME, PARTITION);
    let longest = vec![b'x'; ROOM - 8];
    add(&mut disk, NETWORK_KEY, &longest);
    assert_eq!(find(&disk).unwrap().values[&NETWORK_KEY], longest);
    let more = MetaValues::from([(NETWORK_KEY, vec![b'x'; ROOM - 7])]);
    let error = find(&disk).unwrap().patches(more).unwrap_err();
    assert_eq!(error, TalosError::NoRoom { size: ROOM + 1, room: ROOM });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 8))]

    #[test]
    fn whatever_a_block_has_is_read_or_not_whole(begin in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..200)) {
        if let Some(values) = read(&block(&[&BEGIN, begin.as_slice()].concat())) {
            prop_assert!(values.values().map(Vec::len).sum::<usize>() <= ROOM);
        }
    }

    #[test]
    fn what_is_written_is_read(values in prop::collection::btree_map(1_u8.., prop::collection::vec(any::<u8>(), 0..300), 0..9)) {
        let mut disk = disk(NAME, PARTITION);
        let patches = find(&disk).unwrap().patches(values.clone()).unwrap();
        write(&mut disk, &patches);
        prop_assert_eq!(find(&disk).unwrap().values, values);
    }
}
