//! An image as a list of segments: ranges of an immutable base's files, with a few new bytes in between.
//!
//! Nothing is written or copied. The segments alone determine the size, the identity and the bytes of every range.

mod counter;
mod patch;
mod prefix;
mod segments;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

pub use counter::Counter;
pub use patch::{Content, Patch};
pub use prefix::{PrefixStates, PrefixStatesError};
pub use segments::Segments;
pub use source::OverlaySource;

use crate::digest::Digest;
use crate::source::{Role, Sources};

/// Why segments do not make an overlay: the plan is for another base, or has a mistake.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverlayError {
    /// A patch or a range reaches past the end of its file.
    #[error("{length} bytes at offset {offset} do not fit in the {file} of {size} bytes")]
    OutOfBase {
        /// The file of the base.
        file: Role,
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        length: u64,
        /// The file's size in bytes; 0 if the base has no such file.
        size: u64,
    },
    /// Two patches overlap at this offset.
    #[error("two patches overlap at offset {0}")]
    Overlap(u64),
    /// The image would have more bytes than 64 bits can count.
    #[error("the image would be larger than 2^64 bytes")]
    TooLarge,
}

/// A run of an image's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// The bytes of a file of the base from `offset` on.
    Base {
        /// The file.
        file: Role,
        /// The first byte in the file.
        offset: u64,
        /// The number of bytes.
        length: u64,
    },
    /// New bytes.
    Own(Content),
}

impl Segment {
    /// The bytes at `range` of a file of the base.
    pub fn base(file: Role, range: Range<u64>) -> Self {
        Self::Base { file, offset: range.start, length: range.end.saturating_sub(range.start) }
    }

    /// Bytes in memory.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self::Own(Content::Bytes(bytes.into()))
    }

    /// `length` zero bytes, which take no memory.
    pub fn zeros(length: u64) -> Self {
        Self::Own(Content::Zeros(length))
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Base { length, .. } => *length,
            Self::Own(content) => content.len(),
        }
    }

    /// The `length` bytes from `skip` on. Both must lie within the segment.
    pub(crate) fn part(&self, skip: u64, length: u64) -> Self {
        match self {
            Self::Base { file, offset, .. } => Self::Base { file: *file, offset: offset + skip, length },
            Self::Own(Content::Zeros(_)) => Self::Own(Content::Zeros(length)),
            Self::Own(Content::Counter(counter)) => Self::Own(Content::Counter(counter.part(skip, length))),
            Self::Own(Content::Bytes(bytes)) => {
                // A segment in memory is no longer than memory, so both fit a usize.
                let (skip, length) = (usize::try_from(skip).unwrap_or(0), usize::try_from(length).unwrap_or(0));
                Self::Own(Content::Bytes(bytes.slice(skip..skip + length)))
            }
        }
    }
}

/// An image over the files of a base: segments that follow each other without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    segments: Vec<Placed>,
    size: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Placed {
    start: u64,
    segment: Segment,
}

impl Overlay {
    /// A file of `size` bytes with `patches`, in any order.
    pub fn patched(file: Role, size: u64, patches: Vec<Patch>) -> Result<Self, OverlayError> {
        let segments = patched(file, size, patches)?;
        Self::concatenated(&Sizes::from([(file, size)]), segments)
    }

    /// Segments one after the other, over files of these sizes. Drops empty segments.
    pub fn concatenated(sizes: &Sizes, segments: Vec<Segment>) -> Result<Self, OverlayError> {
        for segment in &segments {
            if let Segment::Base { file, offset, length } = *segment {
                let size = sizes.get(&file).copied().unwrap_or(0);
                if offset.checked_add(length).is_none_or(|end| end > size) {
                    return Err(OverlayError::OutOfBase { file, offset, length, size });
                }
            }
        }
        Self::placed(segments)
    }

    fn placed(segments: Vec<Segment>) -> Result<Self, OverlayError> {
        let mut placed = Vec::with_capacity(segments.len());
        let mut total = 0_u64;
        for segment in segments {
            let length = segment.length();
            if length > 0 {
                placed.push(Placed { start: total, segment });
                total = total.checked_add(length).ok_or(OverlayError::TooLarge)?;
            }
        }
        Ok(Self { segments: placed, size: total })
    }

    /// Replaces the ranges of a base with the bytes of `lower`: this image was planned over `lower` as if it were a file.
    pub fn laid_over(&self, lower: &Self) -> Result<Self, OverlayError> {
        let mut segments = Vec::with_capacity(self.segments.len() + lower.segments.len());
        for Placed { segment, .. } in &self.segments {
            match *segment {
                Segment::Base { file, offset, length } => {
                    let size = lower.size;
                    let end = offset.checked_add(length).filter(|end| *end <= size);
                    let end = end.ok_or(OverlayError::OutOfBase { file, offset, length, size })?;
                    segments.extend(lower.segments(offset..end));
                }
                Segment::Own(_) => segments.push(segment.clone()),
            }
        }
        Self::placed(segments)
    }

    /// An image of bytes in memory, without a base.
    pub fn literal(bytes: Bytes) -> Self {
        let size = bytes.len() as u64;
        Self { segments: vec![Placed { start: 0, segment: Segment::bytes(bytes) }], size }
    }

    /// The files of the base that the image has ranges of.
    pub fn files(&self) -> BTreeSet<Role> {
        let file = |placed: &Placed| match placed.segment {
            Segment::Base { file, .. } => Some(file),
            Segment::Own(_) => None,
        };
        self.segments.iter().filter_map(file).collect()
    }

