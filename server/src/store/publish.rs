//! Publishing images: from a sealed recipe to an image that is served and outlives a restart.

use std::sync::Arc;

use imagelib::recipe::{RecipeId, SealedRecipe};
use tracing::{error, info};

use super::Store;
use super::definition::BaseName;
use super::error::{StoreError, Unavailable};
use super::open_base::OpenBase;
use super::record::Record;
use super::registered_base::BaseState;
use super::stored_image::{PlanError, PlannedImage, StoredImage};
use super::turns::Turn;

/// Whether publishing made something new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Publication {
    /// The image was not there before.
    Created,
    /// The same image was published already.
    Existing,
}

impl Store {
    /// Publishes the image that `recipe` describes over the base `base`. When this returns, the image is served, and
    /// outlives a power failure. `label` is what the user calls the host; an image that is published already keeps the
    /// label that it has.
    pub fn publish(
        &self,
        base: &str,
        recipe: SealedRecipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        let (open, name) = self.usable_base(base, &recipe)?;
        self.publish_over(&open, Some(name), recipe, label)
    }

    /// The base `base`, if it can be used for the recipe at the moment.
    pub(super) fn usable_base(
        &self,
        base: &str,
        recipe: &SealedRecipe,
    ) -> Result<(Arc<OpenBase>, BaseName), StoreError> {
        let registered = self.bases.get(base).ok_or_else(|| StoreError::UnknownBase(base.to_owned()))?;
        let name = registered.name().clone();
        let unavailable = |reason| StoreError::BaseUnavailable { name: name.clone(), reason: Unavailable(reason) };
        let open = match registered.state() {
            BaseState::Available(open) => open,
            BaseState::Unavailable { reason } => return Err(unavailable(reason)),
        };
        open.check_in_time().map_err(|error| unavailable(error.to_string()))?;
        if recipe.recipe().base != open.identity {
            return Err(StoreError::BaseReplaced(name));
        }
        Ok((open, name))
    }

    /// Publishes the data image that `recipe` describes, as [`publish`](Self::publish) does images over bases.
    pub fn publish_data(
        &self,
        recipe: SealedRecipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        self.publish_over(&self.nothing, None, recipe, label)
    }

    fn publish_over(
        &self,
        open: &Arc<OpenBase>,
        base: Option<BaseName>,
        recipe: SealedRecipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        let (id, _turn) = self.turn_of(&recipe);
        self.publish_in_turn(id, open, base, recipe, label)
    }

    /// The identity of the image that a recipe gives, or has given already: an image that an earlier version of dayone
    /// published from the same content in another order is that image.
    pub fn identity_of(&self, recipe: &SealedRecipe) -> RecipeId {
        self.images.identity_of(recipe)
    }

    /// Waits for the turn to work on the image of a recipe.
    pub(super) fn turn_of(&self, recipe: &SealedRecipe) -> (RecipeId, Turn<'_>) {
        loop {
            let id = self.identity_of(recipe);
            let turn = self.turns.wait(id);
            // It may have been released meanwhile.
            if self.identity_of(recipe) == id {
                return (id, turn);
            }
        }
    }

    /// While it is the caller's turn to work on the image.
    pub(super) fn publish_in_turn(
        &self,
        id: RecipeId,
        open: &Arc<OpenBase>,
        base: Option<BaseName>,
        recipe: SealedRecipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        if let Some(image) = self.images.get(&id) {
            if image.available().is_none() {
                image.plan_over(open, &self.media_url).map_err(|error| refusal(&id, error))?;
            }
            // An image that an earlier version published in another order has its own recipe of the same content.
            let own = (recipe.id() != id).then(|| image.recipe().clone().seal());
            self.persistence.confirm(image.record(), own.as_ref().unwrap_or(&recipe))?;
            image.order_again();
            return Ok((image, Publication::Existing));
        }
        if self.images.is_unreadable(&id) {
            return Err(StoreError::Unreadable);
        }
        let (token, created) = (self.key.token(&id), self.persistence.time_of_publication());
        let planned = PlannedImage::plan(recipe.recipe(), open, &token, created, &self.media_url);
        let planned = planned.map_err(|error| refusal(&id, error))?;
        let record = Record { created, base, label, files: planned.identities() };
        self.persistence.keep(&record, &recipe)?;
        let image = Arc::new(StoredImage::planned(token, id, recipe.into_recipe(), record, planned));
        self.serve(Arc::clone(&image));
        if let Some(arrivals) = &self.arrivals {
            arrivals.send_modify(|count| *count = count.wrapping_add(1));
        }
        info!(image = %id, token = token.shown(), base = image.base_name().map(BaseName::as_str), "image is published");
        Ok((image, Publication::Created))
    }
}

fn refusal(id: &RecipeId, error: PlanError) -> StoreError {
    match error {
        PlanError::Image(error) => StoreError::Image(error),
        PlanError::OtherBytes => {
            error!(image = %id, %error, "image is not served");
            StoreError::OtherBytes
        }
        PlanError::Overlay(_) | PlanError::NoFile | PlanError::MediaUrl(_) | PlanError::RootfsUrl(_) => {
            StoreError::internal(&error)
        }
    }
}
