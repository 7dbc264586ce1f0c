//! The data directory: its files, and how dayone writes them. A crash at any moment leaves either the old or the new content.

use std::fs::{self, DirBuilder, DirEntry, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, StatVfsMountFlags, flock};
use rustix::io::Errno;
use tracing::{error, info, warn};

use super::data_keys::DataKeys;
use super::durable::{UNFINISHED, remove, replace_all, sync_parent, write, write_all};
use super::group_commit::{GroupCommit, NewFile};
use super::reserve::Reserve;
use super::running::Running;
use super::storage::{Lost, StorageTrouble};
use crate::held_lock::HeldLock;

/// After this time, nobody can be writing an unfinished file any more: that takes milliseconds.
const STALE: Duration = Duration::from_hours(1);

/// How many bytes a trial writes. A usual record is smaller, so the result applies to records.
const TRIED: usize = 64 << 10;

/// Why a directory cannot hold the server's data.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// An operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another server uses it.
    #[error(
        "another dayone uses {} already (it holds the lock on {}); stop it, or give this one a directory of its own",
        .0.display(), .0.join("lock").display()
    )]
    InUse(PathBuf),
}

/// A data directory that belongs to this process for as long as the value lives.
#[derive(Debug)]
pub(super) struct DataDirectory {
    root: PathBuf,
    /// The kernel releases the lock when the file is closed, however the process ends.
    lock: Opened,
    held: HeldLock,
    /// The length of the lock file since this process has the lock.
    lock_length: u64,
    /// Whether another process had the lock since. It may have changed records of which this process knows other contents.
    taken_over: AtomicBool,
    /// The directories that dayone writes to.
    directories: Vec<Opened>,
    /// The keys that encrypt records.
    keys: DataKeys,
    trouble: Mutex<Option<StorageTrouble>>,
    /// What waits until the disk has a change.
    changes: Running,
    /// What does not wait for that. The kernel may answer it from its memory, although the disk takes no change.
    looks: Running,
    new_files: GroupCommit,
    reserve: Reserve,
}

/// A file or directory that was opened. It stays open, so that no other gets its inode.
#[derive(Debug)]
struct Opened {
    path: PathBuf,
    device: u64,
    inode: u64,
    file: File,
}

impl Opened {
    fn new(path: PathBuf, file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self { path, device: metadata.dev(), inode: metadata.ino(), file })
    }

    /// Checks that the path still leads to it. `otherwise` is what another file at the path means.
    fn check(&self, otherwise: Lost) -> io::Result<()> {
        match fs::metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == (self.device, self.inode) => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Err(_) if otherwise == Lost::Replaced => Err(Lost::Removed.into()),
            Ok(_) | Err(_) => Err(otherwise.into()),
        }
    }
}

