//! Images with owners, such as objects in Kubernetes or files in a directory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use imagelib::image::FileName;
use imagelib::recipe::{RecipeId, SealedRecipe};
use media::access::AccessLimits;
use media::served::{Lookup, ServedFile};
use media::{UrlForm, check_name};
use tracing::error;

use super::definition::BaseName;
use super::error::StoreError;
use super::new_image::NewImage;
use super::open_base::OpenBase;
use super::stored_image::StoredImage;
use super::{Publication, Store, persistence};

/// In [`UrlForm::Named`]: the suffix of an owner's name, and the suffix that replaces it in the name of the kernel.
const INITRAMFS: &str = ".initramfs";
const KERNEL: &str = ".kernel";

/// HTTP's dates are in whole seconds.
const TICK: Duration = Duration::from_secs(1);

impl Store {
    /// Publishes the image of `recipe` over the base `base`, as [`publish`](Self::publish) does, and makes it the image of
    /// `owner`. The owner's previous image lingers for a while, so that a BMC can finish reading it.
    ///
    /// Several owners may share an image. The store releases it when it has no owner any more.
    pub fn publish_for(
        &self,
        owner: &str,
        base: &str,
        recipe: SealedRecipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        let _no_removal = self.added.publishing.read();
        let (open, name) = self.usable_base(base, &recipe)?;
        self.publish_owned(owner, &open, Some(name), recipe, label)
    }

    /// Publishes a data image for an owner, as [`publish_for`](Self::publish_for) does for images over bases.
    pub fn publish_data_for(
        &self,
        owner: &str,
        recipe: SealedRecipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        let _same_key = self.added.publishing.read();
        self.publish_owned(owner, &self.empty_base, None, recipe, label)
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
        let (id, lock) = self.lock_image(&recipe);
        let image = NewImage { base, recipe, label, limits: AccessLimits::default() };
        let published = self.publish_locked(id, open, image)?;
        // While the image is locked, nobody can release it before it has its owner.
        let dropped = self.owners.assign(owner, id, Instant::now(), persistence::now());
        drop(lock);
        self.release_unowned(dropped);
        Ok(published)
    }

    /// Whether the owner has an image that can be served.
    pub fn serves(&self, owner: &str) -> bool {
        let image = self.owners.image_of(owner).and_then(|(id, _)| self.images.get(&id));
        image.is_some_and(|image| image.is_available())
    }

    /// The image of this owner.
    pub fn image_of(&self, owner: &str) -> Option<RecipeId> {
        self.owners.image_of(owner).map(|(id, _)| id)
    }

    /// Removes an owner. Releases its image and its lingering images at once, unless another owner has them.
    pub fn discard(&self, owner: &str) {
        self.release_unowned(self.owners.discard(owner));
    }

    /// Removes all owners for which `keep` is false.
    pub fn retain(&self, keep: impl Fn(&str) -> bool) {
        self.release_unowned(self.owners.retain(keep));
    }

    /// Releases images that have lingered long enough.
    pub(super) fn release_expired(&self) {
        self.release_unowned(self.owners.expire(Instant::now()));
    }

    fn release_unowned(&self, images: Vec<RecipeId>) {
        for id in images {
            let _lock = self.locks.lock(id);
            // Somebody may have published it again meanwhile.
            if !self.owners.is_owned(&id)
                && let Err(error) = self.release_locked(&id)
            {
                error!(image = %id, %error, "cannot release an image that has no owner any more");
            }
        }
    }

    /// The URL of a file of the owner's image, in the store's form.
    pub fn url(&self, owner: &str, image: &StoredImage, file: FileName) -> String {
        let named = match (self.urls, file) {
            (UrlForm::Uuid, _) => image.uuid(file.as_str()).map(str::to_owned),
            (UrlForm::Named, FileName::Kernel) => owner.strip_suffix(INITRAMFS).map(|stem| format!("{stem}{KERNEL}")),
            (UrlForm::Named, _) if image.main_file() == Some(file.as_str()) => Some(owner.to_owned()),
            (UrlForm::Capability | UrlForm::Named, _) => None,
        };
        match named {
            Some(name) => self.plans.media_url.at_root(&name),
            None => self.plans.media_url.file(&image.token().as_str(), file.as_str()),
        }
    }

    /// The URL of a file of the owner's image under the other installation key, during a rotation.
    pub fn other_url(&self, owner: &str, image: &StoredImage, file: FileName) -> Option<String> {
        self.images.elsewhere(&image.id()).map(|image| self.url(owner, &image, file))
    }

    /// Finds the file with this name, in [`UrlForm::Named`]: the image of the owner with this name. The content of the URL
    /// changes, so the file's date is the second after the owner got the image. Content with that date therefore existed
    /// until the end of that second, and a cache that compares dates does not confuse it with the previous content.
    pub(super) fn find_owned(&self, name: &str) -> Lookup {
        let kernel_of = |name: &str| name.strip_suffix(KERNEL).map(|stem| format!("{stem}{INITRAMFS}"));
        let (entry, kernel) = match self.owners.image_of(name) {
            Some(entry) => (Some(entry), false),
            None => (kernel_of(name).and_then(|owner| self.owners.image_of(&owner)), true),
        };
        let found = entry.and_then(|(id, since)| {
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
