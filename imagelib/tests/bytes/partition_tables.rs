//! Partition tables of live media whose EFI system partition grows: firmware starts the same files from a CD and from a disk.

use std::ops::Range;

use imagelib::disk::fat::FatImage;
use imagelib::disk::mbr::{EFI_SYSTEM, Mbr, MbrPartition};
use imagelib::ignition::{Additions, ExtraFile};
use imagelib::iso::Volume;
use imagelib::overlay::{Content, Patch};
use imagelib::recipe::Recipe;

use crate::image::noise;
use crate::live_media::*;

const LOADER: &str = "EFI/BOOT/BOOTX64.EFI";
const ENTRY: &str = "title Live\nlinux /vmlinuz\ninitrd /initrd.img\noptions quiet\n";

/// Where the EFI system partition is, as a file.
fn file_range(iso: &[u8]) -> Range<u64> {
    let source = iso.to_vec();
    let file = Volume::open(&source).unwrap().find(&source, "/boot/efi.img").unwrap().unwrap();
    file.extents[0].range()
}

/// Where the partition table has it.
fn entry_range(iso: &[u8]) -> Range<u64> {
    let table = Mbr::read(&iso.to_vec()).unwrap().unwrap();
    let (_, MbrPartition { first_sector, sectors, .. }) = table.partitions().next().unwrap();
    u64::from(first_sector) * 512..u64::from(first_sector + sectors) * 512
}

/// The medium with an entry in a master boot record for its EFI system partition, which is longer by so many sectors than the file.
fn with_entry(mut iso: Vec<u8>, more: i64) -> Vec<u8> {
    let Range { start, end } = file_range(&iso);
    let first_sector = u32::try_from(start / 512).unwrap();
    let sectors = u32::try_from(i64::try_from((end - start) / 512).unwrap() + more).unwrap();
    let entry = MbrPartition { bootable: false, kind: EFI_SYSTEM, first_sector, sectors };
    let Patch { offset, content: Content::Bytes(table) } = Mbr::new([Some(entry), None, None, None]).table() else {
        panic!("bytes")
    };
    let at = usize::try_from(offset).unwrap();
    iso[at..at + table.len()].copy_from_slice(&table);
    iso
}

#[test]
fn a_disk_starts_from_the_partition_that_grew_whatever_the_length_of_its_entry_was() {
    let large = ExtraFile {
        path: "/etc/large".parse().unwrap(),
        mode: "0640".parse().unwrap(),
        user: 0,
        group: 0,
        contents: noise(3 << 20).into(),
    };
    // Exact; rounded up to whole MiB; cut to the 16 bits of the boot catalog.
    for more in [0, 2048, -64] {
        let in_esp = [
            (LOADER, systemd_boot()),
            ("loader/entries/live.conf", ENTRY.into()),
            ("vmlinuz", kernel()),
            ("initrd.img", live_boot("e")),
        ];
        let base = with_entry(iso(&[("readme", vec![1])], &in_esp), more);
        let additions = Additions { files: vec![large.clone()], ..additions() };
        let image = planned(&base, &Recipe { additions, ..recipe(&base) }).unwrap();
        assert_eq!(warnings(&image), [""; 0]);
        let made = output(&base, &image);
        let partition = entry_range(&made);
        assert!(partition.start >= base.len() as u64, "{more}");
        assert_eq!(partition, file_range(&made), "{more}");
        let fat = FatImage::open(&made, partition).unwrap();
        assert!(fat.file("initrd.img").unwrap().size > 3 << 20, "{more}");
    }
}
