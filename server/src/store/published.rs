//! What the media plane and the audit log get from the store.

use std::sync::Arc;

use media::served::{Lookup, Published};
use media::{NotAToken, UrlForm};

use super::Store;
use super::released::ReleasedImage;
use super::stored_image::StoredImage;

impl Store {
    /// Begins to serve an image.
    pub(super) fn serve(&self, image: Arc<StoredImage>) {
        self.images.insert(image);
    }

    /// Keeps the released images for [`take_released`](Self::take_released), which must then be called every few seconds, or does not keep
    /// them. A store that was opened from a data directory keeps them until this is called, so that none of its start is missing.
    pub fn keep_released(&self, keep: bool) {
        self.released.keep(keep);
    }

    /// Takes the images that were released since the last call.
    pub fn take_released(&self) -> Vec<ReleasedImage> {
        self.released.take()
    }

    /// All images that the store has not released yet, also those whose time to live is over.
    pub fn unreleased_images(&self) -> Vec<Arc<StoredImage>> {
        self.images.all()
    }

    /// Finds a file. If this replica does not know it, but may publish it in a moment, the caller can wait for that.
    fn find_or_wait(&self, find: impl Fn() -> Option<Lookup>) -> Lookup {
        if let Some(found) = find() {
            return found;
        }
        let Some(publications) = &self.publications else { return Lookup::NotFound };
        // The second attempt comes after the subscription, so no publication in between is missed.
        let publications = publications.subscribe();
        find().unwrap_or(Lookup::NotYet(publications))
    }
}

impl Published for Store {
    fn find(&self, token: &str, file: &str) -> Lookup {
        match token.parse() {
            Ok(token) => self.find_or_wait(|| self.images.find(&token, file)),
            Err(NotAToken) => Lookup::NotFound,
        }
    }

    fn urls(&self) -> UrlForm {
        self.urls
    }

    fn find_name(&self, name: &str) -> Lookup {
        match (self.urls, name.parse()) {
            (UrlForm::Uuid, Ok(uuid)) => self.find_or_wait(|| self.images.find_uuid(&uuid)),
            (UrlForm::Named, _) => self.find_owned(name),
            (UrlForm::Capability | UrlForm::Uuid, _) => Lookup::NotFound,
        }
    }
}
