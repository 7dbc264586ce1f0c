//! A store in a data directory. After a restart, it has the same published images.

use std::path::Path;
use std::sync::Arc;

use media::access::Clock;
use media::{MediaUrl, UrlForm};
use parking_lot::Mutex;
use tracing::info;

use super::added_bases::{self, AddedBases};
use super::bases::{self, Bases, OnUnusable};
use super::data_keys::DataKeys;
use super::definition::BaseDefinition;
use super::digest_cache::DigestCache;
use super::directory::DataDirectory;
use super::error::OpenError;
use super::key_file::KeyFile;
use super::key_rotation;
use super::keys::Keys;
use super::persistence::Persistence;
use super::stored_image::StoredImage;
use super::{Store, records, reencrypt};

impl Store {
    /// Opens a data directory and the bases, and restores all published images.
    ///
    /// `media_url` is the beginning of images' URLs. If no image was ever published, a base that cannot be used is an
    /// error: the configuration is wrong. Later, the server starts without that base, so that it serves the images over
    /// the others, and looks for it at every [`recheck`](Self::recheck).
    pub fn open(data_dir: &Path, bases: Vec<BaseDefinition>, media_url: MediaUrl) -> Result<Self, OpenError> {
        Self::open_with(data_dir, DataKeys::default(), bases, media_url, Clock::default())
    }

    /// [`open`](Self::open) with the keys that encrypt the data directory, and with a clock by which images end.
    pub fn open_with(
        data_dir: &Path,
        keys: DataKeys,
        bases: Vec<BaseDefinition>,
        media_url: MediaUrl,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        bases::check_names(&bases)?;
        let directory = Arc::new(DataDirectory::open(data_dir, keys)?);
        reencrypt::reencrypt(&directory)?;
        let records = records::load(&directory)?;
        let key_file = open_key(&directory, records.is_empty())?;
        let published = records.found.values().flatten().map(|(_, record)| record.created).max();
        let is_new = key_file.previous.as_ref().is_some_and(|previous| previous.taken_over.is_none());
        let key_file = key_rotation::take_over(&directory, key_file, clock.now().wall, published)
            .map_err(|source| OpenError::Key { path: directory.key(), source })?;
        let keys = Keys::of(&key_file, clock.now());
        let digests = DigestCache::open_in(&directory);
        let on_unusable = if records.is_empty() { OnUnusable::Fail } else { OnUnusable::Continue };
        let (added, ready) = AddedBases::load(&directory)?;
        if let Some(name) = added_bases::twice(&ready, &bases) {
            return Err(OpenError::BaseTwice(name.clone()));
        }
        let bases = Bases::open(bases, ready, &digests, on_unusable)?;
        let persistence = Persistence::Directory(directory);
        let new = Self::new(persistence, keys, media_url, UrlForm::Capability, bases, digests);
        let store = Self { added, clock, key_file: Mutex::new(Some(key_file)), ..new };
        let keys = store.keys();
        if is_new {
            *store.key_change.lock() = Some(keys.rotated());
        }
        for (id, loaded) in records.found {
            match loaded {
                Ok((recipe, record)) => {
                    let access = record.access.clone().map(|access| access.resume(&store.clock));
                    let address = store.address(&keys.current, &id, std::iter::empty());
                    let counterpart = keys.other_token(&id);
                    let image =
                        Arc::new(StoredImage::new(address, counterpart, id, recipe, record, access, &store.plans));
                    store.serve(Arc::clone(&image));
                    store.serve_elsewhere(&image, &keys);
                }
                Err(reason) => store.images.insert_unreadable(id, store.tokens(&keys, &id), &reason),
            }
        }
        store.release_ended();
        store.plan_images_later();
        info!(images = store.images().len(), "images are published");
        Ok(store)
    }
}

fn open_key(directory: &DataDirectory, may_create: bool) -> Result<KeyFile, OpenError> {
    let path = directory.key();
    let failed = |source| OpenError::Key { path: path.clone(), source };
    match KeyFile::read(&path, directory.keys()).map_err(failed)? {
        Some(key) => Ok(key),
        None if may_create => KeyFile::create(&path, directory.keys()).map_err(failed),
        None => Err(OpenError::KeyMissing { path, images: directory.images() }),
    }
}
