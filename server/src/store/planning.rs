//! Which images can be served over the present bases.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hosts::parallel;
use imagelib::base::BaseIdentity;
use tracing::warn;

use super::Store;
use super::definition::BaseName;
use super::open_base::OpenBase;
use super::planned_image::PlanError;
use super::stored_image::StoredImage;

/// How many images a thread plans before it takes the next ones.
const AT_ONCE: usize = 64;

/// A base whose files were replaced, so that it no longer fits images that were published over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedBase {
    /// The name of the base.
    pub name: BaseName,
    /// Its identity when the images were published.
    pub was: BaseIdentity,
    /// Its identity now.
    pub now: BaseIdentity,
    /// How many images answer 503 for this reason.
    pub images: usize,
}

impl Store {
    /// Plans every image over the present bases.
    pub(super) fn plan_images(&self) {
        self.give_bases(StoredImage::plan_over);
    }

    /// Gives every image its base. An image is planned at the first request for it, or at the first [`recheck`](Self::recheck).
    pub(super) fn plan_images_later(&self) {
        self.give_bases(StoredImage::plan_later);
    }

    fn give_bases(&self, plan: fn(&StoredImage, &Arc<OpenBase>) -> Result<(), PlanError>) {
        let images = self.images.at_all_addresses();
        let lost = parallel::each(&images, AT_ONCE, |image| self.give_base(image, plan));
        let reasons: Vec<String> = lost.into_iter().flatten().collect();
        if let Some(example) = reasons.first() {
            warn!(images = reasons.len(), example, "images answer 503: their base is not available");
        }
    }

    /// Plans an image over its base. If it has lost its base, returns the reason, once for an image with two addresses.
    fn give_base(
        &self,
        image: &Arc<StoredImage>,
        plan: fn(&StoredImage, &Arc<OpenBase>) -> Result<(), PlanError>,
    ) -> Option<String> {
        match self.base_of(image) {
            Some(base) if !image.is_over(&base) => {
                // What prevents it is in the log, and in the image's state.
                drop(plan(image, &base));
                None
            }
            Some(_) => None,
            None => {
                let reason = self.bases.reason_for_none(image);
                let is_first = self.images.get(&image.id()).is_some_and(|present| Arc::ptr_eq(&present, image));
                (image.lose_base(&reason) && is_first).then_some(reason)
            }
        }
    }

    /// The open base of an image.
    fn base_of(&self, image: &StoredImage) -> Option<Arc<OpenBase>> {
        let identity = image.base();
        let data = (self.empty_base.identity == identity).then(|| self.empty_base());
        data.or_else(|| self.bases.with_identity(&identity, image.base_name()))
    }

    /// The replaced bases, ordered by name and by former identity.
    pub fn replaced_bases(&self) -> Vec<ReplacedBase> {
        let replaced = self.images_without_base().into_iter().filter_map(|((name, was), images)| {
            let now = self.base(name.as_str())?.available()?.identity;
            (now != was).then_some(ReplacedBase { name, was, now, images })
        });
        replaced.collect()
    }

    /// The names of the bases that are gone, although published images were made from them, in order.
    pub fn missing_bases(&self) -> BTreeSet<BaseName> {
        let names = self.images_without_base().into_keys().map(|(name, _)| name);
        names.filter(|name| self.base(name.as_str()).is_none()).collect()
    }

    /// How many published images have no base, by the name and the identity of the base that they were made from.
    fn images_without_base(&self) -> BTreeMap<(BaseName, BaseIdentity), usize> {
        let mut images: BTreeMap<(BaseName, BaseIdentity), usize> = BTreeMap::new();
        for image in self.images() {
            let Some(name) = image.base_name().filter(|_| image.lacks_base()) else { continue };
            *images.entry((name.clone(), image.base())).or_default() += 1;
        }
        images
    }
}
