//! Any bytes as a disk's partition tables, with checksums put right so that more than the header's is reached.
#![no_main]

use imagelib::disk::gpt::Gpt;
use imagelib::disk::mbr::Mbr;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Mbr::read(&bytes);
    let mut disk = bytes.to_vec();
    if let Some(sector) = disk.get_mut(512..512 + 92) {
        sector[..8].copy_from_slice(b"EFI PART");
        let count = u32::from_le_bytes(sector[80..84].try_into().expect("four bytes"));
        let checksum = bytes.get(1024..).and_then(|rest| rest.get(..count as usize * 128)).map(crc32fast::hash);
        if let Some(checksum) = checksum {
            sector[88..92].copy_from_slice(&checksum.to_le_bytes());
        }
        sector[16..20].fill(0);
        let checksum = crc32fast::hash(sector);
        sector[16..20].copy_from_slice(&checksum.to_le_bytes());
    }
    let Ok(Some(mut gpt)) = Gpt::read(&disk) else { return };
    for (index, partition) in gpt.partitions().collect::<Vec<_>>() {
        gpt.place(index, partition.first, partition.last.min(1000));
    }
    for size in [disk.len() as u64, 1 << 20] {
        if let Ok(resized) = gpt.resized(size) {
            let backup: u64 = resized.backup.iter().map(|segment| segment.length()).sum();
            assert_eq!(backup, gpt.backup_size());
            assert!(resized.patches.iter().all(|patch| patch.end() <= size));
        }
    }
});
