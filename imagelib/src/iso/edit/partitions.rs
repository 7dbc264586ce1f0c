//! Partition tables in the system area: an MBR, and a GPT beside it.

mod gpt;
mod mbr;

use std::collections::BTreeSet;

use gpt::Gpt;
use mbr::Mbr;

use super::error::OpenError;
use crate::iso::{BLOCK, Extent, IsoError};
use crate::overlay::{Content, Patch, Segment};
use crate::source::Source;

/// The unit of both tables.
const SECTOR: u64 = 512;

/// The tables that an image has.
#[derive(Debug, Default)]
pub(super) struct Partitions {
    mbr: Option<Mbr>,
    gpt: Option<Gpt>,
}

/// How an image has grown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth<'a> {
    /// Where its volumes begin.
    pub(super) bases: &'a [u64],
    /// Its size before.
    pub(super) old_size: u64,
    /// Where its data ends, in whole blocks. A backup of the GPT follows.
    pub(super) data_end: u64,
    /// Extents that have moved, from and to.
    pub(super) moved: &'a [(Extent, Extent)],
}

/// What the tables become.
pub(super) struct Grown {
    pub(super) patches: Vec<Patch>,
    /// What stands behind the data.
    pub(super) tail: Vec<Segment>,
    /// The tables that have changed.
    pub(super) changed: Vec<&'static str>,
    /// The size of the image.
    pub(super) size: u64,
}

impl Partitions {
    pub(super) fn read(source: &dyn Source) -> Result<Self, OpenError> {
        let length = (2 * SECTOR).min(source.size());
        let sectors = source.read_vec(0, length).map_err(|source| IsoError::Read { offset: 0, source })?;
        let (mbr, header) = sectors.split_at_checked(512).unwrap_or_default();
        Ok(Self { mbr: Mbr::parse(mbr), gpt: Gpt::read(source, header)? })
    }

    /// Where partitions begin at which a volume may begin, too, but for that of the whole image.
    pub(super) fn starts(&self) -> BTreeSet<u64> {
        let mbr = self.mbr.iter().flat_map(Mbr::partitions).map(|partition| partition.first);
        let gpt = self.gpt.iter().flat_map(Gpt::partitions).map(|partition| partition.first);
        let starts = mbr.chain(gpt).filter_map(|sector| sector.checked_mul(SECTOR));
        starts.filter(|start| *start > 0 && start % BLOCK == 0).collect()
    }

    /// The tables of an image that has grown. Without tables, none are made.
    pub(super) fn grow(&self, growth: Growth<'_>) -> Grown {
        let table = self.gpt.as_ref().map_or(0, Gpt::backup_size);
        let cylinder = self.mbr.as_ref().and_then(|mbr| mbr.cylinder_size(growth.old_size)).unwrap_or(BLOCK);
        let size = (growth.data_end + table).next_multiple_of(cylinder);
        let padding = Segment::Own(Content::Zeros(size - growth.data_end - table));
        let mut grown = Grown { patches: Vec::new(), tail: vec![padding], changed: Vec::new(), size };
        if let Some(gpt) = &self.gpt {
            gpt.grow(growth, &mut grown);
        }
        if let Some(mbr) = &self.mbr {
            mbr.grow(growth, &mut grown);
        }
        grown
    }
}

/// Sectors, from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Partition {
    first: u64,
    last: u64,
}

impl Partition {
    /// What becomes of a partition of `all` when the image grows.
    fn grown(self, all: &[Self], growth: Growth<'_>) -> Self {
        let start = self.first.saturating_mul(SECTOR);
        if let Some((_, to)) = growth.moved.iter().find(|(from, _)| from.offset == start && self.is(*from)) {
            let first = to.offset / SECTOR;
            return Self { first, last: first + to.length.div_ceil(SECTOR).max(1) - 1 };
        }
        // The partition of a volume grows with it, unless something follows that is not part of it.
        let alone = all.iter().all(|other| other.first <= self.last);
        if growth.bases.contains(&start) && alone {
            return Self { first: self.first, last: (growth.data_end / SECTOR).max(1) - 1 };
        }
        self
    }

    /// Whether it is made for that extent, to the block.
    fn is(self, extent: Extent) -> bool {
        let end = self.last.saturating_add(1).saturating_mul(SECTOR);
        end.next_multiple_of(BLOCK) == extent.offset.saturating_add(extent.length).next_multiple_of(BLOCK)
    }
}
