//! A store with nothing on disk, for programs whose images are made again after every restart from documents that are kept
//! elsewhere.

use std::path::PathBuf;
use std::time::Duration;

use media::{MediaUrl, UrlForm};
use tokio::sync::watch;

use super::Store;
use super::bases::{self, Bases, OnUnusable};
use super::definition::{BaseDefinition, DefinitionError};
use super::digest_cache::DigestCache;
use super::directory;
use super::error::OpenError;
use super::key::InstallationKey;
use super::keys::Keys;
use super::owners::{LINGERING, Owners};
use super::persistence::Persistence;

/// The settings of a store in memory.
#[derive(Debug)]
pub struct InMemory {
    /// The installation key. Stores with the same key and the same bases give the same images the same URLs.
    pub key: InstallationKey,
    /// The bases at the start, which are read before the store opens. [`Store::set_bases`] replaces them.
    pub bases: Vec<BaseDefinition>,
    /// The beginning of images' URLs.
    pub media_url: MediaUrl,
    /// The form of images' URLs.
    pub urls: UrlForm,
    /// A directory for the digests of bases, so that a restart does not read gigabytes again. You may empty it at any time,
    /// and several servers may share it.
    pub digests: Option<PathBuf>,
    /// How long the store serves an image that its owner has replaced.
    pub lingering: Duration,
    /// Whether other replicas publish the same images. A client may then come with a URL that this replica will know only
    /// in a moment.
    pub replicated: bool,
}

impl InMemory {
    /// A store without bases, for one of several replicas.
    pub fn new(key: InstallationKey, media_url: MediaUrl, urls: UrlForm) -> Self {
        Self { key, bases: Vec::new(), media_url, urls, digests: None, lingering: LINGERING, replicated: true }
    }
}

impl Store {
    /// Opens a store that keeps nothing on disk, and knows no boots. Reads the bases whose digests it does not know. A base
    /// that cannot be used is no error: its state gives the reason, and it may be usable later.
    pub fn in_memory(settings: InMemory) -> Result<Self, OpenError> {
        let InMemory { key, bases, media_url, urls, digests, lingering, replicated } = settings;
        bases::check_names(&bases)?;
        let digests = match digests {
            Some(directory) => {
                // The directory may not exist yet, and stale files in it do no harm.
                let _ = directory::remove_stale(&directory);
                DigestCache::open(directory.join("base-digests.json"))
            }
            None => DigestCache::in_memory(),
        };
        let bases = Bases::open(bases, Vec::new(), &digests, OnUnusable::Continue)?;
        Ok(Self {
            owners: Owners::new(lingering),
            publications: replicated.then(|| watch::Sender::new(0)),
            ..Self::new(Persistence::None, Keys::only(key), media_url, urls, bases, digests)
        })
    }

    /// Replaces the bases. A base with an unchanged definition stays in service. Images over a base that is no longer
    /// configured answer 503 until it is configured again. This opens new bases before it returns, which takes long if they
    /// have to be read. If a base cannot be opened, or was written a moment ago, every [`recheck`](Self::recheck) tries
    /// again.
    pub fn set_bases(&self, definitions: Vec<BaseDefinition>) -> Result<(), DefinitionError> {
        bases::check_names(&definitions)?;
        if self.bases.replace(definitions) {
            // Images that have lost their base go out of service before new bases are read.
            self.plan_images();
            self.recheck();
        }
        Ok(())
    }

    /// Changes when a base is added or removed, comes into service, goes out of service, or is replaced.
    pub fn base_changes(&self) -> watch::Receiver<u64> {
        self.bases.changes()
    }
}
