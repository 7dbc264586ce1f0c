//! Checksums of files that have been edited.

use bytes::Bytes;

use super::Draft;
use crate::iso::edit::changes::{Change, ChangeKind};
use crate::iso::edit::checksums::{ChecksumFile, Line};
use crate::iso::edit::error::EditError;
use crate::iso::edit::tree::Node;
use crate::overlay::{Patch, Segment};
use crate::source::Role;

impl Draft<'_> {
    /// Puts right, or removes, the lines of edited files in the files with checksums that are not edited themselves.
    pub(super) fn write_checksums(&mut self) -> Result<(), EditError> {
        let image = self.image;
        for file in &image.checksums {
            if self.edited.contains(&file.record) {
                continue;
            }
            let mut updated = Vec::new();
            let mut removed = Vec::new();
            for (path, hashes) in &self.contents {
                let Some(line) = file.lines.get(path) else { continue };
                let digits = hashes.as_ref().and_then(|hashes| hashes.digits(line.digits.len()));
                let kind = if digits.is_some() { ChangeKind::ChecksumUpdated } else { ChangeKind::ChecksumRemoved };
                self.changes.push(Change::structure(format!("{} in {}", path, file.path), kind));
                match digits {
                    Some(digits) => updated.push((line, digits)),
                    None => removed.push(line),
                }
            }
            if removed.is_empty() {
                let patch = |(line, digits): (&Line, String)| {
                    Patch::bytes(file.extent.offset + line.digits.start as u64, digits.into_bytes())
                };
                // One that is listed in the next has changed, too.
                if let Some(Node::File(own)) = image.entry(file.record).map(|entry| &entry.node)
                    && !updated.is_empty()
                {
                    self.remember(file.record, own, None);
                }
                self.patches.extend(updated.into_iter().map(patch));
            } else {
                self.replace(&file.path, without(file, updated, &removed))?;
            }
        }
        Ok(())
    }
}

/// The file without some of its lines, and with other digits in some.
fn without(file: &ChecksumFile, updated: Vec<(&Line, String)>, removed: &[&Line]) -> Vec<Segment> {
    let mut edits: Vec<(std::ops::Range<usize>, Bytes)> =
        updated.into_iter().map(|(line, digits)| (line.digits.clone(), Bytes::from(digits))).collect();
    edits.extend(removed.iter().map(|line| (line.line.clone(), Bytes::new())));
    edits.sort_by_key(|(range, _)| range.start);
    let mut segments = Vec::new();
    let mut at = 0;
    let start = file.extent.offset;
    let range = |from: usize, to: u64| Segment::base(Role::Iso, start + from as u64..start + to);
    for (edit, bytes) in edits {
        segments.push(range(at, edit.start as u64));
        segments.push(Segment::bytes(bytes));
        at = edit.end;
    }
    segments.push(range(at, file.extent.length));
    segments
}
