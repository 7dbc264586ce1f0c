//! Images and the bases that are there now.

use std::sync::Arc;

use tracing::{error, warn};

use super::Store;
use super::open_base::OpenBase;
use super::stored_image::StoredImage;

impl Store {
    /// Brings every image in line with the bases that are there now.
    pub(super) fn plan_images(&self) {
        let (mut without_base, mut example) = (0_u64, None);
        for image in self.images.all() {
            let base = self.base_of(&image);
            match base {
                Some(base) if !image.is_over(&base) => {
                    if let Err(error) = image.plan_over(&base, &self.media_url) {
                        error!(image = %image.id(), %error, "image is not served");
                    }
                }
                Some(_) => {}
                None => {
                    let reason = self.bases.reason_for_none(&image);
                    if image.without_base(&reason) {
                        without_base += 1;
                        example = Some(reason);
                    }
                }
            }
        }
        if let Some(example) = example {
            warn!(images = without_base, example, "images answer 503: their base is not there");
        }
    }

    /// The open base of an image.
    fn base_of(&self, image: &StoredImage) -> Option<Arc<OpenBase>> {
        let identity = image.recipe().base;
        let data = (self.nothing.identity == identity).then(|| self.nothing());
        data.or_else(|| self.bases.of_identity(&identity, image.base_name()))
    }
}
