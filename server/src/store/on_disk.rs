//! A store in a data directory, from which published images come back after a restart.

use std::path::Path;
use std::sync::Arc;

use media::{MediaUrl, UrlForm};
use tracing::info;

use super::bases::{self, Bases, Unusable};
use super::definition::BaseDefinition;
use super::digest_cache::DigestCache;
use super::directory::DataDirectory;
use super::error::OpenError;
use super::key::InstallationKey;
use super::persistence::Persistence;
use super::stored_image::StoredImage;
use super::{Parts, Store, holders, records};

impl Store {
    /// Takes a data directory into use, opens the bases and brings all published images back.
    ///
    /// `media_url` is what images' URLs begin with. A base that cannot be used is an error where no image was ever
    /// published: then it is a mistake in the configuration. Later the server starts without it, so that the other
    /// bases' images are served, and looks for it again at every [`recheck`](Self::recheck).
    pub fn open(data_dir: &Path, bases: Vec<BaseDefinition>, media_url: MediaUrl) -> Result<Self, OpenError> {
        bases::check_names(&bases)?;
        let directory = Arc::new(DataDirectory::open(data_dir)?);
        let records = records::load(&directory)?;
        let key = open_key(&directory, records.is_empty())?;
        let digests = DigestCache::open_in(&directory);
        let unusable = if records.is_empty() { Unusable::Refused } else { Unusable::Awaited };
        let bases = Bases::open(bases, &digests, unusable)?;
        let store = Self::assemble(Parts {
            persistence: Persistence::Directory(directory),
            key,
            media_url,
            urls: UrlForm::Capability,
            bases,
            digests,
            lingering: holders::LINGERING,
            arrivals: None,
        });
        for (id, loaded) in records.found {
            let token = store.key.token(&id);
            match loaded {
                Ok((recipe, record)) => store.serve(Arc::new(StoredImage::new(token, id, recipe, record))),
                Err(reason) => store.images.insert_unreadable(id, token, reason),
            }
        }
        store.plan_images();
        info!(images = store.images().len(), "images are published");
        Ok(store)
    }
}

fn open_key(directory: &DataDirectory, may_create: bool) -> Result<InstallationKey, OpenError> {
    let path = directory.key();
    let failed = |source| OpenError::Key { path: path.clone(), source };
    match InstallationKey::read(&path).map_err(failed)? {
        Some(key) => Ok(key),
        None if may_create => InstallationKey::create(&path).map_err(failed),
        None => Err(OpenError::KeyMissing { path, images: directory.images() }),
    }
}
