//! Queues for conversions: a request for one host does not wait behind requests for thousands.
//!
//! dayone converts documents in three queues, each in order of arrival. The size of the body, or the amount of work in it, selects the
//! queue. The number of processors bounds how many conversions run at a time, and so their memory, which is many times the size of the
//! documents.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// The largest body in the queue of small bodies, in bytes: some tens of hosts, converted in milliseconds.
const SMALL: usize = 64 << 10;

/// The largest body in the queue of medium bodies, in bytes: some hundreds of hosts.
const MEDIUM: usize = 512 << 10;

/// How many of the largest bodies dayone converts at a time at most, with any number of processors. Each takes some hundred
/// MiB, and dayone divides it between all processors if it has many hosts.
const MAX_LARGE: usize = 4;

/// The queues.
#[derive(Debug)]
pub(super) struct Queues {
    small: Arc<Semaphore>,
    medium: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl Queues {
    /// Queues for the processors that this process may use.
    pub(super) fn new() -> Self {
        Self::for_processors(thread::available_parallelism().map_or(1, NonZeroUsize::get))
    }

    pub(super) fn for_processors(processors: usize) -> Self {
        let queue = |permits: usize| Arc::new(Semaphore::new(permits));
        Self {
            small: queue(processors.max(1)),
            medium: queue((processors / 2).max(1)),
            large: queue((processors / 4).clamp(1, MAX_LARGE)),
        }
    }

    /// Waits until a body of `size` bytes may be converted. Drop the permit when that is done.
    pub(super) async fn acquire(&self, size: usize) -> Result<OwnedSemaphorePermit, AcquireError> {
        Arc::clone(self.queue(size)).acquire_owned().await
    }

    /// Waits until dayone may convert a body that has a place in a queue, and whose unpacked size has turned out to be `size` bytes. The body
    /// keeps its place if the new size selects the same queue.
    pub(super) async fn reacquire(
        &self,
        permit: OwnedSemaphorePermit,
        size: usize,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        if Arc::ptr_eq(permit.semaphore(), self.queue(size)) {
            return Ok(permit);
        }
        // Before the wait, so that the body does not occupy two places.
        drop(permit);
        self.acquire(size).await
    }

    fn queue(&self, size: usize) -> &Arc<Semaphore> {
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
    async fn large_bodies_wait_for_each_other_and_small_bodies_do_not_wait_for_them() {
        for processors in [1, 2, 16, 64] {
            let queues = Queues::for_processors(processors);
            let free = |size| queues.queue(size).available_permits();
            let large = free(4 << 20);
            assert!((1..=MAX_LARGE).contains(&large) && large <= processors, "{processors}");
            let mut held = Vec::new();
            for _ in 0..large {
                held.push(queues.acquire(4 << 20).await.unwrap());
            }
            assert_eq!(free(MEDIUM + 1), 0);
            held.push(queues.acquire(MEDIUM).await.unwrap());
            for _ in 0..processors {
                held.push(queues.acquire(0).await.unwrap());
            }
            assert_eq!(free(SMALL), 0);
            drop(held);
            assert_eq!((free(4 << 20), free(SMALL)), (large, processors));
        }
    }

    #[tokio::test]
    async fn a_body_that_unpacks_to_more_moves_to_the_queue_for_large_ones() {
        let queues = Queues::for_processors(1);
        let free = |size| queues.queue(size).available_permits();
        let permit = queues.acquire(SMALL).await.unwrap();
        let permit = queues.reacquire(permit, 1).await.unwrap();
        assert_eq!((free(SMALL), free(MEDIUM), free(MEDIUM + 1)), (0, 1, 1));
        let permit = queues.reacquire(permit, MEDIUM + 1).await.unwrap();
        assert_eq!((free(SMALL), free(MEDIUM), free(MEDIUM + 1)), (1, 1, 0));
        drop(permit);
        assert_eq!(free(MEDIUM + 1), 1);
    }
}
