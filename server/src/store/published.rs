//! What the media plane gets from the store.

use std::sync::Arc;

use media::served::{Lookup, Published};
use media::{MediaUuid, NotAToken, UrlForm};

use super::Store;
use super::stored_image::StoredImage;

impl Store {
    /// Begins to serve an image.
    pub(super) fn serve(&self, image: Arc<StoredImage>) {
        let uuids = self.uuids(&image);
        self.images.insert(image, uuids);
    }

    /// The UUIDs of the files of an image, if URLs have the form with UUIDs.
    pub(super) fn uuids(&self, image: &StoredImage) -> Vec<(MediaUuid, String)> {
        let files = image.files().filter(|_| self.urls == UrlForm::Uuid);
        files.map(|file| (self.key.uuid(&image.id(), file), file.to_owned())).collect()
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
