//! The data directory: what lies where, and how it is written so that a crash at any moment leaves the old or the new.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, DirEntry, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{FlockOperation, StatVfsMountFlags};
use tracing::{error, info, warn};

use super::storage::{Lost, StorageTrouble};

/// What names of files begin with that are still being written.
const UNFINISHED: &str = ".unfinished-";

/// Such files are written in milliseconds.
const STALE: Duration = Duration::from_hours(1);

/// How many bytes a look at the directory writes: more than the usual record, so that what it finds is true of records.
const TRIED: usize = 64 << 10;

/// Why a directory cannot hold the server's data.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// A step on it failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// What it was about.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another server has it.
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
    /// The kernel gives the lock back when the file is closed, however the process ends.
    lock: File,
    /// The directories that are written to, by their paths. As long as they are open, no other directory gets their inodes.
    opened: Vec<(PathBuf, File)>,
    trouble: Mutex<Option<StorageTrouble>>,
}

impl DataDirectory {
    /// Takes the directory into use. It is made where it is missing, but its parent is not: a file system that is not
    /// mounted must not look like a first start.
    pub(super) fn open(root: &Path) -> Result<Self, DirectoryError> {
        let failed = |source| DirectoryError::Io { path: root.to_owned(), source };
        make_directory(root).map_err(failed)?;
        let lock = File::options().create(true).append(true).open(root.join("lock")).map_err(failed)?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(DirectoryError::InUse(root.to_owned())),
            Err(errno) => return Err(failed(errno.into())),
        }
        let mut directory = Self { root: root.to_owned(), lock, opened: Vec::new(), trouble: Mutex::default() };
        for path in [directory.images(), directory.boots(), directory.damaged()] {
            make_directory(&path).map_err(|source| DirectoryError::Io { path, source })?;
        }
        // Nobody else writes here, so whatever is unfinished now was left by a crash.
        for path in [root.to_owned(), directory.images(), directory.boots()] {
            let opened = remove_unfinished(&path).and_then(|()| File::open(&path));
            match opened {
                Ok(file) => directory.opened.push((path, file)),
                Err(source) => return Err(DirectoryError::Io { path, source }),
            }
        }
        Ok(directory)
    }

    /// Writes a file of the directory as [`write()`] does, and makes sure that it is this directory that has it.
    pub(super) fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.guarded(|| write(path, bytes))
    }

    /// Removes a file of the directory as [`remove()`] does. In a directory that has taken the place of this one, that
    /// the file is not there says nothing.
    pub(super) fn remove(&self, path: &Path) -> io::Result<bool> {
        self.guarded(|| remove(path))
    }

    /// What a file of the directory holds; none where it is not there.
    pub(super) fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.guarded(|| match fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    /// Why the directory could not be used the last time that anybody tried; none where it could.
    pub(super) fn trouble(&self) -> Option<StorageTrouble> {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds out whether records can be written. That is tried only where it is in doubt: a disk that sleeps goes on
    /// sleeping.
    pub(super) fn try_out(&self) {
        let doubtful = self.guarded(|| {
            let system = rustix::fs::statvfs(self.images().as_path())?;
            let read_only = system.f_flag.contains(StatVfsMountFlags::RDONLY);
            // Some file systems do not count blocks, or inodes.
            let blocks = system.f_blocks > 0 && system.f_bavail.saturating_mul(system.f_frsize) < TRIED as u64;
            let inodes = system.f_files > 0 && system.f_favail == 0;
            Ok(read_only || blocks || inodes)
        });
        if matches!(doubtful, Ok(false)) && self.trouble().is_none() {
            return;
        }
        // It has no name, so that nothing of it is left, or seen, at any time.
        let tried = self.guarded(|| tempfile::tempfile_in(self.images())?.write_all(&vec![0; TRIED]));
        if tried.is_ok()
            && let Some(trouble) = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            info!(path = %self.root.display(), was = %trouble, "the data directory can be written again");
        }
    }

    /// Does something with the directory, which must be the one that was opened, before and after.
    fn guarded<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let done = self.check().and_then(|()| {
            let done = work();
            // What was done in another directory was not done, and why it failed there does not matter.
            self.check().and(done)
        });
        if let Err(failure) = &done {
            let trouble = StorageTrouble::of(failure);
            let before = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).replace(trouble);
            if before != Some(trouble) {
                let path = self.root.display();
                error!(%path, error = %failure, "the data directory cannot be used; nothing can be stored until it can: {trouble}");
            }
        }
        done
    }

    /// Whether the paths still lead to the directories that were opened.
    fn check(&self) -> io::Result<()> {
        let opened = self.opened.iter().map(|(path, file)| (path.clone(), file, Lost::Replaced));
        for (path, file, otherwise) in opened.chain([(self.root.join("lock"), &self.lock, Lost::Lock)]) {
            let held = file.metadata()?;
            match fs::metadata(&path) {
                Ok(there) if (there.dev(), there.ino()) == (held.dev(), held.ino()) => {}
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Err(_) if otherwise == Lost::Replaced => return Err(Lost::Removed.into()),
                Ok(_) | Err(_) => return Err(otherwise.into()),
            }
        }
        Ok(())
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

    fn damaged(&self) -> PathBuf {
        self.root.join("damaged")
    }

    /// Moves a file out of the way, to `damaged/`, and says where to. What is there already stays.
    pub(super) fn set_aside(&self, path: &Path) -> io::Result<PathBuf> {
        let name = path.file_name().unwrap_or(OsStr::new("file")).to_string_lossy().into_owned();
        let names = std::iter::once(name.clone()).chain((1..).map(|number: u64| format!("{name}.{number}")));
        for name in names {
            let to = self.damaged().join(name);
            // Nobody else writes here, so a name that is free now stays free.
            if fs::symlink_metadata(&to).is_err() {
                fs::rename(path, &to)?;
                sync_parent(&to)?;
                sync_parent(path)?;
                return Ok(to);
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// Writes a file that only its owner may read, or replaces it. When this returns, it outlives a power failure; until
/// then, what was there before is there still.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    unfinished(path, bytes)?.persist(path)?;
    sync_parent(path)
}

/// Like [`write()`], but never replaces a file.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    unfinished(path, bytes)?.persist_noclobber(path)?;
    sync_parent(path)
}

/// Removes a file. When this returns, it stays away even after a power failure. False: it was not there.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    let removed = match fs::remove_file(path) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    // Even where it was not there: an earlier try may have come only this far.
    sync_parent(path).map(|()| removed)
}

/// In the same directory, so that a rename can put it into its place; with mode 0600, as `tempfile` makes them.
fn unfinished(path: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(parent(path))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}

fn make_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes what crashes have left in a directory that several servers may share: what is so old that nobody can be
/// writing it any more.
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
            warn!(path = %entry.path().display(), %error, "cannot remove what a crash left");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_done_in_a_directory_that_took_the_place_of_the_one_that_was_opened() {
        let parent = tempfile::tempdir().unwrap();
        let (root, away) = (parent.path().join("data"), parent.path().join("away"));
        let directory = DataDirectory::open(&root).unwrap();
        let path = directory.images().join("a.json");
        directory.write(&path, b"1").unwrap();
        assert_eq!(directory.trouble(), None);

        fs::rename(&root, &away).unwrap();
        let removed = Some(StorageTrouble::Lost(Lost::Removed));
        assert!(directory.write(&path, b"2").is_err());
        assert_eq!(directory.trouble(), removed);
        for missing in ["", "images", "boots"] {
            fs::create_dir(root.join(missing)).unwrap();
        }
        let replaced = Some(StorageTrouble::Lost(Lost::Replaced));
        assert!(directory.write(&path, b"2").is_err() && directory.remove(&path).is_err());
        assert!(directory.read(&path).is_err());
        directory.try_out();
        assert_eq!(directory.trouble(), replaced);
        assert_eq!(fs::read_dir(root.join("images")).unwrap().count(), 0);

        fs::remove_dir_all(&root).unwrap();
        fs::rename(&away, &root).unwrap();
        // A success of anything else does not say that records can be written.
        assert_eq!(directory.read(&path).unwrap().unwrap(), b"1");
        assert_eq!(directory.trouble(), replaced);
        directory.try_out();
        assert_eq!(directory.trouble(), None);
        assert_eq!(fs::read_dir(directory.images()).unwrap().count(), 1, "the trial leaves nothing");

        fs::remove_file(root.join("lock")).unwrap();
        assert!(directory.remove(&path).is_err());
        assert_eq!(directory.trouble(), Some(StorageTrouble::Lost(Lost::Lock)));
    }

    #[test]
    fn a_directory_belongs_to_one_server_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("data");
        let first = DataDirectory::open(&root).unwrap();
        let error = DataDirectory::open(&root).unwrap_err();
        assert!(matches!(error, DirectoryError::InUse(_)));
        assert!(error.to_string().contains("another dayone uses"), "{error}");
        drop(first);
        DataDirectory::open(&root).unwrap();
    }

    #[test]
    fn a_missing_parent_is_an_error_that_names_the_directory() {
        let parent = tempfile::tempdir().unwrap();
        let error = DataDirectory::open(&parent.path().join("not/mounted")).unwrap_err();
        assert!(error.to_string().contains("not/mounted"), "{error}");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);

        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(DataDirectory::open(&file).is_err());
    }

    #[test]
    fn what_a_crash_left_unfinished_is_removed_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        drop(DataDirectory::open(root.path()).unwrap());
        for name in ["images/.unfinished-a1", ".unfinished-b2", "images/other", "key"] {
            fs::write(root.path().join(name), "x").unwrap();
        }
        drop(DataDirectory::open(root.path()).unwrap());
        let there = |name| root.path().join(name).exists();
        assert!(!there("images/.unfinished-a1") && !there(".unfinished-b2"));
        assert!(there("images/other") && there("key"));
    }

    #[test]
    fn files_set_aside_never_replace_each_other() {
        let root = tempfile::tempdir().unwrap();
        let directory = DataDirectory::open(root.path()).unwrap();
        let path = directory.images().join("a.json");
        let mut places = vec![];
        for content in ["1", "2", "3"] {
            write(&path, content.as_bytes()).unwrap();
            places.push(directory.set_aside(&path).unwrap());
        }
        let contents: Vec<String> = places.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        assert_eq!(contents, ["1", "2", "3"]);
        assert!(!remove(&path).unwrap());
    }
}
