//! Other keys for a running store: images keep their previous URLs for a while, and get new ones at once.

use std::sync::Arc;

use imagelib::recipe::RecipeId;
use media::MediaToken;
use media::access::{Clock, Moment};
use tracing::error;

use super::Store;
use super::address::Address;
use super::error::StoreError;
use super::key::InstallationKey;
use super::keys::{Keys, OtherKey, Until};
use super::stored_image::StoredImage;

impl Store {
    /// The keys that are valid at the moment.
    pub(super) fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.keys.read())
    }

    /// The present moment, by the clock of the store.
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Takes over other keys. When this returns, every image has a URL of each of them, and no other. Waits for images that are
    /// being published.
    pub fn use_keys(&self, keys: &Keys) {
        {
            let _nobody_publishes = self.added.publishing.write();
            self.exchange_keys(keys);
        }
        self.keys_were_exchanged();
    }

    /// Takes over other keys, while nobody publishes.
    pub(super) fn exchange_keys(&self, keys: &Keys) {
        *self.keys.write() = Arc::new(keys.clone());
        for image in self.images.all() {
            let _lock = self.locks.lock(image.id());
            if let Some(image) = self.images.get(&image.id()) {
                self.readdress(&image, keys);
            }
        }
        self.images.readdress_unreadable(|id| self.tokens(keys, id));
    }

    /// Does what comes after an exchange, when images may be published again.
    pub(super) fn keys_were_exchanged(&self) {
        // The bases may have changed while images got their addresses.
        self.plan_images();
        if let Some(publications) = &self.publications {
            publications.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// The tokens of an image that cannot be read. Nobody knows when it was published.
    pub(super) fn tokens(&self, keys: &Keys, id: &RecipeId) -> Vec<MediaToken> {
        let other = keys.other.as_ref().filter(|other| other.until.is_valid(self.clock.now()));
        [&keys.current].into_iter().chain(other.map(|other| &other.key)).map(|key| key.token(id)).collect()
    }

    /// The address of an image under a key.
    pub(super) fn address<'a>(
        &self,
        key: &InstallationKey,
        id: &RecipeId,
        files: impl Iterator<Item = &'a str>,
    ) -> Address {
        Address::new(key, self.urls, id, files)
    }

    /// Gives an image that the caller has locked its addresses under these keys. What is served at an address that stays is
    /// left alone, so that its bytes and transfers of them go on.
    fn readdress(&self, image: &Arc<StoredImage>, keys: &Keys) {
        let known = [Some(Arc::clone(image)), self.images.elsewhere(&image.id())];
        let at = |key: &InstallationKey, ends: Option<(Until, &Clock)>| {
            let token = key.token(&image.id());
            let same = known.iter().flatten().find(|known| known.token() == token).cloned();
            let found = same.unwrap_or_else(|| {
                let address = self.address(key, &image.id(), image.files());
                Arc::new(image.at(address))
            });
            found.end_address(ends.and_then(|(until, clock)| match until {
                Until::At(deadline) => Some((deadline, clock.clone())),
                Until::Ended | Until::Open => None,
            }));
            found
        };
        let present = at(&keys.current, None);
        let other = keys.other_for(image.created(), &self.clock);
        let elsewhere = other.map(|OtherKey { key, until, .. }| at(key, Some((*until, &self.clock))));
        self.images.readdress(present, elsewhere);
    }

    /// Begins to serve an image at its address under the other key, if it has one.
    pub(super) fn serve_elsewhere(&self, image: &Arc<StoredImage>, keys: &Keys) {
        if keys.other_for(image.created(), &self.clock).is_some() {
            self.readdress(image, keys);
        }
    }

    /// Writes the records of images that hold their own URL anew, with the identities of the bytes that they have under the
    /// present key. Returns whether no record depends on the previous key any more. One that cannot be read may.
    pub(super) fn record_adopted(&self) -> bool {
        let mut is_done = self.images.unreadable().is_empty();
        for image in self.images.all() {
            let _lock = self.locks.lock(image.id());
            let Some(image) = self.images.get(&image.id()) else { continue };
            if !image.is_to_be_recorded() {
                // Without its base, nobody knows which bytes the record is of.
                is_done &= !image.is_undecided();
                continue;
            }
            let kept = image.recipe().map_err(StoreError::from);
            match kept.and_then(|recipe| self.persistence.keep(&image.record(), &recipe)) {
                Ok(()) => image.adoption_is_recorded(),
                Err(error) => {
                    is_done = false;
                    error!(image = %image.id(), %error, "cannot write the record of an image after a rotation of the key; dayone tries again");
                }
            }
        }
        is_done
    }
}
