//! Layouts of ISO 9660 images.

use std::ops::Range;

use super::disk;
use super::{Builder, Layout, Roles};
use crate::base::live::{EspPlace, esps};
use crate::iso::descriptor::path_tables;
use crate::iso::el_torito::{self, Platform};
use crate::iso::fields::read_bytes;
use crate::iso::{BLOCK, DescriptorKind, EntryKind, Extent, FileEntry, IsoError, TreeKind, Volume};
use crate::source::Source;

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
    builder.structure("path tables", ranges_of_path_tables(source, &volume)?);

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
    let is_esp = |start: u64| esps.iter().any(|esp| esp.fat.range().start == start);
    let others = nameless.filter(|entry| entry.platform != Platform::Uefi && !is_esp(entry.image.offset));
    builder.structure("boot image", others.map(|entry| entry.image.range()));
    Ok(builder.finish())
}

fn ranges(entry: &FileEntry) -> impl Iterator<Item = Range<u64>> {
    entry.extents.iter().map(Extent::range)
}

fn ranges_of_path_tables(source: &dyn Source, volume: &Volume) -> Result<Vec<Range<u64>>, IsoError> {
    let mut tables = Vec::new();
    let described = volume.descriptors().iter().filter(|descriptor| {
        matches!(descriptor.kind, DescriptorKind::Primary | DescriptorKind::Joliet | DescriptorKind::Supplementary)
    });
    for offset in described.map(|descriptor| descriptor.offset) {
        let block = read_bytes(source, offset, BLOCK)?;
        let ranges = path_tables(&block, volume.base()).into_iter();
        tables.extend(ranges.map(|table| table.offset..table.offset.saturating_add(table.length)));
    }
    Ok(tables)
}
