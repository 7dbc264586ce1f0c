//! How a base's file changes, and why it cannot be used.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a base's file has changed since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Change {
    /// There is no file at its path.
    #[error("was deleted or moved away")]
    Vanished,
    /// Another file is at its path.
    #[error("was replaced by another file")]
    Replaced,
    /// The file is longer or shorter.
    #[error("changed its size from {was} to {now} bytes")]
    Resized {
        /// The size when it was opened, in bytes.
        was: u64,
        /// The size now, in bytes.
        now: u64,
    },
    /// The file was written to.
    #[error("was written to (its mtime moved)")]
    Modified,
    /// Only the ctime is another one: the file's attributes changed, or it was written to and its mtime was set back.
    #[error("has another ctime: its attributes changed, or somebody wrote to it and kept its mtime")]
    Touched,
}

/// Why a base's file cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BaseError {
    /// The file cannot be opened, or its attributes cannot be read.
    #[error("base image {}: {source}", path.display())]
    Inaccessible {
        /// The file's path.
        path: PathBuf,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// The path leads neither to a regular file nor to a block device.
    #[error("base image {}: neither a file nor a block device", .0.display())]
    NotAFile(PathBuf),
    /// The file has changed since it was registered.
    #[error(
        "base image {} {change} since it was registered; put the original back or register it again. Leave the file of a base in use \
         alone (no chmod, link, rename or label), or let 'dayone base add' make a copy", path.display()
    )]
    Changed {
        /// The file's path.
        path: PathBuf,
        /// What has changed.
        change: Change,
    },
    /// The file system does not answer, for example because its server is down.
    #[error("base image {}: its file system has not answered for {} s; check its server or its disk", path.display(), waited.as_secs())]
    Unresponsive {
        /// The file's path.
        path: PathBuf,
        /// For how long it has not answered.
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
