//! Keeps a base image's file open, and makes sure that no byte of a changed file is ever sent.
//!
//! When the file is opened, its **fingerprint** is recorded: device, inode, size, mtime and ctime. An `fstat(2)`
//! follows every read, and the bytes count only if the fingerprint is still the same. A write updates the ctime before
//! it changes a byte, and nobody can set a ctime. On a network file system, `fstat(2)` may give attributes that are
//! a minute old, so dayone uses `statx(2)` with `AT_STATX_FORCE_SYNC` there. Three changes remain invisible, so importing a private copy of
//! a base is safer:
//!
//! * Two writes within one tick of the file system's clock leave the same ctime. See [`BaseFile::settling`].
//! * Stores through a writable memory map that was dirty before the file was opened do not change the ctime until
//!   writeback.
//! * A block device has no ctime of its contents. It must be read-only for everybody (`blockdev --setro`).
//!
//! Where the file system can share blocks between files, the bytes come from a copy that no other program can open
//! ([`BaseFile::with_shared_copy`]). The first two changes do not reach it, and a change of the ctime alone does not count.
//!
//! The file is never mapped into memory: reading a truncated file is then an error, and not a signal that kills the
//! process.

mod check;
mod error;
mod fingerprint;
mod operations;
mod settling;
mod shared_copy;
mod stat;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSliceMut, Seek as _, SeekFrom};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use imagelib::source::{Role, Source};
use rustix::fs::{Advice, OFlags};
use rustix::io::{Errno, ReadWriteFlags};
use tokio::sync::Semaphore;

use crate::SingleFlight;
pub use error::{BaseError, Change};
pub use fingerprint::Fingerprint;
use operations::Operations;

/// `f_type` of file systems in memory, where reading never waits (`linux/magic.h`).
const TMPFS_MAGIC: u64 = 0x0102_1994;
const RAMFS_MAGIC: u64 = 0x8584_58f6;

/// How far apart the bytes are by which a range is found to be cached.
const CACHED_STEP: usize = 64 << 10;

/// The result of [`BaseFile::read_cached`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachedRead {
    /// So many bytes were read: as many as fit into the buffer, or as many as were cached, or none at the end of the
    /// file.
    Read(usize),
    /// A read would have to wait for a disk.
    WouldBlock,
}

/// Where a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Storage {
    /// In memory: nothing waits.
    Memory,
    /// On a disk. Reading the attributes of the open file does not wait.
    Local,
    /// On another machine, or with another process.
    Remote,
}

/// The open files of a base, by their roles.
pub type BaseFiles = BTreeMap<Role, Arc<BaseFile>>;

/// The open file of a base image.
#[derive(Debug)]
pub struct BaseFile {
    file: File,
    path: PathBuf,
    fingerprint: Fingerprint,
    block_device: bool,
    storage: Storage,
    /// Whether the file is a copy that this server made for itself and never changes.
    private: bool,
    /// What is read in place of the file: a copy that shares its blocks.
    shared_copy: Option<File>,
    operations: Operations,
    checking: Arc<SingleFlight<Result<(), BaseError>>>,
    /// Whether the file system cannot tell which pages are cached (overlayfs and others).
    nowait_unsupported: AtomicBool,
    settled: Instant,
    change: OnceLock<Change>,
    opened: Instant,
    /// When the path was last seen to lead to the file, in milliseconds after `opened`.
    path_seen: AtomicU64,
}

impl BaseFile {
    /// Opens the file and records its fingerprint.
    pub fn open(path: &Path) -> Result<Self, BaseError> {
        let inaccessible = |source| BaseError::Inaccessible { path: path.to_owned(), source: Arc::new(source) };
        // Without this flag, opening a FIFO would wait for a writer. It does not change how files and block devices are
        // read.
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
        let storage = match kind {
            TMPFS_MAGIC | RAMFS_MAGIC if !block_device => Storage::Memory,
            _ if block_device || stat::is_local(kind) => Storage::Local,
            _ => Storage::Remote,
        };
        // As after every read, which would find a change if the kernel remembered other attributes.
        let asked = if storage == Storage::Remote { stat::asked(&file).map_err(inaccessible)? } else { None };
        let fingerprint = asked.map_or_else(|| Fingerprint::of(&metadata, size), |stat| Fingerprint::of_statx(&stat));
        Ok(Self {
            fingerprint,
            file,
            path: path.to_owned(),
            block_device,
            storage,
            private: false,
            shared_copy: None,
            operations: Operations::default(),
            checking: Arc::default(),
            nowait_unsupported: AtomicBool::new(false),
            settled: Instant::now() + settling::remaining(&fingerprint),
            change: OnceLock::new(),
            opened: Instant::now(),
            path_seen: AtomicU64::new(0),
        })
    }

    /// [`open`](Self::open) for a copy of a file that this server made for itself, and to which it never writes again.
    pub fn open_private(path: &Path) -> Result<Self, BaseError> {
        Self::open(path).map(|file| Self { private: true, ..file })
    }

