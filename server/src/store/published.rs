//! What the media plane finds in the store.

use std::sync::Arc;

use media::served::{Lookup, Published};
use media::{MediaUuid, NotAToken, UrlForm};

use super::Store;
use super::stored_image::StoredImage;

impl Store {
    /// From now on the image is served.
    pub(super) fn serve(&self, image: Arc<StoredImage>) {
        let uuids = self.uuids(&image);
        self.images.insert(image, uuids);
    }

    /// The UUIDs of the files of an image, where their URLs have them.
    pub(super) fn uuids(&self, image: &StoredImage) -> Vec<(MediaUuid, String)> {
        let files = image.files().filter(|_| self.urls == UrlForm::Uuid);
        files.map(|file| (self.key.uuid(&image.id(), file), file.to_owned())).collect()
    }

    /// What is looked for, or that it is not there yet where an image may arrive at any moment.
    fn arriving(&self, find: impl Fn() -> Option<Lookup>) -> Lookup {
        if let Some(found) = find() {
            return found;
        }
        let Some(arrivals) = &self.arrivals else { return Lookup::NotFound };
        // Looking again after subscribing misses nothing that is published in between.
        let arrivals = arrivals.subscribe();
        find().unwrap_or(Lookup::NotYet(arrivals))
    }
}

impl Published for Store {
    fn find(&self, token: &str, file: &str) -> Lookup {
        match token.parse() {
            Ok(token) => self.arriving(|| self.images.find(&token, file)),
            Err(NotAToken) => Lookup::NotFound,
        }
    }

    fn urls(&self) -> UrlForm {
        self.urls
    }

    fn find_name(&self, name: &str) -> Lookup {
        match (self.urls, name.parse()) {
            (UrlForm::Uuid, Ok(uuid)) => self.arriving(|| self.images.find_uuid(&uuid)),
            (UrlForm::Named, _) => self.find_owned(name),
            (UrlForm::Capability | UrlForm::Uuid, _) => Lookup::NotFound,
        }
    }
}
