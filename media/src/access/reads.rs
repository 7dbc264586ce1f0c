//! How many times a file may be read.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the bytes of a file that were passed to connections, against the file's limit.
///
/// BMCs read a file in thousands of ranges, some of them again and again, and never read others. A number of requests or of
/// first bytes therefore shows nothing. Bytes do: a file was read once for each time that as many bytes were delivered as
/// it has.
///
/// As soon as the file was read as often as it may be, no answer begins. An answer that has begun before then is completed,
/// unless others were running beside it and delivered so much that the file would be read once more than it may be.
#[derive(Debug, Clone)]
pub struct Reads {
    delivered: Arc<AtomicU64>,
    /// From this number of bytes on, no answer begins.
    enough: u64,
    /// More bytes are never delivered.
    most: u64,
}

impl Reads {
    pub(super) fn new(delivered: Arc<AtomicU64>, size: u64, max_reads: NonZeroU32) -> Self {
        let enough = size.max(1).saturating_mul(max_reads.get().into());
        Self { delivered, enough, most: enough.saturating_add(size) }
    }

    /// Whether no further answer may begin.
    pub(super) fn are_used_up(&self) -> bool {
        self.delivered.load(Ordering::Relaxed) >= self.enough
    }

    /// Counts bytes that are about to be passed to a connection. Returns false if they must not be.
    #[must_use]
    pub(crate) fn take(&self, bytes: u64) -> bool {
        let add = |delivered: u64| delivered.checked_add(bytes).filter(|total| *total <= self.most);
        self.delivered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// One client, with requests one after the other, as a BMC has: no answer that begins is cut.
        #[test]
        fn one_client_is_never_cut_and_reads_what_the_limit_allows(
            size in 1_u64..1000,
            max in 1_u32..4,
            requests in prop::collection::vec((0_u64..1000, 1_u64..1000, any::<bool>()), 0..60),
        ) {
            let reads = Reads::new(Arc::default(), size, NonZeroU32::new(max).unwrap());
            let mut delivered = 0;
            for (start, length, breaks_off) in requests {
                let length = length.min(size.saturating_sub(start % size));
                prop_assert_eq!(reads.are_used_up(), delivered >= size * u64::from(max));
                if reads.are_used_up() {
                    continue;
                }
                for _ in 0..if breaks_off { length / 2 } else { length } {
                    prop_assert!(reads.take(1));
                    delivered += 1;
                }
            }
            prop_assert!(delivered < size * (u64::from(max) + 1));
        }

        /// Any number of clients at once: never more than one reading above the limit.
        #[test]
        fn many_clients_never_get_more_than_one_reading_above_the_limit(
            size in 1_u64..500, max in 1_u32..4, pieces in prop::collection::vec(1_u64..200, 0..100),
        ) {
            let reads = Reads::new(Arc::default(), size, NonZeroU32::new(max).unwrap());
            let delivered: u64 = pieces.into_iter().filter(|piece| reads.take(*piece)).sum();
            prop_assert!(delivered <= size * (u64::from(max) + 1));
        }
    }
}
