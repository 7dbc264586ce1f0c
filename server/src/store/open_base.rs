//! A base whose files are open, understood and digested.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use imagelib::base::{Base, BaseIdentity, Role};
use imagelib::digest::Digest;
use imagelib::overlay::{Overlay, PrefixStates};
use imagelib::source::Source;
use media::base_file::{self, BaseFile, BaseFiles};
use tracing::info;

use super::definition::{BaseDefinition, BaseName};
use super::digest_cache::DigestCache;

/// How often the log says how far reading a base has come.
const PROGRESS: Duration = Duration::from_secs(5);

/// Why a configured base cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenBaseError {
    /// A file cannot be opened, or changed while it was read.
    #[error(transparent)]
    File(#[from] base_file::BaseError),
    /// A file cannot be read.
    #[error("base image {}: reading failed: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The files are not those of a base.
    #[error("{files}: {source}")]
    Probe {
        /// The files.
        files: String,
        /// What they are instead.
        source: imagelib::base::BaseError,
    },
    /// The file system of one of its files does not answer.
    #[error(
        "base image {}: its file system has not answered for {} s; look after its server or its disk",
        path.display(), waited.as_secs()
    )]
    Unresponsive {
        /// The file, or the first of several.
        path: PathBuf,
        /// For how long.
        waited: Duration,
    },
    /// Somebody is writing it.
    #[error("base image {}: was written to a moment ago; it will be read when it is a few seconds old", .0.display())]
    BeingWritten(PathBuf),
    /// It is new here, and all of it is read once.
    #[error("base image {}: is being read for the first time; it is used when that is done", .0.display())]
    BeingRead(PathBuf),
}

/// Whether a base may be opened right after it was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fresh {
    /// It may: it will be read again when the time is over in which a write could go unseen.
    Accept,
    /// It must not: somebody is likely still writing it.
    Refuse,
}

/// One file of a base.
#[derive(Debug)]
pub struct OpenBaseFile {
    /// The open file.
    pub file: Arc<BaseFile>,
    /// The SHA-256 of its bytes.
    pub digest: Digest,
    /// Hash states, which make digests of images cheap.
    pub states: PrefixStates,
}

/// A base whose files are open, understood and digested. It stands for these bytes for ever: when a file changes, this
/// value is of no use any more, and another takes its place.
#[derive(Debug)]
pub struct OpenBase {
    /// What it is.
    pub base: Base,
    /// Its identity: a digest over the digests of its files.
    pub identity: BaseIdentity,
    /// Its files.
    pub files: BTreeMap<Role, OpenBaseFile>,
    /// Whether every change since the files were read is seen for certain.
    settled: bool,
}

impl OpenBase {
    /// Opens the files of a base, finds out what it is, and digests what has no known digest.
    pub(super) fn open(
        definition: &BaseDefinition,
        digests: &DigestCache,
        fresh: Fresh,
    ) -> Result<Self, OpenBaseError> {
        let open = |path: &Path| {
            let file = BaseFile::open(path)?;
            if fresh == Fresh::Refuse && file.settling().is_some() {
                return Err(OpenBaseError::BeingWritten(path.to_owned()));
            }
            Ok(file)
        };
        let files = definition.files.iter().map(|(role, path)| Ok((role, open(path)?)));
        let files: BTreeMap<Role, BaseFile> = files.collect::<Result<_, OpenBaseError>>()?;
        // Probing is cheap, so it comes before reading it all.
        let probed = Base::probe(&files);
        let settled = files.values().all(|file| file.settling().is_none());
        let mut base = probed.map_err(|source| {
            // That a file changed is the better answer than what became of it.
            let changed = files.values().find_map(|file| file.check().err());
            let paths: Vec<String> = files.values().map(|file| file.path().display().to_string()).collect();
            changed.map_or_else(|| OpenBaseError::Probe { files: paths.join(", "), source }, Into::into)
        })?;
        base.verify(&files);
        base.find_network_manager(&files);
        let mut digested = BTreeMap::new();
        for (role, file) in files {
            let states = PrefixStates::new();
            let digest = digest(&definition.name, &file, &states, digests)?;
            digested.insert(role, OpenBaseFile { file: Arc::new(file), digest, states });
        }
        let identity = BaseIdentity::of(&digested.iter().map(|(role, file)| (*role, file.digest)).collect());
        Ok(Self { base, identity, files: digested, settled })
    }