    /// The image's length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The number of new bytes that the image holds in memory.
    pub fn patch_size(&self) -> u64 {
        let own = |placed: &Placed| match &placed.segment {
            Segment::Own(Content::Bytes(bytes)) => bytes.len() as u64,
            Segment::Own(Content::Zeros(_) | Content::Counter(_)) | Segment::Base { .. } => 0,
        };
        self.segments.iter().map(own).sum()
    }

    /// The segments of `range`, cut to it. Leaves out what lies past the image's end.
    pub fn segments(&self, range: Range<u64>) -> Segments<'_> {
        Segments::new(&self.segments, range.start.min(self.size)..range.end.min(self.size))
    }

    /// Reads up to `buffer.len()` bytes of the image from `offset` on. Returns their number, which is smaller only at the end
    /// of the image.
    pub fn read_at(&self, base: &dyn Sources, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut rest = buffer;
        let end = offset.saturating_add(rest.len() as u64);
        let mut count = 0;
        for segment in self.segments(offset..end) {
            // The segments are cut to the buffer's length.
            let length = usize::try_from(segment.length()).unwrap_or(usize::MAX).min(rest.len());
            let (target, behind) = rest.split_at_mut(length);
            match segment {
                Segment::Base { file, offset, .. } => match base.source(file) {
                    Some(source) => source.read_exact_at(offset, target)?,
                    None => return Err(io::Error::new(io::ErrorKind::NotFound, format!("the base has no {file}"))),
                },
                Segment::Own(Content::Bytes(bytes)) => target.copy_from_slice(&bytes),
                Segment::Own(Content::Zeros(_)) => target.fill(0),
                Segment::Own(Content::Counter(counter)) => _ = counter.fill(target),
            }
            count += length;
            rest = behind;
        }
        Ok(count)
    }

    /// The identity of the image: a SHA-256 over its segments and over the digests of the base's files that it has ranges of.
    /// `None` if `digests` lacks one of these files. Different bytes never have the same identity. The same bytes have the
    /// same identity only if they were planned alike. Reads nothing from the base.
    pub fn identity(&self, digests: &BTreeMap<Role, Digest>) -> Option<Digest> {
        let files: Vec<Role> = self.files().into_iter().collect();
        // With at most one file, the ranges need not name it.
        let several = files.len() > 1;
        let mut hasher = Sha256::new_with_prefix(if several { b"dayone overlay 2\0" } else { b"dayone overlay 1\0" });
        for file in &files {
            hasher.update(digests.get(file)?.as_bytes());
        }
        for Placed { segment, .. } in &self.segments {
            match segment {
                Segment::Base { file, offset, length } => {
                    hasher.update(b"b");
                    if several {
                        hasher.update(file.to_string());
                        hasher.update([0]);
                    }
                    hasher.update(offset.to_le_bytes());
                    hasher.update(length.to_le_bytes());
                }
                Segment::Own(Content::Bytes(bytes)) => {
                    hasher.update(b"p");
                    hasher.update((bytes.len() as u64).to_le_bytes());
                    hasher.update(bytes);
                }
                Segment::Own(Content::Zeros(length)) => {
                    hasher.update(b"z");
                    hasher.update(length.to_le_bytes());
                }
                Segment::Own(Content::Counter(counter)) => {
                    hasher.update(b"c");
                    hasher.update(counter.identity());
                }
            }
        }
        Some(Digest::finish(hasher))
    }

    /// The SHA-256 of the image's bytes. If the image begins with a file of the base, `states` may have its hash up to the
    /// first patch; the rest is read.
    pub fn digest<'a>(
        &self,
        base: &dyn Sources,
        states: impl FnOnce(Role) -> Option<&'a PrefixStates>,
    ) -> io::Result<Digest> {
        let (mut hasher, done) = match self.segments.first() {
            Some(Placed { segment: Segment::Base { file, offset: 0, length }, .. }) => {
                match base.source(*file).zip(states(*file)) {
                    Some((source, states)) => (states.hash(source, *length)?, *length),
                    None => (Sha256::new(), 0),
                }
            }
            _ => (Sha256::new(), 0),
        };
        let mut buffer = vec![0; prefix::CHUNK];
        let mut position = done;
        loop {
            let count = self.read_at(base, position, &mut buffer)?;
            match buffer.get(..count) {
                Some(bytes) if count > 0 => hasher.update(bytes),
                _ => return Ok(Digest::finish(hasher)),
            }
            position += count as u64;
        }
    }
}

/// The sizes of the base's files, in bytes.
pub type Sizes = BTreeMap<Role, u64>;

/// The segments of a file of `size` bytes with `patches`, in any order. The caller may append more segments.
pub fn patched(file: Role, size: u64, mut patches: Vec<Patch>) -> Result<Vec<Segment>, OverlayError> {
    patches.sort_by_key(|patch| patch.offset);
    let mut segments = Vec::with_capacity(patches.len() * 2 + 1);
    let mut position = 0;
    for Patch { offset, content } in patches {
        let length = content.len();
        let end = offset.checked_add(length).filter(|end| *end <= size);
        let end = end.ok_or(OverlayError::OutOfBase { file, offset, length, size })?;
        let gap = offset.checked_sub(position).ok_or(OverlayError::Overlap(offset))?;
        segments.push(Segment::base(file, position..position + gap));
        segments.push(Segment::Own(content));
        position = end;
    }
    segments.push(Segment::base(file, position..size));
    Ok(segments)
}

#[cfg(test)]
mod tests;
