//! The ranges of a file that were read.

use std::ops::Range;

/// Maximum number of ranges per file, which take 8 KiB. A host that boots reads a few dozen.
const MAX_RANGES: usize = 512;

/// Ranges in ascending order that neither overlap nor touch. If there are too many, the two closest ones are merged, as
/// if the bytes between them had been read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    ranges: Vec<Range<u64>>,
    /// How many bytes count as read only because ranges were merged.
    guessed: u64,
}

impl Ranges {
    /// Adds a range.
    pub(super) fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let first = self.ranges.partition_point(|known| known.end < range.start);
        let rest = self.ranges.get(first..).unwrap_or_default();
        let touched = rest.iter().take_while(|known| known.start <= range.end).count();
        let last = rest.get(touched.wrapping_sub(1));
        let (start, end) = match (rest.first(), last) {
            (Some(first), Some(last)) => (first.start.min(range.start), last.end.max(range.end)),
            _ => (range.start, range.end),
        };
        match self.ranges.get_mut(first).filter(|_| touched == 1) {
            Some(known) => *known = start..end,
            None => drop(self.ranges.splice(first..first + touched, std::iter::once(start..end))),
        }
        if self.ranges.len() > MAX_RANGES {
            self.merge_closest();
        }
    }

    fn merge_closest(&mut self) {
        let gaps = self.ranges.windows(2).enumerate().filter_map(|(index, pair)| match pair {
            [one, other] => Some((other.start.saturating_sub(one.end), index)),
            _ => None,
        });
        if let Some((gap, index)) = gaps.min()
            && index + 1 < self.ranges.len()
        {
            let next = self.ranges.remove(index + 1);
            if let Some(range) = self.ranges.get_mut(index) {
                range.end = next.end;
            }
            self.guessed = self.guessed.saturating_add(gap);
        }
    }

    /// The ranges.
    pub(super) fn as_slice(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// How many bytes are in them.
    pub(super) fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum()
    }

    /// Whether some of the bytes were not read, because ranges had to be merged.
    pub(super) fn are_approximate(&self) -> bool {
        self.guessed > 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

        #[test]
        fn ranges_are_what_was_added(added in prop::collection::vec((0_u64..500, 0_u64..60), 0..60)) {
            let mut ranges = Ranges::default();
            let mut read = vec![false; 600];
            for (start, length) in added {
                ranges.add(start..start + length);
                read[usize::try_from(start).unwrap()..usize::try_from(start + length).unwrap()].fill(true);
            }
            let contains = |offset: u64| ranges.as_slice().iter().any(|range| range.contains(&offset));
            for (offset, read) in read.iter().enumerate() {
                prop_assert_eq!(contains(offset as u64), *read, "{}", offset);
            }
            prop_assert_eq!(ranges.bytes(), read.iter().filter(|read| **read).count() as u64);
            prop_assert!(ranges.as_slice().windows(2).all(|pair| pair[0].end < pair[1].start));
            prop_assert!(!ranges.are_approximate());
        }

        #[test]
        fn too_many_ranges_are_merged(starts in prop::collection::vec(0_u64..1 << 24, 600..1200)) {
            let mut ranges = Ranges::default();
            for start in &starts {
                ranges.add(*start..start + 1);
            }
            prop_assert!(ranges.as_slice().len() <= MAX_RANGES);
            prop_assert!(ranges.as_slice().windows(2).all(|pair| pair[0].end < pair[1].start));
            let after = |start: &u64| ranges.as_slice().partition_point(|range| range.end <= *start);
            prop_assert!(starts.iter().all(|start| ranges.as_slice()[after(start)].contains(start)));
        }
    }
}