    /// The base of no files, over which data images are made. It is always there.
    pub(super) fn nothing() -> Self {
        let (files, identity) = (BTreeMap::new(), BaseIdentity::of(&BTreeMap::new()));
        Self { base: Base::Nothing, identity, files, settled: true }
    }

    /// Whether the files are still what they were when they were opened. A file system that does not answer in time
    /// is an error.
    pub(super) fn check_in_time(&self) -> Result<(), base_file::BaseError> {
        self.files.values().try_for_each(|file| file.file.check_in_time())
    }

    /// [`check_in_time`](Self::check_in_time), for callers that must not block their thread.
    pub async fn check_in_time_async(&self) -> Result<(), base_file::BaseError> {
        for file in self.files.values() {
            file.file.check_in_time_async().await?;
        }
        Ok(())
    }

    /// What the bytes of an image over this base are, in short; none where it needs a file that the base has not.
    pub fn identity_of(&self, overlay: &Overlay) -> Option<Digest> {
        overlay.identity(&self.files.iter().map(|(role, file)| (*role, file.digest)).collect())
    }

    /// The files that an image lies over.
    pub fn files_of(&self, overlay: &Overlay) -> BaseFiles {
        let used = overlay.files();
        let files = self.files.iter().filter(|(role, _)| used.contains(role));
        files.map(|(role, file)| (*role, Arc::clone(&file.file))).collect()
    }

    /// The SHA-256 of an image over this base. It reads the image.
    pub(super) fn digest_of(&self, overlay: &Overlay) -> io::Result<Digest> {
        overlay.digest(&self.files_of(overlay), |role| self.files.get(&role).map(|file| &file.states))
    }

    /// Whether the files were read so soon after a write that another write may have gone unseen, and whether that
    /// time is over now: then reading them again settles it.
    pub(super) fn wants_rereading(&self) -> bool {
        !self.settled && self.files.values().all(|file| file.file.settling().is_none())
    }
}

fn digest(
    name: &BaseName,
    file: &BaseFile,
    states: &PrefixStates,
    digests: &DigestCache,
) -> Result<Digest, OpenBaseError> {
    // Before reading: what counts is that the time in which a write could go unseen was over by then.
    let fingerprint = file.fingerprint().filter(|_| file.settling().is_none());
    if let Some(known) = fingerprint.as_ref().and_then(|fingerprint| digests.get(fingerprint)) {
        return Ok(known);
    }
    let start = Instant::now();
    let progress = Progress { file, name, start, logged: AtomicU64::new(0), read: AtomicU64::new(0) };
    let digest = states.digest(&progress).map_err(|source| match file.check() {
        Err(changed) => changed.into(),
        Ok(()) => OpenBaseError::Read { path: file.path().to_owned(), source },
    })?;
    file.check()?;
    let seconds = start.elapsed().as_secs_f64();
    info!(base = %name, path = %file.path().display(), bytes = file.size(), seconds, "read and digested a base's file");
    if let Some(fingerprint) = fingerprint {
        digests.keep(fingerprint, digest);
    }
    Ok(digest)
}

/// Says now and then how far reading has come.
struct Progress<'a> {
    file: &'a BaseFile,
    name: &'a BaseName,
    start: Instant,
    /// How many times.
    logged: AtomicU64,
    read: AtomicU64,
}

impl Source for Progress<'_> {
    fn size(&self) -> u64 {
        self.file.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(offset, buffer)?;
        let read = self.read.fetch_add(count as u64, Ordering::Relaxed) + count as u64;
        let due = self.start.elapsed().as_secs() / PROGRESS.as_secs();
        if self.logged.swap(due, Ordering::Relaxed) < due {
            let (path, size) = (self.file.path().display(), self.size());
            info!(base = %self.name, %path, mebibytes = read >> 20, of = size >> 20, "digesting a base's file");
        }
        Ok(count)
    }
}
