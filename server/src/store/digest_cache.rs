//! Digests of base files, kept so that a restart does not read gigabytes again.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use imagelib::digest::Digest;
use media::base_file::Fingerprint;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::directory::{self, DataDirectory};

const VERSION: u32 = 1;

/// How many are kept: more than anyone has bases, and few enough to be nothing.
const MOST: usize = 256;

/// Digests by fingerprint. A file whose fingerprint is known has the bytes that were digested: whatever is written to
/// it changes its ctime, as long as it had settled before it was read ([`BaseFile::settling`]).
///
/// [`BaseFile::settling`]: media::base_file::BaseFile::settling
#[derive(Debug)]
pub(super) struct DigestCache {
    /// Where they outlive the process, if anywhere.
    path: Option<PathBuf>,
    /// The data directory that this is in, if it is in one.
    directory: Option<Arc<DataDirectory>>,
    entries: Mutex<Vec<Entry>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    file: Fingerprint,
    sha256: Digest,
}

#[derive(Serialize, Deserialize)]
struct Json {
    version: u32,
    digests: Vec<Entry>,
}

impl DigestCache {
    /// Reads the cache. One that cannot be read costs time and nothing else.
    pub(super) fn open(path: PathBuf) -> Self {
        let entries = match fs::read(&path).map(|bytes| serde_json::from_slice::<Json>(&bytes)) {
            Ok(Ok(Json { version: VERSION, digests })) => digests,
            Ok(_) => {
                warn!(path = %path.display(), "the digests kept of bases cannot be read; the bases are read again");
                vec![]
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => vec![],
            Err(error) => {
                warn!(path = %path.display(), %error, "the digests kept of bases cannot be read; the bases are read again");
                vec![]
            }
        };
        Self { path: Some(path), directory: None, entries: Mutex::new(entries) }
    }

    /// The cache of a data directory. What takes the place of the directory is not written to.
    pub(super) fn open_in(directory: &Arc<DataDirectory>) -> Self {
        Self { directory: Some(Arc::clone(directory)), ..Self::open(directory.base_digests()) }
    }

    /// A cache that ends with the process.
    pub(super) fn in_memory() -> Self {
        Self { path: None, directory: None, entries: Mutex::default() }
    }

    pub(super) fn get(&self, file: &Fingerprint) -> Option<Digest> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().find(|entry| entry.file == *file).map(|entry| entry.sha256)
    }

    /// Keeps a digest of a file that had settled before it was read.
    pub(super) fn keep(&self, file: Fingerprint, sha256: Digest) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        // The same file with other bytes will not come back.
        entries.retain(|entry| !entry.file.is_same_inode(&file));
        entries.push(Entry { file, sha256 });
        let surplus = entries.len().saturating_sub(MOST);
        entries.drain(..surplus);
        let Some(path) = &self.path else { return };
        let json = serde_json::to_vec(&Json { version: VERSION, digests: entries.clone() });
        let write = |json: Vec<u8>| match &self.directory {
            Some(directory) => directory.write(path, &json),
            None => directory::write(path, &json),
        };
        if let Err(error) = json.map_err(io::Error::from).and_then(write) {
            warn!(path = %path.display(), %error, "a base's digest cannot be kept; it will be read again at the next start");
        }
    }
}
