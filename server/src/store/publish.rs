//! Publishes images: from a sealed recipe to an image that is served and survives a restart. Also releases them.

use std::sync::Arc;
use std::time::Duration;

use imagelib::recipe::{RecipeId, SealedRecipe};
use media::access::{AccessLimits, ImageAccess};
use tracing::{error, info};

use super::Store;
use super::definition::BaseName;
use super::error::{StoreError, Unavailable};
use super::image_locks::ImageLock;
use super::new_image::NewImage;
use super::open_base::OpenBase;
use super::planned_image::{PlanError, PlannedImage};
use super::record::{Record, RecordedAccess};
use super::stored_image::StoredImage;

/// Whether publishing made a new image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Publication {
    /// The image is new.
    Created,
    /// The same image was published already.
    Existing,
}

impl Store {
    /// Publishes the image of `recipe` over the base `base`. When this returns, the image is served, and survives a power
    /// failure. `label` is the user's name for the host. An image that is published already keeps its label.
    pub fn publish(
        &self,
        base: &str,
        recipe: SealedRecipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        let _no_removal = self.added.publishing.read();
        let (open, name) = self.usable_base(base, &recipe)?;
        self.publish_over(&open, NewImage { base: Some(name), recipe, label, limits: AccessLimits::default() })
    }

