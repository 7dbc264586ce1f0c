//! Why the data directory cannot be used. The texts name no file, because readiness and the API show them.

use std::fmt;
use std::io::{self, ErrorKind};

/// How the data directory differs from the one that the server opened at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Nothing is at its path.
    #[error("it was removed or renamed while dayone was running")]
    Removed,
    /// Another directory is at its path.
    #[error("another directory is in its place: it was replaced, or a file system was mounted over it")]
    Replaced,
    /// The lock file is not the one that this process holds.
    #[error("its lock file was removed or replaced, so another dayone may be using it")]
    Lock,
    /// Another process holds the lock: a file server takes it from a client that it has not heard of for a while.
    #[error("another dayone has taken it over while this one could not reach the file server")]
    TakenOver,
}

impl From<Lost> for io::Error {
    fn from(lost: Lost) -> Self {
        Self::new(ErrorKind::StaleNetworkFileHandle, lost)
    }
}

/// Why the data directory cannot be written or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageTrouble {
    /// Its file system is full.
    Full,
    /// The quota of the user that runs dayone is used up.
    Quota,
    /// Its file system is mounted read-only.
    ReadOnly,
    /// Permission is denied.
    Denied,
    /// It is not the directory that the server opened at its start.
    Lost(Lost),
    /// Its file system does not answer.
    Hung,
    /// Anything else; the log has what the system says.
    Failed,
}

impl StorageTrouble {
    /// The problem of the directory, from the error of a read or a write.
    pub fn of(error: &io::Error) -> Self {
        if let Some(lost) = error.get_ref().and_then(|inner| inner.downcast_ref::<Lost>()) {
            return Self::Lost(*lost);
        }
        match error.kind() {
            ErrorKind::StorageFull => Self::Full,
            ErrorKind::QuotaExceeded => Self::Quota,
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            ErrorKind::PermissionDenied => Self::Denied,
            ErrorKind::TimedOut => Self::Hung,
            _ => Self::Failed,
        }
    }

    /// Whether there is no space left.
    pub fn is_full(self) -> bool {
        matches!(self, Self::Full | Self::Quota)
    }

    /// What the operator should do.
    fn fix(self) -> &'static str {
        match self {
            Self::Full => "make room on it",
            Self::Quota => "raise the quota, or delete files",
            Self::ReadOnly => "mount it read-write",
            Self::Denied => "give it to the user that runs dayone, with mode 0700",
            Self::Lost(Lost::TakenOver) => "stop this dayone, or stop the other one and restart this one",
            Self::Lost(_) => "put the directory back, or restart dayone",
            Self::Hung => "check its disk or its file server",
            Self::Failed => "the server's log says what the system answered",
        }
    }
}

impl fmt::Display for StorageTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("no space is left on its file system"),
            Self::Quota => f.write_str("its disk quota is used up"),
            Self::ReadOnly => f.write_str("its file system is read-only"),
            Self::Denied => f.write_str("permission is denied"),
            Self::Lost(lost) => lost.fmt(f),
            Self::Hung => f.write_str("its file system does not answer"),
            Self::Failed => f.write_str("reading or writing failed"),
        }?;
        write!(f, "; {}", self.fix())
    }
}
