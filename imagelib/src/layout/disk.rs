//! Layouts of disks, and of the FAT file systems in them.

use std::ops::Range;

use super::{Builder, Layout, Roles};
use crate::disk::SECTOR;
use crate::disk::fat::FatImage;
use crate::disk::gpt::Gpt;
use crate::source::Source;

/// What an EFI system partition is called that is not a file of an ISO.
pub(super) const ESP: &str = "EFI system partition";

/// A disk with a GPT whose partitions are FAT, or one that is a FAT file system as a whole. Of anything else, no more is
/// told than that it is a disk.
pub(super) fn layout(source: &dyn Source, roles: &Roles) -> Layout {
    let size = source.size();
    let mut builder = Builder::new(size);
    let partitions: Vec<Range<u64>> = match Gpt::read(source) {
        Ok(Some(gpt)) => {
            let sectors = gpt.partitions().map(|(_, partition)| partition.first..partition.last.saturating_add(1));
            sectors.map(|sectors| sectors.start.saturating_mul(SECTOR)..sectors.end.saturating_mul(SECTOR)).collect()
        }
        _ => Vec::new(),
    };
    if partitions.is_empty() {
        match FatImage::open(source, 0..size) {
            Ok(fat) => fat_file_system(&mut builder, &fat, roles),
            Err(_) => builder.structure("disk", [0..size]),
        }
        return builder.finish();
    }
    for partition in &partitions {
        match FatImage::open(source, partition.clone()) {
            Ok(fat) => fat_file_system(&mut builder, &fat, roles),
            Err(_) => builder.structure("partition", [partition.clone()]),
        }
    }
    let (first, last) =
        (partitions.iter().map(|range| range.start).min(), partitions.iter().map(|range| range.end).max());
    builder.structure("partition tables", [0..first.unwrap_or(0), last.unwrap_or(size)..size]);
    builder.finish()
}

fn fat_file_system(builder: &mut Builder, fat: &FatImage, roles: &Roles) {
    files_of_fat(builder, fat, "", roles);
    builder.structure("FAT and directories", [fat.range()]);
}

/// The files of a FAT file system that is in the file `container`.
pub(super) fn files_of_fat(builder: &mut Builder, fat: &FatImage, container: &str, roles: &Roles) {
    let before = if container.is_empty() { String::new() } else { format!("{container}:") };
    for file in fat.files() {
        let path = format!("/{}", file.path);
        builder.file(&format!("{before}{path}"), roles.role_in_esp(&path), file.extents.iter().cloned());
    }
}