    /// Publishes an image as [`publish`](Self::publish) does, or a data image, and limits the access to it. If the image is
    /// published already, these limits replace the ones that it has.
    pub fn publish_image(&self, image: NewImage) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        let _no_removal = self.added.publishing.read();
        let (open, base) = match &image.base {
            Some(base) => self.usable_base(base.as_str(), &image.recipe).map(|(open, name)| (open, Some(name)))?,
            None => (self.empty_base(), None),
        };
        self.publish_over(&open, NewImage { base, ..image })
    }

    /// The base `base`, if it can be used for the recipe at the moment. If somebody has added another base of this name since the
    /// recipe was made, that is the replaced one.
    pub(super) fn usable_base(
        &self,
        base: &str,
        recipe: &SealedRecipe,
    ) -> Result<(Arc<OpenBase>, BaseName), StoreError> {
        let registered = self.bases.get(base).ok_or_else(|| StoreError::UnknownBase(base.to_owned()))?;
        let name = registered.name().clone();
        let unavailable = |reason| StoreError::BaseUnavailable { name: name.clone(), reason: Unavailable(reason) };
        let mut open = registered.state().map_err(unavailable)?;
        let identity = recipe.recipe().base;
        if identity != open.identity {
            let replaced = self.bases.replaced().into_iter().filter(|base| *base.name() == name);
            let mut replaced = replaced.filter_map(|base| base.available());
            open = replaced.find(|base| base.identity == identity).ok_or(StoreError::BaseReplaced(name.clone()))?;
        }
        open.check_in_time().map_err(|error| unavailable(error.to_string()))?;
        Ok((open, name))
    }

    fn publish_over(
        &self,
        open: &Arc<OpenBase>,
        image: NewImage,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        let (id, _lock) = self.lock_image(&image.recipe);
        self.publish_locked(id, open, image)
    }

    /// The id of the image that a recipe gives. If an earlier version of dayone published the same content in another order,
    /// that is the id of the earlier image.
    pub fn identity_of(&self, recipe: &SealedRecipe) -> RecipeId {
        self.images.identity_of(recipe)
    }

    /// Locks the image of a recipe.
    pub(super) fn lock_image(&self, recipe: &SealedRecipe) -> (RecipeId, ImageLock<'_>) {
        loop {
            let id = self.identity_of(recipe);
            let lock = self.locks.lock(id);
            // Somebody may have released an earlier image meanwhile.
            if self.identity_of(recipe) == id {
                return (id, lock);
            }
        }
    }

    /// Publishes an image that the caller has locked.
    pub(super) fn publish_locked(
        &self,
        id: RecipeId,
        open: &Arc<OpenBase>,
        NewImage { base, recipe, label, limits }: NewImage,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        self.release_locked_if_ended(&id)?;
        if let Some(image) = self.images.get(&id) {
            if !image.is_available() {
                image.plan_over(open).map_err(plan_failed)?;
            }
            // An image that an earlier version published in another order has its own recipe with the same content.
            let own = (recipe.id() != id).then(|| image.recipe()).transpose()?;
            self.replace_access(&image, own.as_ref().unwrap_or(&recipe), limits)?;
            image.order_again();
            return Ok((image, Publication::Existing));
        }
        if self.images.is_unreadable(&id) {
            return Err(StoreError::Unreadable);
        }
        let (record, planned) = self.plan(id, open, base, &recipe, label)?;
        let access = self.access_of(limits);
        let record = Record { access: access.as_ref().map(RecordedAccess::of), ..record };
        self.persistence.keep_new(&record, &recipe)?;
        Ok((self.serve_new(id, &recipe, record, access, planned), Publication::Created))
    }

    /// Plans a new image, and makes its record.
    pub(super) fn plan(
        &self,
        id: RecipeId,
        open: &Arc<OpenBase>,
        base: Option<BaseName>,
        recipe: &SealedRecipe,
        label: Option<String>,
    ) -> Result<(Record, PlannedImage), StoreError> {
        let keys = self.keys();
        let mut created = self.persistence.time_of_publication();
        // An image that is published now never has a URL of the previous key, and the time of publication tells that after a
        // restart, whatever the clock says.
        if let Some(until) = keys.other.as_ref().and_then(|other| other.images_until) {
            created = created.max(until.checked_add(Duration::from_secs(1)).unwrap_or(until));
        }
        let token = keys.current.token(&id);
        let planned = PlannedImage::plan(recipe.recipe(), open, &token, created, &self.plans.media_url);
        let planned = planned.map_err(plan_failed)?;
        Ok((Record { created, base, label, files: planned.identities(), access: None }, planned))
    }

    /// Begins to serve a new image, whose record is on disk.
    pub(super) fn serve_new(
        &self,
        id: RecipeId,
        recipe: &SealedRecipe,
        record: Record,
        access: Option<ImageAccess>,
        planned: PlannedImage,
    ) -> Arc<StoredImage> {
        let keys = self.keys();
        let address = self.address(&keys.current, &id, record.files.names());
        let image = Arc::new(StoredImage::planned(address, id, recipe, record, access, planned, &self.plans));
        let token = image.token();
        self.serve(Arc::clone(&image));
        self.serve_elsewhere(&image, &keys);
        if let Some(publications) = &self.publications {
            publications.send_modify(|count| *count = count.wrapping_add(1));
        }
        info!(image = %id, token = token.shown(), base = image.base_name().map(BaseName::as_str), "image is published");
        image
    }

    /// Releases an image: dayone no longer serves it, and forgets its record. Returns whether it existed.
    pub fn release(&self, id: &RecipeId) -> Result<bool, StoreError> {
        let _lock = self.locks.lock(*id);
        self.release_locked(id)
    }

    /// Releases images that were published for a request that then failed, unless another request has ordered them again
    /// meanwhile. Returns the images that it has released.
    pub fn withdraw(&self, images: Vec<Arc<StoredImage>>) -> Vec<Arc<StoredImage>> {
        let mut released = Vec::new();
        for image in images {
            let id = image.id();
            let _lock = self.locks.lock(id);
            // Meanwhile, one request may have deleted the image, and another may have published the same content again.
            let is_present = self.images.get(&id).is_some_and(|present| present.is_same_publication(&image));
            if !is_present || image.is_ordered_again() {
                continue;
            }
            match self.release_locked(&id) {
                Ok(_) => released.push(image),
                Err(error) => error!(image = %id, %error, "cannot release the image of a failed request"),
            }
        }
        released
    }

    /// Releases an image that the caller has locked.
    pub(super) fn release_locked(&self, id: &RecipeId) -> Result<bool, StoreError> {
        let image = self.images.get(id);
        let known = image.is_some() || self.images.is_unreadable(id);
        if known {
            self.persistence.forget(id)?;
            // Before it is removed, so that whoever looks for published images and then for released ones finds it.
            if let Some(image) = &image {
                self.released.add(image);
            }
            self.images.remove(id);
            info!(image = %id, "image is released");
        }
        Ok(known)
    }
}

fn plan_failed(error: PlanError) -> StoreError {
    match error {
        PlanError::Image(error) => StoreError::Image(error),
        PlanError::OtherBytes { .. } => StoreError::OtherBytes,
        PlanError::Overlay(_)
        | PlanError::NoFile
        | PlanError::Unpack(_)
        | PlanError::MediaUrl(_)
        | PlanError::RootfsUrl(_) => StoreError::internal(&error),
    }
}
