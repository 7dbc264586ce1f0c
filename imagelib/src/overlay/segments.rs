//! Walking the segments of a range.

use std::ops::Range;

use super::{Placed, Segment};

/// Iterator over the segments of a range of an overlay, cut to the range.
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    rest: &'a [Placed],
    range: Range<u64>,
}

impl<'a> Segments<'a> {
    pub(super) fn new(all: &'a [Placed], range: Range<u64>) -> Self {
        let first = all.partition_point(|placed| placed.start <= range.start).saturating_sub(1);
        Self { rest: all.get(first..).unwrap_or_default(), range }
    }
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        if self.range.is_empty() {
            return None;
        }
        let (Placed { start, segment }, rest) = self.rest.split_first()?;
        self.rest = rest;
        let skip = self.range.start - start;
        let length = (segment.length() - skip).min(self.range.end - self.range.start);
        self.range.start += length;
        Some(segment.part(skip, length))
    }
}
