//! The data directory: what lies where, and how it is written so that a crash at any moment leaves the old or the new.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use tracing::warn;

/// What names of files begin with that are still being written.
const UNFINISHED: &str = ".unfinished-";

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
    _lock: File,
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
        let directory = Self { root: root.to_owned(), _lock: lock };
        for path in [directory.images(), directory.boots(), directory.damaged()] {
            make_directory(&path).map_err(|source| DirectoryError::Io { path, source })?;
        }
        // Nobody else writes here, so whatever is unfinished now was left by a crash.
        for path in [root.to_owned(), directory.images(), directory.boots()] {
            remove_unfinished(&path).map_err(|source| DirectoryError::Io { path, source })?;
        }
        Ok(directory)
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

fn remove_unfinished(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let unfinished = entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
        if unfinished && let Err(error) = fs::remove_file(entry.path()) {
            warn!(path = %entry.path().display(), %error, "cannot remove what a crash left");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