    /// Whether `sendfile(2)` is safe for this file: no process changes its pages while the kernel sends them.
    pub(crate) fn is_private(&self) -> bool {
        (self.private || self.shared_copy.is_some()) && self.storage != Storage::Remote
    }

    /// The path at which the file was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The fingerprint by which the file is recognised after a restart. `None` for a block device, whose times say
    /// nothing about its bytes.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        (!self.block_device).then_some(self.fingerprint)
    }

    /// How long to wait before the base is probed or digested. Until then, another write could fall into the same tick
    /// of the file system's clock as the last one, and would not change the fingerprint. Every later change is noticed,
    /// so that the bytes that are served are those that were digested.
    ///
    /// `None` if the last change was two seconds or more before the file was opened, or if this process saw the file like this two
    /// seconds before. The former assumes that the file system uses this machine's clock. Import a base that is on a network file system with another clock.
    pub fn settling(&self) -> Option<Duration> {
        self.settled.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())
    }

    /// Checks that the file is unchanged, and still at its path. A change is final: if somebody puts the original back,
    /// it must be opened again. Waits for the file system, however long that takes.
    pub fn check(&self) -> Result<(), BaseError> {
        self.verify()?;
        match self.moved() {
            Ok(None) => Ok(()),
            Ok(Some(change)) => Err(self.changed(change)),
            Err(source) => Err(self.inaccessible(source)),
        }
    }

    /// Whether the path no longer leads to the file.
    fn moved(&self) -> io::Result<Option<Change>> {
        match std::fs::metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == (self.fingerprint.device, self.fingerprint.inode) => Ok(None),
            Ok(_) => Ok(Some(Change::Replaced)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(Change::Vanished)),
            Err(source) => Err(source),
        }
    }

    /// Waits until the disk has the bytes that other programs wrote to the file. Until then, a power failure can leave older bytes with
    /// the present fingerprint. Returns false if the file system does not tell.
    pub fn sync(&self) -> io::Result<bool> {
        match rustix::fs::fsync(&self.file) {
            // File systems that are never written do not know the call.
            Ok(()) | Err(Errno::INVAL | Errno::ROFS) => Ok(true),
            Err(errno @ (Errno::IO | Errno::NOSPC | Errno::DQUOT)) => {
                // The kernel reports this once. Without its pages, the next reader gets what is on the disk.
                let _ = rustix::fs::fadvise(&self.file, 0, None, Advice::DontNeed);
                Err(errno.into())
            }
            Err(_) => Ok(false),
        }
    }

    /// The permits for threads that read for transfers. There are few, so that a file system that hangs does not block
    /// all threads.
    pub(crate) fn read_permits(&self) -> Arc<Semaphore> {
        self.operations.transfers()
    }

    /// Reads bytes from `offset` on, as far as they are in the page cache. Never waits for a disk.
    pub fn read_cached(&self, offset: u64, buffer: &mut [u8]) -> io::Result<CachedRead> {
        match self.storage {
            Storage::Memory => return self.read_at(offset, buffer).map(CachedRead::Read),
            // Only the other machine knows whether cached bytes are still those of the file, and it may never answer.
            Storage::Remote => {
                self.verify_now()?;
                let is_behind_the_end = self.within(offset, buffer).is_empty();
                return Ok(if is_behind_the_end { CachedRead::Read(0) } else { CachedRead::WouldBlock });
            }
            Storage::Local => {}
        }
        match self.peek(offset, buffer)? {
            CachedRead::Read(count) if count > 0 => self.verify().map(|()| CachedRead::Read(count)).map_err(Into::into),
            nothing => Ok(nothing),
        }
    }

    /// Reads like [`read_cached`](Self::read_cached), but does not verify that the file is unchanged. The caller must not send
    /// these bytes before it has called [`verify`](Self::verify).
    fn peek(&self, offset: u64, buffer: &mut [u8]) -> io::Result<CachedRead> {
        let buffer = self.within(offset, buffer);
        if buffer.is_empty() {
            return Ok(CachedRead::Read(0));
        }
        if self.nowait_unsupported.load(Ordering::Relaxed) {
            return Ok(CachedRead::WouldBlock);
        }
        let mut buffers = [IoSliceMut::new(buffer)];
        let read = rustix::io::retry_on_intr(|| {
            rustix::io::preadv2(self.content(), &mut buffers, offset, ReadWriteFlags::NOWAIT)
        });
        match read {
            Ok(count) => Ok(CachedRead::Read(count)),
            Err(Errno::AGAIN) => Ok(CachedRead::WouldBlock),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                self.nowait_unsupported.store(true, Ordering::Relaxed);
                Ok(CachedRead::WouldBlock)
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether a range is probably in the page cache: whether its parts begin there.
    pub(crate) fn is_cached(&self, offset: u64, length: usize) -> bool {
        let mut byte = [0];
        self.storage == Storage::Memory
            || (0..length)
                .step_by(CACHED_STEP)
                .all(|at| matches!(self.peek(offset.saturating_add(at as u64), &mut byte), Ok(CachedRead::Read(1))))
    }

    /// Tells the kernel that these bytes will be read soon. It may ignore that, so errors do not matter.
    ///
    /// Does nothing for a file on a local disk, where the kernel reads ahead well enough by itself. What it reads because of this call
    /// lies in single pages, and takes three times as much processor time whenever it is served, until it leaves the page cache. A
    /// server far away is worth that: the kernel alone would ask it for little at a time.
    pub fn will_need(&self, offset: u64, length: u64) {
        if self.storage != Storage::Remote {
            return;
        }
        if let Some(length) = NonZeroU64::new(length) {
            let _ = rustix::fs::fadvise(self.content(), offset, Some(length), Advice::WillNeed);
        }
    }

    /// The part of the buffer that the file can fill, by its size when it was opened.
    fn within<'a>(&self, offset: u64, buffer: &'a mut [u8]) -> &'a mut [u8] {
        let rest = self.fingerprint.size.saturating_sub(offset);
        let count = usize::try_from(rest).unwrap_or(usize::MAX).min(buffer.len());
        buffer.split_at_mut(count).0
    }

    /// Checks that the open file is unchanged, as far as that needs no answer from another machine or process. Every read finds out
    /// the rest.
    pub(crate) fn verify_now(&self) -> Result<(), BaseError> {
        if self.storage == Storage::Remote { self.known() } else { self.verify() }
    }

    /// Fails if an earlier check has found a change.
    fn known(&self) -> Result<(), BaseError> {
        self.change.get().map_or(Ok(()), |change| Err(self.changed(*change)))
    }

    /// The present fingerprint of the open file, and whether the file no longer has a name.
    fn attributes(&self) -> io::Result<(Fingerprint, bool)> {
        if self.storage == Storage::Remote
            && let Some(stat) = stat::asked(&self.file)?
        {
            return Ok((Fingerprint::of_statx(&stat), stat.stx_nlink == 0));
        }
        let stat = rustix::fs::fstat(&self.file)?;
        // No file has a negative size.
        let size = if self.block_device { self.fingerprint.size } else { u64::try_from(stat.st_size).unwrap_or(0) };
        Ok((Fingerprint::of_stat(&stat, size), stat.st_nlink == 0))
    }

    /// Checks that the open file is unchanged. On a network file system, this waits for the other machine.
    pub(crate) fn verify(&self) -> Result<(), BaseError> {
        self.known()?;
        let (now, is_gone) = self.attributes().map_err(|source| self.inaccessible(source))?;
        let size = now.size;
        // The ctime shows writes that keep the mtime, and these do not reach a copy. The operator still replaces a base by writing to its
        // file, or by another file.
        let is_same = match self.shared_copy {
            Some(_) => !is_gone && Fingerprint { changed: self.fingerprint.changed, ..now } == self.fingerprint,
            None => now == self.fingerprint,
        };
        if is_same {
            return Ok(());
        }
        // Once only: the first change is final. Moving a file changes its ctime, too.
        let moved = self.moved().unwrap_or_default();
        Err(self.changed(if let Some(change) = moved {
            change
        } else if is_gone {
            Change::Vanished
        } else if size != self.fingerprint.size {
            Change::Resized { was: self.fingerprint.size, now: size }
        } else if now.modified != self.fingerprint.modified {
            Change::Modified
        } else {
            Change::Touched
        }))
    }

    /// The file that has the bytes.
    fn content(&self) -> &File {
        self.shared_copy.as_ref().unwrap_or(&self.file)
    }

    fn inaccessible(&self, source: io::Error) -> BaseError {
        BaseError::Inaccessible { path: self.path.clone(), source: Arc::new(source) }
    }

    /// The first change that was noticed remains the reason.
    fn changed(&self, change: Change) -> BaseError {
        BaseError::Changed { path: self.path.clone(), change: *self.change.get_or_init(|| change) }
    }
}

impl AsFd for BaseFile {
    /// For calls that copy bytes inside the kernel. A [`check`](Self::check) afterwards must show that the file is
    /// unchanged.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.content().as_fd()
    }
}

impl Source for BaseFile {
    fn size(&self) -> u64 {
        self.fingerprint.size
    }

    /// May wait for a disk.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // Files in memory need no limit.
        let _operation = if self.storage == Storage::Memory {
            None
        } else {
            let begun = self.operations.begin();
            Some(begun.ok_or_else(|| self.unresponsive(self.operations.hung_for().unwrap_or_default()))?)
        };
        let buffer = self.within(offset, buffer);
        let read = if buffer.is_empty() { Ok(0) } else { self.content().read_at(buffer, offset) };
        // A truncated file reads as if it ended there, so the check comes before the count is used. If the read failed
        // too, the change is the better error.
        self.verify()?;
        read
    }
}

#[cfg(test)]
mod tests;
