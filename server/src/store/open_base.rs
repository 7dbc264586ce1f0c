//! A base that is open: dayone knows its files, its kind and its digests.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use imagelib::base::{Base, BaseIdentity, Role};
use imagelib::digest::Digest;
use imagelib::image::Image;
use imagelib::overlay::{Overlay, PrefixStates};
use imagelib::secure_boot::{SecureBoot, Survey};
use imagelib::source::Source;
use media::base_file::{self, BaseFile, BaseFiles};
use tracing::info;

use super::definition::{BaseDefinition, BaseName};
use super::digest_cache::DigestCache;
use super::last_layouts::LastLayouts;

/// How often dayone logs its progress while it reads a base.
const PROGRESS: Duration = Duration::from_secs(5);

/// Why a configured base cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenBaseError {
    /// A file cannot be opened, or has changed while dayone read it.
    #[error(transparent)]
    File(#[from] base_file::BaseError),
    /// A file cannot be read.
    #[error("base image {}: reading failed: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The files are not a base.
    #[error("{files}: {source}")]
    Probe {
        /// The files.
        files: String,
        /// The reason.
        source: imagelib::base::BaseError,
    },
    /// The file system of a file does not answer.
    #[error(
        "base image {}: its file system has not answered for {} s; check its file server or its disk",
        path.display(), waited.as_secs()
    )]
    Unresponsive {
        /// The file, or the first of several.
        path: PathBuf,
        /// How long dayone has waited.
        waited: Duration,
    },
    /// Somebody is writing the file.
    #[error("base image {}: was written a moment ago; dayone reads it when it is a few seconds old", .0.display())]
    BeingWritten(PathBuf),
    /// dayone's own copy of a file is no longer the file that was added.
    #[error(
        "base image {}: the server's copy is damaged, its SHA-256 is {found} and was {recorded} when the base was added; add the \
         base again", path.display()
    )]
    Damaged {
        /// The copy.
        path: PathBuf,
        /// The digest when the base was added.
        recorded: Digest,
        /// The digest now.
        found: Digest,
    },
    /// dayone's own copy of a file is gone.
    #[error("base image {}: the server's copy is gone; add the base again", .0.display())]
    Gone(PathBuf),
    /// The base is new, and dayone is reading it.
    #[error("base image {}: dayone is reading it for the first time, and uses it when that is done", .0.display())]
    BeingRead(PathBuf),
}

/// What to do about a base that was written a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fresh {
    /// Open it, and read it again later: a write in this moment can go unnoticed.
    Accept,
    /// Do not open it: somebody is probably still writing it.
    Refuse,
}

/// Whose the files of a base are, and which bytes they must have.
#[derive(Debug, Clone)]
pub(super) enum FileOwner {
    /// The operator's. Another file at the path is another base.
    Operator,
    /// dayone's own copies. They had these digests when they arrived, and are damaged if they have others.
    Dayone(BTreeMap<Role, Digest>),
    /// dayone's own copies, whose digests are not known yet.
    DayoneNew,
}

/// One file of a base.
#[derive(Debug)]
pub struct OpenBaseFile {
    /// The open file.
    pub file: Arc<BaseFile>,
    /// The SHA-256 of its bytes.
    pub digest: Digest,
    /// Intermediate hash states, which make digests of images cheap.
    pub states: PrefixStates,
}

/// A base that is open. It always stands for the same bytes: if a file changes, a new value replaces this one.
#[derive(Debug)]
pub struct OpenBase {
    /// The kind of base, and its structure.
    pub base: Base,
    /// Its identity: a digest over the digests of its files.
    pub identity: BaseIdentity,
    /// Its files.
    pub files: BTreeMap<Role, OpenBaseFile>,
    /// What is known about Secure Boot of it.
    pub secure_boot: Survey,
    /// The layouts that its images share.
    pub(super) last_layouts: LastLayouts,
    /// Whether dayone certainly notices every change since it read the files.
    settled: bool,
}

impl OpenBase {
    /// Opens the files of a base, probes them, and computes the digests that it does not know.
    pub(super) fn open(
        definition: &BaseDefinition,
        owner: &FileOwner,
        digests: &DigestCache,
        fresh: Fresh,
    ) -> Result<Self, OpenBaseError> {
        let open = |path: &Path| {
            let file = match owner {
                FileOwner::Operator => {
                    BaseFile::open(path)?.with_shared_copy(digests.directory().into_iter().chain(path.parent()))?
                }
                FileOwner::Dayone(_) => BaseFile::open_private(path).map_err(|error| gone(path, error))?,
                FileOwner::DayoneNew => BaseFile::open_private(path)?,
            };
            if file.has_shared_copy() {
                let (base, path) = (&definition.name, path.display());
                info!(%base, %path, "reads a copy of a base's file, which shares its blocks");
            }
            if fresh == Fresh::Refuse && file.settling().is_some() {
                return Err(OpenBaseError::BeingWritten(path.to_owned()));
            }
            Ok(file)
        };
        let files = definition.files.iter().map(|(role, path)| Ok((role, open(path)?)));
        let files: BTreeMap<Role, BaseFile> = files.collect::<Result<_, OpenBaseError>>()?;
        // Before anything is read, which may take longer than the files take to settle.
        let settled = files.values().all(|file| file.settling().is_none());
        // A damaged copy would otherwise be reported as a file that is not a base.
        let mut verified = match owner {
            FileOwner::Dayone(recorded) => verify(&definition.name, &files, recorded, digests)?,
            FileOwner::Operator | FileOwner::DayoneNew => BTreeMap::new(),
        };
        // Probing is cheap, so it comes before reading the whole base.
        let probed = Base::probe(&files);
        let mut base = probed.map_err(|source| {
            // If a file has changed meanwhile, that is the better error.
            let changed = files.values().find_map(|file| file.check().err());
            let paths: Vec<String> = files.values().map(|file| file.path().display().to_string()).collect();
            changed.map_or_else(|| OpenBaseError::Probe { files: paths.join(", "), source }, Into::into)
        })?;
        base.verify(&files);
        base.survey_initramfs(&files);
        let secure_boot = Survey::of_base(&base, &files);
        let mut digested = BTreeMap::new();
        for (role, file) in files {
            let (digest, states) = match verified.remove(&role) {
                Some(known) => known,
                None => digest(&definition.name, &file, digests)?,
            };
            digested.insert(role, OpenBaseFile { file: Arc::new(file), digest, states });
        }
        let identity = BaseIdentity::of(&digested.iter().map(|(role, file)| (*role, file.digest)).collect());
        Ok(Self { base, identity, files: digested, secure_boot, last_layouts: LastLayouts::default(), settled })
    }

