//! Locks (`flock(2)`) that a file server can give to another machine.

use std::fs::File;
use std::io::{self, Write as _};

use rustix::fs::{FlockOperation, flock, fstatfs};
use rustix::io::Errno;

/// `f_type` of NFS (`linux/magic.h`).
const NFS_SUPER_MAGIC: u64 = 0x6969;

/// The exclusive lock of a file, which this process has taken.
///
/// An NFS server gives the lock to the next client when it has not heard from this one for its lease time. This process finds that out only
/// if it requests the lock again. On other file systems, a lock is not lost, and another request may fail: SMB refuses it.
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

    /// A lock on NFS.
    #[cfg(test)]
    pub(crate) fn on_nfs() -> Self {
        Self { is_on_nfs: true }
    }

    /// Makes the file of a lock longer on NFS, so that an earlier owner sees that there was another one. Returns the length of the file. It
    /// must be open for appending.
    pub(crate) fn sign(self, mut file: &File) -> io::Result<u64> {
        // A server also starts if the disk is full. Earlier owners may then not see that it has ended.
        if self.is_on_nfs
            && let Err(error) = file.write_all(b".").and_then(|()| file.sync_data())
        {
            tracing::debug!(%error, "the lock file on NFS is not longer");
        }
        Ok(file.metadata()?.len())
    }

    /// Whether another process has the lock of the file, or has had it since the file had this length.
    pub(crate) fn is_taken_over(self, file: &File, length: u64) -> bool {
        self.is_on_nfs
            && (flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
                || file.metadata().is_ok_and(|now| now.len() > length))
    }
}
