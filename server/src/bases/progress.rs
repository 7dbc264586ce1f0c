//! How far dayone is with the files of a base.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use imagelib::base::Role;
use parking_lot::Mutex;
use serde::Serialize;
use utoipa::ToSchema;

/// What dayone does with the files of a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = BaseFetchState)]
pub enum Phase {
    /// Other bases are fetched first.
    Queued,
    /// The files arrive.
    Fetching,
    /// dayone reads the files, and compares them with their digests and signatures.
    Verifying,
    /// Fetching or verifying has failed.
    Failed,
}

/// How much of a file has arrived.
#[derive(Debug, Default)]
pub(crate) struct FileProgress {
    done: AtomicU64,
    /// Zero if nobody knows.
    total: AtomicU64,
}

impl FileProgress {
    /// How many bytes are there.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// How long the file is, if the server has told.
    pub(crate) fn total(&self) -> Option<u64> {
        Some(self.total.load(Ordering::Relaxed)).filter(|total| *total > 0)
    }

    pub(super) fn set_done(&self, bytes: u64) {
        self.done.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn add(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn set_total(&self, total: Option<u64>) {
        self.total.store(total.unwrap_or(0), Ordering::Relaxed);
    }
}

/// How far dayone is with a base.
#[derive(Debug)]
pub struct FetchProgress {
    phase: Mutex<Phase>,
    files: BTreeMap<Role, Arc<FileProgress>>,
    /// What went wrong last, while dayone tries again.
    trouble: Arc<Mutex<Option<String>>>,
}

/// [`FetchProgress`] at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressSnapshot {
    /// What dayone does.
    pub phase: Phase,
    /// How many bytes have arrived.
    pub bytes: u64,
    /// How many bytes there will be, if that is known.
    pub total: Option<u64>,
    /// Why dayone waits before it goes on.
    pub trouble: Option<String>,
}

impl FetchProgress {
    /// Nothing has arrived of files with these roles.
    pub(crate) fn new(roles: impl Iterator<Item = Role>) -> Self {
        let files = roles.map(|role| (role, Arc::default())).collect();
        Self { phase: Mutex::new(Phase::Queued), files, trouble: Arc::default() }
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        *self.phase.lock() = phase;
    }

    /// How much of a file has arrived.
    pub(crate) fn file(&self, role: Role) -> Arc<FileProgress> {
        self.files.get(&role).cloned().unwrap_or_default()
    }

    pub(super) fn set_trouble(&self, trouble: Option<String>) {
        *self.trouble.lock() = trouble;
    }

    /// The progress at this moment.
    pub fn snapshot(&self) -> ProgressSnapshot {
        let total: Option<u64> = self.files.values().map(|file| file.total()).sum();
        let bytes = self.files.values().map(|file| file.done()).sum();
        ProgressSnapshot { phase: *self.phase.lock(), bytes, total, trouble: self.trouble.lock().clone() }
    }
}
