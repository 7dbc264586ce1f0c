//! Files of an image that share some of their bytes, and not all.

use std::collections::BTreeMap;

use super::record_id::RecordId;
use crate::iso::Extent;

/// Records of files by their extents: names of one file have one extent.
#[derive(Debug, Default)]
pub(super) struct Overlaps {
    records: BTreeMap<(u64, u64), RecordId>,
}

impl Overlaps {
    pub(super) fn add(&mut self, extent: Extent, record: RecordId) {
        if extent.length > 0 {
            self.records.entry((extent.offset, extent.length)).or_insert(record);
        }
    }

    /// The extents that overlap another one without being equal to it, by offset and length, each with a record of such
    /// another one.
    pub(super) fn partial(&self) -> BTreeMap<(u64, u64), RecordId> {
        let mut found = BTreeMap::new();
        // The extent that reaches farthest of those that begin before: who overlaps any of them overlaps it, and those that
        // it covers have been found when it, or they, came.
        let mut farthest: Option<((u64, u64), RecordId)> = None;
        for (&extent, &record) in &self.records {
            let end = |(offset, length): (u64, u64)| offset.saturating_add(length);
            if let Some((other, other_record)) = farthest.filter(|(other, _)| extent.0 < end(*other)) {
                found.entry(extent).or_insert(other_record);
                found.entry(other).or_insert(record);
            }
            if farthest.is_none_or(|(other, _)| end(extent) > end(other)) {
                farthest = Some((extent, record));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::record_id::DirectoryId;
    use super::*;

    proptest! {
        #[test]
        fn who_overlaps_is_found_and_nobody_else(extents in prop::collection::vec((0_u64..24, 0_u64..8), 0..12)) {
            let mut overlaps = Overlaps::default();
            for (index, (offset, length)) in extents.iter().enumerate() {
                overlaps.add(Extent { offset: *offset, length: *length }, (DirectoryId(index), 0));
            }
            let found = overlaps.partial();
            let overlap = |a: (u64, u64), b: (u64, u64)| a != b && a.0 < b.0 + b.1 && b.0 < a.0 + a.1;
            for extent in extents.iter().copied().filter(|extent| extent.1 > 0) {
                let others = extents.iter().copied().filter(|other| other.1 > 0);
                let expected: Vec<_> = others.filter(|other| overlap(extent, *other)).collect();
                let other = found.get(&extent).map(|record| extents[record.0.0]);
                prop_assert_eq!(other.is_some(), !expected.is_empty(), "{:?}", extent);
                prop_assert!(other.is_none_or(|other| expected.contains(&other)), "{:?}: {:?}", extent, other);
            }
        }
    }
}
