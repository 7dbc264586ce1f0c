//! A base image's file: held open, and watched so that no byte of another image is ever handed on.
//!
//! The file is known by its **fingerprint** (device, inode, size, mtime, ctime), taken when it is opened. Every read
//! is followed by an `fstat(2)`, and its bytes are handed on only if the fingerprint still holds. A write updates the
//! ctime before it changes a byte, and nobody can set a ctime, so bytes that pass are those of the file that was
//! opened. Three things this cannot see, and why importing a private copy is the better way:
//!
//! * Two writes within one tick of the file system's clock leave one ctime. See [`BaseFile::settling`].
//! * Stores through a writable memory map that was dirty before the file was opened change no ctime until writeback.
//! * A block device has no ctime of its contents. It must be read-only for everybody (`blockdev --setro`).
//!
//! The file is never mapped: a truncated file is an error here, where a map would be a signal that kills the process.

mod in_time;
mod look;
mod operations;

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, IoSliceMut, Seek as _, SeekFrom};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use imagelib::source::{Role, Source};
use rustix::fs::{Advice, OFlags};
use rustix::io::{Errno, ReadWriteFlags};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::Bounded;
use operations::Operations;

/// No file system in use ticks more coarsely than this (FAT: 2 s; NFS and old ext3: 1 s; others: 10 ms or less).
const TICK: Duration = Duration::from_secs(2);

/// `f_type` of file systems whose files are in memory, so that reading never waits (`linux/magic.h`).
const TMPFS_MAGIC: u64 = 0x0102_1994;
const RAMFS_MAGIC: u64 = 0x8584_58f6;

/// How a base is no longer the file that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Change {
    /// Nothing is at its path any more.
    #[error("was deleted or moved away")]
    Vanished,
    /// Another file is at its path.
    #[error("was replaced by another file")]
    Replaced,
    /// It is longer or shorter.
    #[error("changed its size from {was} to {now} bytes")]
    Resized {
        /// Bytes when it was opened.
        was: u64,
        /// Bytes now.
        now: u64,
    },
    /// It was written to, or its metadata were changed in a way that cannot be told from that.
    #[error("was modified (its mtime or ctime moved)")]
    Modified,
}

/// Why a base cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// It cannot be opened or looked at.
    #[error("base image {}: {source}", path.display())]
    Inaccessible {
        /// Its file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Neither a regular file nor a block device.
    #[error("base image {}: neither a file nor a block device", .0.display())]
    NotAFile(PathBuf),
    /// It is not what was registered.
    #[error("base image {} {change} since it was registered; put the original back or register it again", path.display())]
    Changed {
        /// Its file.
        path: PathBuf,
        /// What happened to it.
        change: Change,
    },
    /// Its file system does not answer: a network file system whose server is gone, for example.
    #[error("base image {}: its file system has not answered for {} s; look after its server or its disk", path.display(), waited.as_secs())]
    Unresponsive {
        /// Its file.
        path: PathBuf,
        /// For how long.
        waited: Duration,
    },
}

impl From<BaseError> for io::Error {
    fn from(error: BaseError) -> Self {
        match error {
            BaseError::Inaccessible { ref source, .. } => Self::new(source.kind(), error),
            BaseError::NotAFile(_) | BaseError::Changed { .. } => Self::other(error),
            BaseError::Unresponsive { .. } => Self::new(io::ErrorKind::TimedOut, error),
        }
    }
}

/// What [`BaseFile::read_cached`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachedRead {
    /// So many bytes were read, without waiting: as many as were wanted, or as many as were cached, or none at the end.
    Read(usize),
    /// Reading would wait for a disk.
    WouldBlock,
}

