//! Locks (`flock(2)`) that a file server can give to another machine.

use std::fs::File;
use std::io::{self, Write as _};

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
    /// How many owners the lock has had, if they are counted.
    owners: Option<u64>,
}

impl HeldLock {
    /// The lock of this file.
    pub(crate) fn of(file: &File) -> Self {
        let is_on_nfs = fstatfs(file).is_ok_and(|system| u64::try_from(system.f_type) == Ok(NFS_SUPER_MAGIC));
        Self { is_on_nfs, owners: None }
    }

    /// The lock of this file, which has no other content: on NFS, each owner adds a byte. So an owner also notices one that had the lock
    /// meanwhile and has given it back. The file must be open for appending.
    pub(crate) fn counted(file: &File) -> Self {
        let held = Self::of(file);
        if held.is_on_nfs { held.count(file) } else { held }
    }

    fn count(self, mut file: &File) -> Self {
        // On a full disk, the owners are not counted.
        let counted = file.write_all(b".").and_then(|()| length(file));
        Self { owners: counted.ok(), ..self }
    }

    /// A lock that is asked for again as on NFS.
    #[cfg(test)]
    pub(crate) fn on_nfs() -> Self {
        Self { is_on_nfs: true, owners: None }
    }

    /// The same, with counted owners.
    #[cfg(test)]
    pub(crate) fn counted_on_nfs(file: &File) -> Self {
        Self::on_nfs().count(file)
    }

    /// Whether another process has the lock of the file now, or has had it since.
    pub(crate) fn is_taken_over(self, file: &File) -> bool {
        self.is_on_nfs
            && (flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
                || self.owners.is_some_and(|owners| length(file).is_ok_and(|now| now != owners)))
    }
}

fn length(file: &File) -> io::Result<u64> {
    file.metadata().map(|metadata| metadata.len())
}
