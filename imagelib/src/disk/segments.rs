//! Segments that are put one behind the other, bytes gathered on the way.

use crate::overlay::{Content, Counter, Segment};

/// Counted numbers up to which they are shorter as bytes than as a segment.
const SHORT: u32 = 16;

/// The beginning of an image.
#[derive(Debug, Default)]
pub(super) struct Builder {
    segments: Vec<Segment>,
    bytes: Vec<u8>,
    position: u64,
}

impl Builder {
    /// How long it is so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.position += bytes.len() as u64;
    }

    pub(super) fn segment(&mut self, segment: Segment) {
        if segment.length() > 0 {
            self.flush();
            self.position += segment.length();
            self.segments.push(segment);
        }
    }

    pub(super) fn segments(&mut self, segments: Vec<Segment>) {
        for segment in segments {
            self.segment(segment);
        }
    }

    /// So many numbers from `first` on, each one more than the one before.
    pub(super) fn counter(&mut self, first: u32, numbers: u32) {
        if numbers <= SHORT {
            (first..first + numbers).for_each(|number| self.bytes(&number.to_le_bytes()));
        } else {
            self.segment(Segment::Own(Content::Counter(Counter::new(first, numbers))));
        }
    }

    /// Zeros up to this offset, if it is not there yet.
    pub(super) fn zeros_until(&mut self, offset: u64) {
        self.segment(Segment::zeros(offset.saturating_sub(self.position)));
    }

    pub(super) fn into_segments(mut self) -> Vec<Segment> {
        self.flush();
        self.segments
    }

    fn flush(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = std::mem::take(&mut self.bytes);
            self.segments.push(Segment::bytes(bytes));
        }
    }
}
