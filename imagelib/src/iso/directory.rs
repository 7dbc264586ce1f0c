//! The files of a directory.

use super::record::{Naming, Record};
use super::rock_ridge;
use std::ops::Range;

use super::fields::{read_bytes, u32_both};
use super::{BLOCK, IsoError};
use crate::source::Source;

/// The size in bytes of the largest directory that dayone reads: some fifty thousand files.
pub(super) const MAX_DIRECTORY_BYTES: u64 = 8 << 20;

const BLOCK_LENGTH: usize = 2048;

/// A range of bytes within the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

impl Extent {
    /// The same as a range of byte offsets.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.length)
    }
}

/// The kind of a directory's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A file.
    File,
    /// A symbolic link of Rock Ridge, which the readers do not follow.
    Symlink,
}

/// An entry of a directory, with the places of all its parts in the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Its name without its directory: the Rock Ridge name, or else the tree's own. The root has an empty name.
    pub name: String,
    /// Its name as readers without Rock Ridge see it, such as `KARGS.JSO`.
    pub tree_name: String,
    /// What it is.
    pub kind: EntryKind,
    /// Its content, in order. Only files of 4 GiB and more have several extents.
    pub extents: Vec<Extent>,
    /// The offsets of its directory records in the image, one for each extent.
    pub records: Vec<u64>,
}

impl FileEntry {
    /// The entry of a single record, in a volume whose first block stands at `base`.
    pub(super) fn from_record(
        source: &dyn Source,
        record: &Record<'_>,
        base: u64,
        name: String,
    ) -> Result<Self, IsoError> {
        let kind = if record.is_directory() { EntryKind::Directory } else { EntryKind::File };
        let mut entry = Self { tree_name: name.clone(), name, kind, extents: Vec::new(), records: Vec::new() };
        entry.add(source, record, base)?;
        Ok(entry)
    }

    /// Adds the extent of a record. An empty file also has an extent, whose offset has no meaning, but lies within the image.
    fn add(&mut self, source: &dyn Source, record: &Record<'_>, base: u64) -> Result<(), IsoError> {
        let extent = extent(source, base, record.block, record.size, record.offset)?;
        self.extents.push(extent);
        self.records.push(record.offset);
        Ok(())
    }

    /// The size of its content in bytes.
    pub fn size(&self) -> u64 {
        self.extents.iter().fold(0, |sum, extent| sum.saturating_add(extent.length))
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == EntryKind::Directory
    }

    /// Reads the content of a file. An error if it is not a file or has more than `limit` bytes.
    pub fn read(&self, source: &dyn Source, limit: u64) -> Result<Vec<u8>, IsoError> {
        if self.kind != EntryKind::File {
            return Err(IsoError::Kind { name: self.name.clone(), wanted: "file" });
        }
        if self.size() > limit {
            return Err(IsoError::FileTooLarge { name: self.name.clone(), size: self.size(), limit });
        }
        let mut content = Vec::new();
        for Extent { offset, length } in self.extents.iter().copied() {
            content.extend(read_bytes(source, offset, length)?);
        }
        Ok(content)
    }
}

/// An extent of the volume as a range of the image. `record` is the offset of its directory record, for errors.
pub(super) fn extent(source: &dyn Source, base: u64, block: u64, size: u32, record: u64) -> Result<Extent, IsoError> {
    let offset = base.saturating_add(block.saturating_mul(BLOCK));
    let length = u64::from(size);
    if offset.checked_add(length).is_none_or(|end| end > source.size()) {
        // libarchive gives empty files a place far outside. Everybody may read their range, so it must lie within the image.
        return if length == 0 {
            Ok(Extent { offset: 0, length })
        } else {
            Err(IsoError::Outside { record, start: offset, length })
        };
    }
    Ok(Extent { offset, length })
}

