//! A cache of base files' digests, and of the hash states within them, so that a restart does not read gigabytes again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use imagelib::digest::Digest;
use imagelib::overlay::PrefixStates;
use media::base_file::Fingerprint;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::directory::DataDirectory;
use super::durable;

const VERSION: u32 = 1;

/// The maximum number of entries: more than anyone has base files, and small.
const MAX_ENTRIES: usize = 256;

/// What the names of files with hash states begin with. The digest of their base follows.
const STATES: &str = "base-states-";

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

    /// The directory that the cache is in, if it is in one.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.path.as_deref().and_then(Path::parent)
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

    /// The hash states within the file with this digest: none if they cannot be read, which only costs time.
    pub(super) fn states(&self, sha256: &Digest) -> PrefixStates {
        let Some(path) = self.states_path(sha256) else { return PrefixStates::new() };
        let read = match fs::read(&path) {
            Ok(bytes) => PrefixStates::from_bytes(&bytes, sha256).map_err(|error| error.to_string()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return PrefixStates::new(),
            Err(error) => Err(error.to_string()),
        };
        read.unwrap_or_else(|error| {
            warn!(path = %path.display(), error, "cannot read the hash states of a base; the digest of its next image takes longer");
            PrefixStates::new()
        })
    }

    /// Adds the digest of a file that had settled before it was read, and the hash states within the file.
    pub(super) fn keep(&self, file: Fingerprint, sha256: Digest, states: &PrefixStates) {
        let mut entries = self.entries.lock();
        // The former bytes of the same file will not come back.
        entries.retain(|entry| !entry.file.is_same_inode(&file));
        entries.push(Entry { file, sha256 });
        let surplus = entries.len().saturating_sub(MAX_ENTRIES);
        entries.drain(..surplus);
        let (Some(path), Some(states_path)) = (&self.path, self.states_path(&sha256)) else { return };
        let json = serde_json::to_vec(&Json { version: VERSION, digests: entries.clone() }).map_err(io::Error::from);
        let written = json.and_then(|json| {
            self.write(path, &json)?;
            self.write(&states_path, &states.to_bytes(&sha256))
        });
        if let Err(error) = written {
            warn!(path = %path.display(), %error, "cannot keep the digest of a base; the next start will read the base again");
        }
        remove_unknown_states(path, |known| entries.iter().any(|entry| entry.sha256 == *known));
    }

    fn states_path(&self, sha256: &Digest) -> Option<PathBuf> {
        Some(self.path.as_ref()?.with_file_name(format!("{STATES}{sha256}")))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        match &self.directory {
            Some(directory) => directory.write(path, bytes),
            None => durable::write(path, bytes),
        }
    }
}

/// Removes the hash states of files whose digests are no longer kept, from the directory of the kept digests.
fn remove_unknown_states(digests: &Path, is_known: impl Fn(&Digest) -> bool) {
    let entries = digests.parent().and_then(|directory| fs::read_dir(directory).ok());
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let sha256 = name.to_str().and_then(|name| name.strip_prefix(STATES)?.parse().ok());
        if sha256.is_some_and(|sha256| !is_known(&sha256))
            && let Err(error) = fs::remove_file(entry.path())
        {
            warn!(path = %entry.path().display(), %error, "cannot remove the hash states of a base that is gone");
        }
    }
}
