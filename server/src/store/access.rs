//! Images whose access is limited: new limits, images that end, and the record of how often they were read.

use std::collections::BTreeMap;
use std::sync::Arc;

use imagelib::recipe::{RecipeId, SealedRecipe};
use media::access::{AccessLimits, ImageAccess};
use tracing::{error, info};

use super::Store;
use super::error::StoreError;
use super::stored_image::StoredImage;

impl Store {
    /// The access to an image that gets these limits now; `None` without limits.
    pub(super) fn access_of(&self, limits: AccessLimits) -> Option<ImageAccess> {
        let now = self.clock.now().wall;
        (!limits.is_empty()).then(|| ImageAccess::new(limits, now, BTreeMap::new(), self.clock.clone()))
    }

    /// Replaces the limits of a published image that the caller has locked. The time to live and the number of readings begin
    /// again. Confirms the record of an image that has no limits and gets none.
    pub(super) fn replace_access(
        &self,
        image: &StoredImage,
        recipe: &SealedRecipe,
        limits: AccessLimits,
    ) -> Result<(), StoreError> {
        let access = self.access_of(limits);
        if access.is_none() && image.access().is_none() {
            return self.persistence.confirm(&image.record(), recipe);
        }
        self.persistence.keep(&image.record_with(access.as_ref()), recipe)?;
        image.set_access(access);
        info!(image = %image.id(), "the limits on the access to an image were replaced");
        Ok(())
    }

    /// Releases images whose time to live is over. They are no longer served even before that.
    pub(super) fn release_ended(&self) {
        for image in self.images.all().into_iter().filter(|image| image.has_ended()) {
            let _lock = self.locks.lock(image.id());
            // If its record cannot be removed now, the next check tries again.
            if let Err(error) = self.release_locked_if_ended(&image.id()) {
                error!(image = %image.id(), %error, "cannot release an image whose time to live is over");
            }
        }
    }

    /// Releases an image that the caller has locked, if its time to live is over.
    pub(super) fn release_locked_if_ended(&self, id: &RecipeId) -> Result<(), StoreError> {
        if self.images.get(id).is_some_and(|image| image.has_ended()) {
            info!(image = %id, "the time to live of an image is over");
            self.release_locked(id)?;
        }
        Ok(())
    }

    /// Records how often images were read, if that is limited. What is read after the last record does not count after a crash.
    pub fn record_reads(&self) {
        for image in self.images.all() {
            let is_due = image.access().is_some_and(|access| access.unrecorded().is_some());
            if is_due && let Err(error) = self.record_reads_of(&image) {
                error!(image = %image.id(), %error, "cannot record how often an image was read");
            }
        }
    }

    fn record_reads_of(&self, image: &Arc<StoredImage>) -> Result<(), StoreError> {
        let _lock = self.locks.lock(image.id());
        // Somebody may have released the image or replaced its limits meanwhile.
        let is_current = self.images.get(&image.id()).is_some_and(|current| Arc::ptr_eq(&current, image));
        let Some(access) = image.access().filter(|_| is_current) else { return Ok(()) };
        let Some(delivered) = access.unrecorded() else { return Ok(()) };
        // Otherwise a used-up image could be read again after a restart.
        self.persistence.keep_in_reserve(&image.record_with(Some(&access)), &image.recipe()?)?;
        access.record(delivered);
        Ok(())
    }
}
