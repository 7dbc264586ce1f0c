//! Reuses buffers: a few serve any number of downloads, and stay in the processor's cache.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// Length of a buffer in bytes.
pub(super) const BUFFER: usize = 64 << 10;

/// How many unused buffers are kept (4 MiB in all).
const KEPT: usize = 64;

/// Unused buffers.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Vec<Box<[u8]>>>);

impl Pool {
    /// Takes a buffer, whose content is undefined. Dropping the buffer returns it to the pool.
    pub(super) fn take(self: &Arc<Self>) -> Buffer {
        // The last buffer that was returned is the most likely to be still in the cache.
        let unused = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = unused.unwrap_or_else(|| vec![0; BUFFER].into_boxed_slice());
        Buffer { bytes, filled: 0, pool: Arc::clone(self) }
    }
}

/// A buffer of which the first `filled` bytes are content.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Box<[u8]>,
    filled: usize,
    pool: Arc<Pool>,
}

impl Buffer {
    /// Room for up to `length` bytes, to be filled from the start.
    pub(super) fn room(&mut self, length: u64) -> &mut [u8] {
        let length = usize::try_from(length).unwrap_or(BUFFER).min(self.bytes.len());
        self.bytes.split_at_mut(length).0
    }

    /// Sets how many bytes of the buffer are content.
    pub(super) fn set_filled(&mut self, count: usize) {
        self.filled = count.min(self.bytes.len());
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..self.filled).unwrap_or_default()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut unused = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
        if unused.len() < KEPT {
            unused.push(mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_buffer_comes_back_when_the_last_of_its_bytes_goes() {
        let pool = Arc::new(Pool::default());
        let mut buffer = pool.take();
        buffer.room(3).copy_from_slice(b"abc");
        buffer.set_filled(3);
        let bytes = Bytes::from_owner(buffer);
        let part = bytes.slice(1..);
        drop(bytes);
        assert_eq!(part, &b"bc"[..]);
        assert_eq!(pool.0.lock().unwrap().len(), 0);
        drop(part);
        assert_eq!(pool.0.lock().unwrap().len(), 1);
        let many: Vec<_> = (0..2 * KEPT).map(|_| pool.take()).collect();
        drop(many);
        assert_eq!(pool.0.lock().unwrap().len(), KEPT);
    }
}
