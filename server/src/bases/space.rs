//! Room on the file system of fetched files. The records of images may be on the same one, so some is left to them.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::error::FetchError;

/// How many bytes stay free: the records of some ten thousand images.
const RESERVE: u64 = 64 << 20;

/// Checks that `needed` more bytes fit, and that the reserve stays free.
pub(super) fn check(file: impl AsFd, needed: u64) -> Result<(), FetchError> {
    let Ok(system) = rustix::fs::fstatvfs(file) else { return Ok(()) };
    // Some file systems count no blocks.
    if system.f_blocks == 0 {
        return Ok(());
    }
    let available = system.f_bavail.saturating_mul(system.f_frsize);
    if available < needed.saturating_add(RESERVE) {
        return Err(FetchError::NoSpace { needed, available, reserve: RESERVE });
    }
    Ok(())
}

/// Who may read a fetched file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Only its owner, like everything in a server's data directory.
    Owner,
    /// Everybody whom the umask allows to: another user may serve the file.
    Everybody,
}

impl Readers {
    fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::Everybody => 0o644,
        }
    }
}

/// Creates or empties a file.
pub(super) fn create(path: &Path, readers: Readers) -> io::Result<File> {
    File::options().create(true).read(true).write(true).truncate(true).mode(readers.mode()).open(path)
}

/// Opens a file for writing, and creates it if it does not exist.
pub(super) fn open(path: &Path, readers: Readers) -> io::Result<File> {
    File::options().create(true).read(true).write(true).truncate(false).mode(readers.mode()).open(path)
}