/// What tells that a file is the one it was, and unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Fingerprint {
    /// Whether it is of the same file, changed or not.
    pub fn is_same_inode(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    fn of(metadata: &Metadata, size: u64) -> Self {
        // A block device's node changes its ctime when udev sets its permissions anew, which says nothing of its bytes.
        let changed =
            if metadata.file_type().is_block_device() { (0, 0) } else { (metadata.ctime(), metadata.ctime_nsec()) };
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Self { device: metadata.dev(), inode: metadata.ino(), size, modified, changed }
    }
}

/// The files of a base, open, by what they are.
pub type BaseFiles = BTreeMap<Role, Arc<BaseFile>>;

/// An open base image.
#[derive(Debug)]
pub struct BaseFile {
    file: File,
    path: PathBuf,
    fingerprint: Fingerprint,
    block_device: bool,
    in_memory: bool,
    /// Whether looking at the open file never waits for anybody.
    local: bool,
    operations: Operations,
    checking: Arc<Bounded<Arc<Result<(), BaseError>>>>,
    /// Whether the file system has answered that it cannot tell cached pages from others (overlayfs and others).
    nowait_unsupported: AtomicBool,
    settled: Instant,
    change: OnceLock<Change>,
}

impl BaseFile {
    /// Opens the file and takes its fingerprint.
    pub fn open(path: &Path) -> Result<Self, BaseError> {
        let inaccessible = |source| BaseError::Inaccessible { path: path.to_owned(), source };
        // Opening a FIFO would otherwise wait for a writer; reading files and block devices is not affected.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path).map_err(inaccessible)?;
        let metadata = file.metadata().map_err(inaccessible)?;
        let block_device = metadata.file_type().is_block_device();
        if !block_device && !metadata.is_file() {
            return Err(BaseError::NotAFile(path.to_owned()));
        }
        let size = if block_device { (&file).seek(SeekFrom::End(0)).map_err(inaccessible)? } else { metadata.size() };
        let kind = rustix::fs::fstatfs(&file).map_err(|errno| inaccessible(errno.into()))?.f_type;
        let kind = u64::try_from(kind).unwrap_or(0);
        let in_memory = !block_device && [TMPFS_MAGIC, RAMFS_MAGIC].contains(&kind);
        Ok(Self {
            fingerprint: Fingerprint::of(&metadata, size),
            file,
            path: path.to_owned(),
            block_device,
            in_memory,
            local: block_device || look::is_local(kind),
            operations: Operations::default(),
            checking: Arc::default(),
            nowait_unsupported: AtomicBool::new(false),
            settled: Instant::now() + unsettled(&metadata),
            change: OnceLock::new(),
        })
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// By what the file is known again after a restart; `None` for a block device, whose times say nothing of its bytes.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        (!self.block_device).then_some(self.fingerprint)
    }

