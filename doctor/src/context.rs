//! The context that all examinations of one URL share.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use imagelib::digest::Digest;
use parking_lot::Mutex;

use super::http::{Answer, Connection, Connector, Request, RequestError, SMALL_BODY, Session};

/// Size of a block of a CD-ROM, in bytes.
pub(super) const BLOCK: u64 = 2048;

/// Maximum number of recorded blocks: more than all examinations read.
const MAX_BLOCKS: usize = 8192;

/// One URL, after its redirects, and what is known about it.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) connector: Arc<Connector>,
    /// The size of the file in bytes, if the server tells it.
    pub(super) size: Option<u64>,
    /// How long the slow reader reads.
    pub(super) slow: Duration,
    blocks: BlockDigests,
}

impl Context {
    pub(super) fn new(connector: Arc<Connector>, size: Option<u64>, slow: Duration) -> Self {
        Self { connector, size, slow, blocks: BlockDigests::default() }
    }

    pub(super) async fn connect(&self) -> Result<Connection, RequestError> {
        self.connector.connect().await
    }

    pub(super) fn session(&self) -> Session {
        Session::new(Arc::clone(&self.connector))
    }

    /// Sends a request on a connection of its own.
    pub(super) async fn send(&self, request: &Request) -> Result<Answer, RequestError> {
        self.session().send(request, SMALL_BODY).await
    }

    /// Ranges of `length` bytes that readers read first: the beginning, the volume descriptors of ISO 9660, the middle
    /// and the end. They are shorter if the file is.
    pub(super) fn first_ranges(&self, length: u64) -> Vec<Range<u64>> {
        let size = self.size.unwrap_or(length);
        let end = size.saturating_sub(length) / BLOCK * BLOCK;
        let mut starts = vec![0, 16 * BLOCK, size / 2 / BLOCK * BLOCK, end];
        starts.retain(|start| *start < size);
        starts.sort_unstable();
        starts.dedup();
        starts.into_iter().map(|start| start..start.saturating_add(length).min(size)).collect()
    }

    /// Records bytes of the file. Returns the offset of a block that had other bytes before.
    pub(super) fn record(&self, offset: u64, bytes: &[u8]) -> Option<u64> {
        self.blocks.record(offset, bytes)
    }
}

/// The digests of all blocks that were read.
#[derive(Debug, Default)]
struct BlockDigests(Mutex<BTreeMap<u64, Digest>>);

impl BlockDigests {
    fn record(&self, offset: u64, bytes: &[u8]) -> Option<u64> {
        let mut blocks = self.0.lock();
        let first = offset.next_multiple_of(BLOCK);
        let skipped = usize::try_from(first - offset).unwrap_or(usize::MAX);
        let block = usize::try_from(BLOCK).unwrap_or(usize::MAX);
        let whole = bytes.get(skipped..).unwrap_or_default().chunks_exact(block);
        for (offset, bytes) in (first..).step_by(block).zip(whole) {
            let digest = Digest::of(bytes);
            match blocks.get(&offset) {
                Some(before) if *before != digest => return Some(offset),
                None if blocks.len() < MAX_BLOCKS => drop(blocks.insert(offset, digest)),
                Some(_) | None => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_with_other_bytes_is_noticed() {
        let digests = BlockDigests::default();
        assert_eq!(digests.record(0, &[1; 5000]), None);
        assert_eq!(digests.record(1, &[1; 8000]), None);
        // Only the end of the first block, and too little of the second.
        assert_eq!(digests.record(2000, &[2; 2000]), None);
        assert_eq!(digests.record(100, &[2; 4000]), Some(2048));
    }
}
