//! A cache of base files' digests, so that a restart does not read gigabytes again.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use imagelib::digest::Digest;
use media::base_file::Fingerprint;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::directory::DataDirectory;
use super::durable;

const VERSION: u32 = 1;

/// The maximum number of entries: more than anyone has base files, and small.
const MOST: usize = 256;

/// Digests by fingerprint. A file with a known fingerprint has the same bytes as before, because every write changes its
/// ctime. That is certain only if the file had settled before it was read ([`BaseFile::settling`]).
///
/// [`BaseFile::settling`]: media::base_file::BaseFile::settling
#[derive(Debug)]
pub(super) struct DigestCache {
    /// The file that keeps the digests, if there is one.
    path: Option<PathBuf>,
    /// The data directory that the file is in, if it is in one.
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
    /// Reads the cache. If it cannot be read, that only costs time.
    pub(super) fn open(path: PathBuf) -> Self {
        let unreadable = |error: &str| {
            warn!(path = %path.display(), error, "cannot read the digests of bases; dayone reads the bases again");
            vec![]
        };
        let entries = match fs::read(&path).map(|bytes| serde_json::from_slice::<Json>(&bytes)) {
            Ok(Ok(Json { version: VERSION, digests })) => digests,
            Ok(_) => unreadable("the file is damaged, or another version of dayone wrote it"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => vec![],
            Err(error) => unreadable(&error.to_string()),
        };
        Self { path: Some(path), directory: None, entries: Mutex::new(entries) }
    }

    /// The cache of a data directory. It never writes to another directory in its place.
    pub(super) fn open_in(directory: &Arc<DataDirectory>) -> Self {
        Self { directory: Some(Arc::clone(directory)), ..Self::open(directory.base_digests()) }
    }

    /// A cache that ends with the process.
    pub(super) fn in_memory() -> Self {
        Self { path: None, directory: None, entries: Mutex::default() }
    }

    pub(super) fn get(&self, file: &Fingerprint) -> Option<Digest> {
        self.entries.lock().iter().find(|entry| entry.file == *file).map(|entry| entry.sha256)
    }

    /// Adds the digest of a file that had settled before it was read.
    pub(super) fn keep(&self, file: Fingerprint, sha256: Digest) {
        let mut entries = self.entries.lock();
        // The former bytes of the same file will not come back.
        entries.retain(|entry| !entry.file.is_same_inode(&file));
        entries.push(Entry { file, sha256 });
        let surplus = entries.len().saturating_sub(MOST);
        entries.drain(..surplus);
        let Some(path) = &self.path else { return };
        let json = serde_json::to_vec(&Json { version: VERSION, digests: entries.clone() });
        let write = |json: Vec<u8>| match &self.directory {
            Some(directory) => directory.write(path, &json),
            None => durable::write(path, &json),
        };
        if let Err(error) = json.map_err(io::Error::from).and_then(write) {
            warn!(path = %path.display(), %error, "cannot keep the digest of a base; the next start will read the base again");
        }
    }
}
