//! The last step of a plan: all that follows from the edits.

use super::{Draft, block};

use crate::fields::{both_endian, put};
use crate::iso::Extent;
use crate::iso::edit::EditPlan;
use crate::iso::edit::bytes::difference;
use crate::iso::edit::changes::{Change, ChangeKind};
use crate::iso::edit::error::{EditError, NotEditable};
use crate::iso::edit::medium_checksum;
use crate::iso::edit::partitions::Growth;
use crate::iso::mark::{self, APPLICATION_USE};
use crate::overlay::{Content, Patch};

/// Where the size of the volume stands in a descriptor (ECMA-119 §8.4.8).
const SPACE_SIZE: usize = 80;

impl Draft<'_> {
    /// All patches, and all that follows the end.
    pub(in crate::iso::edit) fn finish(mut self) -> Result<EditPlan, EditError> {
        self.write_checksums()?;
        self.write_directories()?;
        // What was cut out may be as long as what was added.
        let is_as_it_was = self.cuts.is_empty() && self.end == self.image.size;
        let size = if is_as_it_was { self.image.size } else { self.resize()? };
        self.patches.extend(self.image.boot.cut(&self.cuts, &self.moved));
        if !self.changes.is_empty() {
            self.remove_medium_checksum();
            if self.marked {
                self.write_mark();
            }
        }
        for (descriptor, block) in self.image.descriptors.iter().zip(self.descriptors) {
            self.patches.extend(difference(descriptor.offset, &descriptor.block, block));
        }
        let patches = in_order(self.patches, self.image.size)?;
        let Self { image, cuts, moved, appended, changes, .. } = self;
        Ok(EditPlan { base_size: image.size, cuts, moved, patches, appended, size, changes })
    }

    /// The partition tables and the size of the volume. Returns that of the image.
    fn resize(&mut self) -> Result<u64, EditError> {
        let mut moved: Vec<(Extent, Extent)> = Vec::new();
        for (from, to) in &self.moved {
            moved.extend(self.with_partitions(*from).into_iter().map(|from| (self.cuts.extent(from), *to)));
        }
        let growth = Growth { bases: &self.image.bases, old_size: self.image.size, data_end: self.end, moved: &moved };
        let grown = self.image.partitions.resize(&self.cuts, growth)?;
        self.patches.extend(grown.patches);
        self.appended.extend(grown.tail);
        let (old, new) = (self.image.size, grown.size);
        for (descriptor, bytes) in self.image.descriptors.iter().zip(&mut self.descriptors) {
            put(bytes, SPACE_SIZE, &both_endian(block(new, descriptor.base)?));
        }
        let tables = grown.changed.into_iter().map(|table| (table, ChangeKind::PartitionTableUpdated));
        let volume = if new < old { ChangeKind::VolumeShrunk } else { ChangeKind::VolumeGrown };
        for (subject, kind) in std::iter::once(("volume", volume)).chain(tables) {
            self.changes.push(Change::sizes(subject, kind, Some(old), new));
        }
        for start in grown.kept {
            let subject = format!("partition from byte {start} on");
            self.changes.push(Change::structure(subject, ChangeKind::PartitionKept));
        }
        Ok(new)
    }

    /// What has moved from an extent: its content, and the partitions of the boot image in it. Tools round up the length of such a
    /// partition, or cut it to what the boot catalog can count, so that it ends elsewhere than the file.
    fn with_partitions(&self, from: Extent) -> Vec<Extent> {
        let mut all = vec![from];
        // An empty file may have the place of any other file.
        if from.length > 0 && self.image.boot.starts_at(from.offset) {
            all.extend(self.image.partitions.beginning_at(from.offset));
        }
        all
    }

    fn remove_medium_checksum(&mut self) {
        let mut removed = false;
        for block in &mut self.descriptors {
            let Some(field) = block.get_mut(APPLICATION_USE) else { continue };
            if let Some(rest) = medium_checksum::without(field) {
                field.fill(b' ');
                put(field, 0, &rest);
                removed = true;
            }
        }
        if removed {
            self.changes.push(Change::structure("medium checksum", ChangeKind::MediumChecksumRemoved));
        }
    }

    fn write_mark(&mut self) {
        let mut in_primary = None;
        for block in &mut self.descriptors {
            let written = mark::write(block);
            // `is_marked` looks at the first primary descriptor, whose type is 1.
            if block.first() == Some(&1) {
                in_primary.get_or_insert(written);
            }
        }
        if in_primary == Some(true) {
            self.changes.push(Change::structure("volume descriptors", ChangeKind::Marked));
        }
    }
}

/// The patches in the order in which they stand, none empty, none over another.
fn in_order(patches: Vec<Patch>, size: u64) -> Result<Vec<Patch>, NotEditable> {
    let mut patches: Vec<Patch> = patches.into_iter().filter(|patch| !patch.content.is_empty()).collect();
    patches.sort_by_key(|patch| patch.offset);
    let mut end = 0;
    for patch in &patches {
        if patch.offset < end || patch.end() > size {
            return Err(NotEditable::Overlap(patch.offset));
        }
        end = patch.end();
    }
    // Neighbours in one patch: fewer segments to serve.
    let mut joined: Vec<Patch> = Vec::with_capacity(patches.len());
    for patch in patches {
        match (joined.last_mut(), &patch.content) {
            (Some(Patch { offset, content: Content::Zeros(length) }), Content::Zeros(more))
                if *offset + *length == patch.offset =>
            {
                *length += more;
            }
            _ => joined.push(patch),
        }
    }
    Ok(joined)
}
