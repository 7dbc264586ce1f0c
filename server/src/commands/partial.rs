//! Incomplete files: they have a temporary name until they are complete, and are removed otherwise.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags};
use tempfile::NamedTempFile;

const PREFIX: &str = ".dayone-";
const SUFFIX: &str = ".partial";

/// Creates a file in `directory`, which the caller can rename to its final name. It has mode 0600, because it may hold secrets.
/// Also removes incomplete files of processes that were killed.
///
/// A process holds a lock on the file that it writes, which the kernel releases when the process ends. If the file system does
/// not support locks, nothing is removed.
pub(super) fn create(directory: &Path) -> io::Result<NamedTempFile> {
    remove_stale(directory);
    loop {
        let file = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(directory)?;
        let _ = rustix::fs::flock(file.as_file(), FlockOperation::LockExclusive);
        // Before the lock, another process may have removed the file as a stale one.
        if file.as_file().metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
}

/// Removes incomplete files that no process writes any more. Ignores errors: such files may belong to somebody else.
fn remove_stale(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_partial = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if is_partial && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = remove_if_stale(&entry.path());
        }
    }
}

fn remove_if_stale(path: &Path) -> io::Result<()> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).write(true).custom_flags(flags).open(path)?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    // The file may have been completed and renamed meanwhile, and another file may have its name.
    let (held, named) = (file.metadata()?, fs::symlink_metadata(path)?);
    if (held.dev(), held.ino()) == (named.dev(), named.ino()) { fs::remove_file(path) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stale_partial_files_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in [".dayone-a1b2c3.partial", ".dayone-other", "x.partial", "disk.iso"] {
            fs::write(path(name), "x").unwrap();
        }
        std::os::unix::fs::symlink(path("disk.iso"), path(".dayone-link.partial")).unwrap();
        let written = create(directory.path()).unwrap();
        assert!(!path(".dayone-a1b2c3.partial").exists());
        for name in [".dayone-other", "x.partial", "disk.iso", ".dayone-link.partial"] {
            assert!(path(name).exists(), "{name}");
        }
        let another = create(directory.path()).unwrap();
        assert!(written.path().exists() && another.path().exists(), "those that are being written stay");
        assert!(written.persist(path("whole.iso")).is_ok());
        drop(another);
        drop(create(directory.path()).unwrap());
        assert!(path("whole.iso").exists());
    }
}
