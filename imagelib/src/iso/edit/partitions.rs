//! Partition tables in the system area: an MBR, and a GPT beside it.

use std::collections::BTreeSet;

use super::cuts::Cuts;
use super::error::{NotEditable, OpenError};
use crate::disk::SECTOR;
use crate::disk::gpt::{Gpt, GptError, Partition};
use crate::disk::mbr::{self, Mbr, MbrPartition};
use crate::iso::{BLOCK, Extent, IsoError};
use crate::overlay::{Patch, Segment};
use crate::source::Source;

/// What a volume has before its first descriptor, in bytes.
const SYSTEM_AREA: u64 = 16 * BLOCK;

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
    /// Where partitions of volumes begin that could not grow.
    pub(super) kept: BTreeSet<u64>,
    /// The size of the image.
    pub(super) size: u64,
}

impl Partitions {
    pub(super) fn read(source: &dyn Source) -> Result<Self, OpenError> {
        let mbr = Mbr::read(source).map_err(|source| IsoError::Read { offset: 0, source })?;
        let gpt = Gpt::read(source).map_err(|error| match error {
            GptError::Read(source) => OpenError::Iso(IsoError::Read { offset: SECTOR, source }),
            damaged => NotEditable::Gpt(damaged.to_string()).into(),
        })?;
        Ok(Self { mbr: mbr.filter(|mbr| mbr.partitions().next().is_some()), gpt })
    }

    /// Where partitions begin at which a volume may begin, too, but for that of the whole image.
    pub(super) fn starts(&self) -> BTreeSet<u64> {
        let mbr = self.mbr.iter().flat_map(Mbr::partitions).filter(|(_, partition)| partition.kind != mbr::PROTECTIVE);
        let mbr = mbr.map(|(_, partition)| Sectors::from(partition).start());
        let gpt = self.gpt.iter().flat_map(of_gpt).map(|(_, sectors)| sectors.start());
        mbr.chain(gpt).filter(|start| *start > 0 && start % BLOCK == 0).collect()
    }

    /// What the partitions take that begin at this offset.
    pub(super) fn beginning_at(&self, start: u64) -> Vec<Extent> {
        let all = self.gpt.iter().flat_map(of_gpt).chain(self.mbr.iter().flat_map(of_mbr));
        let mut found: Vec<Extent> = Vec::new();
        for (_, sectors) in all.filter(|(_, sectors)| sectors.start() == start) {
            let extent = Extent { offset: start, length: sectors.length() };
            if !found.contains(&extent) {
                found.push(extent);
            }
        }
        found
    }

    /// The tables of an image of which something is cut out.
    fn cut(&self, cuts: &Cuts) -> Self {
        let (mut mbr, mut gpt) = (self.mbr.clone(), self.gpt.clone());
        if cuts.is_empty() {
            return Self { mbr, gpt };
        }
        if let (Some(old), Some(new)) = (&self.mbr, &mut mbr) {
            // One that says "all there is" stays.
            for (index, sectors) in of_mbr(old).into_iter().filter(|(_, sectors)| sectors.last < u64::from(u32::MAX)) {
                let Sectors { first, last } = sectors.cut(cuts);
                new.place(index, first, last);
            }
        }
        if let (Some(old), Some(new)) = (&self.gpt, &mut gpt) {
            for (index, sectors) in of_gpt(old) {
                let Sectors { first, last } = sectors.cut(cuts);
                new.place(index, first, last);
            }
        }
        Self { mbr, gpt }
    }

    /// The tables of an image of which something was cut out, and that has grown then. Without tables, none are made.
    pub(super) fn resize(&self, cuts: &Cuts, growth: Growth<'_>) -> Result<Grown, NotEditable> {
        let cut = self.cut(cuts);
        let table = self.gpt.as_ref().map_or(0, Gpt::backup_size);
        // An image of whole cylinders, as isohybrid makes it, stays one.
        let cylinder = self.mbr.as_ref().and_then(Mbr::cylinder).unwrap_or(BLOCK);
        let whole = cylinder.is_multiple_of(BLOCK) && growth.old_size.is_multiple_of(cylinder);
        let size = (growth.data_end + table).next_multiple_of(if whole { cylinder } else { BLOCK });
        let padding = Segment::zeros(size - growth.data_end - table);
        let mut grown =
            Grown { patches: Vec::new(), tail: vec![padding], changed: Vec::new(), kept: BTreeSet::new(), size };
        if let Some(gpt) = &cut.gpt {
            let all = of_gpt(gpt);
            let mut new = gpt.clone();
            for (index, sectors) in &all {
                let Sectors { first, last } = sectors.grown(&all, growth);
                new.place(*index, first, last);
            }
            let resized = new.resized(size).map_err(|error| NotEditable::Gpt(error.to_string()))?;
            grown.patches.extend(resized.patches);
            grown.tail.extend(resized.backup);
            grown.changed.push("GPT");
            grown.kept.extend(kept(&all, growth));
        }
        if let Some(mbr) = &cut.mbr {
            let new = resized_mbr(mbr, growth, size);
            if self.mbr.as_ref() != Some(&new) {
                grown.patches.push(new.table());
                grown.changed.push("MBR");
            }
            grown.kept.extend(kept(&of_mbr(mbr), growth));
        }
        Ok(grown)
    }
}

