//! Files that are being written: under another name until they are whole, and gone if they never will be.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags};
use tempfile::NamedTempFile;

const PREFIX: &str = ".dayone-";
const SUFFIX: &str = ".partial";

/// Makes a file in `directory`, which can be renamed to its final name; with mode 0600, since it may hold secrets. Files
/// that others did not complete, since they were killed, are removed.
///
/// Whoever writes such a file holds a lock on it, which the kernel takes back when the process ends. Where the file system
/// knows no locks, nothing is removed.
pub(super) fn create(directory: &Path) -> io::Result<NamedTempFile> {
    remove_stale(directory);
    loop {
        let file = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(directory)?;
        let _ = rustix::fs::flock(file.as_file(), FlockOperation::LockExclusive);
        // Somebody may have taken it for a stale one before it was locked.
        if file.as_file().metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
}

/// Removes what nobody writes any more. What cannot be looked at or removed is somebody else's business.
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
    // It may have been completed and renamed since it was found, and another file may have its name.
    let (held, there) = (file.metadata()?, fs::symlink_metadata(path)?);
    if (held.dev(), held.ino()) == (there.dev(), there.ino()) { fs::remove_file(path) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_writes_any_more_is_removed_and_nothing_else() {
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
