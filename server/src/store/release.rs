//! Releasing images: their URLs stand for nothing from then on.

use std::sync::Arc;

use imagelib::recipe::RecipeId;
use tracing::{error, info};

use super::Store;
use super::error::StoreError;
use super::stored_image::StoredImage;

impl Store {
    /// Forgets an image for good: its URL stands for nothing from now on. False: there is no such image.
    pub fn release(&self, id: &RecipeId) -> Result<bool, StoreError> {
        let _turn = self.turns.wait(*id);
        self.release_in_turn(id)
    }

    /// Takes back images that were just published for a request which failed afterwards. An image that somebody has
    /// ordered again meanwhile stays.
    pub fn withdraw(&self, images: &[Arc<StoredImage>]) {
        for image in images {
            let _turn = self.turns.wait(image.id());
            if !image.is_ordered_again()
                && let Err(error) = self.release_in_turn(&image.id())
            {
                error!(image = %image.id(), %error, "the image of a request that failed cannot be released");
            }
        }
    }

    pub(super) fn release_in_turn(&self, id: &RecipeId) -> Result<bool, StoreError> {
        let image = self.images.get(id);
        let known = image.is_some() || self.images.is_unreadable(id);
        if known {
            self.persistence.forget(id)?;
            self.images.remove(id, image.map(|image| self.uuids(&image)).unwrap_or_default());
            info!(image = %id, "image is released");
        }
        Ok(known)
    }
}