fn resized_mbr(mbr: &Mbr, growth: Growth<'_>, size: u64) -> Mbr {
    let all = of_mbr(mbr);
    let mut resized = mbr.clone();
    for (index, partition) in mbr.partitions() {
        let old = Sectors::from(partition);
        let mut new = old.grown(&all, growth);
        // One that says "all there is" stays.
        let whole = partition.kind == mbr::PROTECTIVE && old.last < u64::from(u32::MAX) && old.is_last(&all);
        // The partition of the whole image includes the backup of the GPT.
        if whole || (new.first == old.first && new.last != old.last) {
            new.last = (size / SECTOR).max(1) - 1;
        }
        if new != old {
            resized.place(index, new.first, new.last);
        }
    }
    resized
}

/// The partitions of a table with their numbers.
type Numbered = Vec<(usize, Sectors)>;

fn of_gpt(gpt: &Gpt) -> Numbered {
    gpt.partitions().map(|(index, Partition { first, last, .. })| (index, Sectors { first, last })).collect()
}

fn of_mbr(mbr: &Mbr) -> Numbered {
    mbr.partitions().map(|(index, partition)| (index, partition.into())).collect()
}

/// Where partitions of volumes begin that do not reach to the end.
fn kept(all: &Numbered, growth: Growth<'_>) -> impl Iterator<Item = u64> {
    let kept = all.iter().filter(move |(_, sectors)| sectors.are_of_volume(growth) && !sectors.is_last(all));
    kept.map(|(_, sectors)| sectors.start())
}

/// Sectors, from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sectors {
    first: u64,
    last: u64,
}

impl From<MbrPartition> for Sectors {
    fn from(partition: MbrPartition) -> Self {
        let first = u64::from(partition.first_sector);
        Self { first, last: first + u64::from(partition.sectors).saturating_sub(1) }
    }
}

impl Sectors {
    /// Where they begin, in bytes.
    fn start(self) -> u64 {
        self.first.saturating_mul(SECTOR)
    }

    /// How long they are, in bytes.
    fn length(self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1).saturating_mul(SECTOR)
    }

    /// Whether they are the partition of a volume. xorriso's `--mbr-force-bootable` adds an active entry of one sector at the beginning
    /// of the disk, which some BIOSes look for; a volume does not fit into it.
    fn are_of_volume(self, growth: Growth<'_>) -> bool {
        self.length() > SYSTEM_AREA && growth.bases.contains(&self.start())
    }

    /// Where they are after cuts.
    fn cut(self, cuts: &Cuts) -> Self {
        let place = |sector: u64| cuts.place(sector.saturating_mul(SECTOR)) / SECTOR;
        Self { first: place(self.first), last: place(self.last.saturating_add(1)).max(1) - 1 }
    }

    /// What becomes of a partition of `all` when the image grows.
    fn grown(self, all: &Numbered, growth: Growth<'_>) -> Self {
        let start = self.start();
        if let Some((_, to)) = growth.moved.iter().find(|(from, _)| from.offset == start && self.is(*from)) {
            let first = to.offset / SECTOR;
            return Self { first, last: first + to.length.div_ceil(SECTOR).max(1) - 1 };
        }
        // The partition of a volume grows with it, unless something follows that is not part of it.
        if self.are_of_volume(growth) && self.is_last(all) {
            return Self { first: self.first, last: (growth.data_end / SECTOR).max(1) - 1 };
        }
        self
    }

    /// Whether none of `all` begins behind it.
    fn is_last(self, all: &Numbered) -> bool {
        all.iter().all(|(_, other)| other.first <= self.last)
    }

    /// Whether it is made for that extent, to the block.
    fn is(self, extent: Extent) -> bool {
        let end = self.last.saturating_add(1).saturating_mul(SECTOR);
        end.div_ceil(BLOCK) == extent.offset.saturating_add(extent.length).div_ceil(BLOCK)
    }
}