    /// The base without files, which is the base of data images.
    pub(super) fn empty() -> Self {
        let (files, identity) = (BTreeMap::new(), BaseIdentity::of(&BTreeMap::new()));
        let secure_boot = Survey::of_base(&Base::Nothing, &BTreeMap::<Role, Vec<u8>>::new());
        let last_layouts = LastLayouts::default();
        Self { base: Base::Nothing, identity, files, secure_boot, last_layouts, settled: true }
    }

    /// Checks that the files have not changed since they were opened. It is an error if their file system does not answer in
    /// time.
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

    /// The identity of the bytes of an image over this base. `None` if the base lacks a file that the image needs.
    pub fn identity_of(&self, overlay: &Overlay) -> Option<Digest> {
        overlay.identity(&self.files.iter().map(|(role, file)| (*role, file.digest)).collect())
    }

    /// The files that an image uses.
    pub fn files_of(&self, overlay: &Overlay) -> BaseFiles {
        let used = overlay.files();
        let files = self.files.iter().filter(|(role, _)| used.contains(role));
        files.map(|(role, file)| (*role, Arc::clone(&file.file))).collect()
    }

    /// What is known about Secure Boot of an image over this base; `None` for a data image. Reads directories in the image.
    pub(super) fn secure_boot_of(&self, image: &Image) -> Option<SecureBoot> {
        let files: BaseFiles = self.files.iter().map(|(role, file)| (*role, Arc::clone(&file.file))).collect();
        self.secure_boot.of_image(image, &self.base, &files)
    }

    /// The SHA-256 of an image over this base. Reads the image.
    pub(super) fn digest_of(&self, overlay: &Overlay) -> io::Result<Digest> {
        overlay.digest(&self.files_of(overlay), |role| self.files.get(&role).map(|file| &file.states))
    }

    /// Whether the base should be read again: it was read so soon after a write that dayone may have missed another write,
    /// and enough time has passed since then.
    pub(super) fn wants_rereading(&self) -> bool {
        !self.settled && self.files.values().all(|file| file.file.settling().is_none())
    }
}

/// The error of a copy that cannot be opened.
fn gone(path: &Path, error: base_file::BaseError) -> OpenBaseError {
    match error {
        base_file::BaseError::Inaccessible { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            OpenBaseError::Gone(path.to_owned())
        }
        other => other.into(),
    }
}

/// Computes the digests of dayone's own copies, as far as it does not know them, and checks that they are those of the files that were
/// added.
fn verify(
    name: &BaseName,
    files: &BTreeMap<Role, BaseFile>,
    recorded: &BTreeMap<Role, Digest>,
    digests: &DigestCache,
) -> Result<BTreeMap<Role, (Digest, PrefixStates)>, OpenBaseError> {
    let mut verified = BTreeMap::new();
    for (role, file) in files {
        let (found, states) = digest(name, file, digests)?;
        match recorded.get(role) {
            Some(recorded) if *recorded != found => {
                return Err(OpenBaseError::Damaged { path: file.path().to_owned(), recorded: *recorded, found });
            }
            _ => drop(verified.insert(*role, (found, states))),
        }
    }
    Ok(verified)
}

fn digest(name: &BaseName, file: &BaseFile, digests: &DigestCache) -> Result<(Digest, PrefixStates), OpenBaseError> {
    // The file must have settled before dayone reads it. Only then does it notice every later write.
    let fingerprint = file.fingerprint().filter(|_| file.settling().is_none());
    if let Some(known) = fingerprint.as_ref().and_then(|fingerprint| digests.get(fingerprint)) {
        return Ok((known, digests.states(&known)));
    }
    let (states, start) = (PrefixStates::new(), Instant::now());
    let progress = Progress { file, name, start, logged: AtomicU64::new(0), read: AtomicU64::new(0) };
    let digest = states.digest(&progress).map_err(|source| match file.check() {
        Err(changed) => changed.into(),
        Ok(()) => OpenBaseError::Read { path: file.path().to_owned(), source },
    })?;
    file.check()?;
    let seconds = start.elapsed().as_secs_f64();
    info!(base = %name, path = %file.path().display(), bytes = file.size(), seconds, "read and digested a base's file");
    if let Some(fingerprint) = fingerprint {
        // A digest that is kept is that of what the disk has, also after a power failure.
        if file.sync().map_err(|source| OpenBaseError::Read { path: file.path().to_owned(), source })? {
            digests.keep(fingerprint, digest, &states);
        }
    }
    Ok((digest, states))
}

/// Logs the progress of reading a file.
struct Progress<'a> {
    file: &'a BaseFile,
    name: &'a BaseName,
    start: Instant,
    /// How many intervals have been logged.
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
