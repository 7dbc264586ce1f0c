//! Whether the file of a disk has its end: a download that was cut off has a valid partition table, and lacks partitions.

use std::io;

use super::SECTOR;
use super::gpt::Gpt;
use super::mbr::{self, Mbr};
use crate::source::Source;

/// The file of a disk is shorter than its partition table says. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the disk image is incomplete: its {part} ends at offset {expected}, the file has {actual} bytes; \
     download it again and compare its checksum"
)]
pub struct IncompleteDisk {
    /// What is behind the end of the file.
    part: String,
    /// Where that ends.
    expected: u64,
    /// How long the file is.
    actual: u64,
}

/// Checks that the file has everything that its partition tables name. Only the backup of a GPT may be missing: systems write it
/// anew. The outer error is that of the source.
pub fn check_complete(source: &dyn Source) -> io::Result<Result<(), IncompleteDisk>> {
    let mut ends: Vec<(u64, String)> = Vec::new();
    if let Ok(Some(gpt)) = Gpt::read(source) {
        ends.extend(gpt.partitions().map(|(index, found)| (found.last, partition(index))));
        ends.push((gpt.last_usable(), "partition table (GPT)".to_owned()));
    }
    if let Some(table) = Mbr::read(source)?.filter(Mbr::is_plausible) {
        // The protective partition may be larger than the disk: some tools always write the largest number (UEFI 2.10, table 5.4).
        let others = table.partitions().filter(|(_, found)| found.kind != mbr::PROTECTIVE);
        let last = |found: mbr::MbrPartition| u64::from(found.first_sector) + u64::from(found.sectors) - 1;
        ends.extend(others.map(|(index, found)| (last(found), partition(index))));
    }
    let end = |(last, part): (u64, String)| (last.saturating_add(1).saturating_mul(SECTOR), part);
    // The partition itself says more than the end of the table.
    let furthest = ends.into_iter().map(end).rev().max_by_key(|(end, _)| *end);
    let actual = source.size();
    Ok(match furthest {
        Some((expected, part)) if expected > actual => Err(IncompleteDisk { part, expected, actual }),
        Some(_) | None => Ok(()),
    })
}

fn partition(index: usize) -> String {
    format!("partition {}", index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::gpt::{Partition, ResizedGpt};
    use super::super::guid::Guid;
    use super::super::mbr::MbrPartition;
    use super::*;
    use crate::digest::Digest;
    use crate::fields::put;
    use crate::overlay::{Content, Patch};

    const SECTORS: u64 = 2048;

    fn apply(disk: &mut [u8], patch: Patch) {
        let Content::Bytes(bytes) = patch.content else { panic!("bytes") };
        put(disk, usize::try_from(patch.offset).unwrap(), &bytes);
    }

    /// A disk of [`SECTORS`] with a partition up to the sector `last`. Its backup is zeros, which counts as lost.
    fn gpt(last: u64) -> Vec<u8> {
        let guid = |name| Guid::derived(&Digest::of(b""), name);
        let root = Partition { kind: Guid::EFI_SYSTEM, id: guid("p"), first: 64, last, name: String::new() };
        let size = SECTORS * SECTOR;
        let ResizedGpt { patches, .. } = Gpt::new(guid("d"), &[root]).unwrap().resized(size).unwrap();
        let mut disk = vec![0; usize::try_from(size).unwrap()];
        for patch in patches {
            apply(&mut disk, patch);
        }
        // As parted writes it, whatever the size of the disk.
        let protective = MbrPartition { sectors: u32::MAX, ..MbrPartition::protective(size) };
        apply(&mut disk, Mbr::new([Some(protective), None, None, None]).table());
        disk
    }

    fn cut(disk: &[u8], sectors: u64) -> Result<(), String> {
        let mut disk = disk.to_vec();
        disk.resize(usize::try_from(sectors * SECTOR).unwrap(), 0);
        check_complete(&disk).unwrap().map_err(|error| error.to_string())
    }

    #[test]
    fn a_disk_must_have_what_its_gpt_names() {
        let disk = gpt(1000);
        // The usable sectors end where the backup of 33 sectors begins.
        for sectors in [SECTORS * 2, SECTORS, SECTORS - 33] {
            assert_eq!(cut(&disk, sectors), Ok(()), "{sectors}");
        }
        let error = cut(&disk, SECTORS - 34).unwrap_err();
        assert!(
            error.contains("its partition table (GPT) ends at offset 1031680, the file has 1031168 bytes"),
            "{error}"
        );
        // Other tools make tables whose partitions reach into the backup.
        let disk = gpt(SECTORS - 1);
        assert_eq!(cut(&disk, SECTORS), Ok(()));
        let error = cut(&disk, SECTORS - 1).unwrap_err();
        assert!(error.contains("its partition 1 ends at offset 1048576"), "{error}");
    }

    #[test]
    fn a_disk_must_have_what_its_mbr_names() {
        let esp = MbrPartition { bootable: false, kind: mbr::EFI_SYSTEM, first_sector: 64, sectors: 936 };
        let mut disk = vec![0; 512];
        apply(&mut disk, Mbr::new([None, Some(esp), None, None]).table());
        assert_eq!(cut(&disk, 1000), Ok(()));
        let error = cut(&disk, 999).unwrap_err();
        assert!(error.contains("its partition 2 ends at offset 512000"), "{error}");
        // The boot sector of a file system, with code where a disk has its table.
        put(&mut disk, 446, b"Non-system");
        assert_eq!(cut(&disk, 999), Ok(()));
    }
}
