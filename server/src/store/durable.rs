//! Files that survive a power failure. A crash at any moment leaves either the old or the new content.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use hosts::parallel;
use tempfile::NamedTempFile;

use super::group_commit::NewFile;

/// The prefix of files that are still being written.
pub(super) const UNFINISHED: &str = ".unfinished-";

/// How many threads wait for the disk at most.
const WAITING: usize = 8;
/// How many files one of them takes at a time: fewer than this are not worth a thread.
const FILES_AT_ONCE: usize = 4;

/// Writes or replaces a file that only its owner may read. When this returns, the file survives a power failure. Until then,
/// the old content is still there.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    unfinished(path, bytes)?.persist(path)?;
    sync_parent(path)
}

/// Writes new files, either all of them or none. When this returns, they survive a power failure. All files are written before
/// the first wait for the disk, and directories are synchronised once, not once for each file.
pub(super) fn write_all(files: &[NewFile]) -> io::Result<()> {
    let written: Vec<NamedTempFile> =
        files.iter().map(|(path, bytes)| written(path, bytes)).collect::<io::Result<_>>()?;
    sync(&written)?;
    let mut placed = 0;
    let place = || {
        for (file, (path, _)) in written.into_iter().zip(files) {
            file.persist(path)?;
            placed += 1;
        }
        sync_parents(files)
    };
    let done = place();
    if done.is_err() {
        for (path, _) in files.iter().take(placed) {
            let _ = fs::remove_file(path);
        }
    }
    done
}

/// Replaces files. When this returns, they survive a power failure; if it fails, each has its old or its new content. All files are
/// written before the first wait for the disk, and directories are synchronised once.
pub(super) fn replace_all(files: &[NewFile]) -> io::Result<()> {
    let written: Vec<NamedTempFile> =
        files.iter().map(|(path, bytes)| written(path, bytes)).collect::<io::Result<_>>()?;
    sync(&written)?;
    for (file, (path, _)) in written.into_iter().zip(files) {
        file.persist(path)?;
    }
    sync_parents(files)
}

/// Like [`write()`], but never replaces a file.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    unfinished(path, bytes)?.persist_noclobber(path)?;
    sync_parent(path)
}

/// Removes a file, and returns whether it existed. When this returns, it stays away even after a power failure.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    let removed = match fs::remove_file(path) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    // Sync even if the file did not exist: an earlier attempt may have failed before its sync.
    sync_parent(path).map(|()| removed)
}

/// Writes a temporary file in the same directory, so that a rename can put it in place. `tempfile` makes it with mode 0600.
fn unfinished(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let file = written(path, bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Writes a temporary file that may still be in the kernel's memory only.
fn written(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = unfinished_in(path)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// An empty temporary file in the directory of `path`. `tempfile` makes it with mode 0600.
pub(super) fn unfinished_in(path: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(parent(path))
}

/// Waits until all of these files are on disk. Several threads wait, because a disk makes what it has at that moment durable at once:
/// 500 files take less than half of the time that they take one after the other.
fn sync(files: &[NamedTempFile]) -> io::Result<()> {
    let done = parallel::on_threads(WAITING, files, FILES_AT_ONCE, |file| file.as_file().sync_all());
    done.into_iter().collect()
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync_parents(files: &[NewFile]) -> io::Result<()> {
    let parents: BTreeSet<&Path> = files.iter().map(|(path, _)| parent(path)).collect();
    parents.into_iter().try_for_each(|parent| File::open(parent)?.sync_all())
}

pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}
