//! A store in a data directory. After a restart, it has the same published images.

use std::path::Path;
use std::sync::Arc;

use media::access::Clock;
use media::{MediaUrl, UrlForm};
use parking_lot::Mutex;
use tracing::{error, info};

use super::added_bases::{self, AddedBases};
use super::bases::{self, Bases, OnUnusable};
use super::data_keys::DataKeys;
use super::definition::BaseDefinition;
use super::digest_cache::DigestCache;
use super::directory::{DataDirectory, DirectoryError};
use super::error::OpenError;
use super::key_file::KeyFile;
use super::key_rotation;
use super::keys::Keys;
use super::persistence::Persistence;
use super::record_cipher::RecordKind;
use super::released::Released;
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
        let found = open_key(&directory, !records.is_empty())?;
        let published = records.found.values().flatten().map(|(_, record)| record.created).max();
        let key_file = key_rotation::taken_over(found.clone(), clock.now().wall, published);
        let is_new = key_file != found;
        // Without it, only the end of the grace period is later after a restart: no reason to leave the hosts without their images.
        if is_new && let Err(error) = key_rotation::write(&directory, &key_file) {
            error!(
                path = %directory.key().display(), %error,
                "cannot write into the file of the installation key that this server has taken it over; dayone goes on and tries again"
            );
        }
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
        let (key_file, released) = (Mutex::new(Some(key_file)), Released::kept());
        let store = Self { key_file, added, released, clock, ..new };
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

/// Reads the key. Creates it if nothing depends on one yet.
fn open_key(directory: &DataDirectory, has_images: bool) -> Result<KeyFile, OpenError> {
    let path = directory.key();
    let failed = |source| OpenError::Key { path: path.clone(), source };
    if let Some(key) = KeyFile::read(&path, directory.keys()).map_err(failed)? {
        return Ok(key);
    }
    // The credentials in the records of boots are encrypted with it.
    let boots = directory.records(RecordKind::Boot, |name| Some(name.to_owned()));
    let boots = boots.map_err(|source| DirectoryError::Io { path: directory.boots(), source })?;
    let depends = [(has_images, directory.images()), (!boots.is_empty(), directory.boots())];
    let records: Vec<_> = depends.into_iter().filter_map(|(depends, path)| depends.then_some(path)).collect();
    if !records.is_empty() {
        return Err(OpenError::KeyMissing { path, records });
    }
    let key = KeyFile::create(&path, directory.keys()).map_err(failed)?;
    info!(path = %path.display(), "created an installation key");
    Ok(key)
}
