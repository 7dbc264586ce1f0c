//! Images that belong to owners, such as objects of Kubernetes or files in a directory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use imagelib::image::FileName;
use imagelib::recipe::{RecipeId, SealedRecipe};
use media::served::{Lookup, ServedFile};
use media::{UrlForm, check_name};
use tracing::error;

use super::definition::BaseName;
use super::error::StoreError;
use super::open_base::OpenBase;
use super::stored_image::StoredImage;
use super::{Publication, Store, persistence};

/// What an owner's name ends in, and what takes that place in the name of its kernel, in [`UrlForm::Named`].
const INITRAMFS: &str = ".initramfs";
const KERNEL: &str = ".kernel";

/// HTTP's dates are in whole seconds.
const TICK: Duration = Duration::from_secs(1);

impl Store {
    /// Publishes the image that `recipe` describes over the base `base`, as [`publish`](Self::publish) does, and makes
    /// it that of `owner`. The one that the owner had lingers for a while, so that a BMC that reads it comes to its end.
    ///
    /// An image belongs to all owners that publish it. It is released when none of them has it any more.
    pub fn publish_for(
        &self,
        owner: &str,
        base: &str,
        recipe: SealedRecipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        let (open, name) = self.usable_base(base, &recipe)?;
        self.publish_owned(owner, &open, Some(name), recipe, label)
    }

    /// Publishes a data image for an owner, as [`publish_for`](Self::publish_for) does images over bases.
    pub fn publish_data_for(
        &self,
        owner: &str,
        recipe: SealedRecipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        self.publish_owned(owner, &self.nothing(), None, recipe, label)
    }

    fn publish_owned(
        &self,
        owner: &str,
        open: &Arc<OpenBase>,
        base: Option<BaseName>,
        recipe: SealedRecipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        if self.urls == UrlForm::Named {
            check_name(owner).map_err(|reason| StoreError::Name { name: owner.to_owned(), reason })?;
        }
        let (id, turn) = self.turn_of(&recipe);
        let published = self.publish_in_turn(id, open, base, recipe, label)?;
        // Within the turn, so that nobody releases the image between its being published and its being held.
        let dropped = self.holders.hold(owner, id, Instant::now(), persistence::now());
        drop(turn);
        self.release_unheld(dropped);
        Ok(published)
    }

    /// Whether the owner has an image that can be served.
    pub fn serves(&self, owner: &str) -> bool {
        let held = self.holders.image_of(owner).and_then(|(id, _)| self.images.get(&id));
        held.is_some_and(|image| image.available().is_some())
    }

    /// The owner is gone: its image and what lingers of it are released at once, unless another owner has them.
    pub fn discard(&self, owner: &str) {
        self.release_unheld(self.holders.discard(owner));
    }

    /// All owners but those that `keep` names are gone.
    pub fn retain(&self, keep: impl Fn(&str) -> bool) {
        self.release_unheld(self.holders.retain(keep));
    }

    /// What has lingered long enough is released.
    pub(super) fn release_expired(&self) {
        self.release_unheld(self.holders.expire(Instant::now()));
    }

    fn release_unheld(&self, images: Vec<RecipeId>) {
        for id in images {
            let _turn = self.turns.wait(id);
            // Somebody may have published it again meanwhile.
            if !self.holders.is_held(&id)
                && let Err(error) = self.release_in_turn(&id)
            {
                error!(image = %id, %error, "an image that nobody has any more could not be released");
            }
        }
    }

    /// The URL of a file of an image that `owner` has, in the store's form.
    pub fn url(&self, owner: &str, image: &StoredImage, file: FileName) -> String {
        let named = match (self.urls, file) {
            (UrlForm::Uuid, _) => Some(self.key.uuid(&image.id(), file.as_str()).as_str().to_owned()),
            (UrlForm::Named, FileName::Kernel) => owner.strip_suffix(INITRAMFS).map(|stem| format!("{stem}{KERNEL}")),
            (UrlForm::Named, _) if image.main_file() == Some(file.as_str()) => Some(owner.to_owned()),
            (UrlForm::Capability | UrlForm::Named, _) => None,
        };
        match named {
            Some(name) => self.media_url.at_root(&name),
            None => self.media_url.file(&image.token().as_str(), file.as_str()),
        }
    }

    /// What a name stands for, in [`UrlForm::Named`]: what the owner of that name has. Its content changes under one
    /// URL, so it is dated to the second after the owner came by it: whatever was served with that date was there to the
    /// second's end, and a cache that compares times does not take it for what was there before.
    pub(super) fn find_owned(&self, name: &str) -> Lookup {
        let kernel_of = |name: &str| name.strip_suffix(KERNEL).map(|stem| format!("{stem}{INITRAMFS}"));
        let (held, kernel) = match self.holders.image_of(name) {
            Some(held) => (Some(held), false),
            None => (kernel_of(name).and_then(|owner| self.holders.image_of(&owner)), true),
        };
        let found = held.and_then(|(id, since)| {
            let image = self.images.get(&id)?;
            let file = if kernel { FileName::Kernel.as_str() } else { image.main_file()? };
            Some((image.find(file), since))
        });
        match found {
            Some((Lookup::Found(file), since)) => {
                Lookup::Found(ServedFile { last_modified: since + TICK, changes: true, ..file })
            }
            Some((other, _)) => other,
            None => Lookup::NotFound,
        }
    }
}
