//! What follows from new records: directories that move, and all that knows where they are.

use std::collections::BTreeMap;

use super::{Draft, block};
use crate::fields::{both_endian, put};
use crate::iso::descriptor::{PATH_TABLE_SIZE, ROOT_RECORD};
use crate::iso::edit::bytes::difference;
use crate::iso::edit::changes::{Change, ChangeKind};
use crate::iso::edit::error::{EditError, NotEditable};
use crate::iso::edit::layout::Origin;
use crate::iso::edit::path_table::{self, Added, Order};
use crate::iso::edit::record_id::DirectoryId;
use crate::iso::{BLOCK, Extent};
use crate::overlay::{Patch, Segment};

impl Draft<'_> {
    /// Places directories that are new or have no room, and writes all of them.
    pub(super) fn write_directories(&mut self) -> Result<(), EditError> {
        self.count_links()?;
        let reserved = self.reserve()?;
        let placed: Vec<DirectoryId> = reserved.keys().copied().collect();
        for id in &placed {
            self.point_to_directory(*id)?;
        }
        self.write_path_tables(&placed)?;
        if !reserved.is_empty() {
            // xorriso reads one block more than a directory has.
            self.append(vec![Segment::zeros(BLOCK)])?;
        }
        for (id, draft) in &self.directories {
            let directory = self.image.directory(*id);
            let length = directory.map_or(0, |directory| directory.bytes.len());
            let bytes = draft.layout(length);
            if let Some(segment) = reserved.get(id).and_then(|index| self.appended.get_mut(*index)) {
                *segment = Segment::bytes(bytes);
            } else if let Some(directory) = directory {
                self.patches.extend(difference(directory.extent.offset, &directory.bytes, bytes));
            }
        }
        Ok(())
    }

    /// A directory has a link from each directory in it.
    fn count_links(&mut self) -> Result<(), EditError> {
        let mut parents: BTreeMap<DirectoryId, u32> = BTreeMap::new();
        for new in &self.new {
            *parents.entry(new.parent).or_default() += 1;
        }
        for (parent, more) in parents {
            let root = self.record_of(parent).is_none();
            if let Some((own, above)) = self.directory(parent)?.head() {
                own.add_links(more);
                if root {
                    above.add_links(more);
                }
            }
            if let Some((directory, origin)) = self.record_of(parent)
                && let Some(record) = self.directory(directory)?.record(origin)
            {
                record.add_links(more);
            }
            for child in self.children(parent) {
                if let Some((_, above)) = self.directory(child)?.head() {
                    above.add_links(more);
                }
            }
        }
        Ok(())
    }

    /// Reserves places behind the end, and says which segments they are.
    fn reserve(&mut self) -> Result<BTreeMap<DirectoryId, usize>, EditError> {
        let mut lengths = Vec::new();
        for (id, draft) in self.directories.iter().filter(|(_, draft)| draft.grown) {
            let directory = self.image.directory(*id);
            let old = directory.map_or(0, |directory| directory.bytes.len());
            let length = draft.layout(old).len();
            if length == old {
                continue;
            }
            if let Some(directory) = directory {
                let path = directory.path.clone();
                if directory.relocation {
                    return Err(EditError::File { path, reason: NotEditable::RelocatedDirectory });
                }
                let path = if path.is_empty() { "/".to_owned() } else { path };
                let kind = ChangeKind::DirectoryMoved;
                self.changes.push(Change::sizes(path, kind, Some(old as u64), length as u64));
            }
            lengths.push((*id, length as u64));
        }
        let mut reserved = BTreeMap::new();
        for (id, length) in lengths {
            self.align();
            let index = self.appended.len();
            let offset = self.append(vec![Segment::zeros(length)])?;
            self.directory(id)?.moved = Some(Extent { offset, length });
            reserved.insert(id, index);
        }
        Ok(reserved)
    }

    /// Makes all records of a directory point to where it is.
    fn point_to_directory(&mut self, id: DirectoryId) -> Result<(), EditError> {
        let (at, size) = self.place(id)?;
        if let Some((own, _)) = self.directory(id)?.head() {
            own.set_extent(at, size);
        }
        let mut above_at = (at, size);
        if let Some((directory, origin)) = self.record_of(id) {
            if let Some(record) = self.directory(directory)?.record(origin) {
                record.set_extent(at, size);
            }
            above_at = self.place(directory)?;
        } else {
            let tree = self.tree(id);
            for (descriptor, bytes) in self.image.descriptors.iter().zip(&mut self.descriptors) {
                if Some(descriptor.tree) == tree {
                    put(bytes, ROOT_RECORD + 2, &both_endian(at));
                    put(bytes, ROOT_RECORD + 10, &both_endian(size));
                }
            }
        }
        if let Some((_, above)) = self.directory(id)?.head() {
            above.set_extent(above_at.0, above_at.1);
        }
        for child in self.children(id) {
            if let Some((_, above)) = self.directory(child)?.head() {
                above.set_extent(at, size);
            }
        }
        Ok(())
    }

    /// Where a directory is: its first block, and its size.
    fn place(&self, id: DirectoryId) -> Result<(u32, u32), EditError> {
        let moved = self.directories.get(&id).and_then(|draft| draft.moved);
        let extent = moved.or(self.image.directory(id).map(|directory| directory.extent));
        let Extent { offset, length } = extent.unwrap_or(Extent { offset: 0, length: 0 });
        let size = u32::try_from(length).map_err(|_| EditError::TooLarge("a directory would have 4 GiB"))?;
        Ok((self.block(id, offset)?, size))
    }

    /// The record of a directory in its parent; none of the root's.
    fn record_of(&self, id: DirectoryId) -> Option<(DirectoryId, Origin)> {
        match self.image.directory(id) {
            Some(directory) => directory.record.map(|(parent, at)| (parent, Origin::Image(at))),
            None => self.new_directory(id).map(|new| (new.parent, Origin::Directory(id))),
        }
    }

    fn children(&self, id: DirectoryId) -> Vec<DirectoryId> {
        let children = self.image.directory(id).into_iter().flat_map(|directory| directory.children.values().copied());
        let first = self.image.directories.len();
        let new = self.new.iter().enumerate().filter(|(_, new)| new.parent == id);
        children.chain(new.map(|(index, _)| DirectoryId(first + index))).collect()
    }

    /// Path tables name all directories that are new or have moved.
    fn write_path_tables(&mut self, placed: &[DirectoryId]) -> Result<(), EditError> {
        for (index, tree) in self.image.trees.iter().enumerate() {
            let mut moved = Vec::new();
            let mut added = Vec::new();
            for id in placed.iter().filter(|id| self.tree(**id) == Some(index)) {
                let at = self.place(*id)?.0;
                match (self.image.directory(*id), self.new_directory(*id)) {
                    (Some(directory), _) => moved.push((block(directory.extent.offset, tree.base)?, at)),
                    (_, Some(new)) => {
                        let parent = self.place(new.parent)?.0;
                        added.push(Added { parent, block: at, name: new.raw_name.clone() });
                    }
                    _ => {}
                }
            }
            if moved.is_empty() && added.is_empty() {
                continue;
            }
            for table in tree.path_tables.iter().filter(|table| !table.bytes.is_empty()) {
                let order = if table.field < 148 { Order::Little } else { Order::Big };
                let bytes = path_table::rewrite(&table.bytes, order, tree.names, &moved, &added);
                let bytes = bytes.ok_or(NotEditable::PathTable(table.offset))?;
                self.write_path_table(index, table.field, table.offset, &table.bytes, bytes)?;
            }
            let subject = format!("path tables ({})", tree.label());
            self.changes.push(Change::structure(subject, ChangeKind::PathTableRewritten));
        }
        Ok(())
    }

    fn write_path_table(
        &mut self,
        tree: usize,
        field: usize,
        offset: u64,
        old: &[u8],
        new: Vec<u8>,
    ) -> Result<(), EditError> {
        let size = u32::try_from(new.len()).map_err(|_| EditError::TooLarge("a path table would have 4 GiB"))?;
        let end = (offset + old.len() as u64).next_multiple_of(BLOCK);
        let fits = offset + u64::from(size) <= end && self.image.occupied.is_alone(offset, end);
        let place = if new.len() == old.len() {
            self.patches.extend(difference(offset, old, new));
            None
        } else if fits {
            self.patches.push(Patch::bytes(offset, new));
            None
        } else {
            Some(self.append(vec![Segment::bytes(new)])?)
        };
        for (descriptor, bytes) in self.image.descriptors.iter().zip(&mut self.descriptors) {
            if descriptor.tree != tree {
                continue;
            }
            put(bytes, PATH_TABLE_SIZE, &both_endian(size));
            if let Some(place) = place {
                let block = block(place, descriptor.base)?;
                put(bytes, field, &if field < 148 { block.to_le_bytes() } else { block.to_be_bytes() });
            }
        }
        Ok(())
    }
}
