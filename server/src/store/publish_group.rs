//! Publishes a group of images: as one after the other, with fewer waits for the disk.

use std::collections::BTreeSet;
use std::sync::Arc;

use imagelib::recipe::{RecipeId, SealedRecipe};
use media::access::ImageAccess;

use super::Store;
use super::error::StoreError;
use super::image_locks::ImageLock;
use super::new_image::NewImage;
use super::open_base::OpenBase;
use super::planned_image::PlannedImage;
use super::publish::Publication;
use super::record::{Record, RecordedAccess};
use super::stored_image::StoredImage;

/// The result of publishing an image.
type Published = Result<(Arc<StoredImage>, Publication), StoreError>;

/// A new image whose record is not on disk yet.
struct Planned {
    index: usize,
    id: RecipeId,
    recipe: SealedRecipe,
    record: Record,
    access: Option<ImageAccess>,
    plan: PlannedImage,
}

/// An image that is published already, or whose first publication is in the same group.
struct Known {
    index: usize,
    id: RecipeId,
    open: Arc<OpenBase>,
    image: NewImage,
}

impl Store {
    /// Publishes images, each as [`publish_image`](Self::publish_image) does, and returns the results in the same order. An
    /// error of one image does not affect the others.
    ///
    /// dayone writes all records before it waits for the disk, so that the disk can write them together. The group holds the
    /// locks of its images meanwhile: a group should have some tens of images.
    pub fn publish_group(&self, images: Vec<NewImage>) -> Vec<Published> {
        let _no_removal = self.added.publishing.read();
        let (ids, _locks) = self.lock_images(&images);
        let mut results = Vec::with_capacity(images.len());
        let (mut planned, mut known, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (index, (image, id)) in images.into_iter().zip(ids).enumerate() {
            if let Err(error) = self.release_locked_if_ended(&id) {
                results.push((index, Err(error)));
                continue;
            }
            let is_known = !seen.insert(id) || self.images.get(&id).is_some() || self.images.is_unreadable(&id);
            match self.open_base_of(&image) {
                Ok(open) if is_known => known.push(Known { index, id, open, image }),
                Ok(open) => match self.plan(id, &open, image.base, &image.recipe, image.label) {
                    Ok((record, plan)) => {
                        let access = self.access_of(image.limits);
                        let record = Record { access: access.as_ref().map(RecordedAccess::of), ..record };
                        planned.push(Planned { index, id, recipe: image.recipe, record, access, plan });
                    }
                    Err(error) => results.push((index, Err(error))),
                },
                Err(error) => results.push((index, Err(error))),
            }
        }
        let records: Vec<_> = planned.iter().map(|planned| (&planned.record, &planned.recipe)).collect();
        let all_kept = self.persistence.keep_all(&records).is_ok();
        for Planned { index, id, recipe, record, access, plan } in planned {
            // If the disk cannot take all records, it may still take some of them.
            let kept = if all_kept { Ok(()) } else { self.persistence.keep(&record, &recipe) };
            let published = kept.map(|()| (self.serve_new(id, &recipe, record, access, plan), Publication::Created));
            results.push((index, published));
        }
        for Known { index, id, open, image } in known {
            results.push((index, self.publish_locked(id, &open, image)));
        }
        results.sort_unstable_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn open_base_of(&self, image: &NewImage) -> Result<Arc<OpenBase>, StoreError> {
        match &image.base {
            Some(base) => self.usable_base(base.as_str(), &image.recipe).map(|(open, _)| open),
            None => Ok(self.empty_base()),
        }
    }

    /// Locks images, each once. All groups lock in the same order, so that no two of them wait for each other.
    fn lock_images(&self, images: &[NewImage]) -> (Vec<RecipeId>, Vec<ImageLock<'_>>) {
        loop {
            let ids: Vec<RecipeId> = images.iter().map(|image| self.identity_of(&image.recipe)).collect();
            let distinct: BTreeSet<RecipeId> = ids.iter().copied().collect();
            let locks = distinct.into_iter().map(|id| self.locks.lock(id)).collect();
            // Somebody may have released an earlier image meanwhile.
            if images.iter().zip(&ids).all(|(image, id)| self.identity_of(&image.recipe) == *id) {
                return (ids, locks);
            }
        }
    }
}
