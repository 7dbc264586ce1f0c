//! Whose turn it is to keep processors busy: a request for one host does not wait behind those for thousands.
//!
//! Documents are converted in three lanes by size, each first come, first served. The lanes are bounded by the number of
//! processors, and so is the memory that conversions take at a time, which is many times the size of the documents.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// The largest body in the lane of small ones, in bytes: some tens of hosts, converted in milliseconds.
const SMALL: usize = 64 << 10;

/// The largest body in the lane between: some hundreds of hosts.
const MEDIUM: usize = 512 << 10;

/// How many of the largest bodies are converted at a time, at most, however many processors there are. Each takes some
/// hundred MiB, and is divided between all processors where it has many hosts.
const MOST_LARGE: usize = 4;

/// The lanes.
#[derive(Debug)]
pub(super) struct Lanes {
    small: Arc<Semaphore>,
    medium: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl Lanes {
    /// For as many processors as this process may use.
    pub(super) fn new() -> Self {
        Self::of(thread::available_parallelism().map_or(1, NonZeroUsize::get))
    }

    fn of(processors: usize) -> Self {
        let lane = |turns: usize| Arc::new(Semaphore::new(turns));
        Self {
            small: lane(processors.max(1)),
            medium: lane((processors / 2).max(1)),
            large: lane((processors / 4).clamp(1, MOST_LARGE)),
        }
    }

    /// Waits for the turn of a body of `size` bytes. The turn ends when the value is dropped.
    pub(super) async fn turn(&self, size: usize) -> Result<OwnedSemaphorePermit, AcquireError> {
        Arc::clone(self.lane(size)).acquire_owned().await
    }

    fn lane(&self, size: usize) -> &Arc<Semaphore> {
        if size <= SMALL {
            &self.small
        } else if size <= MEDIUM {
            &self.medium
        } else {
            &self.large
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_bodies_wait_for_each_other_and_small_ones_do_not_wait_for_them() {
        for processors in [1, 2, 16, 64] {
            let lanes = Lanes::of(processors);
            let free = |size| lanes.lane(size).available_permits();
            let large = free(4 << 20);
            assert!((1..=MOST_LARGE).contains(&large) && large <= processors, "{processors}");
            let mut held = Vec::new();
            for _ in 0..large {
                held.push(lanes.turn(4 << 20).await.unwrap());
            }
            assert_eq!(free(MEDIUM + 1), 0);
            held.push(lanes.turn(MEDIUM).await.unwrap());
            for _ in 0..processors {
                held.push(lanes.turn(0).await.unwrap());
            }
            assert_eq!(free(SMALL), 0);
            drop(held);
            assert_eq!((free(4 << 20), free(SMALL)), (large, processors));
        }
    }
}