/// The entries of `directory`, without the entries for itself and its parent.
pub(super) fn list(
    source: &dyn Source,
    base: u64,
    names: Naming,
    directory: &FileEntry,
) -> Result<Vec<FileEntry>, IsoError> {
    let mut entries: Vec<FileEntry> = Vec::new();
    // The extents of one file follow each other, all but the last marked as going on.
    let mut unfinished = false;
    each_record(source, directory, |record| {
        if record.is_self_or_parent() || record.is_associated() {
            return Ok(());
        }
        let tree_name = names.decode(record.name);
        match entries.last_mut().filter(|_| unfinished) {
            Some(last) if last.tree_name == tree_name => last.add(source, &record, base)?,
            Some(_) => {
                return Err(IsoError::Record { offset: record.offset, reason: "does not continue the file before it" });
            }
            None => entries.extend(entry(source, base, names, &record, tree_name)?),
        }
        unfinished = record.continues();
        Ok(())
    })?;
    if unfinished {
        let offset = entries.last().and_then(|entry| entry.records.last()).copied().unwrap_or_default();
        return Err(IsoError::Record { offset, reason: "announces another extent of its file that does not follow" });
    }
    Ok(entries)
}

/// The entry of a file's first record. `None` for a relocated directory, which belongs to another place.
fn entry(
    source: &dyn Source,
    base: u64,
    names: Naming,
    record: &Record<'_>,
    tree_name: String,
) -> Result<Option<FileEntry>, IsoError> {
    let mut entry = FileEntry::from_record(source, record, base, tree_name)?;
    let additions = rock_ridge::read(source, base, names, record)?;
    if additions.relocated_here {
        return Ok(None);
    }
    if let Some(name) = additions.name {
        entry.name = name;
    }
    if additions.symlink.is_some() {
        entry.kind = EntryKind::Symlink;
    }
    if let Some(block) = additions.relocated_to {
        entry.kind = EntryKind::Directory;
        entry.extents = vec![moved_directory(source, base, block, record.offset)?];
    }
    Ok(Some(entry))
}

/// The extent of a directory whose first block is known. Its first record, for itself, has its size.
pub(super) fn moved_directory(source: &dyn Source, base: u64, block: u64, record: u64) -> Result<Extent, IsoError> {
    let Extent { offset, .. } = extent(source, base, block, 34, record)?;
    let size = u32_both(&read_bytes(source, offset, 34)?, 10, offset, "size of a directory")?;
    extent(source, base, block, size, record)
}

/// The system use field of the directory's first record, for itself.
pub(super) fn own_system_use(source: &dyn Source, directory: &FileEntry) -> Result<Vec<u8>, IsoError> {
    let Some(Extent { offset, length }) = directory.extents.first().copied() else { return Ok(Vec::new()) };
    let bytes = read_bytes(source, offset, length.min(BLOCK))?;
    Ok(Record::parse(&bytes, offset)?.system_use.to_vec())
}

fn each_record(
    source: &dyn Source,
    directory: &FileEntry,
    mut each: impl FnMut(Record<'_>) -> Result<(), IsoError>,
) -> Result<(), IsoError> {
    if !directory.is_directory() {
        return Err(IsoError::Kind { name: directory.name.clone(), wanted: "directory" });
    }
    for Extent { offset, length } in directory.extents.iter().copied() {
        if length > MAX_DIRECTORY_BYTES {
            return Err(IsoError::DirectoriesTooLarge { offset, limit: MAX_DIRECTORY_BYTES });
        }
        records(&read_bytes(source, offset, length)?, offset, &mut each)?;
    }
    Ok(())
}

/// The records in the bytes of a directory, which begin at `offset` in the image.
pub(super) fn records<'a>(
    bytes: &'a [u8],
    offset: u64,
    mut each: impl FnMut(Record<'a>) -> Result<(), IsoError>,
) -> Result<(), IsoError> {
    let mut block_offset = offset;
    for block in bytes.chunks(BLOCK_LENGTH) {
        let mut at = 0;
        // A record never crosses a block; zeros fill the rest (§6.8.1.1).
        while let Some(rest) = block.get(at..).filter(|rest| rest.first().is_some_and(|&length| length != 0)) {
            let record = Record::parse(rest, block_offset + at as u64)?;
            at += record.length;
            each(record)?;
        }
        block_offset += BLOCK;
    }
    Ok(())
}
