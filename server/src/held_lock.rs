//! Locks (`flock(2)`) that a file server can give to another machine.

use std::fs::File;

use rustix::fs::{FlockOperation, flock, fstatfs};
use rustix::io::Errno;

/// `f_type` of NFS (`linux/magic.h`).
const NFS_SUPER_MAGIC: u64 = 0x6969;

/// The exclusive lock of a file, which this process has taken.
///
/// An NFS server gives it to the next client when it has not heard of this one for its lease time, and nothing but another request for the
/// lock tells. Elsewhere, nobody takes a lock away, and the same request can mean something else: on SMB it is refused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldLock {
    is_on_nfs: bool,
}

impl HeldLock {
    /// The lock of this file.
    pub(crate) fn of(file: &File) -> Self {
        let is_on_nfs = fstatfs(file).is_ok_and(|system| u64::try_from(system.f_type) == Ok(NFS_SUPER_MAGIC));
        Self { is_on_nfs }
    }

    /// A lock that is asked for again as on NFS.
    #[cfg(test)]
    pub(crate) fn on_nfs() -> Self {
        Self { is_on_nfs: true }
    }

    /// Whether another process has the lock of the file now.
    pub(crate) fn is_taken_over(self, file: &File) -> bool {
        self.is_on_nfs && flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
    }
}