    /// How much longer the file's last change may share its tick of the clock with a next one, which would then leave
    /// the fingerprint as it is. Whoever probes or digests a base that is not a private copy waits this long first:
    /// every change after that is seen, so what is served later is what was digested. None for a file that was last
    /// changed two seconds or more before it was opened. The file's clock is taken to be this machine's; a base on
    /// a network file system with another clock is better imported.
    pub fn settling(&self) -> Option<Duration> {
        self.settled.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())
    }

    /// Whether the open file and the path are still what was opened. Once they are not, they never are again: whoever
    /// has the original opens (registers) it anew. Waits for the file system, however long that takes.
    pub fn check(&self) -> Result<(), BaseError> {
        self.verify()?;
        match std::fs::metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) == (self.fingerprint.device, self.fingerprint.inode) => Ok(()),
            Ok(_) => Err(self.changed(Change::Replaced)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self.changed(Change::Vanished)),
            Err(source) => Err(BaseError::Inaccessible { path: self.path.clone(), source }),
        }
    }

    /// The places for threads that read for transfers. There are few, so that a file system that hangs does not hold
    /// all threads.
    pub(crate) fn places_to_read(&self) -> Arc<Semaphore> {
        self.operations.transfers()
    }

    /// Reads what the page cache has of the bytes from `offset` on, without ever waiting for a disk.
    pub fn read_cached(&self, offset: u64, buffer: &mut [u8]) -> io::Result<CachedRead> {
        if self.in_memory {
            return self.read_at(offset, buffer).map(CachedRead::Read);
        }
        let buffer = self.within(offset, buffer);
        if buffer.is_empty() {
            return Ok(CachedRead::Read(0));
        }
        if self.nowait_unsupported.load(Ordering::Relaxed) {
            return Ok(CachedRead::WouldBlock);
        }
        let mut buffers = [IoSliceMut::new(buffer)];
        let read =
            rustix::io::retry_on_intr(|| rustix::io::preadv2(&self.file, &mut buffers, offset, ReadWriteFlags::NOWAIT));
        match read {
            Ok(count) => self.verify().map(|()| CachedRead::Read(count)).map_err(Into::into),
            Err(Errno::AGAIN) => Ok(CachedRead::WouldBlock),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                self.nowait_unsupported.store(true, Ordering::Relaxed);
                Ok(CachedRead::WouldBlock)
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// Tells the kernel that these bytes will be read soon. Advice only: it may be ignored, and errors do not matter.
    pub fn will_need(&self, offset: u64, length: u64) {
        if let Some(length) = NonZeroU64::new(length) {
            let _ = rustix::fs::fadvise(&self.file, offset, Some(length), Advice::WillNeed);
        }
    }

    /// The part of the buffer that the file can fill, as long as it was when opened.
    fn within<'a>(&self, offset: u64, buffer: &'a mut [u8]) -> &'a mut [u8] {
        let rest = self.fingerprint.size.saturating_sub(offset);
        let count = usize::try_from(rest).unwrap_or(usize::MAX).min(buffer.len());
        buffer.split_at_mut(count).0
    }

    fn verify(&self) -> Result<(), BaseError> {
        if let Some(change) = self.change.get() {
            return Err(BaseError::Changed { path: self.path.clone(), change: *change });
        }
        let inaccessible = |source| BaseError::Inaccessible { path: self.path.clone(), source };
        let metadata = self.file.metadata().map_err(inaccessible)?;
        let size = if self.block_device { self.fingerprint.size } else { metadata.size() };
        if Fingerprint::of(&metadata, size) == self.fingerprint {
            return Ok(());
        }
        Err(self.changed(if metadata.nlink() == 0 {
            Change::Vanished
        } else if size != self.fingerprint.size {
            Change::Resized { was: self.fingerprint.size, now: size }
        } else {
            Change::Modified
        }))
    }

    /// The first change that was seen stays the reason.
    fn changed(&self, change: Change) -> BaseError {
        BaseError::Changed { path: self.path.clone(), change: *self.change.get_or_init(|| change) }
    }
}

impl AsFd for BaseFile {
    /// For what copies bytes without reading them here. They are those of the file that was opened only if a
    /// [`check`](Self::check) afterwards says so.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Source for BaseFile {
    fn size(&self) -> u64 {
        self.fingerprint.size
    }

    /// May wait for a disk.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // What is in memory needs no bound.
        let _operation = if self.in_memory {
            None
        } else {
            let begun = self.operations.begin();
            Some(begun.ok_or_else(|| self.unresponsive(self.operations.hung_for().unwrap_or_default()))?)
        };
        let buffer = self.within(offset, buffer);
        let read = if buffer.is_empty() { Ok(0) } else { self.file.read_at(buffer, offset) };
        // A file cut short reads as its end, so the check comes before the count is believed; and a change is the
        // better answer where reading failed as well.
        self.verify()?;
        read
    }
}

/// How long after now the tick of the last change is over for certain.
fn unsettled(metadata: &Metadata) -> Duration {
    let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or(0);
    let changed = SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds));
    // A change in the future is another clock's, or the clock was set back.
    let age = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok()).unwrap_or_default();
    TICK.saturating_sub(age)
}

#[cfg(test)]
mod tests;
