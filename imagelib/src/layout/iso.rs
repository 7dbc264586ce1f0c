//! Layouts of ISO 9660 images.

use std::ops::Range;

use super::disk;
use super::{Builder, Layout, Roles};
use crate::base::live::{EspPlace, esps};
use crate::iso::el_torito::{self, BootEntry, Platform};
use crate::iso::{BLOCK, DescriptorKind, EntryKind, Extent, FileEntry, IsoError, TreeKind, Volume};
use crate::source::Source;

/// Path tables in a descriptor (ECMA-119 §8.4.14 to 8.4.18): their size, and the places of four of them.
const TABLE_SIZE: usize = 132;
const LITTLE_TABLES: [usize; 2] = [140, 144];
const BIG_TABLES: [usize; 2] = [148, 152];

pub(super) fn layout(source: &dyn Source, roles: &Roles) -> Result<Layout, IsoError> {
    let volume = Volume::open(source)?;
    let mut builder = Builder::new(source.size());
    let first = volume.descriptors().first().map_or(16 * BLOCK, |descriptor| descriptor.offset);
    // The terminator, which ends them, is not among them.
    let last = volume.descriptors().last().map_or(first, |descriptor| descriptor.offset) + 2 * BLOCK;
    builder.structure("system area", [0..first]);
    builder.structure("volume descriptors", [first..last]);
    // Damaged, it is nothing that firmware boots, and the files are there all the same.
    let catalog = el_torito::read(source, &volume).ok().flatten();
    builder.structure("boot catalog", catalog.iter().map(|catalog| catalog.offset..catalog.offset + BLOCK));
    builder.structure("path tables", path_tables(source, &volume)?);

    let trees = match (volume.has_rock_ridge(), volume.has_joliet()) {
        (false, true) => [TreeKind::Joliet, TreeKind::Primary],
        _ => [TreeKind::Primary, TreeKind::Joliet],
    };
    let mut entries = Vec::new();
    for tree in trees {
        let root = volume.root(tree).map(|root| Ok((String::new(), root.clone())));
        entries.extend(root.into_iter().chain(volume.walk(source, tree)).collect::<Result<Vec<_>, IsoError>>()?);
    }
    let directories = entries.iter().filter(|(_, entry)| entry.kind == EntryKind::Directory);
    builder.structure("directories", directories.flat_map(|(_, entry)| ranges(entry)));

    let esps = esps(source, &volume)?;
    for esp in &esps {
        let container = match &esp.place {
            EspPlace::File { path, .. } => path,
            EspPlace::Partition => disk::ESP,
        };
        disk::files_of_fat(&mut builder, &esp.fat, container, roles);
    }
    for (path, entry) in entries.iter().filter(|(_, entry)| entry.kind == EntryKind::File) {
        builder.file(path, roles.role(path), ranges(entry));
    }
    // Boot images that are no files.
    let partitions = esps.iter().filter(|esp| esp.place == EspPlace::Partition);
    builder.structure(disk::ESP, partitions.map(|esp| esp.fat.range()));
    let nameless = catalog.iter().flat_map(|catalog| &catalog.entries).filter(|entry| entry.path.is_none());
    builder.structure("boot image", nameless.filter(|entry| entry.platform != Platform::Uefi).map(loaded));
    Ok(builder.finish())
}

fn ranges(entry: &FileEntry) -> impl Iterator<Item = Range<u64>> {
    entry.extents.iter().map(|Extent { offset, length }| *offset..offset.saturating_add(*length))
}

fn loaded(entry: &BootEntry) -> Range<u64> {
    entry.image.offset..entry.image.offset.saturating_add(entry.image.length)
}

fn path_tables(source: &dyn Source, volume: &Volume) -> Result<Vec<Range<u64>>, IsoError> {
    let mut tables = Vec::new();
    let described = volume.descriptors().iter().filter(|descriptor| {
        matches!(descriptor.kind, DescriptorKind::Primary | DescriptorKind::Joliet | DescriptorKind::Supplementary)
    });
    for offset in described.map(|descriptor| descriptor.offset) {
        let block = source.read_vec(offset, BLOCK).map_err(|source| IsoError::Read { offset, source })?;
        let field = |at: usize| block.get(at..)?.first_chunk::<4>().copied();
        let size = field(TABLE_SIZE).map_or(0, u32::from_le_bytes);
        let little = LITTLE_TABLES.iter().filter_map(|at| field(*at)).map(u32::from_le_bytes);
        let big = BIG_TABLES.iter().filter_map(|at| field(*at)).map(u32::from_be_bytes);
        tables.extend(little.chain(big).filter(|table| *table != 0).map(|table| {
            let start = volume.base().saturating_add(u64::from(table) * BLOCK);
            start..start.saturating_add(u64::from(size))
        }));
    }
    Ok(tables)
}
