//! Finds HFS and HFS+ beside ISO 9660, as `grub-mkrescue`, `xorriso -hfsplus` and `genisoimage -hfs` make them. Such a file system is a
//! partition or the whole image, and has its own directories for the same files.

use super::BLOCK;
use crate::disk::SECTOR;
use crate::disk::gpt::Gpt;
use crate::fields::array;
use crate::source::Source;

/// The size in bytes of the system area at the beginning of an ISO, where the partition tables are (ECMA-119 §6.2.1).
const SYSTEM_AREA: u64 = 32 << 10;
/// Where a file system has its volume header, in bytes, and the signatures there (Apple TN1150).
const HEADER: u64 = 1024;
const SIGNATURES: [([u8; 2], &str); 3] = [(*b"H+", "HFS+"), (*b"HX", "HFS+"), (*b"BD", "HFS")];

/// Returns the name of such a file system in a partition of the image, or of the image as a whole, as `genisoimage -hfs` makes it without
/// `-part`. Returns `None` if it can read no such file system.
pub(crate) fn beside(source: &dyn Source) -> Option<&'static str> {
    let gpt = Gpt::read(source).ok().flatten();
    // With a GPT, its entries are there.
    let whole = gpt.is_none().then_some(0);
    let of_gpt = gpt.iter().flat_map(Gpt::partitions).map(|(_, partition)| partition.first.saturating_mul(SECTOR));
    let area = source.read_vec(0, SYSTEM_AREA).unwrap_or_default();
    // An entry of an Apple partition map is as large as the blocks in which it counts. There may be a map for each size.
    let of_apple = [SECTOR, BLOCK].into_iter().flat_map(|block| {
        let entries = area.chunks(usize::try_from(block).unwrap_or(usize::MAX));
        entries.filter_map(apple_hfs).map(move |first| u64::from(first) * block)
    });
    whole.into_iter().chain(of_gpt).chain(of_apple).find_map(|start| name_at(source, start))
}

/// The first block of a partition of this type.
fn apple_hfs(entry: &[u8]) -> Option<u32> {
    let is_hfs = entry.starts_with(b"PM") && entry.get(48..)?.starts_with(b"Apple_HFS");
    array(entry, 8).filter(|_| is_hfs).map(u32::from_be_bytes)
}

fn name_at(source: &dyn Source, start: u64) -> Option<&'static str> {
    let found = source.read_vec(start.checked_add(HEADER)?, 2).ok()?;
    SIGNATURES.iter().find(|(signature, _)| found == *signature).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_of_this_type_counts_if_it_has_the_signature() {
        let mut image = vec![0; 100 << 10];
        let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
        // The second entry of a map whose blocks have 2048 bytes.
        put(4096, b"PM");
        put(4096 + 8, &20_u32.to_be_bytes());
        put(4096 + 48, b"Apple_HFS");
        assert_eq!(beside(&image), None);
        for (signature, name) in SIGNATURES {
            image[20 * 2048 + 1024..][..2].copy_from_slice(&signature);
            assert_eq!(beside(&image), Some(name));
        }
    }

    #[test]
    fn the_whole_image_may_be_such_a_file_system() {
        let mut image = vec![0; 100 << 10];
        image[1024..1026].copy_from_slice(b"BD");
        assert_eq!(beside(&image), Some("HFS"));
    }
}