impl DataDirectory {
    /// Opens the directory, and creates it if it does not exist. It does not create the parent: if a file system is not
    /// mounted, that must not look like a first start.
    pub(super) fn open(root: &Path, keys: DataKeys) -> Result<Self, DirectoryError> {
        let failed = |source| DirectoryError::Io { path: root.to_owned(), source };
        make_directory(root).map_err(failed)?;
        let path = root.join("lock");
        let lock = File::options().create(true).append(true).open(&path).map_err(failed)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(DirectoryError::InUse(root.to_owned())),
            Err(errno) => return Err(failed(errno.into())),
        }
        let held = HeldLock::of(&lock);
        let mut directory = Self {
            root: root.to_owned(),
            held,
            lock_length: held.sign(&lock).map_err(failed)?,
            lock: Opened::new(path, lock).map_err(failed)?,
            taken_over: AtomicBool::new(false),
            directories: Vec::new(),
            keys,
            trouble: Mutex::default(),
            changes: Running::default(),
            looks: Running::default(),
            new_files: GroupCommit::default(),
            reserve: Reserve::default(),
        };
        for path in
            [directory.images(), directory.boots(), directory.bases(), directory.base_files(), directory.damaged()]
        {
            make_directory(&path).map_err(|source| DirectoryError::Io { path, source })?;
        }
        // Nobody else writes here, so all unfinished files are from a crash.
        for path in [root.to_owned(), directory.images(), directory.boots(), directory.bases()] {
            let file = remove_unfinished(&path).and_then(|()| File::open(&path));
            match file.and_then(|file| Opened::new(path.clone(), file)) {
                Ok(opened) => directory.directories.push(opened),
                Err(source) => return Err(DirectoryError::Io { path, source }),
            }
        }
        directory.take_reserve();
        Ok(directory)
    }

    /// Writes a file as [`write()`] does, and makes sure that the file is in this directory.
    pub(super) fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.change(|| write(path, bytes))
    }

    /// Writes new files as [`write_all()`] does, and makes sure that they are in this directory.
    pub(super) fn write_all(&self, files: &[NewFile]) -> io::Result<()> {
        self.change(|| write_all(files))
    }

    /// Writes a new file as [`write_all`](Self::write_all) does, together with those of other threads.
    pub(super) fn write_together(&self, file: NewFile) -> io::Result<()> {
        // Each caller counts, also while another one writes.
        self.counted(&self.changes, || self.new_files.write(file, |files| self.guarded(|| write_all(files))))
    }

    /// Replaces files as [`replace_all()`] does, and makes sure that they are in this directory.
    pub(super) fn replace_all(&self, files: &[NewFile]) -> io::Result<()> {
        self.change(|| replace_all(files))
    }

    /// Removes a file as [`remove()`] does, and makes sure that this directory no longer has it.
    pub(super) fn remove(&self, path: &Path) -> io::Result<bool> {
        self.change(|| remove(path))
    }

    /// Reads a file; `None` if it does not exist.
    pub(super) fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.look(|| match fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    /// Keeps room on the disk, as far as there is any.
    pub(super) fn take_reserve(&self) {
        if self.check().is_ok() {
            self.reserve.take(&self.images());
        }
    }

    /// Does what must be written even if the disk is full: once more, in the room that was kept, if there is no other.
    pub(super) fn with_reserve<T>(&self, work: impl Fn() -> io::Result<T>) -> io::Result<T> {
        match work() {
            Err(error) if StorageTrouble::of(&error).is_full() && self.reserve.release() => {
                let done = work();
                self.take_reserve();
                done
            }
            done => done,
        }
    }

    /// Why the last use of the directory failed; `None` if it succeeded.
    pub(super) fn trouble(&self) -> Option<StorageTrouble> {
        let trouble = *self.trouble.lock();
        trouble.or_else(|| self.is_hung().then_some(StorageTrouble::Hung))
    }

    /// Whether the file system does not answer.
    fn is_hung(&self) -> bool {
        self.changes.is_hung() || self.looks.is_hung()
    }

    /// Finds out whether records can be written. Writes only if there is doubt, so that it does not wake a sleeping disk.
    pub(super) fn try_out(&self) {
        let doubtful = self.look(|| {
            let system = rustix::fs::statvfs(self.images().as_path())?;
            let read_only = system.f_flag.contains(StatVfsMountFlags::RDONLY);
            // Some file systems count no blocks, or no inodes.
            let blocks = system.f_blocks > 0 && system.f_bavail.saturating_mul(system.f_frsize) < TRIED as u64;
            let inodes = system.f_files > 0 && system.f_favail == 0;
            Ok(read_only || blocks || inodes)
        });
        self.take_reserve();
        if matches!(doubtful, Ok(false)) && self.trouble().is_none() {
            return;
        }
        // The operations that wait show when it answers again. A trial would wait as well.
        if self.is_hung() {
            return;
        }
        // The file has no name, so nobody sees it, and nothing of it remains.
        let tried = self.look(|| tempfile::tempfile_in(self.images())?.write_all(&vec![0; TRIED]));
        if tried.is_ok()
            && let Some(trouble) = self.trouble.lock().take()
        {
            info!(path = %self.root.display(), was = %trouble, "the data directory can be written again");
        }
    }

    /// Changes the directory, and returns when the disk has the change.
    fn change<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.counted(&self.changes, || self.guarded(work))
    }

    /// Uses the directory, and does not wait for the disk to have a change.
    fn look<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.counted(&self.looks, || self.guarded(work))
    }

    /// Fails at once if the file system hangs, and enough operations wait for it.
    fn counted<T>(&self, running: &Running, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match running.begin() {
            Some(_operation) => work(),
            None => self.noted(Err(io::ErrorKind::TimedOut.into())),
        }
    }

    /// Uses the directory, and checks before and after that it is still the one that was opened.
    fn guarded<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.noted(self.check().and_then(|()| {
            let done = work();
            // Work in another directory does not count, and its errors do not matter.
            self.check().and(done)
        }))
    }

    /// Notes why a use of the directory failed.
    fn noted<T>(&self, done: io::Result<T>) -> io::Result<T> {
        if let Err(failure) = &done {
            let trouble = StorageTrouble::of(failure);
            let before = self.trouble.lock().replace(trouble);
            if before != Some(trouble) {
                let path = self.root.display();
                error!(%path, error = %failure, "dayone cannot use the data directory, and can store nothing until that changes: {trouble}");
            }
        }
        done
    }

    /// Checks that the paths still lead to the directories that were opened, and that this process holds their lock.
    pub(super) fn check(&self) -> io::Result<()> {
        self.directories.iter().try_for_each(|directory| directory.check(Lost::Replaced))?;
        self.lock.check(Lost::Lock)?;
        self.check_lock()
    }

    /// Checks that no other process has had the lock since.
    fn check_lock(&self) -> io::Result<()> {
        if !self.taken_over.load(Ordering::Relaxed) {
            if !self.held.is_taken_over(&self.lock.file, self.lock_length) {
                return Ok(());
            }
            self.taken_over.store(true, Ordering::Relaxed);
        }
        Err(Lost::TakenOver.into())
    }

    /// The keys that encrypt records.
    pub(super) fn keys(&self) -> &DataKeys {
        &self.keys
    }

    /// The data directory itself.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The installation key.
    pub(super) fn key(&self) -> PathBuf {
        self.root.join("key")
    }

    /// The digests of bases.
    pub(super) fn base_digests(&self) -> PathBuf {
        self.root.join("base-digests.json")
    }

    /// The records of images.
    pub(super) fn images(&self) -> PathBuf {
        self.root.join("images")
    }

    /// The records of boots.
    pub(super) fn boots(&self) -> PathBuf {
        self.root.join("boots")
    }

    /// The records of added bases.
    pub(super) fn bases(&self) -> PathBuf {
        self.root.join("bases")
    }

    /// The files of added bases.
    pub(super) fn base_files(&self) -> PathBuf {
        self.root.join("base-files")
    }

    /// What could not be read.
    pub(super) fn damaged(&self) -> PathBuf {
        self.root.join("damaged")
    }
}

/// Reads a file that has at most `limit` bytes.
pub(crate) fn read_limited(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    if path.metadata()?.len() > limit {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has more than {limit} bytes")));
    }
    fs::read(path)
}

fn make_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes unfinished files from a directory that several servers may share, if they are so old that they must be from a
/// crash.
pub(super) fn remove_stale(directory: &Path) -> io::Result<()> {
    remove_unfinished_if(directory, |entry| {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > STALE))
    })
}

fn remove_unfinished(directory: &Path) -> io::Result<()> {
    remove_unfinished_if(directory, |_| true)
}

fn remove_unfinished_if(directory: &Path, condition: impl Fn(&DirEntry) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let unfinished = entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
        if unfinished
            && condition(&entry)
            && let Err(error) = fs::remove_file(entry.path())
        {
            warn!(path = %entry.path().display(), %error, "cannot remove an unfinished file from a crash");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
