//! A store with nothing on disk: for servers whose images are published again after every restart, because what they
//! are made from is kept elsewhere.

use std::path::PathBuf;
use std::time::Duration;

use media::{MediaUrl, UrlForm};
use tokio::sync::watch;

use super::bases::{self, Bases, Unusable};
use super::definition::{BaseDefinition, DefinitionError};
use super::digest_cache::DigestCache;
use super::directory;
use super::error::OpenError;
use super::holders;
use super::key::InstallationKey;
use super::persistence::Persistence;
use super::{Parts, Store};

/// What a store in memory is made of.
#[derive(Debug)]
pub struct InMemory {
    /// From which the URLs are made: stores with one key and the same bases give the same images at the same URLs.
    pub key: InstallationKey,
    /// The bases to begin with. They are read before the store is there; others follow by [`Store::set_bases`].
    pub bases: Vec<BaseDefinition>,
    /// What images' URLs begin with.
    pub media_url: MediaUrl,
    /// What they look like behind that.
    pub urls: UrlForm,
    /// A directory for the digests of bases, so that a restart does not read gigabytes again. It may be emptied at any
    /// time, and several servers may share it.
    pub digests: Option<PathBuf>,
    /// How long an image that its owner has replaced is served.
    pub lingering: Duration,
    /// Whether other replicas publish the same images, so that a client may come with a URL that this one will know in a
    /// moment only.
    pub replicated: bool,
}

impl InMemory {
    /// A store without bases, for one replica of several.
    pub fn new(key: InstallationKey, media_url: MediaUrl, urls: UrlForm) -> Self {
        let (bases, digests, lingering) = (Vec::new(), None, holders::LINGERING);
        Self { key, bases, media_url, urls, digests, lingering, replicated: true }
    }
}

impl Store {
    /// A store that keeps nothing on disk, and knows no boots. Reads the bases whose digests it does not know. That a
    /// base cannot be used is no error: it may be there later, and its state says why it is not now.
    pub fn in_memory(settings: InMemory) -> Result<Self, OpenError> {
        let InMemory { key, bases, media_url, urls, digests, lingering, replicated } = settings;
        bases::check_names(&bases)?;
        let digests = match digests {
            Some(directory) => {
                // It may not be there yet, and what is left there does no harm.
                let _ = directory::remove_stale(&directory);
                DigestCache::open(directory.join("base-digests.json"))
            }
            None => DigestCache::in_memory(),
        };
        let bases = Bases::open(bases, &digests, Unusable::Awaited)?;
        let arrivals = replicated.then(|| watch::Sender::new(0));
        let persistence = Persistence::Nowhere;
        Ok(Self::assemble(Parts { persistence, key, media_url, urls, bases, digests, lingering, arrivals }))
    }

    /// From now on, these are the bases. What is defined as before stays in service. Images over a base that is not among
    /// them answer 503 until it is again. Added ones are opened before this returns, which takes long where they have to
    /// be read; one that cannot be opened, or was written to a moment ago, is tried again at every
    /// [`recheck`](Self::recheck).
    pub fn set_bases(&self, definitions: Vec<BaseDefinition>) -> Result<(), DefinitionError> {
        bases::check_names(&definitions)?;
        if self.bases.replace(definitions) {
            // What has lost its base goes out of service before the others are read.
            self.plan_images();
            self.recheck();
        }
        Ok(())
    }

    /// Changes whenever a base is added or removed, comes into service, goes out of it, or becomes another one.
    pub fn base_changes(&self) -> watch::Receiver<u64> {
        self.bases.changes()
    }
}
