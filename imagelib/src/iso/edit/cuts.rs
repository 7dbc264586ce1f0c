//! Ranges that are cut out of an image. What follows a cut moves down by its length, and everything that knows the place of something
//! behind it follows ([`Cuts::place`]).

use std::ops::Range;

use crate::iso::Extent;
use crate::overlay::Segment;

/// Ranges of an image that are cut out: in whole blocks, in order, without overlaps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cuts(Vec<Range<u64>>);

impl Cuts {
    /// Cuts out these ranges, which do not overlap. The same range may be there twice.
    pub(super) fn new(mut ranges: Vec<Range<u64>>) -> Self {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by_key(|range| range.start);
        ranges.dedup();
        Self(ranges)
    }

    /// Whether nothing is cut out.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the offset after the cuts of what is at this offset before them. An offset inside a cut becomes the cut's place.
    pub(super) fn place(&self, offset: u64) -> u64 {
        let before = self.0.iter().take_while(|cut| cut.start < offset);
        offset - before.map(|cut| cut.end.min(offset) - cut.start).sum::<u64>()
    }

    /// The same for an extent.
    pub(super) fn extent(&self, Extent { offset, length }: Extent) -> Extent {
        let place = self.place(offset);
        Extent { offset: place, length: self.place(offset.saturating_add(length)) - place }
    }

    /// Whether the byte at this offset is cut out.
    #[cfg(test)]
    fn has(&self, offset: u64) -> bool {
        self.0.iter().any(|cut| cut.contains(&offset))
    }

    /// The segments of the whole image without those of the cuts.
    pub(super) fn apply(&self, segments: Vec<Segment>) -> Vec<Segment> {
        if self.is_empty() {
            return segments;
        }
        let mut kept = Vec::with_capacity(segments.len() + self.0.len());
        let mut position = 0;
        for segment in segments {
            let end = position + segment.length();
            let mut from = position;
            for cut in self.0.iter().filter(|cut| cut.start < end && cut.end > position) {
                if cut.start > from {
                    kept.push(segment.part(from - position, cut.start - from));
                }
                from = cut.end.min(end);
            }
            if from < end {
                kept.push(segment.part(from - position, end - from));
            }
            position = end;
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::overlay::{Content, Overlay, Sizes};
    use crate::source::Role;

    proptest! {
        #[test]
        fn what_is_kept_stands_where_it_is_said_to_stand(
            lengths in proptest::collection::vec((0_u64..5, 1_u64..5), 0..6), tail in 0_u64..5, patch in 0_u64..30,
        ) {
            let (mut cuts, mut position) = (Vec::new(), 0);
            for (kept, cut) in lengths {
                cuts.push(position + kept..position + kept + cut);
                position += kept + cut;
            }
            let cuts = Cuts(cuts);
            let at = |offset: u64| usize::try_from(offset).unwrap();
            let base: Vec<u8> = (0..=u8::MAX).cycle().take(at(position + tail)).collect();
            let split = patch.min(base.len() as u64);
            let segments = vec![
                Segment::base(Role::Iso, 0..split),
                Segment::Own(Content::Bytes(base[at(split)..].to_vec().into())),
            ];
            let image = Overlay::concatenated(&Sizes::from([(Role::Iso, base.len() as u64)]), cuts.apply(segments)).unwrap();
            let mut bytes = vec![0; at(image.size())];
            image.read_at(&(Role::Iso, &base), 0, &mut bytes).unwrap();
            prop_assert_eq!(bytes.len() as u64, cuts.place(base.len() as u64));
            for (offset, byte) in base.iter().enumerate().filter(|(offset, _)| !cuts.has(*offset as u64)) {
                prop_assert_eq!(bytes[at(cuts.place(offset as u64))], *byte);
            }
        }
    }
}
