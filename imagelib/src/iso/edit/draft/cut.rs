//! Files that are removed, and what follows from that for everything behind them.
//!
//! Only files move. Directories, path tables, the boot catalog, and boot loaders that contain their own place must stand before the first
//! cut. xorriso writes them first.

use std::ops::Range;

use super::{Draft, file_size, find, in_place, of_image};
use crate::fields::u32_le;
use crate::iso::edit::Edit;
use crate::iso::edit::changes::{Change, ChangeKind};
use crate::iso::edit::cuts::Cuts;
use crate::iso::edit::error::{EditError, NotEditable};
use crate::iso::edit::layout::{DraftDirectory, Origin};
use crate::iso::edit::record_id::DirectoryId;
use crate::iso::edit::tree::{Directory, File, Image, Node};
use crate::iso::record::Naming;
use crate::iso::{BLOCK, Extent};

/// The flag of a record of a directory (ECMA-119 §9.1.6).
const DIRECTORY: u8 = 2;

impl Draft<'_> {
    /// Makes all records of files point to where the cuts put their content. Directories stand before the first cut.
    pub(super) fn cut(&mut self) -> Result<(), EditError> {
        if self.cuts.is_empty() {
            return Ok(());
        }
        let image = self.image;
        for (index, directory) in image.directories.iter().enumerate() {
            let base = image.trees.get(directory.tree).map_or(0, |tree| tree.base);
            for record in of_image(directory)?.records {
                let is_directory = record.bytes.get(25).is_some_and(|flags| flags & DIRECTORY != 0);
                let (block, size) = (u32_le(&record.bytes, 2), u32_le(&record.bytes, 10));
                let (Origin::Image(at), Some(block), Some(size), false) = (record.origin, block, size, is_directory)
                else {
                    continue;
                };
                let offset = base + u64::from(block) * BLOCK;
                let place = self.cuts.place(offset);
                if place != offset {
                    self.point((DirectoryId(index), at), place, size)?;
                }
            }
        }
        Ok(())
    }

    /// Removes a file under all its names.
    pub(in crate::iso::edit) fn remove(&mut self, path: &str) -> Result<(), EditError> {
        let (record, file) = find(self.image, path)?;
        let own_path = self.begin(path, record, file)?;
        self.remember(record, file, None);
        for (directory, at) in self.image.records(record, file) {
            let directory = self.directory(directory)?;
            directory.records.retain(|record| record.origin != Origin::Image(at));
            // The records behind it move up.
            directory.grown = true;
        }
        let change = Change::structure(own_path, ChangeKind::FileRemoved);
        self.changes.push(Change { old_size: Some(file.extent.length), ..change });
        Ok(())
    }
}

/// What the edits cut out: removed files, and the old content of files that move.
pub(super) fn cuts(image: &Image, edits: &[Edit]) -> Result<Cuts, EditError> {
    let removed = edits.iter().filter_map(|edit| match edit {
        Edit::Remove { path } => Some(path.as_str()),
        _ => None,
    });
    let moving = edits.iter().filter_map(|edit| match edit {
        Edit::Replace { path, content } => {
            let (_, file) = find(image, path).ok()?;
            let size = file_size(path, content).ok()?;
            in_place(image, file.extent, content, size).is_none().then_some(path.as_str())
        }
        _ => None,
    });
    cut_out(image, &removed.collect::<Vec<_>>(), &moving.collect::<Vec<_>>())
}

/// Cuts out the content of the files at these paths. Also cuts out that of the files at the paths in `moving`, whose content is going to
/// stand elsewhere, if nothing prevents it.
fn cut_out(image: &Image, removed: &[&str], moving: &[&str]) -> Result<Cuts, EditError> {
    if removed.is_empty() {
        return Ok(Cuts::default());
    }
    let fixed_end = fixed_end(image);
    let mut ranges = Vec::new();
    for path in removed {
        let (_, file) = find(image, path)?;
        let refuse = |reason| EditError::File { path: (*path).to_owned(), reason };
        if let Some(reason) = file.reason.clone() {
            return Err(refuse(reason));
        }
        let blocks = blocks(file.extent);
        if !blocks.is_empty() && blocks.start < fixed_end {
            return Err(refuse(NotEditable::BeforeFixed));
        }
        if !image.occupied.is_alone(blocks.start, blocks.end) {
            return Err(refuse(NotEditable::Overlap(blocks.start)));
        }
        ranges.push(blocks);
    }
    for path in moving {
        let Ok((_, File { extent, reason: None })) = find(image, path) else { continue };
        let blocks = blocks(*extent);
        let is_free = image.occupied.is_alone(blocks.start, blocks.end) && !image.boot.starts_in(*extent);
        if blocks.start >= fixed_end && is_free {
            ranges.push(blocks);
        }
    }
    Ok(Cuts::new(ranges))
}

/// The whole blocks of an extent.
fn blocks(Extent { offset, length }: Extent) -> Range<u64> {
    offset..offset.saturating_add(length).next_multiple_of(BLOCK)
}

/// The end of everything that cannot move.
fn fixed_end(image: &Image) -> u64 {
    let directories = image.directories.iter().map(|directory| blocks(directory.extent).end);
    let descriptors = image.descriptors.iter().map(|descriptor| descriptor.offset + BLOCK);
    let tables = image.trees.iter().flat_map(|tree| &tree.path_tables);
    let tables = tables.map(|table| table.offset + table.bytes.len() as u64);
    let continuations = image.directories.iter().flat_map(|directory| continuations(image, directory.tree, directory));
    let files = image.directories.iter().flat_map(|directory| &directory.entries);
    let files = files.filter_map(|entry| match &entry.node {
        Node::File(File { extent, reason: Some(NotEditable::BootLoader | NotEditable::BootCatalog) }) => {
            Some(blocks(*extent).end)
        }
        _ => None,
    });
    let all = directories.chain(descriptors).chain(tables).chain(continuations).chain(files);
    all.chain([image.boot.fixed_end()]).max().unwrap_or(0).next_multiple_of(BLOCK)
}

/// The ends of the areas in which the records of a directory continue (CE of Rock Ridge).
fn continuations(image: &Image, tree: usize, directory: &Directory) -> Vec<u64> {
    let Some((base, Naming::RockRidge(skip))) = image.trees.get(tree).map(|tree| (tree.base, tree.names)) else {
        return Vec::new();
    };
    let records = DraftDirectory::of(directory).map(|draft| draft.records).unwrap_or_default();
    let continued = records.iter().filter_map(|record| {
        let mut rest = record.system_use().get(skip..)?;
        loop {
            let length = rest.get(2).copied().map(usize::from).filter(|length| *length >= 4)?;
            let entry = rest.get(..length)?;
            if entry.starts_with(b"CE") {
                return Some(base + (u64::from(u32_le(entry, 4)?) + 1) * BLOCK);
            }
            rest = rest.get(length..)?;
        }
    });
    continued.collect()
}
